// Parses one HTTP/1.1 reply from the bytes that are read from a connection. Knows no socket.
import { ChunkReader } from "./chunked.ts";
import { checkBegin, HttpError, type ReplyHead, readHead } from "./head.ts";

/** Source: the limit of Node's own parser. */
const HEAD_LIMIT_BYTES = 16 * 1024;
const HEAD_END = "\r\n\r\n";
const SWITCHING = 101;
/** Heads of 1xx before a reply: servers send one or two, a flood of them is an attack. */
const MOST_INTERIM = 16;

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
