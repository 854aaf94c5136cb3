// One connection to an upstream and the call on it: one at a time. HTTP/1.1, no pipelining. It knows its deadlines but has no timer of
// its own (pool.ts checks all connections).
import type { Socket } from "node:net";
import { type EgressFault, type EgressRequest, type Flow, faultOf, type Sink } from "#server/egress/send.ts";
import type { Connector, Origin } from "./connect.ts";
import { ReplyReader } from "./response.ts";

const CONNECT_TIMEOUT_MS = 10_000;
/** Idle connections are kept this long; an upstream's own hint wins when it is shorter. */
const KEEP_ALIVE_MS = 30_000;
/** Margin for a request that crosses the server's close of an idle connection. */
const HINT_MARGIN_SEC = 2;
/** Head and body up to this size are written in one piece. */
const ONE_PIECE_BYTES = 32 * 1024;

/** The owner of connections. */
export interface Keeper {
  /** The connection can take another call, but only after everything read with its last answer was delivered. */
  onIdle(connection: Connection): void;
  onClosed(connection: Connection): void;
  /** Asks for a check of its deadline in this many ms. */
  lookSoon(connection: Connection, ms: number): void;
}

export class Connection {
  readonly origin: string;
  readonly #keeper: Keeper;
  readonly #socket: Socket;
  #isOpen = false;
  #call: Call | undefined;
  #isPaused = false;
  /** When the current wait times out; Infinity = never. Unit: ms of performance.now(). */
  #deadlineMs = Infinity;

