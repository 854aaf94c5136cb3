// A server as createHttpServer makes it, whose answers tell by whom a request was read; clients that say any bytes and keep what they hear.
import { once } from "node:events";
import type { Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, expect, vi } from "vitest";
import { createHttpServer } from "#server/app.ts";
import { Roster } from "#server/relay/roster.ts";
import type { RelayResponse } from "#server/relay/routes.ts";

/** Who read a request: ours, or Node's parser. */
export type By = "plain" | "node";

/** A request that is being answered. */
export interface Heard {
  readonly by: By;
  readonly url: string;
  readonly body: string;
  readonly res: RelayResponse;
  /** Its answer is out, or can no longer be. */
  isOver: boolean;
}

export const CHAT = "/v1/chat/completions";
/** A request to such a path is answered when the test does it. */
export const HELD = "/v1/held";

/** A plain request. */
export function post(body: string, path = CHAT, more = ""): string {
  return `POST ${path} HTTP/1.1\r\nHost: x\r\n${more}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

export function get(path: string, more = ""): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
}

/** Answers with who read it, where to, and its body. */
export function answer({ by, url, body, res }: Omit<Heard, "isOver">, more = ""): void {
  const text = `${by} ${url} ${body}${more}`;
  res.writeHead(200, ["content-length", String(Buffer.byteLength(text))]);
  res.end(text);
}

export interface PlainWorld {
  readonly server: Server;
  readonly port: number;
  /** All requests, in the order in which they came. */
  readonly heard: readonly Heard[];
  /** The server's side of each connection, in their order. */
  readonly sockets: readonly Socket[];
  /** Connections that we read. */
  ours(): number;
  /** Connections there are. */
  count(): Promise<number>;
  connect(): Promise<Client>;
  /** Waits until so many requests have come; the last of them. */
  hears(count: number): Promise<Heard>;
  /** Waits until nobody is connected, and nobody is remembered. */
  empties(): Promise<void>;
  /** Lets the server look after its connections so many times. */
  sweep(times: number): Promise<void>;
}

const SWEEP_MS = 250;
/** How often is looked for what no event tells. */
const often = { interval: 2 };

/** A world that is new for each test of the file that calls this at its top. Time goes on for timers of the server when a test says so. */
export function withPlainWorld(): PlainWorld {
  let world: PlainWorld & { close(): Promise<void> };
  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout"] });
    world = await createPlainWorld();
  });
  afterEach(async () => {
    await world.close();
    vi.useRealTimers();
  });
  return {
    get server() {
      return world.server;
    },
    get port() {
      return world.port;
    },
    get heard() {
      return world.heard;
    },
    get sockets() {
      return world.sockets;
    },
    ours: () => world.ours(),
    count: () => world.count(),
    connect: () => world.connect(),
    hears: (count) => world.hears(count),
    empties: () => world.empties(),
    sweep: (times) => world.sweep(times),
  };
}

async function createPlainWorld(): Promise<PlainWorld & { close(): Promise<void> }> {
  const heard: Heard[] = [];
  const sockets: Socket[] = [];
  const take = (one: Omit<Heard, "isOver">) => {
    const now: Heard = { ...one, isOver: false };
    heard.push(now);
    one.res.on("close", () => {
      now.isOver = true;
    });
    if (!one.url.startsWith(HELD)) answer(one);
  };
  const seats = vi.spyOn(Roster.prototype, "list");
  const server = createHttpServer({
    async listener(req, res) {
      const body = await buffer(req).catch(() => undefined);
      if (body !== undefined) take({ by: "node", url: req.url ?? "", body: body.toString("latin1"), res });
    },
    plain: ({ url, body }, res) => take({ by: "plain", url, body: body.toString("latin1"), res }),
    upgrade: (_, socket, head) => socket.end(`HTTP/1.1 101 Switching\r\n\r\nupgraded ${head}`),
    request: () => Promise.reject(new Error("nobody asks")),
    attach: () => undefined,
    drain: () => undefined,
    cut: () => Promise.resolve(),
  });
  // Nobody is there, but all are asked for: the roster has a name now.
  server.closeIdleConnections();
  const roster = seats.mock.contexts.find((one) => one instanceof Roster);
  seats.mockRestore();
  server.on("connection", (socket: Socket) => sockets.push(socket));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const clients: Client[] = [];
  const count = () =>
    new Promise<number>((resolve, reject) => {
      server.getConnections((error, now) => (error === null ? resolve(now) : reject(error)));
    });
  const ours = () => roster?.size ?? Number.NaN;
  return {
    server,
    port,
    heard,
    sockets,
    ours,
    count,
    async hears(many) {
      await expect.poll(() => heard.length, often).toBeGreaterThanOrEqual(many);
      const last = heard.at(-1);
      if (last === undefined) throw new Error("nothing was heard");
      return last;
    },
    async empties() {
      await expect.poll(async () => [await count(), ours()], often).toEqual([0, 0]);
    },
    async sweep(times) {
      for (let left = times; left > 0; left -= 1) {
        vi.advanceTimersByTime(SWEEP_MS);
        await turn();
      }
    },
    async connect() {
      const client = await connectTo(port, sockets);
      clients.push(client);
      return client;
    },
    async close() {
      for (const { socket } of clients) socket.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Connects to a server of this process, whose sides of its connections are given. */
export async function connectTo(port: number, sockets: readonly Socket[]): Promise<Client> {
  const client = new Client(connect({ port, host: "127.0.0.1", allowHalfOpen: true }));
  await once(client.socket, "connect");
  const { localPort } = client.socket;
  const peer = () => sockets.find(({ remotePort, destroyed }) => !destroyed && remotePort === localPort);
  while (peer() === undefined) await turn();
  client.peer = peer();
  return client;
}

/** A client that says any bytes. */
export class Client {
  readonly socket: Socket;
  /** The server's side of this connection. */
  peer: Socket | undefined;
  /** All that it has heard. */
  text = "";
  /** The server has ended the connection, or it is gone. */
  isEnded = false;
  #sent = 0;

  constructor(socket: Socket) {
    this.socket = socket.setNoDelay(true);
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => {
      this.text += bytes;
    });
    for (const event of ["end", "close"])
      socket.on(event, () => {
        this.isEnded = true;
      });
  }

  /** The bodies of whole answers, in their order; of others the status. */
  get answers(): string[] {
    const all: string[] = [];
    for (let rest = this.text; rest !== ""; ) {
      const bodyAt = rest.indexOf("\r\n\r\n") + 4;
      const length = Number(/content-length: (\d+)/i.exec(rest.slice(0, bodyAt))?.[1] ?? 0);
      if (bodyAt < 4 || rest.length < bodyAt + length) break;
      all.push(length === 0 ? rest.slice(9, 12) : rest.slice(bodyAt, bodyAt + length));
      rest = rest.slice(bodyAt + length);
    }
    return all;
  }

  /** Waits until so many answers have come; all of them. */
  async hears(count: number): Promise<string[]> {
    await expect.poll(() => this.answers.length, often).toBeGreaterThanOrEqual(count);
    return this.answers;
  }

  /** Waits until the server has hung up. */
  async ends(): Promise<void> {
    await expect.poll(() => this.isEnded, often).toBe(true);
  }

  /** Sends bytes; returns when the server has read them, or has left. */
  async say(bytes: string | Buffer): Promise<void> {
    this.socket.write(bytes, "latin1");
    this.#sent += bytes.length;
    while ((this.peer?.bytesRead ?? 0) < this.#sent && !this.isEnded) await turn();
    await turn();
  }
}
