// Scripted answers of a server on real connections, and clients that ask for them: what tests of answers share.
import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, expect } from "vitest";
import { EarlyAnswer } from "#server/app/early-answer.ts";
import type { RelayResponse } from "#server/relay/http/exchange.ts";

type Script = (req: IncomingMessage, res: RelayResponse) => void;

const PATH = "/v1/chat/completions";
/** Every byte, no two stretches alike. */
export const BYTES = Buffer.from(Array.from({ length: 5_000_000 }, (_, at) => (at * 7 + (at >> 8)) & 0xff));
/** More than the system takes by itself. */
export const HUGE = Buffer.alloc(30_000_000, "y");

/** What the running test says, and what became of it. */
export const scene = {
  /** What each request is answered. */
  script: ((): void => undefined) as Script,
  /** What the last answer told. */
  events: [] as string[],
};

const server = createServer({ ServerResponse: EarlyAnswer }, (req, res) => {
  scene.events = [];
  for (const name of ["finish", "close"] as const)
    res.on(name, () => scene.events.push(`${name} ${res.writableFinished}`));
  res.on("error", () => undefined);
  scene.script(req, res);
});
let port = 0;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/** The server listens while the tests of the file that calls this run. */
export function serveAnswers(): void {
  beforeAll(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    port = (server.address() as AddressInfo).port; // it listens on a port
  });
  afterAll(() => {
    agent.destroy();
    server.closeAllConnections();
    server.close();
  });
}

interface Seen {
  readonly status: number;
  readonly words: string;
  readonly headers: Record<string, unknown>;
  readonly body: Buffer;
}

function withoutDate(headers: Iterable<[string, unknown]>): Record<string, unknown> {
  const { date, ...others } = Object.fromEntries(headers);
  expect(date).toMatch(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
  return others;
}

export function ask(): Promise<Seen> {
  return new Promise((resolve, reject) => {
    request({ port, agent, method: "POST", path: PATH }, async (res) => {
      const { statusCode: status = 0, statusMessage: words = "" } = res;
      try {
        resolve({
          status,
          words,
          headers: withoutDate(Object.entries(res.headers)),
          body: await buffer(res),
        });
      } catch (error) {
        reject(error);
      }
    })
      .on("error", reject)
      .end("{}");
  });
}

/** A connection that asks and then does what the test says. */
export function callRaw(): Socket {
  scene.events = [];
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => undefined);
  socket.write(`POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`);
  return socket;
}

/** All that comes on a connection until it ends, as latin1. */
export async function textOf(socket: Socket): Promise<string> {
  return (await buffer(socket)).toString("latin1");
}
