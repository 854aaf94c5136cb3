// A body that comes in chunks (RFC 9112 7.1), taken out of what is read from a connection. Pure.
import { HttpError, isControl, isNameByte } from "./head.ts";

const CR = 0x0d;
const LF = 0x0a;
const COLON = 0x3a;
const SEMICOLON = 0x3b;
const ZERO = 0x30;
const NINE = 0x39;
const SMALL_A = 0x61;
const SMALL_F = 0x66;
/** Makes a capital letter a small one. */
const SMALL = 0x20;
/** Zeros before the size included. */
const MOST_DIGITS = 16;
/** What another digit can be added to and still be counted exactly. */
const MOST_BYTES = 2 ** 48;
/** Of the extensions of one chunk, or of trailers: nothing of them is read. */
const MOST_SKIPPED_BYTES = 16 * 1024;

/** What comes next. */
type Place =
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

export class ChunkReader {
  #place: Place = "size";
  /** Bytes of data that are still to come of this chunk. */
  #left = 0;
  #digits = 0;
  #skipped = 0;
  /** Where the data of the last `read` stands, in its own bytes. */
  dataStart = 0;
  dataEnd = 0;

  get isDone(): boolean {
    return this.#place === "done";
  }

  /**
   * Reads bytes[from, to) and **moves the data in it together**, to [dataStart, dataEnd). Returns where it stopped: `to`, or after the
   * end of the body. Throws: HttpError.
   */
  read(bytes: Buffer, from: number, to: number): number {
    let at = from;
    this.dataStart = from;
    this.dataEnd = from;
    while (at < to && this.#place !== "done") {
      if (this.#place === "data") at = this.#take(bytes, at, to);
      else {
        this.#place = this.#next(bytes[at] ?? 0);
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
    if (this.#left === 0) this.#place = "data-cr";
    return end;
  }

  /** Where one byte outside the data leads. */
  #next(byte: number): Place {
    switch (this.#place) {
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

  #size(byte: number): Place {
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

  #skip(byte: number, place: Place): Place {
    this.#skipped += 1;
    if (isControl(byte) || this.#skipped > MOST_SKIPPED_BYTES) throw new HttpError("no end of a line");
    return place;
  }

  #skipName(byte: number): Place {
    if (!isNameByte(byte)) throw new HttpError("a trailer that is no field");
    return this.#skip(byte, "trailer-name");
  }
}

function expect(byte: number, expected: number, place: Place): Place {
  if (byte !== expected) throw new HttpError("a chunk that does not end");
  return place;
}

/** The value of a hexadecimal digit; -1 = it is none. */
function digitOf(byte: number): number {
  if (byte >= ZERO && byte <= NINE) return byte - ZERO;
  const small = byte | SMALL;
  return small >= SMALL_A && small <= SMALL_F ? small - SMALL_A + 10 : -1;
}
