// Parses one HTTP/1.1 reply from the bytes that are read from a connection, a chunked body too. Knows no socket.
import { checkBegin, HttpError, isControl, isNameByte, type ReplyHead, readHead } from "./head.ts";

/** Source: the limit of Node's own parser. */
const HEAD_LIMIT_BYTES = 16 * 1024;
const HEAD_END = "\r\n\r\n";
const SWITCHING = 101;
/** Heads of 1xx before a reply: servers send one or two, a flood of them is an attack. */
const MOST_INTERIM = 16;

const CR = 0x0d;
const LF = 0x0a;
const COLON = 0x3a;
const SEMICOLON = 0x3b;
const ZERO = 0x30;
const NINE = 0x39;
const SMALL_A = 0x61;
const SMALL_F = 0x66;
/** Bit that makes a letter lower case. */
const SMALL = 0x20;
/** Leading zeros of the size included. */
const MOST_DIGITS = 16;
/** A size up to this stays exact with one more digit. */
const MOST_BYTES = 2 ** 48;
/** Limit for the extensions of one chunk, and for trailers; both are ignored. */
const MOST_SKIPPED_BYTES = 16 * 1024;

/** What the reader expects next. */
type State =
  | "size"
  | "extension"
  | "size-end"
  | "data"
  | "data-cr"
  | "data-lf"
  | "trailer"
  | "trailer-name"
  | "trailer-line"
  | "trailer-lf"
  | "end"
  | "done";

export class ReplyReader {
  /** undefined = it has not arrived yet. */
  head: ReplyHead | undefined;
  /** The body bytes of the last `read`, which may be kept; undefined = none. */
  body: Buffer | undefined;
  /** The beginning of an incomplete head; undefined = none. */
  #begun: Buffer | undefined;
  /** Remaining bytes of the body; Infinity = until its terminator, or the end of the connection. */
  #left = 0;
  #chunks: ChunkReader | undefined;
  #interim = 0;

  /** The reply is complete. */
  get isDone(): boolean {
    return this.head !== undefined && this.#left === 0;
  }

  /** The reply is complete if the connection ends now. */
  get isDoneByClose(): boolean {
    return this.#left === Infinity && this.#chunks === undefined;
  }

