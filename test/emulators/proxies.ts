// Outbound proxies for tests: one of ours that records what it is told and misbehaves on demand, and two independent ones from the
// registry.
import { lookup as systemLookup } from "node:dns";
import { connect, createServer, isIP, type Socket } from "node:net";
import { createServer as createTls } from "node:tls";
import { Server as ChainServer } from "proxy-chain";
import { createServer as createSocks } from "simple-socks";
import type { Certificate } from "#test/seeds/certificate.ts";
import { type Listening, listenOn } from "./raw-http.ts";

/** A proxy that runs. */
export interface ProxyWorld {
  readonly port: number;
  /** Connections made to it. */
  readonly made: () => number;
  /** What it was asked for, `host:port`. */
  readonly asked: string[];
  /** Everything that a client told it before a tunnel stood; only ours records it. */
  readonly heads: string[];
  readonly sockets: ReadonlySet<Socket>;
  close(): Promise<void>;
}

export interface HttpProxyOptions {
  /** `user:password`; another one is refused. */
  readonly login?: string;
  /** Serves TLS. */
  readonly certificate?: Certificate;
  /** Says this instead of opening a tunnel; `reset` = resets the connection. */
  readonly says?: () => string | undefined;
}

/** An HTTP proxy of ours: every name is this machine. */
export async function startHttpProxy({
  login,
  certificate,
  says,
}: HttpProxyOptions = {}): Promise<ProxyWorld> {
  const asked: string[] = [];
  const heads: string[] = [];
  const onSocket = (socket: Socket) => {
    let text = "";
    socket.on("error", () => undefined);
    const onData = (bytes: Buffer) => {
      text += bytes.toString("latin1");
      if (!text.includes("\r\n\r\n")) return;
      socket.off("data", onData);
      heads.push(text);
      const answer = says?.() ?? refusalOf(text, login);
      if (answer === undefined) open(socket, text, asked);
      else if (answer === "reset") socket.destroy();
      else socket.write(answer);
    };
    socket.on("data", onData);
  };
  const server = await listenOn(
    certificate === undefined ? createServer(onSocket) : createTls(certificate, onSocket),
  );
  return { ...worldOf(server), asked, heads };
}

/** Opens the tunnel that a head asks for, and notes where to. */
function open(socket: Socket, head: string, asked: string[]): void {
  const [, host, port] = /^CONNECT (\S+):(\d+) HTTP\/1\.1\r\n/.exec(head) ?? [];
  if (host === undefined) {
    socket.write("HTTP/1.1 405 No\r\n\r\n");
    return;
  }
  asked.push(`${host}:${port}`);
  tunnel(socket, Number(port), "HTTP/1.1 200 Connection established\r\n\r\n");
}

/** Its body looks like an upstream's refusal of a key. */
function refusalOf(head: string, login: string | undefined): string | undefined {
  const given = /^proxy-authorization: basic (\S+)\r?$/im.exec(head)?.[1] ?? "";
  if (login === undefined || Buffer.from(given, "base64").toString() === login) return undefined;
  return "HTTP/1.1 407 Auth\r\nproxy-authenticate: Basic\r\ncontent-length: 15\r\n\r\ninvalid_api_key";
}

function tunnel(socket: Socket, port: number, greeting: string): void {
  const upstream = connect(port, "127.0.0.1", () => {
    socket.write(greeting);
    socket.pipe(upstream).pipe(socket);
  });
  socket.on("close", () => upstream.destroy());
  upstream.on("close", () => socket.destroy()).on("error", () => socket.destroy());
}

function worldOf({ port, made, sockets, close }: Listening): Omit<ProxyWorld, "asked" | "heads"> {
  return { port, made, sockets, close };
}

/** `proxy-chain`, with every name this machine; it looks no addresses up, so that those are a second proxy's. */
export async function startChainProxy(login?: string): Promise<ProxyWorld> {
  const asked: string[] = [];
  const behind = await startHttpProxy();
  const server = new ChainServer({
    port: 0,
    host: "127.0.0.1",
    prepareRequestFunction({ username, password, hostname, port }) {
      if (login !== undefined && `${username}:${password}` !== login) return { requestAuthentication: true };
      asked.push(`${hostname}:${port}`);
      if (isIP(hostname) === 0) return { dnsLookup: toHere };
      return { upstreamProxyUrl: `http://127.0.0.1:${behind.port}` };
    },
  });
  await server.listen();
  let count = 0;
  server.server.on("connection", () => {
    count += 1;
  });
  return {
    port: server.port,
    made: () => count,
    asked,
    heads: [],
    sockets: new Set(),
    async close() {
      await server.close(true);
      await behind.close();
    },
  };
}

// Any name resolves to this machine; callers ask for one address or for all.
const toHere: typeof systemLookup = Object.assign(
  (_name: string, options: unknown, callback?: unknown) => {
    const done = (callback ?? options) as (error: null, found: unknown, family?: number) => void;
    const wantsAll =
      typeof options === "object" && options !== null && "all" in options && options.all === true;
    if (wantsAll) done(null, [{ address: "127.0.0.1", family: 4 }]);
    else done(null, "127.0.0.1", 4);
  },
  { __promisify__: systemLookup.__promisify__ },
) as typeof systemLookup;

/** `simple-socks`, with every destination this machine. */
export async function startSocksProxy(login?: string): Promise<ProxyWorld> {
  const asked: string[] = [];
  const server = createSocks({
    ...(login !== undefined && {
      authenticate: (user: string, password: string, _: unknown, done: (error?: Error) => void) =>
        setImmediate(done, `${user}:${password}` === login ? undefined : new Error("no")),
    }),
    connectionFilter(destination, _origin, done) {
      asked.push(`${destination.address}:${destination.port}`);
      setImmediate(done);
    },
    // Every name is this machine.
    connectionOptions: (_destination, _origin, defaults, done) =>
      setImmediate(done, null, { ...defaults, host: "127.0.0.1" }),
  });
  return { ...worldOf(await listenOn(server)), asked, heads: [] };
}
