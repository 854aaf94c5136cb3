// Cohere's v2 (vendors/rerank, vendors/cohere): /v2/chat, /v2/embed, /v2/rerank.

import { chatBody } from "#server/upstream/hub/chat-body.ts";
import { ownExtras, SILENT_RESULT, scoresIn, soundMessages, within } from "#server/upstream/hub/plain.ts";
import type { FinishReason, HubChunk } from "#server/upstream/hub/reply.ts";
import {
  type Ability,
  type HubReasoning,
  type HubRequest,
  hintsBeyond,
  isToolForced,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import {
  asList,
  asNumber,
  asObject,
  asText,
  type JsonRecord,
  readJson,
} from "#server/upstream/json/values.ts";
import type {
  Dialect,
  Embedded,
  EmbeddingWire,
  Encoded,
  Ranked,
  RerankWire,
  StreamDecoder,
  WireError,
  WireEvent,
} from "./dialect.ts";

/** Required by models from v3 on; a client may set another one. */
const INPUT_TYPE = "search_document";

const embeddings: EmbeddingWire = {
  hints: ["input_type", "truncate"],

  encode({ model, inputs, dimensions, user, hints = {} }) {
    const { input_type = INPUT_TYPE, truncate } = hints;
    const body = {
      model,
      texts: inputs,
      input_type,
      embedding_types: ["float"],
      output_dimension: dimensions,
      truncate,
    };
    return { body, dropped: user === undefined ? [] : ["user"] };
  },

  decode(body): Embedded | WireError {
    const vectors = asList(asObject(body["embeddings"])?.["float"]).map((vector) =>
      asList(vector).filter((value) => typeof value === "number"),
    );
    const count = asNumber(asObject(asObject(body["meta"])?.["billed_units"])?.["input_tokens"]);
    const usage = count === undefined ? undefined : { prompt_tokens: count, total_tokens: count };
    return cohereError(body, 502) ?? { kind: "embedded", vectors, usage };
  },
};

/** Charged by the search; it reports no tokens (vendors/rerank). */
const rerank: RerankWire = {
  encode({ model, query, documents, top }) {
    return { body: { model, query, documents, top_n: top } };
  },

  decode(body): Ranked | WireError {
    return cohereError(body, 502) ?? { kind: "ranked", results: scoresIn(body["results"]), usage: undefined };
  },
};

export const cohere: Dialect = {
  native: undefined,
  embeddings,
  rerank,

  // The base URL may contain the version.
  address: (endpoint, wire, { baseUrl }) => baseUrl.replace(/\/v[12]$/, "") + (wire.paths[endpoint] ?? ""),

  encode: encodeRequest,
  decode: decodeWhole,
  decoder: () => new CohereDecoder(),
  readError: (status, body) =>
    asText(body["message"]) === undefined ? undefined : cohereError(body, status),
};

// The hub → a Cohere v2 chat body (vendors/cohere): OpenAI's messages and tools, other names for the rest. Pure.

const ABILITIES: ReadonlySet<Ability> = new Set(["seed", "penalties", "top_k"]);
/** Members of the wire itself, under their own names. */
const OWN_MEMBERS = ["documents", "citation_options", "safety_mode", "strict_tools"];
/** Source: vendors/cohere. */
const RANGES = { temperature: [0, 1], p: [0.01, 0.99], k: [0, 500], penalty: [0, 1] } as const;
const STOP_LIMIT = 5;
/** Models that do not think, and refuse `thinking`. */
const WITHOUT_THINKING = /^command-(r|light|nightly|a-(03|vision|translate))/;

/** Throws: Unmappable. */
function encodeRequest(request: HubRequest): Encoded {
  refuseMedia(request);
  const { own, rest } = ownExtras(request, OWN_MEMBERS);
  const { body: chat, toolNames } = chatBody(shown(request), { keepsThoughts: false });
  const tools = asList(chat["tools"]).map(toolOf);
  const stop = request.stop ?? [];
  const thinks = request.reasoning !== undefined && !WITHOUT_THINKING.test(request.model);
  const body = {
    model: request.model,
    stream: request.isStream,
    messages: asList(chat["messages"]).map(messageOf),
    ...(tools.length > 0 && { tools, tool_choice: choiceOf(request.toolChoice) }),
    response_format: formatOf(request),
    max_tokens: request.maxTokens,
    ...(stop.length > 0 && { stop_sequences: stop.slice(0, STOP_LIMIT) }),
    temperature: within(request.temperature, ...RANGES.temperature),
    p: within(request.topP, ...RANGES.p),
    k: within(request.topK, ...RANGES.k),
    seed: request.seed,
    frequency_penalty: within(request.frequencyPenalty, ...RANGES.penalty),
    presence_penalty: within(request.presencePenalty, ...RANGES.penalty),
    thinking: thinks && request.reasoning ? thinkingOf(request.reasoning) : undefined,
    ...own,
    ...(isStrict(request) && { strict_tools: true }),
  };
  return { body, dropped: [...hintsBeyond(rest, ABILITIES), ...unheard(request, thinks)], toolNames };
}

/** Throws: Unmappable. */
function refuseMedia({ messages }: HubRequest): void {
  for (const { parts } of messages)
    for (const { kind } of parts)
      if (kind !== "text" && kind !== "refusal" && kind !== "image")
        throw new Unmappable(`messages[].content[].${kind}`, "该渠道只支持文本与图片");
}

/** More dropped hints, by OpenAI's names. */
function unheard({ tools = [], reasoning, stop = [] }: HubRequest, thinks: boolean): string[] {
  const asksThought = reasoning !== undefined && !isOff(reasoning);
  return [
    ...(stop.length > STOP_LIMIT ? ["stop"] : []),
    ...(asksThought && !thinks ? ["reasoning_effort"] : []),
    ...(tools.some(({ kind }) => kind === "web-search") ? ["web_search_options"] : []),
  ];
}

/** The request as the wire can express it. It has no choice of one tool: then only that tool is sent. */
function shown(request: HubRequest): HubRequest {
  const { toolChoice } = request;
  const messages = soundMessages(request.messages);
  if (toolChoice?.kind !== "tool") return { ...request, messages };
  return { ...request, messages, toolChoice: { kind: "subset", names: [toolChoice.name], isRequired: true } };
}

function choiceOf(choice: HubRequest["toolChoice"]): string | undefined {
  if (choice?.kind === "none") return "NONE";
  return isToolForced(choice) ? "REQUIRED" : undefined;
}

/** `strict` applies to all tools on this wire. */
function isStrict({ tools = [] }: HubRequest): boolean {
  return tools.some((tool) => tool.kind === "function" && tool.strict === true);
}

function toolOf(tool: unknown): JsonRecord {
  const { type, function: fn } = asObject(tool) ?? {};
  const { strict: _, ...described } = asObject(fn) ?? {};
  return { type, function: described };
}

/** The wire has no names; text along with calls is their plan. */
function messageOf(message: unknown): JsonRecord {
  const { name: _, content, ...said } = asObject(message) ?? {};
  if (said["role"] === "tool" && content === "") return { ...said, content: SILENT_RESULT };
  if (said["tool_calls"] === undefined) return { ...said, content };
  return { ...said, ...(content !== null && content !== "" && { tool_plan: content }) };
}

function formatOf({ format }: HubRequest): JsonRecord | undefined {
  if (format?.kind === "schema") return { type: "json_object", json_schema: format.schema };
  return format?.kind === "json" ? { type: "json_object" } : undefined;
}

function isOff({ effort, budgetTokens }: HubReasoning): boolean {
  return effort === "none" || budgetTokens === 0;
}

function thinkingOf(reasoning: HubReasoning): JsonRecord {
  if (isOff(reasoning)) return { type: "disabled" };
  const { budgetTokens } = reasoning;
  const isLimited = budgetTokens !== undefined && budgetTokens > 0;
  return { type: "enabled", ...(isLimited && { token_budget: budgetTokens }) };
}

// Cohere v2's answers, whole and as events → the hub (vendors/cohere). Pure.

const NOTHING: readonly HubChunk[] = [];
const INVALID_TOKEN = 498;
const FINISHES: Readonly<Record<string, FinishReason>> = {
  COMPLETE: "stop",
  STOP_SEQUENCE: "stop",
  MAX_TOKENS: "length",
  TOOL_CALL: "tool_calls",
};

/** A whole body. */
function decodeWhole(body: JsonRecord): readonly HubChunk[] | WireError {
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

class CohereDecoder implements StreamDecoder {
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
function cohereError(body: JsonRecord, httpStatus: number): WireError | undefined {
  const message = asText(body["message"]);
  if (message === undefined) return undefined;
  const status = httpStatus === INVALID_TOKEN ? 401 : httpStatus;
  return { kind: "error", status, message, code: null, type: "cohere_error" };
}
