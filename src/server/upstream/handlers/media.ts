// The handler of images and audio on OpenAI's wire: JSON, plain text, audio bytes, or events; all of it passes through
// (vendors/openai-images, vendors/openai-audio).
import type { EndpointName } from "#contract/provider.ts";
import { type MediaEndpoint, RELAY_ENDPOINTS } from "#contract/relay-endpoint.ts";
import type { NativeFormat, NativeNews } from "#server/upstream/clients/client.ts";
import {
  nativeFault,
  type RelayFault,
  type UpstreamError,
  unreadableFault,
  wireFault,
} from "#server/upstream/errors/fault.ts";
import { toldStatus } from "#server/upstream/errors/status-from-error.ts";
import type { SseEvent } from "#server/upstream/hub/sse.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { readReply } from "./classify.ts";
import type {
  EventAction,
  EventReader,
  ReplyOutput,
  ResponseHandler,
  StreamObserver,
  Whole,
} from "./handler.ts";
import { NativeHandler, type NativeOptions } from "./native.ts";

const MEDIA: ReadonlySet<string> = new Set(
  RELAY_ENDPOINTS.flatMap(({ kind, name }) => (kind === "media" ? [name] : [])),
);

/** Whether an endpoint handles images or audio. */
export function isTask(endpoint: EndpointName): endpoint is MediaEndpoint {
  return MEDIA.has(endpoint);
}

/** Type of the last event in streams of images, speech and transcription. */
const LAST = /(\.completed|\.done)$/;

/** The event fields that are read: usage comes with the last event. */
const taskEvents: NativeFormat = {
  name: "task",
  keys: { text: ["delta"], finish: [], usage: ["usage"], error: ["error"] },
  // The end of speech may come without usage.
  shortBytes: 256,
  holdsFinish: true,

  news(event: JsonRecord): NativeNews {
    const { type, usage } = event;
    const error = asObject(event["error"]);
    const code = error?.["code"];
    return {
      usage: asObject(usage),
      isFinish: typeof type === "string" && LAST.test(type),
      ...(error !== undefined && {
        error: {
          status: toldStatus(code, error["type"]) ?? 502,
          message: typeof error["message"] === "string" ? error["message"] : "",
          code: typeof code === "string" || typeof code === "number" ? code : null,
          type: "upstream_error",
        },
      }),
    };
  },

  isReply: () => true,
  usage: (raw) => raw,
};

export interface MediaOptions extends Pick<NativeOptions, "quirks" | "secrets"> {
  readonly endpoint: MediaEndpoint;
}

export class MediaHandler implements ResponseHandler {
  readonly onlyStreams = false;
  readonly quirks: NativeOptions["quirks"];
  readonly #options: MediaOptions;
  #isSound = false;

  constructor(options: MediaOptions) {
    this.#options = options;
    this.quirks = options.quirks;
  }

  isStreamType(mediaType: string): boolean {
    this.#isSound = this.#options.endpoint === "speech" && isSound(mediaType);
    return this.#isSound || mediaType === "text/event-stream";
  }

  isWholeType(mediaType: string): boolean {
    const { endpoint } = this.#options;
    return (endpoint === "transcription" || endpoint === "translation") && TEXT_TYPES.has(mediaType);
  }

  reader(): EventReader {
    return this.#isSound ? new ByteReader() : this.#events().reader();
  }

  observer(): StreamObserver {
    return this.#isSound ? new ByteObserver() : this.#events().observer();
  }

  whole(body: Buffer): Whole | RelayFault {
    const { endpoint, secrets } = this.#options;
    const reply = readReply(body);
    const text = () => spokenText(body, reply);
    if (reply === undefined) {
      const isText = endpoint === "transcription" || endpoint === "translation";
      return isText ? { kind: "body", body, usage: undefined, text } : unreadableFault("no JSON object", 200);
    }
    const error = taskEvents.news(reply).error;
    if (error !== undefined) return wireFault(error, secrets);
    return { kind: "body", body, usage: asObject(reply["usage"]), text };
  }

  /** OpenAI's whisper-1 and many other models ignore `stream`; their whole answer is valid. Speech must be audio. */
  wholeAsStream(body: Buffer): Whole | RelayFault {
    if (this.#options.endpoint === "speech") return unreadableFault("a whole answer to a stream", 200);
    return this.whole(body);
  }

  first(event: SseEvent): RelayFault | undefined {
    return this.#isSound ? undefined : this.#events().first?.(event);
  }

  fault(error: UpstreamError): RelayFault {
    return nativeFault(error);
  }

  #events(): ResponseHandler {
    const { quirks, secrets } = this.#options;
    const translated = () => this;
    return new NativeHandler({ format: taskEvents, quirks, secrets, isArray: false, translated });
  }
}

const TEXT_TYPES: ReadonlySet<string> = new Set([
  "text/plain",
  "text/vtt",
  "text/srt",
  "application/x-subrip",
  "application/octet-stream",
]);

function isSound(mediaType: string): boolean {
  return (
    mediaType.startsWith("audio/") || mediaType === "application/octet-stream" || mediaType === "video/mp4"
  );
}

/** The transcript: the text of the JSON form, or the whole plain body. */
function spokenText(body: Buffer, reply: JsonRecord | undefined): string {
  const text = reply?.["text"];
  if (typeof text === "string") return text;
  return reply === undefined ? body.toString() : "";
}

/** Bytes that are not cut into events. */
class ByteReader implements EventReader {
  readonly isOverflown = false;

  push(chunk: Uint8Array): SseEvent[] {
    const end = chunk.length;
    return end === 0 ? [] : [{ bytes: chunk, start: 0, end, data: chunk, dataStart: 0, dataEnd: end }];
  }

  end(): undefined {
    return undefined;
  }
}

const NO_OUTPUT: ReplyOutput = { textBytes: 0, textChars: 0, textPieces: 0, text: () => "" };

/** An audio stream is complete when its connection ends without error. */
class ByteObserver implements StreamObserver {
  readonly output = NO_OUTPUT;
  readonly usage = undefined;
  readonly isFinished = true;
  events = 0;

  take(): EventAction {
    this.events += 1;
    return "pass";
  }

  tail(): Uint8Array {
    return new Uint8Array(0);
  }
}
