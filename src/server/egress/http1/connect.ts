// Opens the connections of HTTP: each is checked by the address policy when its name is resolved, and goes to the checked address.
import { connect, isIP, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { guardedLookup, isAllowed } from "#server/egress/lookup.ts";
import { hostOf, type Policy, portOf } from "#server/egress/policy.ts";
import { BlockedError } from "#server/egress/send.ts";

/** The target of connections. */
export interface Origin {
  readonly isTls: boolean;
  /** An IPv6 address without its brackets. */
  readonly host: string;
  readonly port: number;
  /** The value of the header `host`. */
  readonly authority: string;
}

/** Reads `https://api.openai.com`. Throws: TypeError when it is no URL. */
export function readOrigin(text: string): Origin {
  const url = new URL(text);
  return { isTls: url.protocol === "https:", host: hostOf(url), port: portOf(url), authority: url.host };
}

const TCP_KEEP_ALIVE_MS = 60_000;
/** Number of cached TLS sessions. */
const MOST_SESSIONS = 100;
/** The read buffer. Shared by all connections: its bytes are used before the next read. */
const READ_BYTES = 64 * 1024;
let shared: Buffer | undefined;

/** Gets the bytes that were read: bytes[0, length), valid until the function returns. */
export type OnRead = (bytes: Buffer, length: number) => void;

/** Opens TCP and TLS connections of one policy. */
export class Connector {
  readonly #policy: Policy;
  /** TLS sessions by authority, for resumption. */
  readonly #sessions = new Map<string, Buffer>();

  constructor(policy: Policy) {
    this.#policy = policy;
  }

  /**
   * Begins to connect; the socket emits `connect` or `secureConnect`. Bytes that are read go to `onRead` only. Throws: BlockedError for a
   * literal address.
   */
  open(origin: Origin, onRead: OnRead): Socket {
    const { isTls, host, port } = origin;
    // A literal address is never looked up.
    if (isIP(host) !== 0 && !isAllowed(this.#policy, host, port)) throw new BlockedError(`${host}:${port}`);
    shared ??= Buffer.allocUnsafeSlow(READ_BYTES);
    const buffer = shared;
    const callback = (length: number) => {
      onRead(buffer, length);
      return true;
    };
    const options = {
      host,
      port,
      lookup: guardedLookup(this.#policy, port),
      onread: { buffer, callback },
    };
    const socket = isTls ? this.#openTls(origin, options) : connect(options);
    return socket.setNoDelay(true).setKeepAlive(true, TCP_KEEP_ALIVE_MS);
  }

  #openTls({ host, authority }: Origin, options: ConnectionOptions): Socket {
    const socket = connectTls({
      ...options,
      servername: isIP(host) === 0 ? host : "",
      ALPNProtocols: ["http/1.1"],
      // Also against NODE_TLS_REJECT_UNAUTHORIZED=0 (requirements R22).
      rejectUnauthorized: true,
      session: this.#sessions.get(authority),
    });
    // A server that cannot resume a session may refuse the connection: the next one begins without a session.
    socket.once("error", () => this.#sessions.delete(authority));
    return socket.on("session", (session: Buffer) => this.#keep(authority, session));
  }

  #keep(authority: string, session: Buffer): void {
    this.#sessions.delete(authority);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size >= MOST_SESSIONS && oldest !== undefined) this.#sessions.delete(oldest);
    this.#sessions.set(authority, session);
  }
}
