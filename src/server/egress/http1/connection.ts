// One connection to an upstream and the call on it: one at a time. HTTP/1.1, no pipelining. It knows how long everything may take, but
// has no timer of its own (http-agent.ts looks at all of them).
import type { Socket } from "node:net";
import { type EgressFault, type EgressRequest, type Flow, faultOf, type Sink } from "#server/egress/send.ts";
import type { Connector, Origin } from "./connect.ts";
import { ReplyReader } from "./response.ts";

const CONNECT_TIMEOUT_MS = 10_000;
/** Idle connections are kept this long; an upstream's own hint wins when it is shorter. */
const KEEP_ALIVE_MS = 30_000;
/** What a request and the server's end of a connection may cross in. */
const HINT_MARGIN_SEC = 2;
/** Head and body up to this size go out in one piece. */
const ONE_PIECE_BYTES = 32 * 1024;

/** Whoever keeps connections. */
export interface Keeper {
  /** It can take another call, but not before all that was read with its last answer has been told. */
  onIdle(connection: Connection): void;
  onClosed(connection: Connection): void;
  /** Wants to be looked at in so many ms, which is soon. */
  lookSoon(connection: Connection, ms: number): void;
}

export class Connection {
  readonly origin: string;
  readonly #keeper: Keeper;
  readonly #socket: Socket;
  #isOpen = false;
  #call: Call | undefined;
  #isPaused = false;
  /** When the patience ends with what is waited for; Infinity = never. Unit: ms of performance.now(). */
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

  /** Idle, and as far as we know alive. */
  get isReady(): boolean {
    return this.#call === undefined && this.#isOpen && !this.#socket.destroyed && this.#socket.writable;
  }

  /** Gives it a call; only when it is new, or ready. */
  take(call: Call): void {
    this.#call = call;
    if (this.#isOpen) this.#send(call);
  }

  /** Ends what has taken too long. */
  check(nowMs: number): void {
    if (nowMs < this.#deadlineMs) return;
    if (!this.#isOpen) this.#call?.fail({ code: "connect_timeout", detail: "no connection in time" });
    else if (this.#call?.isStarted === false) this.#call.fail({ code: "timeout", detail: "no head in time" });
    else this.#call?.fail({ code: "idle", detail: "the body stood still" });
    this.#socket.destroy();
  }

  /** While nobody listens nothing can take too long. */
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

  /** Nobody wants the answer any more. */
  drop(call: Call): void {
    if (this.#call === call) this.#socket.destroy();
  }

  #onError(error: Error): void {
    const fault = faultOf(error);
    const isGivenUp = this.#isOpen && fault.code === "connect_timeout";
    // TCP gives up a connection that stood in the same words as one that never did.
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
      // Nobody asked for it; whose answer it is cannot be known.
      call?.fail({ code: "protocol", detail: "an answer before the question" });
      this.#socket.destroy();
      return;
    }
    try {
      const { reader } = call;
      const read = reader.read(bytes, length);
      // From here on the bytes may be others.
      call.hear();
      if (reader.isDone) this.#onDone(call, read === length);
      else if (call.isStarted && !this.#isPaused) this.#wait(call.request.idleTimeoutMs);
    } catch (error) {
      call.fail(faultOf(error));
      this.#socket.destroy();
    }
  }

  /** The reply is whole. `isClean` = nothing came after it. */
  #onDone(call: Call, isClean: boolean): void {
    const { head } = call.reader;
    this.#call = undefined;
    const keepMs = Math.min(KEEP_ALIVE_MS, ((head?.keepSec ?? Infinity) - HINT_MARGIN_SEC) * 1_000);
    // A request that is still on its way out when its answer is complete is not wanted any more.
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

  /** Unit: ms; 0 = for ever. */
  #wait(ms: number): void {
    this.#deadlineMs = ms === 0 ? Infinity : performance.now() + ms;
    if (ms !== 0) this.#keeper.lookSoon(this, ms);
  }
}

/** One call: from the request to the last byte of its answer. */
export class Call implements Flow {
  isSent = false;
  /** The head of the answer has come. */
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

  /** Goes out on this connection, now or when it is open. */
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

  /** Hands on what the reader has found. */
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

/** A listener's own mistake ends its call: neither the process nor the calls of others. */
function tell(sink: Sink | undefined, fault: EgressFault): void {
  try {
    sink?.onFault(fault);
  } catch {
    // Nobody is left to be told.
  }
}
