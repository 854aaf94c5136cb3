import type { SseEvent } from "#server/upstream/hub/sse.ts";

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
