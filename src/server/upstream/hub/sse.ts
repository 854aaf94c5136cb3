// Bytes → server-sent events and back (WHATWG HTML 9.2, requirements T1.4). Finds event boundaries without decoding or copying, so that
// an event can be passed on unchanged.

/** One event as spans of `bytes`; the raw span includes the blank line that ends it. */
export interface SseEvent {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  /** The payload: all `data:` lines, joined by LF. `dataStart` = -1: the event has none (a comment, a keep-alive). */
  readonly data: Uint8Array;
  readonly dataStart: number;
  readonly dataEnd: number;
}

/** An event above this size ends the stream as broken (requirements R14). */
export const EVENT_LIMIT_BYTES = 8 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const NOTHING = new Uint8Array(0);
const BLANK_LINE = Buffer.from("\n\n");
const DATA = Buffer.from("data");

/** Splits a byte stream into events. Takes chunks of any size; time is linear at any chunk boundaries. */
export class SseReader {
  /** Parts of the incomplete event. */
  #pieces: Uint8Array[] = [];
  #pieceBytes = 0;
  /** Whether the line being read is empty so far. */
  #atLineStart = true;
  /** Whether the last byte was a CR, whose LF may still follow. */
  #afterCr = false;
  /** Lines of the event being read. */
  #lines = 0;
  #isFirst = true;
  /** The event limit was exceeded: no more events come out. */
  isOverflown = false;

  /** The complete events that this chunk ends. */
  push(chunk: Uint8Array): SseEvent[] {
    if (this.isOverflown) return [];
    let bytes = chunk;
    let start = 0;
    let at = 0;
    const events: SseEvent[] = [];
    for (;;) {
      at = this.#nextEnd(bytes, at);
      if (at < 0) break;
      if (this.#pieceBytes > 0) {
        at += this.#pieceBytes;
        bytes = this.#join(bytes);
      }
      if (at - start > EVENT_LIMIT_BYTES) {
        this.isOverflown = true;
        return events;
      }
      events.push(this.#event(bytes, start, at));
      this.#lines = 0;
      start = at;
    }
    if (start < bytes.length) this.#keep(start === 0 ? bytes : bytes.subarray(start));
    return events;
  }

  /** The remaining bytes at the end of the stream, closed with a blank line: an event that the upstream did not close itself. */
  end(): SseEvent | undefined {
    if (this.isOverflown || this.#pieceBytes === 0 || (this.#lines === 0 && this.#atLineStart))
      return undefined;
    const bytes = this.#join(BLANK_LINE);
    return this.#event(bytes, 0, bytes.length);
  }

  #keep(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.#pieceBytes += piece.length;
    if (this.#pieceBytes > EVENT_LIMIT_BYTES) this.isOverflown = true;
  }

  #join(last: Uint8Array): Uint8Array {
    const joined = Buffer.concat([...this.#pieces, last]);
    this.#pieces = [];
    this.#pieceBytes = 0;
    return joined;
  }

  /** The offset after the next event end at or after `from`; -1 = not in this chunk. Keeps the state of the line. */
  #nextEnd(bytes: Uint8Array, from: number): number {
    let at = from;
    while (at < bytes.length) {
      const byte = bytes[at];
      if (byte !== LF && byte !== CR) {
        this.#atLineStart = false;
        this.#afterCr = false;
        at = skipLine(bytes, at + 1);
        continue;
      }
      at += 1;
      // The LF of a CRLF ends no line. The LF of an event that was emitted already is emitted at once, as an event of its own.
      const isSecondHalf = byte === LF && this.#afterCr;
      this.#afterCr = byte === CR;
      if (isSecondHalf && this.#lines === 0) return at;
      if (isSecondHalf) continue;
      if (this.#atLineStart) return this.#afterCrLf(bytes, at);
      this.#atLineStart = true;
      this.#lines += 1;
    }
    return -1;
  }

  /** Takes the LF of a CRLF that ends an event, when it is in this chunk. */
  #afterCrLf(bytes: Uint8Array, at: number): number {
    if (!this.#afterCr || bytes[at] !== LF) return at;
    this.#afterCr = false;
    return at + 1;
  }

  #event(bytes: Uint8Array, start: number, end: number): SseEvent {
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    // Nearly every event is one line that begins with `data:`.
    if (this.#lines === 1 && !isFirst && startsWithData(bytes, start)) {
      let dataEnd = end;
      while (bytes[dataEnd - 1] === LF || bytes[dataEnd - 1] === CR) dataEnd -= 1;
      const dataStart = bytes[start + 5] === 0x20 ? start + 6 : start + 5;
      return { bytes, start, end, data: bytes, dataStart, dataEnd: Math.max(dataStart, dataEnd) };
    }
    return readLines(bytes, { start, end, isFirst });
  }
}

/** The offset of the next CR or LF, or of the end. */
function skipLine(bytes: Uint8Array, from: number): number {
  const end = bytes.length;
  let at = from;
  while (at < end && bytes[at] !== LF && bytes[at] !== CR) at += 1;
  return at;
}

function startsWithData(bytes: Uint8Array, at: number): boolean {
  return (
    bytes[at] === 0x64 &&
    bytes[at + 1] === 0x61 &&
    bytes[at + 2] === 0x74 &&
    bytes[at + 3] === 0x61 &&
    bytes[at + 4] === 0x3a
  );
}

/** The general case: several lines, other fields, comments, a BOM at the very start. */
function readLines(bytes: Uint8Array, span: { start: number; end: number; isFirst: boolean }): SseEvent {
  const { start, end } = span;
  const parts: Uint8Array[] = [];
  let at = start;
  if (span.isFirst && bytes[at] === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf) at += 3;
  const bare = bareObject(bytes, at, end);
  while (at < end) {
    let lineEnd = at;
    while (lineEnd < end && bytes[lineEnd] !== LF && bytes[lineEnd] !== CR) lineEnd += 1;
    const value = dataOf(bytes, at, lineEnd);
    if (value !== undefined) parts.push(value);
    at = lineEnd + 1;
  }
  const [only = bare] = parts;
  if (only === undefined) return { bytes, start, end, data: NOTHING, dataStart: -1, dataEnd: -1 };
  const data =
    parts.length <= 1
      ? only
      : Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [Buffer.of(LF), part])));
  return { bytes, start, end, data, dataStart: 0, dataEnd: data.length };
}

