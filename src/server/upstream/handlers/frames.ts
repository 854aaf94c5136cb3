// Framings of streamed answers besides server-sent events.

import { crc32 } from "node:zlib";
import { EVENT_LIMIT_BYTES, type SseEvent } from "#server/upstream/hub/sse.ts";
import type { EventReader } from "./handler.ts";

const LF = 0x0a;
const NOTHING = new Uint8Array(0);

/** One JSON text per line. */
export class LineReader implements EventReader {
  isOverflown = false;
  #pieces: Uint8Array[] = [];
  #pieceBytes = 0;

  push(chunk: Uint8Array): SseEvent[] {
    const events: SseEvent[] = [];
    let start = 0;
    while (!this.isOverflown) {
      const at = chunk.indexOf(LF, start);
      if (at < 0) break;
      this.#close(chunk.subarray(start, at), events);
      start = at + 1;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
    return events;
  }

  end(): SseEvent | undefined {
    const events: SseEvent[] = [];
    if (this.#pieceBytes > 0 && !this.isOverflown) this.#close(NOTHING, events);
    const [last] = events;
    return last !== undefined && isJson(last) ? last : undefined;
  }

  #keep(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.#pieceBytes += piece.length;
    if (this.#pieceBytes > EVENT_LIMIT_BYTES) this.isOverflown = true;
  }

  #close(last: Uint8Array, events: SseEvent[]): void {
    const bytes = this.#pieceBytes === 0 ? last : Buffer.concat([...this.#pieces, last]);
    this.#pieces = [];
    this.#pieceBytes = 0;
    if (bytes.length > EVENT_LIMIT_BYTES) {
      this.isOverflown = true;
      return;
    }
    let dataEnd = bytes.length;
    while (dataEnd > 0 && (bytes[dataEnd - 1] ?? 0) <= 0x20) dataEnd -= 1;
    if (dataEnd === 0) return;
    events.push({ bytes, start: 0, end: bytes.length, data: bytes, dataStart: 0, dataEnd });
  }
}

/** A truncated line is no event. */
function isJson({ data, dataEnd }: SseEvent): boolean {
  try {
    JSON.parse(Buffer.from(data.subarray(0, dataEnd)).toString());
    return true;
  } catch {
    return false;
  }
}

// Amazon's event stream, a binary framing of streamed answers. Source: vendors/bedrock: four bytes of total length, four of header length,
// CRC32 of these eight; headers; payload; CRC32 of all before. Big endian.

const PRELUDE_BYTES = 12;
const CRC_BYTES = 4;
/** The type of a header's value that is a text; the only one that is read. */
const TEXT = 7;
/** Value lengths of the other types, by type: booleans, byte, short, integer, long, bytes (told), text (told), time, uuid. */
const VALUE_BYTES: readonly (number | "told")[] = [0, 0, 1, 2, 4, 8, "told", "told", 8, 16];

/** Cuts an event stream into events: the payload is the data; the fields are `event` and, for exceptions, `exception`. */
export class AwsReader implements EventReader {
  /** A frame was too large or damaged: nothing more comes out. */
  isOverflown = false;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  /** The bytes needed before the next step. */
  #wanted = PRELUDE_BYTES;

  push(chunk: Uint8Array): SseEvent[] {
    const events: SseEvent[] = [];
    if (chunk.length === 0 || this.isOverflown) return events;
    this.#pieces.push(chunk);
    this.#bytes += chunk.length;
    while (this.#bytes >= this.#wanted && !this.isOverflown) {
      const bytes = this.#joined();
      const total = bytes.readUInt32BE(0);
      const isSane = total >= PRELUDE_BYTES + CRC_BYTES && total <= EVENT_LIMIT_BYTES;
      if (!isSane || crc32(bytes.subarray(0, 8)) !== bytes.readUInt32BE(8)) {
        this.isOverflown = true;
      } else if (bytes.length < total) {
        this.#wanted = total;
      } else {
        this.#take(bytes.subarray(0, total), events);
        this.#pieces = total === bytes.length ? [] : [bytes.subarray(total)];
        this.#bytes = bytes.length - total;
        this.#wanted = PRELUDE_BYTES;
      }
    }
    return events;
  }

  /** A truncated frame is no event. */
  end(): undefined {
    return undefined;
  }

  #joined(): Buffer {
    const [first, ...others] = this.#pieces;
    const joined =
      first !== undefined && others.length === 0
        ? Buffer.from(first.buffer, first.byteOffset, first.length)
        : Buffer.concat(this.#pieces);
    this.#pieces = [joined];
    return joined;
  }

  #take(frame: Buffer, events: SseEvent[]): void {
    const end = frame.length - CRC_BYTES;
    const headersEnd = PRELUDE_BYTES + frame.readUInt32BE(4);
    const headers = headersEnd > end ? undefined : headersOf(frame.subarray(PRELUDE_BYTES, headersEnd));
    if (headers === undefined || crc32(frame.subarray(0, end)) !== frame.readUInt32BE(end)) {
      this.isOverflown = true;
      return;
    }
    const fields = Buffer.from(fieldsOf(headers));
    events.push({
      bytes: fields,
      start: 0,
      end: fields.length,
      data: frame,
      dataStart: headersEnd,
      dataEnd: end,
    });
  }
}

/** The headers whose values are texts; undefined = they are damaged. */
function headersOf(bytes: Buffer): ReadonlyMap<string, string> | undefined {
  const headers = new Map<string, string>();
  let at = 0;
  while (at < bytes.length) {
    const nameEnd = at + 1 + (bytes[at] ?? 0);
    const value = valueAt(bytes, nameEnd);
    if (value === undefined || value.end > bytes.length) return undefined;
    if (value.isText)
      headers.set(bytes.toString("utf8", at + 1, nameEnd), bytes.toString("utf8", value.start, value.end));
    at = value.end;
  }
  return headers;
}

/** The bounds of the value whose type byte is at `at`; undefined = unknown type, or truncated. */
function valueAt(bytes: Buffer, at: number): { isText: boolean; start: number; end: number } | undefined {
  const type = bytes[at];
  const size = VALUE_BYTES[type ?? -1];
  if (size === undefined) return undefined;
  if (size !== "told") return { isText: false, start: at + 1, end: at + 1 + size };
  if (at + 3 > bytes.length) return undefined;
  return { isText: type === TEXT, start: at + 3, end: at + 3 + bytes.readUInt16BE(at + 1) };
}

/** Headers as `name: value` lines, like the fields of server-sent events. */
function fieldsOf(headers: ReadonlyMap<string, string>): string {
  const value = (name: string) => (headers.get(name) ?? "").replace(/[\r\n]/g, " ");
  return value(":message-type") === "event"
    ? `event: ${value(":event-type")}\n`
    : `exception: ${value(":exception-type") || value(":error-code") || "error"}\n`;
}
