// Secrets that this process knows, found again in any text, whole or in pieces large enough to help an attacker. It keeps them in
// memory only, and says where one stands, never which (requirements K08).

/** Shorter ones would eat ordinary text. */
const SHORTEST = 8;
/** Of a longer one the head is looked for. */
const LONGEST = 8_192;
/** Texts are searched through windows of this many characters. */
const WINDOW = 8;
/** A piece of this many characters is cut, of short secrets the half of them; below SHORT only the whole. */
const PIECE = 16;
const SHORT = 12;

/** Rolling hash: base, and base to the power of WINDOW − 1, in 32 bits. */
const BASE = 0x01000193;
const TOP = power(BASE, WINDOW - 1);
/** Bits of the sieve: 128 KiB, through which nearly no window of an ordinary text passes. */
const SIEVE_BITS = 20;

function power(base: number, exponent: number): number {
  let result = 1;
  for (let step = 0; step < exponent; step += 1) result = Math.imul(result, base);
  return result;
}

/** Where a text is cut: from, to (exclusive). */
export type Span = [from: number, to: number];

interface Canary {
  readonly text: string;
  /** The least length of a piece that is cut. */
  readonly piece: number;
  /** Distance of the windows that are looked for: each piece contains one of them whole. */
  readonly stride: number;
}

interface Anchor {
  readonly canary: Canary;
  readonly at: number;
}

function canaryOf(text: string): Canary {
  const piece = text.length < SHORT ? text.length : Math.max(SHORT, Math.min(PIECE, text.length >> 1));
  return { text, piece, stride: piece - WINDOW + 1 };
}

function hashAt(text: string, at: number): number {
  let hash = 0;
  for (let index = at; index < at + WINDOW; index += 1) {
    hash = (Math.imul(hash, BASE) + text.charCodeAt(index)) | 0;
  }
  return hash;
}

function sieveBit(hash: number): number {
  return Math.imul(hash, 0x9e3779b1) >>> (32 - SIEVE_BITS);
}

/** So many secrets at most; of more the one goes that was added longest ago. */
export class Canaries {
  readonly #capacity: number;
  readonly #known = new Map<string, Canary>();
  readonly #anchors = new Map<number, Anchor[]>();
  #sieve: Uint8Array | undefined;
  #goneSinceSieve = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#known.size;
  }

  /** Remembers a secret, or that a known one is still in use. Whether it is new here. */
  add(secret: string): boolean {
    const text = secret.length > LONGEST ? secret.slice(0, LONGEST) : secret;
    if (text.length < SHORTEST) return false;
    const known = this.#known.get(text);
    if (known !== undefined) {
      this.#known.delete(text);
      this.#known.set(text, known);
      return false;
    }
    if (this.#known.size >= this.#capacity) this.#dropOldest();
    const canary = canaryOf(text);
    this.#known.set(text, canary);
    this.#eachAnchor(canary, (hash, at) => {
      const anchors = this.#anchors.get(hash);
      if (anchors === undefined) this.#anchors.set(hash, [{ canary, at }]);
      else anchors.push({ canary, at });
      this.#mark(hash);
    });
    return true;
  }

  /** Where pieces of secrets stand in a text; they may overlap. Time: linear. */
  find(text: string): Span[] {
    const spans: Span[] = [];
    const sieve = this.#sieve;
    if (sieve === undefined || text.length < WINDOW) return spans;
    let hash = hashAt(text, 0);
    const last = text.length - WINDOW;
    for (let at = 0; ; at += 1) {
      const bit = sieveBit(hash);
      if (((sieve[bit >>> 3] ?? 0) >>> (bit & 7)) & 1) this.#match(text, at, hash, spans);
      if (at === last) return spans;
      hash = (Math.imul(hash - Math.imul(text.charCodeAt(at), TOP), BASE) + text.charCodeAt(at + WINDOW)) | 0;
    }
  }

  #match(text: string, at: number, hash: number, spans: Span[]): void {
    // What was found already need not be found through its other windows.
    if (at + WINDOW <= (spans.at(-1)?.[1] ?? 0)) return;
    for (const { canary, at: anchor } of this.#anchors.get(hash) ?? []) {
      let back = 0;
      while (back < anchor && back < at && same(text, at - back - 1, canary.text, anchor - back - 1))
        back += 1;
      let length = 0;
      while (anchor + length < canary.text.length && same(text, at + length, canary.text, anchor + length))
        length += 1;
      if (length >= WINDOW && back + length >= canary.piece) spans.push([at - back, at + length]);
    }
  }

  #eachAnchor({ text, stride }: Canary, visit: (hash: number, at: number) => void): void {
    for (let at = 0; at + WINDOW <= text.length; at += stride) visit(hashAt(text, at), at);
  }

  #mark(hash: number): void {
    this.#sieve ??= new Uint8Array(1 << (SIEVE_BITS - 3));
    const bit = sieveBit(hash);
    this.#sieve[bit >>> 3] = (this.#sieve[bit >>> 3] ?? 0) | (1 << (bit & 7));
  }

  #dropOldest(): void {
    const [oldest] = this.#known.values();
    if (oldest === undefined) return;
    this.#known.delete(oldest.text);
    this.#eachAnchor(oldest, (hash) => {
      const left = (this.#anchors.get(hash) ?? []).filter(({ canary }) => canary !== oldest);
      if (left.length === 0) this.#anchors.delete(hash);
      else this.#anchors.set(hash, left);
    });
    this.#goneSinceSieve += 1;
    if (this.#goneSinceSieve < this.#capacity / 4) return;
    // Else holes of those that went would fill the sieve.
    this.#goneSinceSieve = 0;
    this.#sieve?.fill(0);
    for (const hash of this.#anchors.keys()) this.#mark(hash);
  }
}

function same(left: string, at: number, right: string, index: number): boolean {
  return at < left.length && left.charCodeAt(at) === right.charCodeAt(index);
}

/** Spans in their order; those that overlap are one. */
export function mergeSpans(spans: readonly Span[]): Span[] {
  const merged: Span[] = [];
  for (const [from, to] of spans.toSorted((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last === undefined || from >= last[1]) merged.push([from, to]);
    else last[1] = Math.max(last[1], to);
  }
  return merged;
}

/** A text with its spans replaced. */
export function cutSpans(text: string, spans: readonly Span[], mark: string): string {
  let safe = "";
  let end = 0;
  for (const [from, to] of mergeSpans(spans)) {
    safe += text.slice(end, from) + mark;
    end = to;
  }
  return safe + text.slice(end);
}