  /** Begins to connect. Throws: BlockedError. */
  constructor(origin: string, to: Origin, { keeper, connector }: { keeper: Keeper; connector: Connector }) {
    this.origin = origin;
    this.#keeper = keeper;
    const socket = connector.open(to, (bytes, length) => this.#onRead(bytes, length));
    this.#socket = socket;
    socket.once(to.isTls ? "secureConnect" : "connect", () => this.#onOpen());
    socket.on("error", (error) => this.#onError(error));
    socket.on("end", () => this.#onEnd());
    socket.on("close", () => this.#onClose());
    this.#wait(CONNECT_TIMEOUT_MS);
  }

  /** Idle, and not known to be dead. */
  get isReady(): boolean {
    return this.#call === undefined && this.#isOpen && !this.#socket.destroyed && this.#socket.writable;
  }

  /** Starts a call on it; only when it is new, or ready. */
  take(call: Call): void {
    this.#call = call;
    if (this.#isOpen) this.#send(call);
  }

  /** Ends the call and the connection when the deadline has passed. */
  check(nowMs: number): void {
    if (nowMs < this.#deadlineMs) return;
    if (!this.#isOpen) this.#call?.fail({ code: "connect_timeout", detail: "no connection in time" });
    else if (this.#call?.isStarted === false) this.#call.fail({ code: "timeout", detail: "no head in time" });
    else this.#call?.fail({ code: "idle", detail: "the body stood still" });
    this.#socket.destroy();
  }

  /** No timeout runs while the call is paused. */
  pause(): void {
    this.#isPaused = true;
    this.#deadlineMs = Infinity;
    this.#socket.pause();
  }

  resume(idleTimeoutMs: number): void {
    this.#isPaused = false;
    this.#wait(idleTimeoutMs);
    this.#socket.resume();
  }

  destroy(): void {
    this.#call?.fail({ code: "aborted", detail: "" });
    this.#socket.destroy();
  }

  /** The answer of this call is no longer needed. */
  drop(call: Call): void {
    if (this.#call === call) this.#socket.destroy();
  }

  #onError(error: Error): void {
    const fault = faultOf(error);
    const isGivenUp = this.#isOpen && fault.code === "connect_timeout";
    // TCP reports the loss of an open connection with the same error as a failed connect.
    if (isGivenUp) this.#call?.fail({ ...fault, code: this.#call.isStarted ? "idle" : "timeout" });
    else this.#call?.fail(fault);
  }

  #onOpen(): void {
    this.#isOpen = true;
    if (this.#call !== undefined) this.#send(this.#call);
  }

  #send(call: Call): void {
    const { request, head } = call;
    call.isSent = true;
    this.#write(head, request.body);
    this.#wait(request.headersTimeoutMs);
  }

  #write(head: string, body: Uint8Array | undefined): void {
    const size = head.length + (body?.length ?? 0);
    if (body === undefined) this.#socket.write(head, "latin1");
    else if (size <= ONE_PIECE_BYTES) {
      const bytes = Buffer.allocUnsafe(size);
      bytes.write(head, "latin1");
      bytes.set(body, head.length);
      this.#socket.write(bytes);
    } else {
      this.#socket.cork();
      this.#socket.write(head, "latin1");
      this.#socket.write(body);
      this.#socket.uncork();
    }
  }

  #onRead(bytes: Buffer, length: number): void {
    const call = this.#call;
    if (call === undefined || !call.isSent) {
      // Unsolicited bytes: they cannot be assigned to a call.
      call?.fail({ code: "protocol", detail: "an answer before the question" });
      this.#socket.destroy();
      return;
    }
    try {
      const { reader } = call;
      const read = reader.read(bytes, length);
      // The sink may cause another read, which overwrites the bytes.
      call.hear();
      if (reader.isDone) this.#onDone(call, read === length);
      else if (call.isStarted && !this.#isPaused) this.#wait(call.request.idleTimeoutMs);
    } catch (error) {
      call.fail(faultOf(error));
      this.#socket.destroy();
    }
  }

  /** The reply is complete. `isClean` = no bytes follow it. */
  #onDone(call: Call, isClean: boolean): void {
    const { head } = call.reader;
    this.#call = undefined;
    const keepMs = Math.min(KEEP_ALIVE_MS, ((head?.keepSec ?? Infinity) - HINT_MARGIN_SEC) * 1_000);
    // The answer is complete before the request was written: the server does not read the rest.
    const isLasting = isClean && head?.isLasting === true && this.#socket.writableLength === 0;
    if (isLasting && keepMs > 0 && !this.#socket.destroyed) {
      if (this.#isPaused) this.resume(keepMs);
      else this.#wait(keepMs);
      this.#keeper.onIdle(this);
    } else this.#socket.destroy();
    call.end();
  }

  #onEnd(): void {
    const call = this.#call;
    if (call?.isStarted === true && call.reader.isDoneByClose) {
      this.#call = undefined;
      call.end();
    }
    call?.fail({ code: "reset", detail: "the connection ended too early" });
    this.#socket.destroy();
  }

  #onClose(): void {
    this.#call?.fail({ code: "reset", detail: "the connection was closed" });
    this.#call = undefined;
    this.#keeper.onClosed(this);
  }

  /** Unit: ms; 0 = no limit. */
  #wait(ms: number): void {
    this.#deadlineMs = ms === 0 ? Infinity : performance.now() + ms;
    if (ms !== 0) this.#keeper.lookSoon(this, ms);
  }
}

/** One call, from the request to the last byte of its answer. */
export class Call implements Flow {
  isSent = false;
  /** The head of the answer has arrived. */
  isStarted = false;
  readonly request: EgressRequest;
  /** The request's head. */
  head = "";
  readonly reader = new ReplyReader();
  #sink: Sink | undefined;
  #connection: Connection | undefined;

  constructor(request: EgressRequest, sink: Sink) {
    this.request = request;
    this.#sink = sink;
  }

  /** Sends the request on this connection, now or when it is open. */
  begin(connection: Connection, head: string): void {
    this.head = head;
    this.#connection = connection;
    connection.take(this);
  }

  pause(): void {
    if (this.#sink !== undefined && this.isStarted) this.#connection?.pause();
  }

  resume(): void {
    if (this.#sink !== undefined && this.isStarted) this.#connection?.resume(this.request.idleTimeoutMs);
  }

  abort(): void {
    if (this.#take() !== undefined) this.#connection?.drop(this);
  }

  /** Delivers what the reader has parsed. */
  hear(): void {
    const { head, body } = this.reader;
    if (head !== undefined && !this.isStarted) {
      this.isStarted = true;
      this.#sink?.onStart(head.status, head.headers);
    }
    if (body !== undefined) this.#sink?.onData(body);
  }

  /** Never throws. */
  end(): void {
    const sink = this.#take();
    try {
      sink?.onEnd();
    } catch (error) {
      tell(sink, faultOf(error));
    }
  }

  /** Never throws. */
  fail(fault: EgressFault): void {
    tell(this.#take(), fault);
  }

  #take(): Sink | undefined {
    const sink = this.#sink;
    this.#sink = undefined;
    return sink;
  }
}

/** An exception of a sink ends its call, but neither the process nor other calls. */
function tell(sink: Sink | undefined, fault: EgressFault): void {
  try {
    sink?.onFault(fault);
  } catch {
    // There is no other receiver for this error.
  }
}