/** An event that is one bare JSON object: Google's servers send an error within a stream so, over several lines; their SDKs read it. */
function bareObject(bytes: Uint8Array, start: number, end: number): Uint8Array | undefined {
  let last = end;
  while (last > start && (bytes[last - 1] === LF || bytes[last - 1] === CR)) last -= 1;
  return bytes[start] === OPEN && bytes[last - 1] === CLOSE ? bytes.subarray(start, last) : undefined;
}

/** The value of a `data` line: `data`, `data:`, `data:x` and `data: x` all count. */
function dataOf(bytes: Uint8Array, start: number, end: number): Uint8Array | undefined {
  for (let index = 0; index < DATA.length; index += 1) {
    if (bytes[start + index] !== DATA[index]) return undefined;
  }
  const colon = start + DATA.length;
  if (colon >= end) return colon === end ? NOTHING : undefined;
  if (bytes[colon] !== 0x3a) return undefined;
  return bytes.subarray(bytes[colon + 1] === 0x20 && colon + 1 < end ? colon + 2 : colon + 1, end);
}

/** The payload as text. */
export function dataText(event: SseEvent): string {
  const { data, dataStart, dataEnd } = event;
  return dataStart < 0
    ? ""
    : Buffer.from(data.buffer, data.byteOffset + dataStart, dataEnd - dataStart).toString();
}

/** The value of another field of an event (`event`, `id`, `meta` …), the last one if repeated; "" = absent. */
export function fieldOf({ bytes, start, end }: SseEvent, name: string): string {
  const lines = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start)
    .toString()
    .split(/\r\n|\n|\r/);
  const line = lines.findLast((text) => text.startsWith(`${name}:`));
  return line === undefined ? "" : line.slice(name.length + 1).replace(/^ /, "");
}

const DONE = Buffer.from("[DONE]");

/** Whether the payload is OpenAI's terminator. */
export function isDone(event: SseEvent): boolean {
  let { dataStart: start, dataEnd: end } = event;
  if (start < 0) return false;
  while (end > start && event.data[end - 1] === 0x20) end -= 1;
  while (start < end && event.data[start] === 0x20) start += 1;
  if (end - start !== DONE.length) return false;
  for (let index = 0; index < DONE.length; index += 1) {
    if (event.data[start + index] !== DONE[index]) return false;
  }
  return true;
}

/** One event with this JSON text as its payload. */
export function renderEvent(json: string): Buffer {
  return Buffer.from(`data: ${json}\n\n`);
}

/** OpenAI's terminator as an event. */
export const DONE_EVENT = Buffer.from("data: [DONE]\n\n");
