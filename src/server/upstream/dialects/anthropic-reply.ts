// Replies of Anthropic's wire, whole and streamed, as hub chunks (vendors/claude-reply, vendors/claude-stream, vendors/claude-events).
// Both use the same block decoder, so that they cannot differ.
import type { FinishReason, HubChunk } from "#server/upstream/hub/reply.ts";
import { asList, asObject, asText, type JsonRecord, readJson } from "#server/upstream/json/values.ts";
import type { StreamDecoder, WireError, WireEvent } from "./dialect.ts";

/** Source: requirements T3.3. */
const ERROR_STATUS: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

/** pause_turn: the client cannot continue a turn of the server's own tools. Source: vendors/claude-reply. */
const FINISH: Readonly<Record<string, FinishReason>> = {
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "content_filter",
};

const NOTHING: readonly HubChunk[] = [];

/** Decodes a whole 200 body; no chunks = it is no message. */
export function decodeMessage(body: JsonRecord): readonly HubChunk[] | WireError {
  const error = errorIn(body);
  if (error !== undefined) return error;
  const content = body["content"];
  if (!Array.isArray(content)) return NOTHING;
  const blocks = new Blocks();
  const chunks: HubChunk[] = [headOf(body)];
  for (const [index, item] of content.entries()) {
    const block = asObject(item);
    if (block !== undefined) chunks.push(...blocks.start(index, block), ...blocks.stop(index));
  }
  const usage = asObject(body["usage"]);
  chunks.push(...blocks.finish(body));
  if (usage !== undefined) chunks.push(...usageChunks(usage));
  chunks.push({ kind: "end" });
  return chunks;
}

/** Decodes one stream. Unknown and malformed events give no chunks. */
export class MessageDecoder implements StreamDecoder {
  readonly #blocks = new Blocks();
  #usage: JsonRecord | undefined;
  #isFinished = false;

