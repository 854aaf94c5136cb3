// What a client format must be able to do: read a request into the hub, write a reply, a stream and an error from it. Pure: no clock,
// no network, no chance.
import type { GenerationEndpoint } from "#contract/provider.ts";
import type { HubChunk, HubReply } from "#server/upstream/hub/reply.ts";
import type { HubRequest } from "#server/upstream/hub/request.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";

export interface ParseContext {
  /** Upstream name, after the model mapping. */
  readonly model: string;
  readonly isStream: boolean;
}

export interface RenderContext {
  /** The name the client asked for. */
  readonly model: string;
  /** Letters and digits of this request alone; ids are made from it. */
  readonly seed: string;
  /** Unit: seconds since 1970. */
  readonly created: number;
  /** The client asked for usage in its stream (formats that leave the choice). */
  readonly wantsUsage: boolean;
  /** The stream is one JSON array instead of events (Gemini without `alt=sse`). */
  readonly isArray: boolean;
  readonly request: HubRequest;
  /** What the client sent, for formats that echo settings. */
  readonly body: JsonRecord;
}

export interface StreamRenderer {
  /** What these pieces mean to the client; "" = nothing yet. */
  take(chunks: readonly HubChunk[]): string;
  /** Everything that ends the complete stream; sent once the charge is durable. */
  end(): string;
}

export interface ClientDialect {
  /** Throws: Unmappable. */
  parse(body: JsonRecord, context: ParseContext): HubRequest;
  render(reply: HubReply, context: RenderContext): JsonRecord;
  renderer(context: RenderContext): StreamRenderer;
}

/** What one event or body tells. */
export interface NativeNews {
  /** Raw usage; later ones are laid over earlier ones. */
  readonly usage?: JsonRecord | undefined;
  /** The answer is finished; the stream may end. */
  readonly isFinish?: boolean;
  /** This event is the stream's last. */
  readonly isEnd?: boolean;
  readonly error?:
    | {
        readonly status: number;
        readonly message: string;
        readonly code: string | number | null;
        readonly type: string;
      }
    | undefined;
}

/** JSON keys by what they hold. */
export interface ReplyKeys {
  readonly text: readonly string[];
  readonly media?: readonly string[];
  readonly finish: readonly string[];
  readonly usage: readonly string[];
  readonly error: readonly string[];
}

/** A format by its endpoint, or the events of pictures and sound. */
export type StreamFormat = GenerationEndpoint | "task";

/** How a format's answers are read without being changed. */
export interface NativeFormat {
  readonly name: StreamFormat;
  /** JSON keys by which events are found worth a closer look, and generated text is heard. */
  readonly keys: ReplyKeys;
  /** Those of whole replies; absent = the same. */
  readonly wholeKeys?: ReplyKeys;
  /** What tools are called with in a whole reply, where that is no text; it was generated like any other (requirements W11.5). */
  calls?(body: JsonRecord): string;
  /** Events up to this size are always looked into: terminators are short. */
  readonly shortBytes: number;
  /** Every event repeats all usage so far: of those between the first and the last none has to be read. */
  readonly repeatsUsage?: true;
  /** The stream has no terminator: the event with the finish reason is its end. */
  readonly holdsFinish: boolean;
  /** The last event, for upstreams that close their stream after the finish reason. */
  readonly lastEvent?: string;
  news(event: JsonRecord): NativeNews;
  /** Whether a whole 200 body is a reply of this format. */
  isReply(body: JsonRecord): boolean;
  /** All raw usage told, in OpenAI's shape. */
  usage(raw: JsonRecord): JsonRecord;
}
