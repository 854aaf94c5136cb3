// Opens the connections of HTTP: each is checked by the address policy when its name is resolved, and goes to the checked address.
import { connect, isIP, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import type { Exit } from "#server/egress/exits.ts";
import { guardedLookup, isAllowed } from "#server/egress/lookup.ts";
import { hostOf, type Policy, portOf } from "#server/egress/policy.ts";
import { markOf } from "#server/egress/proxy/numbers.ts";
import { Tunnel, type TunnelResult } from "#server/egress/proxy/tunnel.ts";
import { BlockedError, FaultError } from "#server/egress/send.ts";

/** The target of connections. */
export interface Origin {
  readonly isTls: boolean;
  /** An IPv6 address without its brackets. */
  readonly host: string;
  readonly port: number;
  /** The value of the header `host`. */
  readonly authority: string;
  /** Scheme, host and port. */
  readonly text: string;
}

/** Reads `https://api.openai.com`. Throws: TypeError when it is no URL. */
export function readOrigin(text: string): Origin {
  const url = new URL(text);
  return {
    isTls: url.protocol === "https:" || url.protocol === "wss:",
    host: hostOf(url),
    port: portOf(url),
    authority: url.host,
    text,
  };
}

const TCP_KEEP_ALIVE_MS = 60_000;
/** Number of cached TLS sessions. */
const MOST_SESSIONS = 100;
/** The read buffer. Shared by all connections: its bytes are used before the next read. */
const READ_BYTES = 64 * 1024;
let shared: Buffer | undefined;

/** What becomes of a connection. */
export interface LineOwner {
  /** bytes[0, length), valid until the function returns. */
  onRead(bytes: Buffer, length: number): void;
  onOpen(socket: Socket): void;
  onError(error: unknown): void;
  onEnd(): void;
  /** Last of all. */
  onClose(): void;
}

/** A connection that is being opened, or open. */
export interface Line {
  destroy(): unknown;
}

/** A proxy, and how long the way through it may take. */
type TunnelWay = Pick<Exit, "connectMs"> & { readonly path: NonNullable<Exit["path"]> };

/** Opens TCP and TLS connections, direct or through a proxy. */
export class Connector {
  /** TLS sessions by proxy and authority, for resumption. No credentials of a proxy are kept in a name. */
  readonly #sessions = new Map<string, Buffer>();

  /** Begins to connect. What is read goes to `onRead` only. Throws: BlockedError for a literal address that is reached directly. */
  open(origin: Origin, exit: Pick<Exit, "policy" | "path" | "connectMs">, owner: LineOwner): Line {
    const { path, policy, connectMs } = exit;
    return path === undefined
      ? this.#direct(origin, policy, owner)
      : this.#through({ path, connectMs }, origin, owner);
  }

  /** Begins to open a socket through a proxy that is handed over paused. */
  dial({ path, connectMs }: TunnelWay, origin: Origin, onDone: (result: TunnelResult) => void): Tunnel {
    const { isTls, host, port, text } = origin;
    const mark = markOf(path.proxy);
    const tls = isTls ? this.#tlsOptions(origin, mark) : undefined;
    return new Tunnel(path, { host, port, origin: text, tls, connectMs }, (result) => {
      if (tls !== undefined && "socket" in result) this.#remember(result.socket, origin, mark);
      // A server that cannot resume a session may refuse the connection: the next one begins without a session.
      else this.#sessions.delete(sessionName(origin, mark));
      onDone(result);
    });
  }

  #direct(origin: Origin, policy: Policy, owner: LineOwner): Socket {
    const { isTls, host, port } = origin;
    // A literal address is never looked up.
    if (isIP(host) !== 0 && !isAllowed(policy, host, port)) throw new BlockedError(`${host}:${port}`);
    shared ??= Buffer.allocUnsafeSlow(READ_BYTES);
    const buffer = shared;
    const callback = (length: number) => {
      owner.onRead(buffer, length);
      return true;
    };
    const options = { host, port, lookup: guardedLookup(policy, port), onread: { buffer, callback } };
    const socket = isTls ? connectTls({ ...options, ...this.#tlsOptions(origin, DIRECT) }) : connect(options);
    if (isTls) this.#remember(socket, origin, DIRECT);
    socket.once(isTls ? "secureConnect" : "connect", () => owner.onOpen(socket));
    watch(socket, owner);
    return socket.setNoDelay(true).setKeepAlive(true, TCP_KEEP_ALIVE_MS);
  }

  #through(way: TunnelWay, origin: Origin, owner: LineOwner): Line {
    let socket: Socket | undefined;
    const tunnel = this.dial(way, origin, (result) => {
      if ("code" in result) {
        owner.onError(new FaultError(result));
        owner.onClose();
        return;
      }
      socket = result.socket;
      // TLS over a socket that exists delivers its bytes by events alone.
      socket.on("data", (bytes: Buffer) => owner.onRead(bytes, bytes.length));
      watch(socket, owner);
      socket.setNoDelay(true).setKeepAlive(true, TCP_KEEP_ALIVE_MS);
      owner.onOpen(socket);
      socket.resume();
    });
    return {
      destroy() {
        if (socket !== undefined) return socket.destroy();
        tunnel.destroy();
        return setImmediate(() => owner.onClose());
      },
    };
  }

  #tlsOptions(origin: Origin, proxyMark: string): ConnectionOptions {
    return {
      servername: isIP(origin.host) === 0 ? origin.host : "",
      ALPNProtocols: ["http/1.1"],
      // Also against NODE_TLS_REJECT_UNAUTHORIZED=0 (requirements R22).
      rejectUnauthorized: true,
      session: this.#sessions.get(sessionName(origin, proxyMark)),
      // The certificate has the destination's name, also where a tunnel goes to its address.
      ...(proxyMark !== DIRECT && { host: origin.host }),
    };
  }

  #remember(socket: Socket, origin: Origin, proxyMark: string): void {
    const name = sessionName(origin, proxyMark);
    // A server that cannot resume a session may refuse the connection: the next one begins without a session.
    socket.once("error", () => this.#sessions.delete(name));
    socket.on("session", (session: Buffer) => this.#keep(name, session));
  }

  #keep(name: string, session: Buffer): void {
    this.#sessions.delete(name);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size >= MOST_SESSIONS && oldest !== undefined) this.#sessions.delete(oldest);
    this.#sessions.set(name, session);
  }
}

const DIRECT = "";

function sessionName({ authority }: Origin, proxyMark: string): string {
  return `${proxyMark} ${authority}`;
}

function watch(socket: Socket, owner: LineOwner): void {
  socket.on("error", (error) => owner.onError(error));
  socket.on("end", () => owner.onEnd());
  socket.on("close", () => owner.onClose());
}