  take({ data }: WireEvent): readonly HubChunk[] | WireError {
    const event = readJson(data);
    if (event === undefined) return NOTHING;
    switch (event["type"]) {
      case "content_block_delta":
        return this.#blocks.delta(event["index"], asObject(event["delta"]));
      case "content_block_start":
        return this.#blocks.start(event["index"], asObject(event["content_block"]));
      case "content_block_stop":
        return this.#blocks.stop(event["index"]);
      case "message_start":
        return this.#start(asObject(event["message"]));
      case "message_delta":
        return this.#onDelta(event);
      case "message_stop":
        return [...(this.#isFinished ? NOTHING : this.#blocks.finish({})), { kind: "end" }];
      default:
        return errorIn(event) ?? NOTHING;
    }
  }

  #start(message: JsonRecord | undefined): readonly HubChunk[] {
    if (message === undefined) return NOTHING;
    return [headOf(message), ...this.#learn(message["usage"])];
  }

  #onDelta(event: JsonRecord): readonly HubChunk[] {
    const delta = asObject(event["delta"]) ?? {};
    const usage = this.#learn(event["usage"]);
    if (typeof delta["stop_reason"] !== "string") return usage;
    this.#isFinished = true;
    return [...this.#blocks.finish(delta), ...usage];
  }

  #learn(value: unknown): readonly HubChunk[] {
    const news = asObject(value);
    if (news === undefined) return NOTHING;
    this.#usage = laterUsage(this.#usage, news);
    return usageChunks(this.#usage);
  }
}

/** An open block; blocks never overlap, but the decoder does not rely on it. */
interface Block {
  readonly type: string;
  /** Of a tool block: its position among the calls. */
  readonly at: number;
  /** Arguments that came with the start; used when no delta follows. */
  readonly whole: string;
  hasPieces: boolean;
  /** The offset of the block's text in the answer. */
  readonly textStart: number;
  readonly citations: JsonRecord[];
}

/** Decodes the blocks of one message, whole or streamed. */
class Blocks {
  readonly #open = new Map<unknown, Block>();
  #calls = 0;
  #textLength = 0;

  start(index: unknown, block: JsonRecord | undefined): readonly HubChunk[] {
    const type = block?.["type"];
    if (block === undefined || typeof type !== "string") return NOTHING;
    const isTool = type === "tool_use";
    const opened: Block = {
      type,
      at: isTool ? this.#calls++ : -1,
      whole: isTool ? inputText(block["input"]) : "",
      hasPieces: false,
      textStart: this.#textLength,
      citations: citationsIn(block["citations"]),
    };
    this.#open.set(index, opened);
    switch (type) {
      case "text":
        return this.#text(block["text"]);
      case "thinking":
        return [...thought(block["thinking"]), ...signature(block["signature"])];
      case "redacted_thinking":
        return typeof block["data"] === "string"
          ? [{ kind: "redacted", index: 0, data: block["data"] }]
          : NOTHING;
      case "tool_use":
        return [
          {
            kind: "tool",
            index: 0,
            at: opened.at,
            id: asText(block["id"]),
            name: asText(block["name"]),
            arguments: "",
          },
        ];
      default:
        // The server's own tools and their results: useless to clients of other formats (vendors/claude-reply).
        return NOTHING;
    }
  }

  delta(index: unknown, delta: JsonRecord | undefined): readonly HubChunk[] {
    switch (delta?.["type"]) {
      case "text_delta":
        return this.#text(delta["text"]);
      case "input_json_delta":
        return this.#argument(index, delta["partial_json"]);
      case "thinking_delta":
        return thought(delta["thinking"]);
      case "signature_delta":
        return signature(delta["signature"]);
      case "citations_delta": {
        const citation = asObject(delta["citation"]);
        if (citation !== undefined) this.#open.get(index)?.citations.push(citation);
        return NOTHING;
      }
      default:
        return NOTHING;
    }
  }

  stop(index: unknown): readonly HubChunk[] {
    const block = this.#open.get(index);
    if (block === undefined) return NOTHING;
    this.#open.delete(index);
    if (block.type === "tool_use" && !block.hasPieces)
      return [{ kind: "tool", index: 0, at: block.at, arguments: block.whole }];
    if (block.citations.length === 0) return NOTHING;
    const span = { start_index: block.textStart, end_index: this.#textLength };
    return block.citations.flatMap((citation) => annotationsOf(citation, span));
  }

  /** `source` holds the stop reason; a complete answer without one ended regularly. */
  finish(source: JsonRecord): readonly HubChunk[] {
    const told = source["stop_reason"];
    const fallback = this.#calls > 0 ? "tool_calls" : "stop";
    const reason = typeof told === "string" ? (FINISH[told] ?? "stop") : fallback;
    const explanation = told === "refusal" ? asObject(source["stop_details"])?.["explanation"] : undefined;
    const sequence = asText(source["stop_sequence"]);
    return [
      ...(typeof explanation === "string" && explanation !== ""
        ? [{ kind: "refusal", index: 0, text: explanation } as const]
        : []),
      {
        kind: "finish",
        index: 0,
        reason,
        ...(sequence !== undefined && { stopSequence: sequence }),
      },
    ];
  }

  #text(text: unknown): readonly HubChunk[] {
    if (typeof text !== "string" || text === "") return NOTHING;
    this.#textLength += text.length;
    return [{ kind: "text", index: 0, text }];
  }

  #argument(index: unknown, piece: unknown): readonly HubChunk[] {
    const block = this.#open.get(index);
    if (block?.type !== "tool_use" || typeof piece !== "string" || piece === "") return NOTHING;
    block.hasPieces = true;
    return [{ kind: "tool", index: 0, at: block.at, arguments: piece }];
  }
}

function headOf(message: JsonRecord): HubChunk {
  return { kind: "head", id: asText(message["id"]), model: asText(message["model"]) };
}

function thought(text: unknown): readonly HubChunk[] {
  return typeof text === "string" && text !== "" ? [{ kind: "thought", index: 0, text }] : NOTHING;
}

function signature(text: unknown): readonly HubChunk[] {
  return typeof text === "string" && text !== ""
    ? [{ kind: "signature", index: 0, signature: text }]
    : NOTHING;
}

/** The JSON text of a call's input; no input means an empty object (requirements T18.4). */
function inputText(input: unknown): string {
  if (typeof input === "string" && input !== "") return input;
  return asObject(input) === undefined ? "{}" : JSON.stringify(input);
}

function citationsIn(value: unknown): JsonRecord[] {
  return asList(value)
    .map(asObject)
    .filter((item) => item !== undefined);
}

/** Only web citations have a counterpart (requirements T18.7). */
function annotationsOf(citation: JsonRecord, span: JsonRecord): readonly HubChunk[] {
  const { url, title } = citation;
  if (typeof url !== "string") return NOTHING;
  const place = { ...span, url, title: typeof title === "string" ? title : url };
  return [{ kind: "annotation", index: 0, annotation: { type: "url_citation", url_citation: place } }];
}

function usageChunks(usage: JsonRecord): readonly HubChunk[] {
  const told = openAiUsage(usage);
  return told === undefined ? NOTHING : [{ kind: "usage", usage: told }];
}

/** An error object of this wire, in a body, an event or an error reply; undefined = it is none. Source: vendors/claude-errors. */
export function errorIn(body: JsonRecord, status?: number): WireError | undefined {
  const error = asObject(body["error"]);
  if (error === undefined || body["type"] === "message") return undefined;
  const message = asText(error["message"]) ?? "";
  // Reported as a bad request, but the account is the cause (vendors/claude-errors).
  if (/^your credit balance is too low/i.test(message))
    return { kind: "error", status: 402, message, code: "billing_error", type: "billing_error" };
  const told = asText(error["type"]);
  // An error reply of another form is read generically (requirements T21.1).
  if (told === undefined && status !== undefined) return undefined;
  const type = told ?? "api_error";
  return { kind: "error", status: status ?? ERROR_STATUS[type] ?? 500, message, code: type, type };
}

// Anthropic's usage object in OpenAI's shape: Anthropic's input excludes the cache, OpenAI's includes it (vendors/claude-reply,
// vendors/claude-messages).

/** Counters that are sent at the start and corrected later. */
const INPUTS = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"] as const;

/**
 * Merges newer counters over older ones: they are totals, never added. A zero never overwrites a reported count: vendors repeat the object
 * with its input counts empty (vendors/claude-events).
 */
export function laterUsage(known: JsonRecord | undefined, news: JsonRecord): JsonRecord {
  const merged: Record<string, unknown> = { ...known };
  for (const [name, value] of Object.entries(news)) {
    if (value === null || value === undefined) continue;
    if (isZero(value) && merged[name] !== undefined) continue;
    merged[name] = value;
  }
  return merged;
}

/** A counter of 0, or an object of such counters. */
export function isZero(value: unknown): boolean {
  const counters = asObject(value);
  return counters === undefined ? value === 0 : Object.values(counters).every((counter) => counter === 0);
}

/** undefined = no valid usage: a counter is no whole number ≥ 0, or there is none. */
export function openAiUsage(usage: JsonRecord): JsonRecord | undefined {
  const written = asObject(usage["cache_creation"]);
  const hour = countOf(written?.["ephemeral_1h_input_tokens"]);
  const counts = INPUTS.map((name) => countOf(usage[name]));
  const output = countOf(usage["output_tokens"]);
  if ([...counts, output, hour].some((count) => Number.isNaN(count))) return undefined;
  if (output === undefined && counts.every((count) => count === undefined)) return undefined;
  const [fresh = 0, cached = 0, write = 0] = counts;
  const completion = output ?? 0;
  const prompt = fresh + cached + write;
  const thinking = countOf(asObject(usage["output_tokens_details"])?.["thinking_tokens"]) ?? 0;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(cached + write > 0 && {
      prompt_tokens_details: {
        cached_tokens: cached,
        ...(write > 0 && { cache_write_tokens: write }),
        ...(write > 0 && hour !== undefined && hour > 0 && { cache_write_1h_tokens: hour }),
      },
    }),
    ...(thinking > 0 && { completion_tokens_details: { reasoning_tokens: thinking } }),
  };
}

/** undefined = absent; NaN = invalid. */
function countOf(value: unknown): number | undefined {
  if (typeof value !== "number") return undefined;
  return Number.isSafeInteger(value) && value >= 0 ? value : Number.NaN;
}
