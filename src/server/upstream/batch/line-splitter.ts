// Takes bytes as they come and gives whole lines: without the mark that some editors write at the begin of a file, without line ends,
// without empty lines. Keeps one line at the most. Pure.

const LF = 0x0a;
const CR = 0x0d;
const MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** A line that is longer than is kept. */
export class LineTooLong extends Error {
  /** From 1. */
  readonly line: number;

  constructor(line: number) {
    super(`line ${line} is too long`);
    this.line = line;
  }
}

export interface Line {
  /** From 1, empty ones counted. */
  readonly number: number;
  readonly bytes: Buffer;
}

export class LineSplitter {
  readonly #mostBytes: number;
  #number = 0;
  /** The begin of a line whose end has not come. */
  #pieces: Buffer[] = [];
  #size = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** The lines that these bytes end. They share its memory. Throws: LineTooLong. */
  *push(chunk: Buffer): Generator<Line> {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(LF, from);
      if (end < 0) break;
      const line = this.#ended(chunk.subarray(from, end));
      if (line !== undefined) yield line;
      from = end + 1;
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
  }

  /** The last line, which needs no end. Throws: LineTooLong. */
  *end(): Generator<Line> {
    const line = this.#ended(Buffer.alloc(0));
    if (line !== undefined) yield line;
  }

  #keep(piece: Buffer): void {
    this.#size += piece.length;
    if (this.#size > this.#mostBytes) throw new LineTooLong(this.#number + 1);
    this.#pieces.push(piece);
  }

  #ended(rest: Buffer): Line | undefined {
    if (rest.length > 0) this.#keep(rest);
    const [only = rest] = this.#pieces;
    const whole = this.#pieces.length < 2 ? only : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#size = 0;
    this.#number += 1;
    const isMarked = this.#number === 1 && whole.subarray(0, MARK.length).equals(MARK);
    const unmarked = isMarked ? whole.subarray(MARK.length) : whole;
    const bytes = unmarked.at(-1) === CR ? unmarked.subarray(0, -1) : unmarked;
    return bytes.toString("latin1", 0, 64).trim() === "" && bytes.toString("latin1").trim() === ""
      ? undefined
      : { number: this.#number, bytes };
  }
}
