// What the tests of HTTP calls share: servers that say exactly these bytes, and calls whose events are all kept.
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach } from "vitest";
import { createEgress, type Egress, type EgressOptions } from "#server/egress/dispatcher.ts";
import type { EgressFault, EgressRequest, Flow, ReplyHeaders } from "#server/egress/send.ts";

/** What a sink was told, in the order of its fields. */
export interface Told {
  status: number;
  headers: ReplyHeaders;
  body: Buffer;
  /** undefined = the answer was whole. */
  fault: EgressFault | undefined;
}

export interface Asked {
  readonly flow: Flow;
  readonly told: Promise<Told>;
  /** Bytes that have come so far. */
  readonly bytes: () => number;
}

/** What a test wants to do while it is told. */
export interface Watching {
  onStart?(flow: Flow): void;
  onData?(chunk: Buffer, flow: Flow): void;
  onEnd?(): void;
}

/** A request with what a test does not care about filled in. */
export function requestOf(request: Partial<EgressRequest> & Pick<EgressRequest, "origin">): EgressRequest {
  return {
    method: "POST",
    path: "/",
    headers: [],
    body: Buffer.from("{}"),
    // End what hangs; a test of a limit sets its own.
    headersTimeoutMs: 60_000,
    idleTimeoutMs: 60_000,
    ...request,
  };
}

/** Starts a call and keeps what comes of it. */
export function ask(
  { send }: Pick<Egress, "send">,
  request: Partial<EgressRequest> & Pick<EgressRequest, "origin">,
  watching: Watching = {},
): Asked {
  const chunks: Buffer[] = [];
  let status = 0;
  let headers: ReplyHeaders = {};
  let size = 0;
  const { promise, resolve } = Promise.withResolvers<Told>();
  const end = (fault: EgressFault | undefined) =>
    resolve({ status, headers, body: Buffer.concat(chunks), fault });
  const flow: Flow = send(requestOf(request), {
    onStart(code, fields) {
      status = code;
      headers = fields;
      watching.onStart?.(flow);
    },
    onData(chunk) {
      size += chunk.length;
      chunks.push(chunk);
      watching.onData?.(chunk, flow);
    },
    onEnd() {
      end(undefined);
      watching.onEnd?.();
    },
    onFault: end,
  });
  return { flow, told: promise, bytes: () => size };
}

/** A server on this machine. */
export interface Listening {
  readonly port: number;
  readonly origin: string;
  /** Connections that were made so far. */
  readonly made: () => number;
  /** Those that are still there. */
  readonly sockets: ReadonlySet<Socket>;
  close(): Promise<void>;
}

/** Makes a server listen on a free port. */
export async function listenOn(server: Server, scheme = "http"): Promise<Listening> {
  const sockets = new Set<Socket>();
  let count = 0;
  server.on("connection", (socket: Socket) => {
    count += 1;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // The client may close the connection at any time.
    socket.on("error", () => undefined);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    port,
    origin: `${scheme}://127.0.0.1:${port}`,
    made: () => count,
    sockets,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** A server that does this with each connection. */
export function listen(onSocket: (socket: Socket, at: number) => void): Promise<Listening> {
  let at = 0;
  return listenOn(
    // As servers do: else the kernel holds an answer that follows another until the client speaks again.
    createServer({ noDelay: true }, (socket) => {
      at += 1;
      onSocket(socket, at);
    }),
  );
}

/** For each test of a file: an egress that may reach this machine, and servers that end with the test. */
export interface Loopback {
  readonly egress: Egress;
  serve(onSocket: (socket: Socket, at: number) => void): Promise<Listening>;
  /** The body of an answer, or the name of its fault. */
  textOf(origin: string, more?: Partial<EgressRequest>): Promise<string>;
  /** Ends all servers before the test does. */
  closeServers(): Promise<void>;
}

/** A Loopback that is new for each test of the file that calls this at its top. Its connections do not rest between calls. */
export function withLoopback(options: Partial<EgressOptions> = {}): Loopback {
  let egress: Egress;
  const servers: Listening[] = [];
  beforeEach(() => {
    egress = createEgress({ allow: [{ cidr: "127.0.0.0/8", port: undefined }], restMs: 0, ...options });
  });
  const closeServers = async () => {
    for (const server of servers.splice(0)) await server.close();
  };
  afterEach(async () => {
    egress.close();
    await closeServers();
  });
  return {
    closeServers,
    get egress() {
      return egress;
    },
    async serve(onSocket) {
      const server = await listen(onSocket);
      servers.push(server);
      return server;
    },
    async textOf(origin, more = {}) {
      const { body, fault } = await ask(egress, { origin, ...more }).told;
      return fault?.code ?? body.toString();
    },
  };
}

/** A whole answer with this body. */
export function answerOf(body: string, more = ""): string {
  return `HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${more}\r\n${body}`;
}

/** Resolves when this is so; for what no event tells. */
export async function until(isSo: () => boolean, withinMs = 30_000): Promise<void> {
  const endMs = Date.now() + withinMs;
  while (!isSo()) {
    if (Date.now() > endMs) throw new Error("it did not come true");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A port of a process that accepts no connection: it listens with a tiny backlog, and its thread then sleeps. */
export async function startDeaf(): Promise<{ readonly port: number; close(): Promise<void> }> {
  const sleeper = new Worker(
    `const { parentPort } = require("node:worker_threads");
     const server = require("node:net").createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
       parentPort.postMessage(server.address().port);
       Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 8_000);
     });`,
    { eval: true },
  );
  const [port]: unknown[] = await once(sleeper, "message");
  return { port: Number(port), close: async () => void (await sleeper.terminate()) };
}
