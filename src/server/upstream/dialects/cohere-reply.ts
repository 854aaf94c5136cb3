// Cohere v2's answers, whole and as events → the hub (vendors/cohere). Pure.

import type { FinishReason, HubChunk } from "#server/upstream/hub/reply.ts";
import {
  asList,
  asNumber,
  asObject,
  asText,
  type JsonRecord,
  readJson,
} from "#server/upstream/json/values.ts";
import type { StreamDecoder, WireError, WireEvent } from "./dialect.ts";

const NOTHING: readonly HubChunk[] = [];
const INVALID_TOKEN = 498;
const FINISHES: Readonly<Record<string, FinishReason>> = {
  COMPLETE: "stop",
  STOP_SEQUENCE: "stop",
  MAX_TOKENS: "length",
  TOOL_CALL: "tool_calls",
};

/** A whole body. */
export function decodeWhole(body: JsonRecord): readonly HubChunk[] | WireError {
  const error = cohereError(body, 502);
  if (error !== undefined) return error;
  const message = asObject(body["message"]) ?? {};
  const end = ended(body);
  if ("kind" in end) return end;
  return [
    { kind: "head", id: asText(body["id"]) },
    ...planned(message["tool_plan"]),
    ...asList(message["content"]).flatMap((part) => spoken(asObject(part))),
    ...asList(message["tool_calls"]).map((call, at) => begun(asObject(call), at)),
    ...end,
  ];
}

export class CohereDecoder implements StreamDecoder {
  /** Call indexes of events → positions. */
  readonly #calls = new Map<unknown, number>();

  take({ data }: WireEvent): readonly HubChunk[] | WireError {
    const body = readJson(data);
    if (body === undefined) return NOTHING;
    const delta = asObject(body["delta"]) ?? {};
    const message = asObject(delta["message"]) ?? {};
    switch (body["type"]) {
      case "message-start":
        return [{ kind: "head", id: asText(body["id"]) }];
      case "content-start":
      case "content-delta":
        return spoken(asObject(message["content"]));
      case "tool-plan-delta":
        return planned(message["tool_plan"]);
      case "tool-call-start":
      case "tool-call-delta":
        return this.#call(body["index"], asObject(message["tool_calls"]));
      case "message-end": {
        const end = ended(delta);
        return "kind" in end ? end : [...end, { kind: "end" }];
      }
      case undefined:
        return cohereError(body, 502) ?? NOTHING;
      default:
        return NOTHING;
    }
  }

  #call(number: unknown, call: JsonRecord | undefined): readonly HubChunk[] {
    const at = this.#calls.get(number);
    if (at === undefined) {
      if (asText(call?.["id"]) === undefined) return NOTHING;
      this.#calls.set(number, this.#calls.size);
      return [begun(call, this.#calls.size - 1)];
    }
    const text = asText(asObject(call?.["function"])?.["arguments"]) ?? "";
    return text === "" ? NOTHING : [{ kind: "tool", index: 0, at, arguments: text }];
  }
}

function begun(call: JsonRecord | undefined, at: number): HubChunk {
  const fn = asObject(call?.["function"]);
  const text = asText(fn?.["arguments"]) ?? "";
  return {
    kind: "tool",
    index: 0,
    at,
    id: asText(call?.["id"]) ?? "",
    name: asText(fn?.["name"]) ?? "",
    arguments: text,
  };
}

/** Its tool plan is text in other formats. */
function planned(plan: unknown): readonly HubChunk[] {
  const text = asText(plan) ?? "";
  return text === "" ? NOTHING : [{ kind: "text", index: 0, text }];
}

/** Text or thinking, of a part or of a delta. */
function spoken(part: JsonRecord | undefined): readonly HubChunk[] {
  const thought = asText(part?.["thinking"]) ?? "";
  const text = asText(part?.["text"]) ?? "";
  return [
    ...(thought === "" ? NOTHING : [{ kind: "thought", index: 0, text: thought } as const]),
    ...(text === "" ? NOTHING : [{ kind: "text", index: 0, text } as const]),
  ];
}

/** ERROR and TIMEOUT abort an answer. */
function ended(told: JsonRecord): readonly HubChunk[] | WireError {
  const word = asText(told["finish_reason"]);
  if (word === "ERROR" || word === "TIMEOUT") {
    const status = word === "TIMEOUT" ? 504 : 502;
    const message = asText(told["error"]) ?? "上游生成回答时出错";
    return { kind: "error", status, message, code: word, type: "cohere_error" };
  }
  const usage = usageOf(asObject(told["usage"]));
  return [
    ...(word === undefined
      ? NOTHING
      : [{ kind: "finish", index: 0, reason: FINISHES[word] ?? "stop" } as const]),
    ...(usage === undefined ? NOTHING : [{ kind: "usage", usage } as const]),
  ];
}

/** All tokens of the call; billed units would exclude Cohere's own preamble. */
function usageOf(usage: JsonRecord | undefined): JsonRecord | undefined {
  const counts = asObject(usage?.["tokens"]) ?? asObject(usage?.["billed_units"]);
  const prompt_tokens = asNumber(counts?.["input_tokens"]);
  const completion_tokens = asNumber(counts?.["output_tokens"]);
  if (prompt_tokens === undefined || completion_tokens === undefined) return undefined;
  const cached_tokens = asNumber(usage?.["cached_tokens"]) ?? 0;
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    ...(cached_tokens > 0 && { prompt_tokens_details: { cached_tokens } }),
  };
}

/** `{id, message}` with a text message, with any status. */
export function cohereError(body: JsonRecord, httpStatus: number): WireError | undefined {
  const message = asText(body["message"]);
  if (message === undefined) return undefined;
  const status = httpStatus === INVALID_TOKEN ? 401 : httpStatus;
  return { kind: "error", status, message, code: null, type: "cohere_error" };
}
