// The interface of outbound calls: chunks are delivered as they arrive, pause and resume reach the socket, and every failure of a socket
// has a name. No body is read here and no redirect is followed.

export type EgressFaultCode =
  | "blocked" // the address policy said no
  | "dns"
  | "refused"
  | "connect_timeout"
  | "tls"
  | "reset" // the connection ended while it was needed
  | "timeout" // no response headers in time
  | "idle" // the body stood still too long
  | "protocol" // not HTTP, or headers too large
  | "aborted" // by us
  | "proxy_unreachable" // no connection to the proxy, or none in time
  | "proxy_auth" // the proxy refused our credentials
  | "proxy_refused" // the proxy refused the destination
  | "proxy_target" // the proxy says that the destination does not answer
  | "proxy_protocol"; // what the proxy said makes no sense

/** A failure of the connection. `detail` is for the logger: it may name hosts and addresses, never a key. */
export interface EgressFault {
  readonly code: EgressFaultCode;
  readonly detail: string;
  /** The outbound proxy is to blame, not what is behind it (requirements C13). */
  readonly isProxy?: true;
}

/** Where a call leaves, a property of its target: whose connections these are, and by which proxy (requirements C08). */
export interface Route {
  /** Connections of two owners are never shared (requirements C15), e.g. `channel 12`. */
  readonly owner: string;
  /**
   * The target's own settings, the most specific first: "" = says nothing, `direct`, or the address of a proxy. When none says anything,
   * the option for all decides, then the environment.
   */
  readonly proxies: readonly string[];
  /** A loopback port this destination may use although the operator allowed none. */
  readonly loopbackPort?: number | undefined;
  /** No connection is used for a second call. */
  readonly isOnce?: true;
  /** How long connecting may take, through a proxy all the way to the destination. Absent = 10 s, through a proxy twice 10 s. Unit: ms. */
  readonly connectMs?: number;
}

/** Header names in lower case; a repeated header is an array. */
export type ReplyHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Takes the pieces of a request's body, whose length is not known beforehand. */
export interface BodyWriter {
  /** Sends a piece. False = the socket is full: the next one comes after `onDrain`. */
  write(piece: Uint8Array): boolean;
  /** Calls back once when the socket has room again. */
  onDrain(listener: () => void): void;
  /** The body is complete. */
  end(): void;
}

export interface EgressRequest {
  readonly method: "GET" | "POST" | "DELETE";
  /** Scheme, host and port, e.g. `https://api.openai.com`; with `wss:` the body is the first message of a WebSocket. */
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: Uint8Array | undefined;
  /** Makes the body while it is sent, in chunks (RFC 9112 7.1), instead of `body`; called once, with the head on its way. */
  readonly writes?: (writer: BodyWriter) => void;
  /** Unit: ms; how long the response headers may take. 0 = no limit. */
  readonly headersTimeoutMs: number;
  /** Unit: ms between two chunks of the body. */
  readonly idleTimeoutMs: number;
  /** Absent = a small call of the gateway itself. */
  readonly route?: Route | undefined;
  /** Names the call to the operator, when its connection turns out to be out of step. */
  readonly id?: string | undefined;
  /** The address came from a caller: internal addresses are refused, whatever the operator allowed for channels (requirements S05). */
  readonly publicOnly?: true;
}

/** The receiver of an answer. `onStart` once, `onData` any number of times, then `onEnd` or `onFault`, once. */
export interface Sink {
  onStart(status: number, headers: ReplyHeaders): void;
  onData(chunk: Buffer): void;
  onEnd(): void;
  onFault(fault: EgressFault): void;
}

/** Controls a running call. After `abort` the sink gets no more events. */
export interface Flow {
  /** Whether the request was written to a socket: from then on the upstream may charge for it. */
  readonly isSent: boolean;
  pause(): void;
  resume(): void;
  abort(): void;
  /** Ends the connection of a complete answer. Absent = the connection is reused for other calls. */
  finish?(): void;
}

/** The address policy refused a destination; thrown inside the connector. */
export class BlockedError extends Error {
  readonly code = "TOLLGATE_BLOCKED";
}

/** A fault that was named where it happened. */
export class FaultError extends Error {
  readonly fault: EgressFault;

  constructor(fault: EgressFault) {
    super(fault.detail);
    this.fault = fault;
  }
}

const FAULTS: Readonly<Record<string, EgressFaultCode>> = {
  TOLLGATE_BLOCKED: "blocked",
  ENOTFOUND: "dns",
  EAI_AGAIN: "dns",
  EAI_FAIL: "dns",
  EAI_NODATA: "dns",
  ENODATA: "dns",
  ECONNREFUSED: "refused",
  EHOSTUNREACH: "refused",
  ENETUNREACH: "refused",
  EADDRNOTAVAIL: "refused",
  ETIMEDOUT: "connect_timeout",
  ECONNRESET: "reset",
  ECONNABORTED: "reset",
  EPIPE: "reset",
};

/** Names an error of a socket or of HTTP. Certificate errors have dozens of codes; they share a few prefixes. */
export function faultOf(error: unknown): EgressFault {
  if (error instanceof FaultError) return error.fault;
  const first = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const code = first instanceof Error && "code" in first && typeof first.code === "string" ? first.code : "";
  const detail = first instanceof Error ? `${code} ${first.message}`.trim() : String(first);
  const known = FAULTS[code];
  if (known !== undefined) return { code: known, detail };
  if (/^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH|EPROTO)/.test(code)) {
    return { code: "tls", detail };
  }
  return { code: "protocol", detail };
}
