// Base of the handlers whose answers stream as server-sent events with JSON payloads.
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
