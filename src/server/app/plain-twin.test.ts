// Whole conversations with our server and with Node's alone: clients cannot tell them apart (decision 035).
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createDice, type Dice, pick } from "#test/dice.ts";
import { CHAT, type Client, connectTo, get, post, withPlainWorld } from "#test/plain-world.ts";
import { EarlyAnswer } from "./early-answer.ts";

const world = withPlainWorld();
let node: Server;
const sockets: Socket[] = [];

beforeEach(async () => {
  // The listener of the world's server, which tells by whom it was read; options as in createHttpServer.
  const [listener] = world.server.listeners("request") as RequestListener[];
  const [upgrade] = world.server.listeners("upgrade") as ((...all: unknown[]) => void)[];
  node = createServer(
    {
      ServerResponse: EarlyAnswer,
      maxHeaderSize: 16 * 1024,
      requestTimeout: 0,
      shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
    },
    listener,
  );
  if (upgrade !== undefined) node.on("upgrade", upgrade);
  node.on("connection", (socket) => sockets.push(socket));
  await once(node.listen(0, "127.0.0.1"), "listening");
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  node.close();
});

const X = "/v1/x";
const PARTS = [
  post("1"),
  post("b".repeat(3_000)),
  post("b".repeat(70_000)),
  post("\r\n\r\n"),
  post(""),
  post("1", X, "Connection: close\r\n"),
  post("1", X, "Expect: 100-continue\r\n"),
  post("1", X, "Expect: x\r\n"),
  post("1", X, "A: \0\r\n"),
  post("1", X, "A : b\r\n"),
  post("1", X, "Host: y\r\n"),
  post("1", X, "Content-Length: 2\r\n"),
  post("1", X, `A: ${"a".repeat(7_000)}\r\n`),
  post("1", X, `A: ${"a".repeat(17_000)}\r\n`),
  post("1").replace("POST", "post"),
  post("1").replace("HTTP/1.1", "HTTP/1.0"),
  post("1").replace("Host: x\r\n", ""),
  post("1").replace("/v1", "http://x/v1"),
  post("1").replaceAll("\r\n", "\n"),
  post("12").slice(0, -1),
  post("12").slice(0, 20),
  `\r\n${post("1")}`,
  `${post("1")}\r\n`,
  `${post("1")}nonsense`,
  `${post("1")}${post("2")}${get("/3")}`,
  post("1\r\na\r\n0\r\n\r\n", X).replace(/Content-Length: \d+/, "Transfer-Encoding: chunked"),
  get("/a"),
  get("/a", "Connection: close\r\n"),
  get("/a", "Connection: Upgrade\r\nUpgrade: h2c\r\n"),
  get("/v1/realtime", "Connection: Upgrade\r\nUpgrade: websocket\r\n"),
  "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n",
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "nonsense\r\n\r\n",
] as const;

/** Some requests, half of them cut in two. */
function scriptOf(dice: Dice): string[] {
  return Array.from({ length: 1 + dice(4) }, () =>
    dice(2) === 0 ? post("1", CHAT) : pick(dice, PARTS),
  ).flatMap((part) => {
    const at = dice(2) === 0 ? part.length : dice(part.length);
    return [part.slice(0, at), part.slice(at)].filter((piece) => piece !== "");
  });
}

/** What a client was told, without what the two write otherwise: the time, who read it, and what says nothing else. */
function told({ text, isEnded }: Client, isLast: boolean): string {
  const lines = text.replaceAll(/(plain|node) \//g, "/").split("\r\n");
  const said = lines.filter(
    (line) => !/^(date|keep-alive|content-length|connection: keep-alive)/i.test(line),
  );
  return `${said.join("\n").replaceAll("Connection: close", "connection: close")}${isLast && isEnded ? "(ended)" : ""}`;
}

/** Lets all come to rest. */
async function rest(clients: readonly Client[], isLast: boolean): Promise<void> {
  for (let left = 12; left > 0; left -= 1) await turn();
  const isAlike = () => new Set(clients.map((client) => told(client, isLast))).size === 1;
  for (let left = 200; left > 0 && !isAlike(); left -= 1) await turn();
}

test.each([1, 2, 3, 4])("seed %d", async (seed) => {
  const dice = createDice(seed);
  const { port } = node.address() as AddressInfo;
  for (let round = 0; round < 75; round += 1) {
    const script = scriptOf(dice);
    const doesEnd = dice(4) > 0;
    const clients = [await world.connect(), await connectTo(port, sockets)];
    for (const piece of script) {
      await Promise.all(clients.map((client) => client.say(piece)));
      await rest(clients, false);
    }
    // What may still become a plain request is waited for.
    if (doesEnd) for (const { socket } of clients) socket.end();
    else await world.sweep(2);
    await rest(clients, doesEnd);
    const [ours, theirs] = clients.map((client) => told(client, doesEnd));
    expect(ours, JSON.stringify(script)).toBe(theirs);
    for (const { socket } of clients) socket.destroy();
  }
  for (const socket of world.sockets) socket.destroy();
  await world.empties();
});
