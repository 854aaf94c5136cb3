// AWS Bedrock's Converse, one wire for every model family there (vendors/bedrock): Nova, Llama, Mistral, DeepSeek and others; Claude has
// its own wire. Requests are in converse-request.ts.

import { awsException } from "#server/upstream/hub/aws.ts";
import type { FinishReason, HubChunk } from "#server/upstream/hub/reply.ts";
import {
  asList,
  asNumber,
  asObject,
  asText,
  type JsonRecord,
  readJson,
} from "#server/upstream/json/values.ts";
import { encodeRequest } from "./converse-request.ts";
import type { Dialect, StreamDecoder, WireError, WireEvent } from "./dialect.ts";

export const converse: Dialect = {
  native: undefined,
  frames: "aws",
  // It opens only addresses of Amazon S3.
  inlinesMedia: true,

  address(endpoint, wire, { baseUrl, model, isStream }) {
    const url = baseUrl + (wire.paths[endpoint] ?? "").replace("{model}", encodeURIComponent(model));
    return isStream ? `${url}-stream` : url;
  },

  encode: encodeRequest,
  decode: decodeWhole,
  decoder: () => new ConverseDecoder(),
};

// Converse's answers, whole and as events → the hub (vendors/bedrock; AWS API reference, ConverseStreamOutput). Pure.

const NOTHING: readonly HubChunk[] = [];
const FINISHES: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  guardrail_intervened: "content_filter",
  content_filtered: "content_filter",
};

/** A whole body. */
function decodeWhole(body: JsonRecord): readonly HubChunk[] {
  const content = asList(asObject(asObject(body["output"])?.["message"])?.["content"]);
  let calls = 0;
  const said = content.flatMap((item): readonly HubChunk[] => {
    const block = asObject(item) ?? {};
    const call = asObject(block["toolUse"]);
    if (call === undefined) return spoken(block);
    calls += 1;
    return [begun(call, calls - 1, JSON.stringify(asObject(call["input"]) ?? {}))];
  });
  return [...said, ...finished(body), ...usageIn(body)];
}

class ConverseDecoder implements StreamDecoder {
  /** Indexes of content blocks → positions of calls. */
  readonly #calls = new Map<unknown, number>();

  take(event: WireEvent): readonly HubChunk[] | WireError {
    const exception = event.field("exception");
    if (exception !== "") return awsException(exception, event.data);
    const body = readJson(event.data);
    if (body === undefined) return NOTHING;
    switch (event.field("event")) {
      case "contentBlockStart":
        return this.#begin(body);
      case "contentBlockDelta":
        return this.#say(body);
      case "messageStop":
        return finished(body);
      case "metadata":
        return [...usageIn(body), { kind: "end" }];
      default:
        return NOTHING;
    }
  }

  #begin(body: JsonRecord): readonly HubChunk[] {
    const call = asObject(asObject(body["start"])?.["toolUse"]);
    if (call === undefined) return NOTHING;
    const at = this.#calls.size;
    this.#calls.set(body["contentBlockIndex"], at);
    return [begun(call, at, "")];
  }

  #say(body: JsonRecord): readonly HubChunk[] {
    const delta = asObject(body["delta"]) ?? {};
    const call = asObject(delta["toolUse"]);
    if (call === undefined) return spoken(delta);
    const at = this.#calls.get(body["contentBlockIndex"]);
    const text = asText(call["input"]) ?? "";
    return at === undefined || text === "" ? NOTHING : [{ kind: "tool", index: 0, at, arguments: text }];
  }
}

function begun(call: JsonRecord, at: number, input: string): HubChunk {
  const id = asText(call["toolUseId"]) ?? "";
  return { kind: "tool", index: 0, at, id, name: asText(call["name"]) ?? "", arguments: input };
}

/** Text or thinking, of a block or of a delta. */
function spoken(block: JsonRecord): readonly HubChunk[] {
  const text = asText(block["text"]) ?? "";
  if (text !== "") return [{ kind: "text", index: 0, text }];
  const reasoning = asObject(block["reasoningContent"]);
  if (reasoning === undefined) return NOTHING;
  const told = asObject(reasoning["reasoningText"]) ?? reasoning;
  const thought = asText(told["text"]) ?? "";
  const signature = asText(told["signature"]) ?? "";
  const data = asText(reasoning["redactedContent"]) ?? "";
  return [
    ...(thought === "" ? NOTHING : [{ kind: "thought", index: 0, text: thought } as const]),
    ...(signature === "" ? NOTHING : [{ kind: "signature", index: 0, signature } as const]),
    ...(data === "" ? NOTHING : [{ kind: "redacted", index: 0, data } as const]),
  ];
}

function finished(body: JsonRecord): readonly HubChunk[] {
  const reason = asText(body["stopReason"]);
  return reason === undefined ? NOTHING : [{ kind: "finish", index: 0, reason: FINISHES[reason] ?? "stop" }];
}

/** The input excludes cache reads and writes. */
function usageIn(body: JsonRecord): readonly HubChunk[] {
  const usage = asObject(body["usage"]);
  const fresh = asNumber(usage?.["inputTokens"]);
  const completion_tokens = asNumber(usage?.["outputTokens"]);
  if (fresh === undefined || completion_tokens === undefined) return NOTHING;
  const cached_tokens = asNumber(usage?.["cacheReadInputTokens"]) ?? 0;
  const cache_write_tokens = asNumber(usage?.["cacheWriteInputTokens"]) ?? 0;
  const prompt_tokens = fresh + cached_tokens + cache_write_tokens;
  const details = {
    ...(cached_tokens > 0 && { cached_tokens }),
    ...(cache_write_tokens > 0 && { cache_write_tokens }),
  };
  return [
    {
      kind: "usage",
      usage: {
        prompt_tokens,
        completion_tokens,
        total_tokens: prompt_tokens + completion_tokens,
        ...(Object.keys(details).length > 0 && { prompt_tokens_details: details }),
      },
    },
  ];
}
