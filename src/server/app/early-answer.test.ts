// How much of an unwanted body is read, on every kind of route, and that its sender is told why (requirements D01, R02).
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createHttpServer } from "#server/app.ts";
import { createTestApp, rootAccess, type TestApp } from "#test/worlds/app.ts";
import { EarlyAnswer } from "./early-answer.ts";

const PIECE = Buffer.alloc(64 * 1024, " ");

let app: TestApp;
let server: Server;
let port = 0;
/** The server's side of the connections, by the client's port. */
const sockets = new Map<number | undefined, Socket>();

beforeAll(async () => {
  app = await createTestApp();
  server = createHttpServer(app.app);
  server.on("connection", (socket: Socket) => sockets.set(socket.remotePort, socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  port = address !== null && typeof address === "object" ? address.port : 0;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await app.close();
});

interface Flood {
  /** What the client was told. */
  readonly text: string;
  /** What the server has read of the connection. */
  readonly read: number;
  /** The server hung up, after so long. */
  readonly closedMs: number | undefined;
}

/** A request that is read without Node's parser (decision 035). */
const PLAIN = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}";

/** Sends a head and then as much as the server takes, until it hangs up or time is over. */
async function flood(head: string, piece: Buffer = PIECE, first = ""): Promise<Flood> {
  const forMs = 3_000;
  const client = connect(port, "127.0.0.1");
  client.on("error", () => undefined);
  let text = "";
  client.on("data", (data) => {
    text += data;
  });
  await once(client, "connect");
  const { localPort } = client;
  if (first !== "") {
    client.write(first);
    while (!text.endsWith("}")) await once(client, "data");
    text = "";
  }
  const startMs = performance.now();
  let closedMs: number | undefined;
  client.once("close", () => {
    closedMs = performance.now() - startMs;
  });
  client.write(head);
  while (closedMs === undefined && performance.now() - startMs < forMs) {
    client.write(piece);
    do await sleep(2);
    while (client.writableNeedDrain && closedMs === undefined && performance.now() - startMs < forMs);
  }
  client.destroy();
  return { text, read: sockets.get(localPort)?.bytesRead ?? 0, closedMs };
}

const LENGTHS = {
  "announced as 1 GiB": { header: "Content-Length: 1073741824", piece: PIECE, most: 64 * 1024 },
  chunked: {
    header: "Transfer-Encoding: chunked",
    // Where a short body is taken it must first have come; 64 KiB are read at once, and streams read ahead.
    most: 256 * 1024,
    piece: Buffer.concat([Buffer.from("10000\r\n"), PIECE, Buffer.from("\r\n")]),
  },
};

describe.concurrent.each(Object.entries(LENGTHS))("an unwanted body %s", (_, { header, piece, most }) => {
  test.each([
    ["POST", "/v1/chat/completions", 401],
    ["POST", "/v1/messages", 401],
    ["POST", "/v1/images/edits", 401],
    ["POST", "/v1/nothing", 404],
    ["GET", "/v1/models", 401],
    ["HEAD", "/v1/models", 401],
    ["OPTIONS", "/v1/models", 204],
    ["GET", "/dashboard/billing/usage", 401],
    ["GET", "/v1/realtime", 426],
    ["POST", "/api/user/login", 413],
    ["PUT", "/api/channel/", 401],
    ["DELETE", "/api/token/1", 401],
    ["POST", "/api/nothing", 404],
    ["GET", "/api/status", 200],
    ["OPTIONS", "/api/status", 404],
    ["POST", "/nothing", 404],
    ["GET", "/", 200],
    ["GET", "/healthz", 200],
    ["PATCH", "/healthz", 404],
  ])("%s %s", async (method, path, status) => {
    const head = `${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${header}\r\n\r\n`;
    const { text, read, closedMs } = await flood(head, piece);
    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(text.toLowerCase()).toContain("connection: close");
    expect(read).toBeLessThanOrEqual(most);
    expect(closedMs).toBeLessThan(1_500);
  });
});

test.each(
  Object.entries(LENGTHS).flatMap(([name, length]) => [
    { name, ...length, asked: "POST /v1/messages", status: 401 },
    { name, ...length, asked: "POST /api/user/login", status: 413 },
    { name, ...length, asked: "GET /healthz", status: 200 },
  ]),
)(
  "behind a plain request no more is read of $asked, $name",
  async ({ header, piece, most, asked, status }) => {
    const head = `${asked} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${header}\r\n\r\n`;
    const { text, read, closedMs } = await flood(head, piece, PLAIN);
    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(text.toLowerCase()).toContain("connection: close");
    expect(read).toBeLessThanOrEqual(most + PLAIN.length);
    expect(closedMs).toBeLessThan(1_500);
  },
);

/** Sends these pieces one after the other on one connection, and returns the statuses when so many answers have come. */
async function converse(answers: number, ...pieces: readonly (string | Buffer)[]): Promise<number[]> {
  const client = connect(port, "127.0.0.1");
  let text = "";
  client.on("data", (data) => {
    text += data;
  });
  for (const piece of pieces) {
    client.write(piece);
    await sleep(50);
  }
  const seen = () => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
  await expect.poll(() => seen().length).toBe(answers);
  client.destroy();
  return seen();
}

const ask = (method: string, path: string, more = "") =>
  `${method} ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
describe("a connection goes on", () => {
  const next = ask("GET", "/healthz");

  test("after a refusal, when what is left of the body is short", async () => {
    const head = ask("POST", "/v1/chat/completions", "Content-Length: 60000\r\n");
    const half = Buffer.alloc(30_000, " ");
    expect(await converse(2, head, half, half, next)).toEqual([401, 200]);
    const five = ask("GET", "/api/status", "Content-Length: 5\r\n");
    expect(await converse(2, five, "12345", next)).toEqual([200, 200]);
  });

  test("after a long body that was wanted, announced or chunked", async () => {
    const json = JSON.stringify({ name: "n", models: "m".repeat(500_000) });
    const who = `Authorization: ${rootAccess}\r\nContent-Type: application/json\r\n`;
    const announced = ask("POST", "/api/token/", `${who}Content-Length: ${json.length}\r\n`);
    const chunked = ask("POST", "/api/token/", `${who}Transfer-Encoding: chunked\r\n`);
    const chunk = `${json.length.toString(16)}\r\n${json}\r\n0\r\n\r\n`;
    expect(await converse(3, announced, json, chunked, chunk, next)).toEqual([200, 200, 200]);
  });
});

test("a short body that does not come is waited for, but not for ever", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const client = connect(port, "127.0.0.1").on("error", () => undefined);
    client.write(ask("GET", "/api/status", "Content-Length: 1000\r\n"));
    const [data] = await once(client, "data");
    expect(String(data)).toMatch(/^HTTP\/1.1 200 /);
    const closed = new Promise((resolve) => client.once("close", resolve));
    client.write("1");
    await vi.advanceTimersByTimeAsync(29_000);
    expect(client.closed).toBe(false);
    vi.advanceTimersByTime(1_000);
    await closed;
  } finally {
    vi.useRealTimers();
  }
});

test.each([
  ["long", 900_000, 1_000],
  ["short", 1_000, 40_000],
])("a refusal whose %s body is not here does not end the answer before it", async (_, length, waitMs) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const answered: string[] = [];
  let answerFirst: () => unknown = () => undefined;
  const both = createServer({ ServerResponse: EarlyAnswer }, (req, res) => {
    answered.push(req.url ?? "");
    if (req.url === "/first") answerFirst = () => res.end("first");
    else res.writeHead(413, { "content-length": 6 }).end("second");
  });
  try {
    await once(both.listen(0, "127.0.0.1"), "listening");
    const { port: at } = both.address() as AddressInfo;
    const client = connect(at, "127.0.0.1").on("error", () => undefined);
    const closed = new Promise((resolve) => client.once("close", resolve));
    let text = "";
    client.on("data", (data) => {
      text += data;
    });
    client.write(ask("GET", "/first") + ask("POST", "/second", `Content-Length: ${length}\r\n`));
    await expect.poll(() => answered).toEqual(["/first", "/second"]);
    vi.advanceTimersByTime(waitMs);
    answerFirst();
    await expect.poll(() => text).toMatch(/first.*\r\n\r\nsecond$/s);
    vi.advanceTimersByTime(waitMs);
    await closed;
  } finally {
    vi.useRealTimers();
    both.close();
  }
});

test.each([
  ["CONNECT", "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n"],
  ["Upgrade", ask("GET", "/", "Connection: Upgrade\r\nUpgrade: websocket\r\n")],
])(
  "answers that wait for another one end with a connection that %s turned into something else",
  async (_, last) => {
    const ended: (string | undefined)[] = [];
    const hear = ({ url }: IncomingMessage, res: ServerResponse) => res.once("close", () => ended.push(url));
    server.on("request", hear);
    const client = connect(port, "127.0.0.1").on("error", () => undefined);
    const unknown = "Authorization: Bearer nobody\r\n";
    client.write(ask("GET", "/v1/models", unknown) + ask("GET", "/v1/models/m", unknown) + last);
    await expect.poll(() => ended.toSorted()).toEqual(["/v1/models", "/v1/models/m"]);
    server.off("request", hear);
  },
);

test.each(["/v1/chat/completions", "/v1/messages", "/api/user/login"])(
  "a client that reads while sending 100 MB to %s is told why they are refused",
  async (path) => {
    const told = await new Promise<{ status: number; text: string; sent: number }>((resolve, reject) => {
      const bytes = 100 << 20;
      const headers = { authorization: "Bearer nobody", "content-length": bytes };
      const call = request({ host: "127.0.0.1", port, path, method: "POST", headers });
      let sent = 0;
      const pump = () => {
        while (sent < bytes && !call.destroyed) {
          sent += PIECE.length;
          if (!call.write(PIECE)) return void call.once("drain", pump);
        }
      };
      call.on("response", (res) => {
        let text = "";
        res.on("data", (data) => {
          text += data;
        });
        res.on("end", () => resolve({ status: res.statusCode ?? 0, text, sent }));
        res.on("error", reject);
      });
      call.on("error", reject);
      pump();
    });
    expect(told.status).toBe(path.startsWith("/api") ? 413 : 401);
    expect(JSON.parse(told.text)).toMatchObject(path.startsWith("/api") ? { success: false } : { error: {} });
    expect(told.sent).toBeLessThan(50 << 20);
  },
);
