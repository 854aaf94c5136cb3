// One reply of HTTP/1.1, out of what is read from a connection piece by piece. Knows no socket.
import { ChunkReader } from "./chunked.ts";
import { checkBegin, HttpError, type ReplyHead, readHead } from "./head.ts";

/** Source: what Node's own parser takes. */
const HEAD_LIMIT_BYTES = 16 * 1024;
const HEAD_END = "\r\n\r\n";
const SWITCHING = 101;
/** Heads of 1xx before a reply: one or two are sent, a flood of them is an attack on the reader. */
const MOST_INTERIM = 16;

export class ReplyReader {
  /** undefined = it has not come yet. */
  head: ReplyHead | undefined;
  /** What the last `read` found of the body: bytes that may be kept; undefined = nothing. */
  body: Buffer | undefined;
  /** The begin of a head whose end has not come; undefined = nothing of one has. */
  #begun: Buffer | undefined;
  /** Bytes of the body to come; Infinity = until its own end, or the connection's. */
  #left = 0;
  #chunks: ChunkReader | undefined;
  #interim = 0;

  /** The reply is whole. */
  get isDone(): boolean {
    return this.head !== undefined && this.#left === 0;
  }

  /** The reply is whole when the connection ends now. */
  get isDoneByClose(): boolean {
    return this.#left === Infinity && this.#chunks === undefined;
  }

  /**
   * Reads bytes[0, end), **whose contents may be moved**; nothing of it is kept. Returns how much of it belongs to this reply: less than
   * `end` = something came that nobody asked for. Throws: HttpError.
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

  /** The first `known` bytes have been here before. */
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
      // Other announcements say nothing; the reply follows.
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
