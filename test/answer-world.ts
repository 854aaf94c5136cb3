// The same answers by the server of our own and by node:http's, on real connections: what the tests of PlainAnswer share.
import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { EarlyAnswer } from "#server/app/early-answer.ts";
import { RelayServer } from "#server/app/relay-server.ts";
import type { RelayResponse } from "#server/relay/routes.ts";

export type Way = "ours" | "node's";
export type Script = (res: RelayResponse) => void;

export const WAYS = ["ours", "node's"] as const;
export const PATH = "/v1/chat/completions";
/** Every byte, no two stretches alike. */
export const BYTES = Buffer.from(Array.from({ length: 5_000_000 }, (_, at) => (at * 7 + (at >> 8)) & 0xff));
/** More than the system takes by itself. */
export const HUGE = Buffer.alloc(30_000_000, "y");

export const sized = (body: Uint8Array | string) => ["content-length", String(Buffer.byteLength(body))];
export const whole = (body: Uint8Array | string, more: readonly string[] = [], status = 200): Script => {
  const fields = [...sized(body), ...more];
  return (res) => {
    res.writeHead(status, fields);
    res.end(body);
  };
};
export const chunks = (...pieces: readonly (Uint8Array | string)[]): Script => {
  return (res) => {
    res.writeHead(200, ["content-type", "text/event-stream"]);
    for (const piece of pieces) res.write(piece);
    res.end();
  };
};
/** One that has begun. */
export const chunksOf = (piece: Uint8Array | string): Script => {
  return (res) => {
    res.writeHead(200, []);
    res.write(piece);
  };
};

/** What the running test says, and what became of it. */
export const scene = {
  /** What each request is answered. */
  script: (_res: RelayResponse): void => undefined,
  /** Requests that came, by the way they went. */
  taken: { ours: 0, "node's": 0 },
  /** What the last answer told. */
  events: [] as string[],
  answer: undefined as RelayResponse | undefined,
  get last(): RelayResponse {
    if (this.answer === undefined) throw new Error("nothing was asked yet");
    return this.answer;
  },
};

const answer = (way: Way) => (_req: unknown, res: RelayResponse) => {
  scene.taken[way] += 1;
  scene.answer = res;
  scene.events = [];
  for (const name of ["finish", "close"] as const)
    res.on(name, () => scene.events.push(`${name} ${res.writableFinished}`));
  res.on("error", () => undefined);
  scene.script(res);
};
const node = answer("node's");
const servers = {
  ours: new RelayServer({ ServerResponse: EarlyAnswer }, node, answer("ours")),
  "node's": createServer({ ServerResponse: EarlyAnswer }, node),
};
const ports = { ours: 0, "node's": 0 };
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/** Both servers listen while the tests of the file that calls this run. */
export function serveBothWays(): void {
  beforeAll(async () => {
    for (const way of WAYS) {
      servers[way].listen(0, "127.0.0.1");
      await once(servers[way], "listening");
      ports[way] = (servers[way].address() as AddressInfo).port; // it listens on a port
    }
  });
  beforeEach(() => {
    scene.taken = { ours: 0, "node's": 0 };
  });
  afterAll(() => {
    agent.destroy();
    for (const way of WAYS) {
      servers[way].closeAllConnections();
      servers[way].close();
    }
  });
}

export interface Seen {
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

export function askByNode(way: Way): Promise<Seen> {
  return new Promise((resolve, reject) => {
    request({ port: ports[way], agent, method: "POST", path: PATH }, async (res) => {
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

export async function askByFetch(way: Way): Promise<Seen> {
  const res = await fetch(`http://127.0.0.1:${ports[way]}${PATH}`, { method: "POST", body: "{}" });
  const headers = withoutDate(res.headers.entries());
  return { status: res.status, words: res.statusText, headers, body: Buffer.from(await res.arrayBuffer()) };
}

/** A connection that asks and then does what the test says. */
export function callRaw(way: Way): Socket {
  scene.events = [];
  const socket = connect({ port: ports[way], host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => undefined);
  socket.write(`POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`);
  return socket;
}

/** All that comes on a connection until it ends, as latin1. */
export async function textOf(socket: Socket): Promise<string> {
  return (await buffer(socket)).toString("latin1");
}
