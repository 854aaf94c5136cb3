// Server-sent events with JSON payloads: the base of the handlers whose answers stream as such, and the joining of those that pass.
import type { Quirks } from "#contract/providers.ts";
import { dataText, type SseEvent, SseReader } from "#server/upstream/hub/sse.ts";
import type { EventReader } from "./handler.ts";

export class EventStreamHandler<Options extends { readonly quirks: Quirks | undefined }> {
  readonly onlyStreams = false;
  protected readonly options: Options;

  constructor(options: Options) {
    this.options = options;
  }

  get quirks(): Quirks | undefined {
    return this.options.quirks;
  }

  isStreamType(mediaType: string): boolean {
    return mediaType === "text/event-stream";
  }

  reader(): EventReader {
    return new JsonEvents();
  }
}

/** Events with JSON payloads: a truncated one at the end is discarded. */
class JsonEvents extends SseReader {
  override end(): SseEvent | undefined {
    const last = super.end();
    if (last === undefined) return undefined;
    const payload = dataText(last).trim();
    if (payload === "[DONE]") return last;
    try {
      JSON.parse(payload);
      return last;
    } catch {
      return undefined;
    }
  }
}

/** Joins passed events that are adjacent in one upstream chunk, so that they are written to the client as one piece. */
export class PassedEvents {
  readonly #emit: (bytes: Uint8Array) => void;
  #first: SseEvent | undefined;
  #end = 0;

  constructor(emit: (bytes: Uint8Array) => void) {
    this.#emit = emit;
  }

  add(event: SseEvent): void {
    if (this.#first !== undefined && (this.#first.bytes !== event.bytes || this.#end !== event.start))
      this.flush();
    this.#first ??= event;
    this.#end = event.end;
  }

  /** Emits the events joined so far. */
  flush(): void {
    const first = this.#first;
    if (first === undefined) return;
    this.#first = undefined;
    const { bytes, start } = first;
    this.#emit(start === 0 && this.#end === bytes.length ? bytes : bytes.subarray(start, this.#end));
  }
}
