// One connection to an upstream and the call on it: one at a time. HTTP/1.1, no pipelining. Pool.ts looks at the
// deadlines of all connections.
import type { Socket } from "node:net";
import type { Exit } from "#server/egress/exits.ts";
import { type EgressFault, type EgressRequest, type Flow, faultOf, type Sink } from "#server/egress/send.ts";
import { ChunkWriter } from "./chunk-writer.ts";
import type { Connector, Line, Origin } from "./connect.ts";
import { isOfWrongKind, mayBeTimeout, type ReplyHead, STRAY_BYTES } from "./head.ts";
import { ReplyReader } from "./response.ts";

const CONNECT_TIMEOUT_MS = 10_000;
/** Idle connections are kept this long; an upstream's own hint wins when it is shorter. */
const KEEP_ALIVE_MS = 30_000;
/** Proxies cut idle tunnels, often without telling (requirements C15). */
const TUNNEL_KEEP_ALIVE_MS = 15_000;
/** A desync is told with these of its calls: the last ones may have got another's answer. */
const REMEMBERED_CALLS = 2;
/** How long the rest of a head may take that begins like a 408. */
const STRAY_MS = 1_000;
const NO_DOUBT = "-";
/** Margin for a request that crosses the server's close of an idle connection. */
const HINT_MARGIN_SEC = 2;
/** Head and body up to this size are written in one piece. */
const ONE_PIECE_BYTES = 32 * 1024;

/** The owner of connections. */
export interface Keeper {
  /** The connection can take another call, but only after everything read with its last answer was delivered. */
  onIdle(connection: Connection): void;
  onClosed(connection: Connection): void;
  /** A wait of so many ms has begun. */
  onWait(connection: Connection, ms: number): void;
  /** Bytes came that no call asked for: earlier answers of this connection may have been told to the wrong callers. */
  onDesync(connection: Connection): void;
  /** Such bytes may be beginning, or (`false`) turned out to be none. */
  onSuspicion(connection: Connection, isSuspect: boolean): void;
  /** The connection ended before anything of an answer was read: the call may be made again. */
  onAgain(call: Call): void;
  /** It could not be opened. */
  onUnreachable(connection: Connection): void;
}

/** What a connection needs to be opened. */
export interface ConnectionParts {
  readonly keeper: Keeper;
  readonly connector: Connector;
  readonly exit: Exit;
  readonly to: Origin;
  /** How many calls it may take, and for how long it may be used (requirements C22). */
  readonly mostUses: number;
  readonly mostAgeMs: number;
}

export class Connection {
  readonly to: Origin;
  readonly exit: Exit;
  /** The calls that were last made on it. */
  readonly calls: string[] = [];
  /** When it became idle. Unit: ms of performance.now(). */
  idleSinceMs = 0;
  readonly #parts: ConnectionParts;
  readonly #line: Line;
  readonly #bornMs = performance.now();
  #socket: Socket | undefined;
  #call: Call | undefined;
  #uses = 0;
  #isPaused = false;
  /** The body of the call is still being made. */
  #isWriting = false;
  /** The begin of bytes that came while it was idle. */
  #stray = "";
  /** When the current wait times out; Infinity = never. Unit: ms of performance.now(). */
  #deadlineMs = Infinity;

