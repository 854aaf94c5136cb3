// Answers on a connection that is read without node:http: as much of its ServerResponse as relayed calls need (docs/decisions/035).
import { EventEmitter } from "node:events";
import { type IncomingMessage, STATUS_CODES } from "node:http";
import { NO_VALUE } from "#server/egress/http-head.ts";
import type { RelayResponse } from "#server/relay/routes.ts";

type Socket = IncomingMessage["socket"];

/** Up to this size it costs less to copy a piece than to send it beside what frames it. */
const SHORT_BYTES = 8 * 1024;
const LINE_END = "\r\n";
const LAST_CHUNK = "0\r\n\r\n";
/** What Node says for a status that has no words of its own. */
const NO_WORDS = "unknown";

/** What an answer has to know of the connection it goes out on. */
export interface AnswerParts {
  readonly socket: Socket;
  /** The lines that every head ends with, without the empty one. */
  readonly closingLines: (isLast: boolean) => string;
  /** Called once, when the answer is out or the connection is gone. */
  readonly onOver: () => void;
}

/**
 * One answer: a head, then the body as a whole with its length, or in chunks. Events: `drain`, `timeout` (nothing moved for as long as
 * `setTimeout` says), then `finish` if all of it was taken, and `close`.
 */
export class PlainAnswer extends EventEmitter implements RelayResponse {
  shouldKeepAlive = true;
  headersSent = false;
  writableEnded = false;
  writableFinished = false;
  readonly socket: Socket;
  readonly #parts: AnswerParts;
  /** What has not gone out of the head: it goes with the first of the body. */
  #head = "";
  #isChunked = false;
  #isOver = false;

  constructor(parts: AnswerParts) {
    super();
    this.socket = parts.socket;
    this.#parts = parts;
  }

  /** What the client has not taken. */
  get writableLength(): number {
    return this.#isOver ? 0 : this.socket.writableLength;
  }

  get writableNeedDrain(): boolean {
    return !this.#isOver && this.socket.writableNeedDrain;
  }

  /** `fields`: names in small letters and values in turn. Throws: Error for what cannot stand in a head. */
  writeHead(status: number, fields: readonly string[]): void {
    if (this.headersSent) throw new Error("the head of this answer was written before");
    let lines = "";
    let isSized = false;
    for (let at = 0; at < fields.length; at += 2) {
      const name = fields[at] ?? "";
      const value = fields[at + 1] ?? "";
      if (NO_VALUE.test(value)) throw new Error(`what the header ${name} should say cannot be sent`);
      if (name === "content-length") isSized = true;
      lines += `${name}: ${value}${LINE_END}`;
    }
    this.headersSent = true;
    this.#isChunked = !isSized;
    const coding = isSized ? "" : `transfer-encoding: chunked${LINE_END}`;
    const closing = this.#parts.closingLines(!this.shouldKeepAlive);
    this.#head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? NO_WORDS}${LINE_END}${lines}${coding}${closing}${LINE_END}`;
  }

  /** Returns whether the client keeps up; if not, `drain` tells when it does again. */
  write(piece: Uint8Array | string): boolean {
    const bytes = typeof piece === "string" ? Buffer.from(piece) : piece;
    if (this.writableEnded || this.#isOver || bytes.length === 0) return true;
    if (!this.socket.writable) return false;
    this.#begin();
    return this.#send(bytes, "");
  }

  /** The last of the body, if any. */
  end(piece: Uint8Array | string = ""): void {
    if (this.writableEnded || this.#isOver) return;
    this.writableEnded = true;
    // What was written before still goes out to a client that is through with asking, and then `close` comes.
    if (!this.socket.writable) return;
    this.#begin();
    this.#send(typeof piece === "string" ? Buffer.from(piece) : piece, this.#isChunked ? LAST_CHUNK : "");
    if (this.socket.writableLength === 0) this.#finish();
    else this.socket.write("", () => this.#finish());
  }

  /** Calls `timeout` when nothing has moved on the connection for so long; 0 = never. Unit: ms. */
  setTimeout(ms: number): void {
    this.socket.setTimeout(ms);
  }

  /** Gives the client up, unless the answer is over: then the connection is another's. */
  destroy(): void {
    if (!this.#isOver) this.socket.destroy();
  }

  /** The connection is gone. */
  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.emit("close");
  }

  #finish(): void {
    // A writer hears of a write that failed before the connection does.
    if (this.#isOver || this.socket.destroyed || this.socket.errored !== null) return;
    this.#isOver = true;
    this.writableFinished = true;
    this.emit("finish");
    this.emit("close");
    this.#parts.onOver();
  }

  /** A body without a head has one that says nothing, as Node's has. */
  #begin(): void {
    if (!this.headersSent) this.writeHead(200, []);
  }

  /** Sends what waits of the head, the bytes in their frame, and `tail`, all at once. */
  #send(bytes: Uint8Array, tail: string): boolean {
    const isFramed = this.#isChunked && bytes.length > 0;
    const before = isFramed ? `${bytes.length.toString(16)}${LINE_END}` : "";
    const after = isFramed ? LINE_END + tail : tail;
    if (bytes.length <= SHORT_BYTES) {
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
      return this.#sendText(before + text + after);
    }
    const { socket } = this;
    socket.cork();
    this.#sendText(before);
    let isKeepingUp = socket.write(bytes);
    if (after !== "") isKeepingUp = socket.write(after, "latin1");
    socket.uncork();
    return isKeepingUp;
  }

  #sendText(text: string): boolean {
    const all = this.#head + text;
    this.#head = "";
    return all === "" ? true : this.socket.write(all, "latin1");
  }
}