  /**
   * Reads bytes[0, end), **whose contents may be moved**, and keeps no reference. Returns how many of them belong to this reply: less than
   * `end` = unsolicited bytes followed. Throws: HttpError.
   */
  read(bytes: Buffer, end: number): number {
    this.body = undefined;
    if (this.head !== undefined) return this.#readBody(bytes, 0, end);
    if (this.#begun === undefined) return this.#readHead(bytes, end, 0);
    const known = this.#begun.length;
    const all = Buffer.concat([this.#begun, bytes.subarray(0, end)]);
    this.#begun = undefined;
    return this.#readHead(all, all.length, known) - known;
  }

  /** The first `known` bytes were read before. */
  #readHead(bytes: Buffer, end: number, known: number): number {
    let at = 0;
    while (this.head === undefined) {
      const text = bytes.toString("latin1", at, Math.min(end, at + HEAD_LIMIT_BYTES));
      const found = text.indexOf(HEAD_END);
      if (found < 0) {
        if (text.length === HEAD_LIMIT_BYTES) throw new HttpError("a head that does not end");
        checkBegin(text, at === 0 ? known : 0);
        this.#begun = Buffer.from(bytes.subarray(at, end));
        return end;
      }
      at += found + HEAD_END.length;
      const head = readHead(text.slice(0, found));
      if (head.status === SWITCHING) throw new HttpError("another protocol, which nobody asked for");
      // Other 1xx heads are ignored; the reply follows.
      if (head.status >= 200) this.#begin(head);
      else this.#interim += 1;
      if (this.#interim > MOST_INTERIM) throw new HttpError("too many heads before a reply");
    }
    return this.#readBody(bytes, at, end);
  }

  #begin(head: ReplyHead): void {
    const { length } = head;
    this.head = head;
    if (length === "chunked") this.#chunks = new ChunkReader();
    this.#left = typeof length === "number" ? length : Infinity;
  }

  #readBody(bytes: Buffer, from: number, end: number): number {
    if (this.#chunks !== undefined) return this.#readChunks(this.#chunks, bytes, from, end);
    const to = Math.min(end, from + this.#left);
    this.#left -= to - from;
    this.body = copyOf(bytes, from, to);
    return to;
  }

  #readChunks(chunks: ChunkReader, bytes: Buffer, from: number, end: number): number {
    const to = chunks.read(bytes, from, end);
    if (chunks.isDone) this.#left = 0;
    this.body = copyOf(bytes, chunks.dataStart, chunks.dataEnd);
    return to;
  }
}

function copyOf(bytes: Buffer, from: number, to: number): Buffer | undefined {
  if (to <= from) return undefined;
  const copy = Buffer.allocUnsafe(to - from);
  bytes.copy(copy, 0, from, to);
  return copy;
}

/** Decodes a chunked body (RFC 9112 7.1). */
class ChunkReader {
  #state: State = "size";
  /** Remaining bytes of data in this chunk. */
  #left = 0;
  #digits = 0;
  #skipped = 0;
  /** The span of data of the last `read`, in its bytes. */
  dataStart = 0;
  dataEnd = 0;

  get isDone(): boolean {
    return this.#state === "done";
  }

  /**
   * Reads bytes[from, to) and **compacts the data in place**, to [dataStart, dataEnd). Returns where it stopped: `to`, or after the end of
   * the body. Throws: HttpError.
   */
  read(bytes: Buffer, from: number, to: number): number {
    let at = from;
    this.dataStart = from;
    this.dataEnd = from;
    while (at < to && this.#state !== "done") {
      if (this.#state === "data") at = this.#take(bytes, at, to);
      else {
        this.#state = this.#next(bytes[at] ?? 0);
        at += 1;
      }
    }
    return at;
  }

  #take(bytes: Buffer, at: number, to: number): number {
    const end = Math.min(to, at + this.#left);
    if (this.dataEnd === this.dataStart) {
      this.dataStart = at;
      this.dataEnd = end;
    } else {
      bytes.copyWithin(this.dataEnd, at, end);
      this.dataEnd += end - at;
    }
    this.#left -= end - at;
    if (this.#left === 0) this.#state = "data-cr";
    return end;
  }

  /** The state after one byte outside the data. */
  #next(byte: number): State {
    switch (this.#state) {
      case "size":
        return this.#size(byte);
      case "extension":
        return byte === CR ? "size-end" : this.#skip(byte, "extension");
      case "size-end":
        return expect(byte, LF, this.#left === 0 ? "trailer" : "data");
      case "data-cr":
        return expect(byte, CR, "data-lf");
      case "data-lf":
        this.#digits = 0;
        this.#skipped = 0;
        return expect(byte, LF, "size");
      case "trailer":
        return byte === CR ? "end" : this.#skipName(byte);
      case "trailer-name":
        return byte === COLON ? "trailer-line" : this.#skipName(byte);
      case "trailer-line":
        return byte === CR ? "trailer-lf" : this.#skip(byte, "trailer-line");
      case "trailer-lf":
        return expect(byte, LF, "trailer");
      default:
        return expect(byte, LF, "done");
    }
  }

  #size(byte: number): State {
    const digit = digitOf(byte);
    if (digit >= 0 && this.#digits < MOST_DIGITS && this.#left <= MOST_BYTES) {
      this.#left = this.#left * 16 + digit;
      this.#digits += 1;
      return "size";
    }
    if (this.#digits === 0 || digit >= 0) throw new HttpError("no size of a chunk");
    if (byte === CR) return "size-end";
    return expect(byte, SEMICOLON, "extension");
  }

  #skip(byte: number, state: State): State {
    this.#skipped += 1;
    if (isControl(byte) || this.#skipped > MOST_SKIPPED_BYTES) throw new HttpError("no end of a line");
    return state;
  }

  #skipName(byte: number): State {
    if (!isNameByte(byte)) throw new HttpError("a trailer that is no field");
    return this.#skip(byte, "trailer-name");
  }
}

function expect(byte: number, expected: number, state: State): State {
  if (byte !== expected) throw new HttpError("a chunk that does not end");
  return state;
}

/** The value of a hexadecimal digit; -1 = it is none. */
function digitOf(byte: number): number {
  if (byte >= ZERO && byte <= NINE) return byte - ZERO;
  const small = byte | SMALL;
  return small >= SMALL_A && small <= SMALL_F ? small - SMALL_A + 10 : -1;
}
