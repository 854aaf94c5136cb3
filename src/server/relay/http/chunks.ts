// Bytes that came in pieces, kept until they are whole.

/** So many small chunks are joined: of a byte each, they take a thousand times their size. */
const MOST_SMALL = 64;
/** A chunk of this size is left as it is: large ones are copied once, at the end. */
const LARGE_BYTES = 64 * 1024;

export class Chunks {
  #bytes = 0;
  #large: Buffer[] = [];
  #small: Buffer[] = [];
  #smallBytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** How many pieces are held: not many more than there are bytes for large ones. */
  get count(): number {
    return this.#large.length + this.#small.length;
  }

  add(piece: Buffer): void {
    this.#bytes += piece.length;
    this.#small.push(piece);
    this.#smallBytes += piece.length;
    if (this.#smallBytes >= LARGE_BYTES) {
      this.#large.push(...this.#small);
      this.#small = [];
      this.#smallBytes = 0;
    } else if (this.#small.length >= MOST_SMALL) this.#small = [Buffer.concat(this.#small)];
  }

  /** All of them as one, in their order; none is held any more. One alone is not copied. */
  take(): Buffer {
    const pieces = [...this.#large, ...this.#small];
    this.clear();
    const [first] = pieces;
    return pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
  }

  /** Drops all chunks. */
  clear(): void {
    this.#large = [];
    this.#small = [];
    this.#smallBytes = 0;
    this.#bytes = 0;
  }
}
