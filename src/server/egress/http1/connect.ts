// Opens the connections of HTTP: each is judged by the address policy when its name is resolved, and goes to the address that was
// judged.
import { connect, isIP, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { guardedLookup, isAllowed } from "#server/egress/lookup.ts";
import { hostOf, type Policy, portOf } from "#server/egress/policy.ts";
import { BlockedError } from "#server/egress/send.ts";

/** Where connections lead. */
export interface Origin {
  readonly isTls: boolean;
  /** An IPv6 address without its brackets. */
  readonly host: string;
  readonly port: number;
  /** What the header `host` says. */
  readonly authority: string;
}

/** Reads `https://api.openai.com`. Throws: TypeError when it is no URL. */
export function readOrigin(text: string): Origin {
  const url = new URL(text);
  return { isTls: url.protocol === "https:", host: hostOf(url), port: portOf(url), authority: url.host };
}

const TCP_KEEP_ALIVE_MS = 60_000;
/** Sessions of TLS that are remembered. */
const MOST_SESSIONS = 100;
/** What one read takes. Shared by all connections: what is in it is used before anything else is read. */
const READ_BYTES = 64 * 1024;
let shared: Buffer | undefined;

/** What becomes of what is read: it stands in bytes[0, length) until the function returns. */
export type OnRead = (bytes: Buffer, length: number) => void;

/** Opens TCP and TLS connections of one policy. */
export class Connector {
  readonly #policy: Policy;
  /** By authority: the next connection need not begin from nothing. */
  readonly #sessions = new Map<string, Buffer>();

  constructor(policy: Policy) {
    this.#policy = policy;
  }

  /**
   * Begins to connect; the socket tells by `connect` or `secureConnect`. What is read goes to `onRead` alone. Throws: BlockedError for a
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
    // A server that cannot go on with a session may refuse the connection: the next one begins from nothing.
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
