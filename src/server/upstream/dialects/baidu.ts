// Qianfan's classic service, the ERNIE models of wenxinworkshop (vendors/baidu): one address per model, errors with status 200.

import { mediaInResults } from "#server/upstream/hub/chat-body.ts";
import {
  alternated,
  isBlank,
  type Joined,
  madeCallId,
  offerOf,
  ownExtras,
  plainSchema,
  resultSaid,
  scoresIn,
  usageIn,
  vectorsOf,
  within,
} from "#server/upstream/hub/plain.ts";
import type { FinishReason, HubChunk } from "#server/upstream/hub/reply.ts";
import {
  type Ability,
  argumentText,
  type HubMessage,
  type HubPart,
  type HubRequest,
  hintsBeyond,
  systemText,
  ToolNames,
  textOf,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import { asNumber, asObject, asText, type JsonRecord, readJson } from "#server/upstream/json/values.ts";
import type {
  DecodeContext,
  Dialect,
  EmbeddingWire,
  Encoded,
  RerankWire,
  StreamDecoder,
  WireError,
} from "./dialect.ts";

/** The statuses of its codes. Source: vendors/baidu. */
const STATUS: Readonly<Record<number, number>> = {
  1: 500,
  2: 503,
  3: 404,
  4: 429,
  6: 403,
  13: 401,
  14: 401,
  15: 401,
  17: 429,
  18: 429,
  19: 429,
  100: 401,
  110: 401,
  111: 401,
  336000: 500,
  336100: 503,
  336501: 429,
  336502: 429,
  336503: 429,
  336504: 429,
  336505: 429,
  336506: 429,
  336507: 429,
};
const NOTHING: readonly HubChunk[] = [];

const embeddings: EmbeddingWire = {
  encode({ inputs, dimensions, user }) {
    if (dimensions !== undefined) throw new Unmappable("dimensions");
    return { body: { input: inputs, user_id: user } };
  },

  decode(body) {
    const error = errorIn(body);
    if (error !== undefined) return error;
    return {
      kind: "embedded",
      vectors: vectorsOf(body["data"], "index", "embedding"),
      usage: asObject(body["usage"]),
    };
  },
};

/** Source: vendors/baidu, vendors/rerank. */
const rerank: RerankWire = {
  encode: ({ query, documents, top }) => ({ body: { query, documents, top_n: top } }),

  decode(body) {
    const error = errorIn(body);
    if (error !== undefined) return error;
    return { kind: "ranked", results: scoresIn(body["results"]), usage: asObject(body["usage"]) };
  },
};

export const baidu: Dialect = {
  native: undefined,
  embeddings,
  rerank,

  address(endpoint, wire, { baseUrl, model }) {
    const slug = encodeURIComponent(model.toLowerCase());
    return baseUrl + (wire.paths[endpoint] ?? "").replace("{slug}", slug);
  },

  encode: encodeRequest,
  decode: (body, context) => new BaiduDecoder(context).read(body, true),
  decoder: (context) => new BaiduDecoder(context),
  readError: (status, body) => errorIn(body, status),
};

class BaiduDecoder implements StreamDecoder {
  readonly #seed: string;
  #hasHead = false;
  #hasCall = false;

  constructor({ seed }: DecodeContext) {
    this.#seed = seed;
  }

  take({ data }: { readonly data: string }): readonly HubChunk[] | WireError {
    const body = readJson(data);
    return body === undefined ? NOTHING : this.read(body, body["is_end"] === true);
  }

  /** A whole answer, or one event of a streamed one. */
  read(body: JsonRecord, isEnd: boolean): readonly HubChunk[] | WireError {
    const error = errorIn(body);
    if (error !== undefined) return error;
    const chunks: HubChunk[] = [];
    if (!this.#hasHead) {
      this.#hasHead = true;
      chunks.push({ kind: "head", id: asText(body["id"]), created: asNumber(body["created"]) });
    }
    const text = asText(body["result"]) ?? "";
    if (text !== "") chunks.push({ kind: "text", index: 0, text });
    this.#call(asObject(body["function_call"]), chunks);
    // Cumulative in a stream: the last one counts.
    const usage = usageIn(asObject(body["usage"]));
    if (usage !== undefined) chunks.push(usage);
    if (isEnd) chunks.push({ kind: "finish", index: 0, reason: this.#reason(body) }, { kind: "end" });
    return chunks;
  }

  /** A call is sent whole, with its thoughts. */
  #call(call: JsonRecord | undefined, chunks: HubChunk[]): void {
    const name = asText(call?.["name"]) ?? "";
    if (name === "" || this.#hasCall) return;
    this.#hasCall = true;
    const thoughts = asText(call?.["thoughts"]) ?? "";
    if (thoughts !== "") chunks.push({ kind: "thought", index: 0, text: thoughts });
    const id = madeCallId(this.#seed, 0);
    const text = asText(call?.["arguments"]) ?? "";
    chunks.push({ kind: "tool", index: 0, at: 0, id, name, arguments: text });
  }

  #reason(body: JsonRecord): FinishReason {
    if (this.#hasCall) return "tool_calls";
    const word = body["finish_reason"];
    if (body["is_truncated"] === true || word === "length") return "length";
    return word === "content_filter" ? "content_filter" : "stop";
  }
}

/** `error_code` other than 0, whatever the HTTP status. */
function errorIn(body: JsonRecord, httpStatus = 200): WireError | undefined {
  const code = asNumber(body["error_code"]);
  if (code === undefined || code === 0) return undefined;
  const isParameter = code >= 336001 && code <= 336299;
  const status = STATUS[code] ?? (httpStatus >= 400 ? httpStatus : isParameter ? 400 : 502);
  return {
    kind: "error",
    status,
    message: asText(body["error_msg"]) ?? "",
    code,
    type: "baidu_error",
  };
}

// The hub → a body of Qianfan's classic service (vendors/baidu): texts only, alternating roles, one function call at a time.

const ABILITIES: ReadonlySet<Ability> = new Set(["user", "parallel_tool_calls"]);
/** Members of the wire itself, under their own names. */
const OWN_MEMBERS = ["disable_search", "enable_citation", "enable_trace", "penalty_score"];
const NAME_LIMIT = 64;
const STOPS = { count: 4, chars: 20 };
const MAX_TOKENS = { low: 2, high: 2048 };
/** Baidu's own models; models of other vendors take no system text. */
const OWN_MODELS = /^(ernie|eb-|completions|ai_apaas)/;

interface Turn {
  readonly role: "user" | "assistant" | "function";
  readonly content: string;
  readonly name?: string;
  readonly function_call?: JsonRecord;
}

/** Throws: Unmappable. */
function encodeRequest(request: HubRequest): Encoded {
  const { own, rest } = ownExtras(request, OWN_MEMBERS);
  const names = new ToolNames(NAME_LIMIT);
  const system = systemText(request.messages);
  const isOwn = OWN_MODELS.test(request.model.toLowerCase());
  const hints = [...hintsBeyond(rest, ABILITIES), ...mediaInResults(request, () => false)];
  const { stops, penalty, dropped } = fitting(request, hints);
  const turns = turnsOf(request.messages, names);
  const greeting: Turn[] =
    system === undefined || isOwn
      ? []
      : [
          { role: "user", content: system },
          { role: "assistant", content: "Okay" },
        ];
  const body = {
    messages: alternated([...greeting, ...turns], {
      isAnswer: ({ role }) => role === "assistant",
      isBlank: ({ content, function_call }) => isBlank(content) && function_call === undefined,
      join: joined,
      say: (role, content) => ({ role, content }),
    }),
    ...(isOwn && system !== "" && { system }),
    temperature: within(request.temperature, 0.01, 1),
    top_p: within(request.topP, 0.01, 1),
    max_output_tokens: within(request.maxTokens, MAX_TOKENS.low, MAX_TOKENS.high),
    stop: stops.length > 0 ? stops : undefined,
    penalty_score: penalty,
    stream: request.isStream,
    user_id: request.user,
    response_format: formatOf(request),
    ...functionsOf(request, names, dropped),
    ...own,
  };
  return { body, dropped, toolNames: names.changed };
}

/** Settings for which the wire has narrower limits; values that do not fit are dropped. */
function fitting(
  { stop = [], maxTokens, frequencyPenalty, reasoning }: HubRequest,
  hints: readonly string[],
) {
  const stops = stop.filter((text) => text.length <= STOPS.chars).slice(0, STOPS.count);
  // Its only penalty ranges from 1 to 2.
  const penalty =
    frequencyPenalty !== undefined && frequencyPenalty > 0
      ? Math.min(1 + frequencyPenalty / 2, 2)
      : undefined;
  const dropped = hints.filter((name) => name !== "frequency_penalty" || penalty === undefined);
  if (stops.length < stop.length) dropped.push("stop");
  if (maxTokens !== undefined && maxTokens > MAX_TOKENS.high) dropped.push("max_tokens");
  if (reasoning !== undefined) dropped.push("reasoning_effort");
  return { stops, penalty, dropped };
}

function formatOf({ format }: HubRequest): string | undefined {
  if (format?.kind === "schema") throw new Unmappable("response_format", "该渠道不支持 JSON Schema 输出");
  return format?.kind === "json" ? "json_object" : undefined;
}

function functionsOf(request: HubRequest, names: ToolNames, dropped: string[]): JsonRecord {
  const { functions, forced, searches } = offerOf(request, names);
  if (searches) dropped.push("web_search_options");
  if (functions.length === 0) return {};
  return {
    functions: functions.map(({ name, description, parameters }) => ({
      name,
      description: description ?? name,
      parameters: plainSchema(parameters),
    })),
    ...(forced !== undefined && { tool_choice: { type: "function", function: { name: forced.name } } }),
  };
}

/** A turn calls one function; parallel calls become consecutive turns, each with its result. */
function turnsOf(messages: readonly HubMessage[], names: ToolNames): Turn[] {
  const results = new Results(messages);
  return messages.flatMap((message): Turn[] => {
    switch (message.role) {
      case "user":
        return [{ role: "user", content: plainText(message.parts) }];
      case "assistant":
        return answerTurns(message, results, names);
      case "tool":
        // Results follow their calls; a result without a call becomes text.
        return results.take(message.callId, message) !== undefined
          ? [{ role: "user", content: resultSaid(message) }]
          : [];
      default:
        return [];
    }
  });
}

type ToolResult = HubMessage & { role: "tool" };

/** Tool results, looked up by their calls; ids may be reused in a later turn. */
class Results {
  readonly #byId: ReadonlyMap<string, ToolResult[]>;

  constructor(messages: readonly HubMessage[]) {
    this.#byId = Map.groupBy(
      messages.filter((message) => message.role === "tool"),
      ({ callId }) => callId,
    );
  }

  /** The next unused result of that call; `wanted` = only if it is this one. */
  take(callId: string, wanted?: ToolResult): ToolResult | undefined {
    const left = this.#byId.get(callId);
    return wanted === undefined || left?.[0] === wanted ? left?.shift() : undefined;
  }
}

function answerTurns(
  { parts, toolCalls }: HubMessage & { role: "assistant" },
  results: Results,
  names: ToolNames,
): Turn[] {
  const text = textOf(parts);
  if (toolCalls.length === 0) return [{ role: "assistant", content: text }];
  return toolCalls.flatMap((call, at): Turn[] => {
    const name = names.wireName(call.name);
    const function_call = { name, arguments: argumentText(call) };
    const result = results.take(call.id);
    return [
      { role: "assistant", content: at === 0 ? text : "", function_call },
      ...(result === undefined ? [] : [{ role: "function", name, content: resultSaid(result) } as const]),
    ];
  });
}

function plainText(parts: readonly HubPart[]): string {
  const other = parts.find(({ kind }) => kind !== "text" && kind !== "refusal");
  if (other !== undefined) throw new Unmappable(`messages[].content[].${other.kind}`, "该渠道只支持文本内容");
  return textOf(parts, "\n");
}

function joined(one: Turn, other: Turn): Joined<Turn> {
  const isPlain = one.role !== "function" && other.role !== "function" && one.function_call === undefined;
  if (!isPlain) return undefined;
  // Template strings concatenate without copying: thousands of adjacent turns cost no more than their texts.
  return { ...other, content: `${one.content}\n${other.content}` };
}
