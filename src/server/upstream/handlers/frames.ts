// Framings of streamed answers besides server-sent events.

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
