// The interface of a client format: parse a request into the hub, render a reply, a stream and an error from it. Pure: no clock, no
// network, no randomness.
import type { GenerationEndpoint } from "#contract/provider.ts";
import type { HubChunk, HubReply } from "#server/upstream/hub/reply.ts";
import type { CacheMark, HubRequest } from "#server/upstream/hub/request.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";

export interface ParseContext {
  /** Upstream name, after the model mapping. */
  readonly model: string;
  readonly isStream: boolean;
}

export interface RenderContext {
  /** The name the client asked for. */
  readonly model: string;
  /** Letters and digits unique to this request; ids are made from it. */
  readonly seed: string;
  /** Unit: seconds since 1970. */
  readonly created: number;
  /** The client asked for usage in its stream (in formats where it is optional). */
  readonly wantsUsage: boolean;
  /** The stream is one JSON array instead of events (Gemini without `alt=sse`). */
  readonly isArray: boolean;
  readonly request: HubRequest;
  /** The client's body, for formats that echo settings. */
  readonly body: JsonRecord;
}

export interface StreamRenderer {
  /** These chunks rendered for the client; "" = no output yet. */
  take(chunks: readonly HubChunk[]): string;
  /** The end of a complete stream; sent once the charge is durable. */
  end(): string;
}

export interface ClientDialect {
  /** Throws: Unmappable. */
  parse(body: JsonRecord, context: ParseContext): HubRequest;
  render(reply: HubReply, context: RenderContext): JsonRecord;
  renderer(context: RenderContext): StreamRenderer;
}

/** What one event or body contains. */
export interface NativeNews {
  /** Raw usage; the members of later usage replace those of earlier usage. */
  readonly usage?: JsonRecord | undefined;
  /** The answer is finished; the stream may close. */
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

/** JSON keys by meaning. */
export interface ReplyKeys {
  readonly text: readonly string[];
  readonly media?: readonly string[];
  readonly finish: readonly string[];
  readonly usage: readonly string[];
  readonly error: readonly string[];
}

/** A format by its endpoint, or the events of images and audio. */
export type StreamFormat = GenerationEndpoint | "task";

/** How a format's answers are observed without being changed. */
export interface NativeFormat {
  readonly name: StreamFormat;
  /** JSON keys that mark events to be parsed, and those of generated text. */
  readonly keys: ReplyKeys;
  /** The keys of whole replies; absent = the same. */
  readonly wholeKeys?: ReplyKeys;
  /** Tool call arguments of a whole reply where they are no text; they were generated too (requirements W11.5). */
  calls?(body: JsonRecord): string;
  /** Events up to this size are always parsed: terminators are short. */
  readonly shortBytes: number;
  /** Every event repeats all usage so far: only the first and the last need to be parsed. */
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

// Reads members of parsed bodies: a value of the wrong type counts as absent, as in tolerant servers. Pure.

export function textIn(record: JsonRecord | undefined, name: string): string | undefined {
  const value = record?.[name];
  return typeof value === "string" ? value : undefined;
}

export function numberIn(record: JsonRecord | undefined, name: string): number | undefined {
  const value = record?.[name];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export function flagIn(record: JsonRecord | undefined, name: string): boolean | undefined {
  const value = record?.[name];
  return typeof value === "boolean" ? value : undefined;
}

export function listIn(record: JsonRecord | undefined, name: string): readonly unknown[] {
  const value = record?.[name];
  return Array.isArray(value) ? value : [];
}

/** The objects of a list; other items are skipped. */
export function objectsIn(record: JsonRecord | undefined, name: string): JsonRecord[] {
  return listIn(record, name).flatMap((item) => {
    const object = asObject(item);
    return object === undefined ? [] : [object];
  });
}

/** A text, or the texts of a list. */
export function textsIn(record: JsonRecord, name: string): string[] | undefined {
  const value = record[name];
  if (typeof value === "string") return [value];
  if (!Array.isArray(value)) return undefined;
  return value.filter((item) => typeof item === "string");
}

/** Anthropic's `cache_control`, which other formats have adopted. */
export function cacheMark(record: JsonRecord): CacheMark | undefined {
  const mark = asObject(record["cache_control"]);
  if (mark === undefined) return undefined;
  const ttl = mark["ttl"];
  return { ttl: ttl === "1h" || ttl === "5m" ? ttl : undefined };
}