  /** Begins to connect. Throws: BlockedError. */
  constructor(parts: ConnectionParts) {
    const { to, exit } = parts;
    this.#parts = parts;
    this.to = to;
    this.exit = exit;
    this.#line = parts.connector.open(to, exit, {
      onRead: (bytes, length) => this.#onRead(bytes, length),
      onOpen: (socket) => this.#onOpen(socket),
      onError: (error) => this.#onError(error),
      onEnd: () => this.#onEnd(),
      onClose: () => this.#onClose(),
    });
    // A tunnel keeps its limit itself, and tells who is late.
    if (exit.path === undefined) this.#wait(exit.connectMs ?? CONNECT_TIMEOUT_MS);
  }

  /** Idle, and not known to be dead, in doubt, or used up. */
  get isReady(): boolean {
    const socket = this.#socket;
    if (this.#call !== undefined || socket === undefined || this.#stray !== "") return false;
    return !socket.destroyed && socket.writable && !this.#isUsedUp;
  }

  get #isUsedUp(): boolean {
    const { mostUses, mostAgeMs } = this.#parts;
    return this.#uses >= mostUses || performance.now() - this.#bornMs >= mostAgeMs;
  }

  /** Starts a call on it; only when it is new, or ready. */
  take(call: Call): void {
    this.#call = call;
    this.#uses += 1;
    if (this.calls.push(call.request.id ?? "") > REMEMBERED_CALLS) this.calls.shift();
    if (this.#socket !== undefined) this.#send(call);
  }

  /** Ends the call and the connection when the deadline has passed. Returns what is left until it; Infinity = nothing is waited for. Unit: ms. */
  check(nowMs: number): number {
    const leftMs = this.#deadlineMs - nowMs;
    if (leftMs > 0) return leftMs;
    this.#deadlineMs = Infinity;
    if (this.#socket === undefined) {
      this.#parts.keeper.onUnreachable(this);
      this.#call?.fail({ code: "connect_timeout", detail: "no connection in time" });
    } else if (this.#call?.isStarted === false)
      this.#call.fail({ code: "timeout", detail: "no head in time" });
    else this.#call?.fail({ code: "idle", detail: "the body stood still" });
    this.#line.destroy();
    return Infinity;
  }

  /** No timeout runs while the call is paused. */
  pause(): void {
    this.#isPaused = true;
    this.#deadlineMs = Infinity;
    this.#socket?.pause();
  }

  resume(idleTimeoutMs: number): void {
    this.#isPaused = false;
    this.#wait(idleTimeoutMs);
    this.#socket?.resume();
  }

  destroy(): void {
    this.#call?.fail({ code: "aborted", detail: "" });
    this.#line.destroy();
  }

  /** The answer of this call is no longer needed. */
  drop(call: Call): void {
    if (this.#call === call) this.#line.destroy();
  }

  #onError(error: unknown): void {
    const fault = faultOf(error);
    if (this.#socket === undefined) this.#parts.keeper.onUnreachable(this);
    const isGivenUp = this.#socket !== undefined && fault.code === "connect_timeout";
    // TCP reports the loss of an open connection with the same error as a failed connect.
    if (isGivenUp) this.#call?.fail({ ...fault, code: this.#call.isStarted ? "idle" : "timeout" });
    else this.#fail(fault);
  }

  /** A GET on a used connection of which nothing was answered: the server ended an idle connection, and asking again changes nothing. */
  #fail(fault: EgressFault): void {
    const call = this.#call;
    const isStale = fault.code === "reset" && this.#uses > 1 && call?.request.method === "GET";
    if (!isStale || call === undefined || call.hasRead || call.isOver) {
      call?.fail(fault);
      return;
    }
    this.#call = undefined;
    this.#parts.keeper.onAgain(call);
  }

  #onOpen(socket: Socket): void {
    this.#socket = socket;
    if (this.#call !== undefined) this.#send(this.#call);
  }

  #send(call: Call): void {
    const { request, head } = call;
    call.isSent = true;
    this.#write(head, request.body);
    if (request.writes === undefined) this.#wait(request.headersTimeoutMs);
    else this.#stream(call, request.writes);
  }

  /** Who makes the body may take as long as he likes; the upstream has as long for a piece as between two of its own. */
  #stream({ request }: Call, writes: NonNullable<EgressRequest["writes"]>): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    this.#isWriting = true;
    this.#wait(0);
    const wait = (ms: number, isDone: boolean) => {
      if (isDone) this.#isWriting = false;
      // An answer that came first has set a time of its own.
      if (this.#call?.request === request && !this.#call.isStarted) this.#wait(ms);
    };
    writes(new ChunkWriter(socket, request, wait));
  }

  #write(head: string, body: Uint8Array | undefined): void {
    const socket = this.#socket;
    const size = head.length + (body?.length ?? 0);
    if (body === undefined) socket?.write(head, "latin1");
    else if (size <= ONE_PIECE_BYTES) {
      const bytes = Buffer.allocUnsafe(size);
      bytes.write(head, "latin1");
      bytes.set(body, head.length);
      socket?.write(bytes);
    } else {
      socket?.cork();
      socket?.write(head, "latin1");
      socket?.write(body);
      socket?.uncork();
    }
  }

  #onRead(bytes: Buffer, length: number): void {
    const call = this.#call;
    if (call === undefined || !call.isSent) {
      this.#onStray(bytes.toString("latin1", 0, Math.min(length, STRAY_BYTES)));
      return;
    }
    call.hasRead = true;
    try {
      const { reader } = call;
      const read = reader.read(bytes, length);
      // The sink may cause another read, which overwrites the bytes.
      call.hear();
      if (reader.isDone) this.#onDone(call, read === length);
      else if (call.isStarted && !this.#isPaused) this.#wait(call.request.idleTimeoutMs);
    } catch (error) {
      call.fail(faultOf(error));
      this.#line.destroy();
    }
  }

  /**
   * Unsolicited bytes: they cannot be assigned to a call. A server that says 408 before it closes an idle connection is not out of step
   * (requirements C21); whether it does may need more bytes.
   */
  #onStray(text: string): void {
    const { keeper } = this.#parts;
    const isFirst = this.#stray === "";
    this.#stray = (this.#stray + text).slice(0, STRAY_BYTES);
    const call = this.#call;
    if (call === undefined && mayBeTimeout(this.#stray)) {
      if (isFirst) keeper.onSuspicion(this, true);
      if (this.#stray.length < STRAY_BYTES) {
        this.#wait(STRAY_MS);
        return;
      }
      keeper.onSuspicion(this, false);
    } else {
      keeper.onDesync(this);
      if (!isFirst) keeper.onSuspicion(this, false);
    }
    this.#stray = NO_DOUBT;
    call?.fail({ code: "protocol", detail: "an answer before the question" });
    this.#line.destroy();
  }

  /** The reply is complete. `isClean` = no bytes follow it. */
  #onDone(call: Call, isClean: boolean): void {
    const { head } = call.reader;
    this.#call = undefined;
    if (!isClean) this.#parts.keeper.onDesync(this);
    const idleMs = this.exit.path === undefined ? KEEP_ALIVE_MS : TUNNEL_KEEP_ALIVE_MS;
    const keepMs = Math.min(idleMs, ((head?.keepSec ?? Infinity) - HINT_MARGIN_SEC) * 1_000);
    if (isClean && keepMs > 0 && head !== undefined && this.#isLasting(call.request, head)) {
      if (this.#isPaused) this.resume(keepMs);
      else this.#wait(keepMs);
      this.#parts.keeper.onIdle(this);
    } else this.#line.destroy();
    call.end();
  }

  /** Whether the connection may take another call after this answer. */
  #isLasting(request: EgressRequest, { isLasting, status, headers }: ReplyHead): boolean {
    if (!isLasting || this.exit.isOnce || this.exit.isForgotten || this.#isUsedUp) return false;
    // The server is about to close, or says that the connection is the wrong one.
    if (status === 408 || status === 421) return false;
    // The answer is complete before the request was written: the server does not read the rest.
    if (this.#isWriting || this.#socket?.writableLength !== 0 || this.#socket.destroyed) return false;
    return !isOfWrongKind(request, headers);
  }

  #onEnd(): void {
    const call = this.#call;
    if (call?.isStarted === true && call.reader.isDoneByClose) {
      this.#call = undefined;
      call.end();
    }
    this.#fail({ code: "reset", detail: "the connection ended too early" });
    this.#line.destroy();
  }

  #onClose(): void {
    this.#fail({ code: "reset", detail: "the connection was closed" });
    this.#call = undefined;
    const { keeper } = this.#parts;
    // What began like a 408 never became one.
    if (this.#stray !== "" && this.#stray !== NO_DOUBT) {
      keeper.onDesync(this);
      keeper.onSuspicion(this, false);
    }
    keeper.onClosed(this);
  }

  /** Unit: ms; 0 = no limit. */
  #wait(ms: number): void {
    this.#deadlineMs = ms === 0 ? Infinity : performance.now() + ms;
    if (ms !== 0) this.#parts.keeper.onWait(this, ms);
  }
}

/** One call, from the request to the last byte of its answer. */
export class Call implements Flow {
  isSent = false;
  /** The head of the answer has arrived. */
  isStarted = false;
  /** Something of the answer was read. */
  hasRead = false;
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
  begin(connection: Connection): void {
    this.#connection = connection;
    connection.take(this);
  }

  /** Its sink has been told the end, or wants nothing more. */
  get isOver(): boolean {
    return this.#sink === undefined;
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
