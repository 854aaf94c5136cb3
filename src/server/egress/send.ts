// One call through an undici agent: chunks come out as they arrive, pause and resume reach the socket, and every way a
// socket can fail gets a name. It reads no body and follows no redirect.
import type { Dispatcher } from "undici";

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
  | "aborted"; // by us

/** What went wrong on the way. `detail` is for the logger: it may name hosts and addresses, never a key. */
export interface EgressFault {
  readonly code: EgressFaultCode;
  readonly detail: string;
}

/** Header names in lower case; a repeated header is an array. */
export type ReplyHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface EgressRequest {
  readonly method: "GET" | "POST";
  /** Scheme, host and port, e.g. `https://api.openai.com`; with `wss:` the body is the first message of a WebSocket. */
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly body: Uint8Array | undefined;
  /** Unit: ms; how long the response headers may take. 0 = for ever. */
  readonly headersTimeoutMs: number;
  /** Unit: ms between two chunks of the body. */
  readonly idleTimeoutMs: number;
  /** A loopback port this destination may have although the operator allowed none. */
  readonly loopbackPort?: number | undefined;
  /** The address came from a caller: nothing inside may answer, whatever the operator allowed for channels (reliability S05). */
  readonly publicOnly?: true;
}

/** Where an answer goes. `onStart` once, `onData` any number of times, then `onEnd` or `onFault`, once. */
export interface Sink {
  onStart(status: number, headers: ReplyHeaders): void;
  onData(chunk: Buffer): void;
  onEnd(): void;
  onFault(fault: EgressFault): void;
}

/** The reins of a running call. After `abort` the sink hears nothing more. */
export interface Flow {
  /** Whether the request was given to a socket: from then on the upstream may have worked for us. */
  readonly isSent: boolean;
  pause(): void;
  resume(): void;
  abort(): void;
  /** Nothing more is wanted of an answer that is complete. Absent = the connection serves other calls after this one. */
  finish?(): void;
}

/** The address policy refused a destination; thrown inside the connector. */
export class BlockedError extends Error {
  readonly code = "TOLLGATE_BLOCKED";
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
  UND_ERR_CONNECT_TIMEOUT: "connect_timeout",
  ETIMEDOUT: "connect_timeout",
  UND_ERR_HEADERS_TIMEOUT: "timeout",
  UND_ERR_BODY_TIMEOUT: "idle",
  ECONNRESET: "reset",
  ECONNABORTED: "reset",
  EPIPE: "reset",
  UND_ERR_SOCKET: "reset",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "reset",
};

/** Names a socket's or undici's error. Certificate errors have dozens of codes; they share a few prefixes. */
export function faultOf(error: unknown): EgressFault {
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

const ABORTED = new Error("aborted");

/** The undici handler of one call. */
class Sending implements Dispatcher.DispatchHandler, Flow {
  isSent = false;
  #sink: Sink | undefined;
  #controller: Dispatcher.DispatchController | undefined;

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#sink === undefined) controller.abort(ABORTED);
    else this.isSent = true;
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ReplyHeaders): void {
    // 1xx answers are announcements; the real one follows.
    if (status >= 200) this.#sink?.onStart(status, headers);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#sink?.onData(chunk);
  }

  onResponseEnd(): void {
    this.#take()?.onEnd();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#take()?.onFault(faultOf(error));
  }

  pause(): void {
    this.#controller?.pause();
  }

  resume(): void {
    this.#controller?.resume();
  }

  abort(): void {
    if (this.#take() === undefined) return;
    this.#controller?.abort(ABORTED);
  }

  #take(): Sink | undefined {
    const sink = this.#sink;
    this.#sink = undefined;
    return sink;
  }
}

/** Starts a call on an agent. Never throws: a request that cannot even be built is the fault `protocol`. */
export function dispatchOn(agent: Dispatcher, request: EgressRequest, sink: Sink): Flow {
  const sending = new Sending(sink);
  try {
    agent.dispatch(
      {
        origin: request.origin,
        path: request.path,
        method: request.method,
        headers: request.headers,
        body: request.body ?? null,
        headersTimeout: request.headersTimeoutMs,
        bodyTimeout: request.idleTimeoutMs,
      },
      sending,
    );
  } catch (error) {
    const fault = faultOf(error);
    sending.abort();
    queueMicrotask(() => sink.onFault({ code: "protocol", detail: fault.detail }));
  }
  return sending;
}
