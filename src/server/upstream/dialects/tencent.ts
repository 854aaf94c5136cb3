// Tencent Hunyuan's own API (vendors/hunyuan): OpenAI's shapes with capitalized names; whole answers and errors are in `Response`.

import { mediaInResults } from "#server/upstream/hub/chat-body.ts";
import { ChatStream } from "#server/upstream/hub/chat-reply.ts";
import {
  alternated,
  isBlank,
  type Joined,
  offerOf,
  ownExtras,
  plainSchema,
  resultSaid,
  vectorsOf,
} from "#server/upstream/hub/plain.ts";
import type { HubChunk } from "#server/upstream/hub/reply.ts";
import {
  type Ability,
  argumentText,
  type HubMessage,
  type HubPart,
  type HubRequest,
  hintsBeyond,
  mediaUrl,
  systemText,
  ToolNames,
  textOf,
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
import type { DecodeContext, Dialect, EmbeddingWire, Encoded, StreamDecoder, WireError } from "./dialect.ts";

/** The statuses of its codes; the first match counts. Source: vendors/hunyuan. */
const STATUS: readonly (readonly [code: RegExp, status: number])[] = [
  [/^AuthFailure/, 401],
  [/^FailedOperation\.(Free)?ResourcePackExhausted/, 402],
  [/^FailedOperation\.(UserUnAuthError|ServiceNotActivated|ServiceStop)/, 403],
  [/LimitExceeded/, 429],
  [/^(InvalidParameter|MissingParameter|UnknownParameter|UnsupportedOperation)/, 400],
  [/EngineRequestTimeout/, 504],
];
const NOTHING: readonly HubChunk[] = [];

const embeddings: EmbeddingWire = {
  encode({ inputs, dimensions, user }) {
    if (dimensions !== undefined) throw new Unmappable("dimensions");
    const [only] = inputs;
    const body = inputs.length === 1 ? { Input: only } : { InputList: inputs };
    return { body, dropped: user === undefined ? [] : ["user"] };
  },

  decode(body) {
    const response = asObject(body["Response"]) ?? body;
    const error = errorIn(response);
    if (error !== undefined) return error;
    return {
      kind: "embedded",
      vectors: vectorsOf(response["Data"], "Index", "Embedding"),
      usage: usageOf(response),
    };
  },
};

export const tencent: Dialect = {
  native: undefined,
  embeddings,
  address: (endpoint, wire, { baseUrl }) => baseUrl + (wire.paths[endpoint] ?? ""),
  encode: encodeRequest,
  decode: (body, context) => new TencentDecoder(context).read(asObject(body["Response"]) ?? body),
  decoder: (context) => new TencentDecoder(context),
  readError: (status, body) => errorIn(asObject(body["Response"]) ?? body, status),
};

class TencentDecoder implements StreamDecoder {
  readonly #stream: ChatStream;

  constructor({ wire, seed }: DecodeContext) {
    this.#stream = new ChatStream(wire.quirks, seed);
  }

  take({ data }: { readonly data: string }): readonly HubChunk[] | WireError {
    const body = readJson(data);
    if (body !== undefined) return this.read(asObject(body["Response"]) ?? body);
    return data.trim() === "[DONE]" ? [{ kind: "end" }] : NOTHING;
  }

  /** A whole answer without its wrapping, or one event, as OpenAI's reply. */
  read(body: JsonRecord): readonly HubChunk[] | WireError {
    const error = errorIn(body);
    if (error !== undefined) return error;
    return this.#stream.takeReply({
      id: body["Id"],
      created: body["Created"],
      choices: asList(body["Choices"]).map(choiceOf),
      usage: usageOf(body),
    });
  }
}

function choiceOf(item: unknown, position: number): JsonRecord {
  const choice = asObject(item);
  const message = asObject(choice?.["Message"]) ?? asObject(choice?.["Delta"]);
  return {
    index: asNumber(choice?.["Index"]) ?? position,
    finish_reason: choice?.["FinishReason"],
    message: {
      content: message?.["Content"],
      reasoning_content: message?.["ReasoningContent"],
      tool_calls: asList(message?.["ToolCalls"]).map((call) => callOf(asObject(call))),
    },
  };
}

function callOf(call: JsonRecord | undefined): JsonRecord {
  const fn = asObject(call?.["Function"]);
  return {
    id: call?.["Id"],
    index: call?.["Index"],
    function: { name: fn?.["Name"], arguments: fn?.["Arguments"] },
  };
}

/** Cumulative in a stream: the last one counts. */
function usageOf(body: JsonRecord): JsonRecord | undefined {
  const usage = asObject(body["Usage"]);
  const prompt_tokens = asNumber(usage?.["PromptTokens"]);
  if (prompt_tokens === undefined) return undefined;
  const completion_tokens = asNumber(usage?.["CompletionTokens"]) ?? 0;
  const total_tokens = asNumber(usage?.["TotalTokens"]) ?? prompt_tokens + completion_tokens;
  return { prompt_tokens, completion_tokens, total_tokens };
}

/** `Error` of a whole answer, `ErrorMsg` of a stream's event. */
function errorIn(body: JsonRecord, httpStatus = 200): WireError | undefined {
  const whole = asObject(body["Error"]);
  const error = whole ?? asObject(body["ErrorMsg"]);
  const code = error?.["Code"];
  if (error === undefined || code === 0 || code === "") return undefined;
  const name = typeof code === "number" ? String(code) : (asText(code) ?? "");
  const known = STATUS.find(([pattern]) => pattern.test(name))?.[1];
  return {
    kind: "error",
    status: known ?? (httpStatus >= 400 ? httpStatus : 500),
    message: asText(error["Message"]) ?? asText(error["Msg"]) ?? "",
    code: typeof code === "number" ? code : name || null,
    type: "tencent_error",
  };
}

// The hub → Hunyuan's ChatCompletions (vendors/hunyuan): capitalized names, alternating roles, schemas as text, no token limit.

const ABILITIES: ReadonlySet<Ability> = new Set(["seed", "parallel_tool_calls"]);
/** Members of the wire that clients of OpenAI's wire send in lower case (vendors/hunyuan). */
const OWN_MEMBERS: Readonly<Record<string, string>> = {
  enable_enhancement: "EnableEnhancement",
  citation: "Citation",
  search_info: "SearchInfo",
  force_search_enhancement: "ForceSearchEnhancement",
  enable_thinking: "EnableThinking",
};
const NAME_LIMIT = 64;

interface Turn {
  readonly Role: "user" | "assistant" | "tool";
  readonly Content?: string;
  readonly Contents?: readonly JsonRecord[];
  readonly ToolCalls?: readonly JsonRecord[];
  readonly ToolCallId?: string;
}

/** Throws: Unmappable. */
function encodeRequest(request: HubRequest): Encoded {
  const { own, rest } = ownExtras(request, Object.keys(OWN_MEMBERS));
  const names = new ToolNames(NAME_LIMIT);
  const { functions, forced, searches } = offerOf(request, names);
  const dropped = [...hintsBeyond(rest, ABILITIES), ...mediaInResults(request, () => false)];
  if (request.maxTokens !== undefined) dropped.push("max_tokens");
  if (request.format !== undefined && request.format.kind !== "text") throw new Unmappable("response_format");
  const system = systemText(request.messages) ?? "";
  const turns = alternated(
    request.messages.flatMap((message) => turnsOf(message, names)),
    {
      isAnswer: ({ Role }) => Role === "assistant",
      isBlank: ({ Content = "", Contents, ToolCalls }) =>
        isBlank(Content) && Contents === undefined && ToolCalls === undefined,
      join: joined,
      say: (Role, Content): Turn => ({ Role, Content }),
    },
  );
  const tools = functions.map(({ name, description, parameters }) => ({
    Type: "function",
    Function: { Name: name, Description: description, Parameters: JSON.stringify(plainSchema(parameters)) },
  }));
  const body = {
    Model: request.model,
    Messages: system === "" ? turns : [{ Role: "system", Content: system }, ...turns],
    Stream: request.isStream,
    Temperature: request.temperature,
    TopP: request.topP,
    Stop: request.stop,
    Seed: request.seed,
    // Some models search by default.
    EnableEnhancement: searches,
    EnableThinking: thinkingOf(request),
    ...(tools.length > 0 && { Tools: tools, ToolChoice: forced === undefined ? "auto" : "custom" }),
    ...(forced !== undefined && { CustomTool: tools[functions.indexOf(forced)] }),
    ...Object.fromEntries(Object.entries(own).map(([name, value]) => [OWN_MEMBERS[name] ?? name, value])),
  };
  return { body, dropped, toolNames: names.changed };
}

function thinkingOf({ reasoning }: HubRequest): boolean | undefined {
  if (reasoning === undefined) return undefined;
  return reasoning.effort !== "none" && reasoning.budgetTokens !== 0;
}

function turnsOf(message: HubMessage, names: ToolNames): Turn[] {
  switch (message.role) {
    case "user":
      return [{ Role: "user", ...contentOf(message.parts) }];
    case "assistant": {
      const Content = textOf(message.parts);
      const calls = message.toolCalls.map((call, Index) => ({
        Id: call.id,
        Type: "function",
        Function: {
          Name: names.wireName(call.name),
          Arguments: argumentText(call),
        },
        Index,
      }));
      if (calls.length > 0) return [{ Role: "assistant", Content, ToolCalls: calls }];
      return [{ Role: "assistant", Content }];
    }
    case "tool":
      return [{ Role: "tool", ToolCallId: message.callId, Content: resultSaid(message) }];
    default:
      return [];
  }
}

function contentOf(parts: readonly HubPart[]): Pick<Turn, "Content" | "Contents"> {
  if (parts.every(({ kind }) => kind === "text" || kind === "refusal"))
    return { Content: textOf(parts, "\n") };
  const Contents = parts.flatMap((part): JsonRecord[] => {
    if (part.kind === "text" || part.kind === "refusal")
      return isBlank(part.text) ? [] : [{ Type: "text", Text: part.text }];
    if (part.kind === "image") return [{ Type: "image_url", ImageUrl: { Url: mediaUrl(part.source) } }];
    throw new Unmappable(`messages[].content[].${part.kind}`, "该渠道只支持文本和图片内容");
  });
  return { Contents };
}

/** Results stay separate; adjacent plain texts of one role are joined. */
function joined(one: Turn, other: Turn): Joined<Turn> {
  if (one.Role === "tool" && other.Role === "tool") return "beside";
  if (one.Role !== other.Role || one.ToolCalls !== undefined) return undefined;
  if (one.Contents !== undefined || other.Contents !== undefined)
    return { Role: one.Role, Contents: [...partsOf(one), ...partsOf(other)] };
  // Template strings concatenate without copying: thousands of adjacent turns cost no more than their texts.
  return { ...other, Content: `${one.Content}\n${other.Content}` };
}

function partsOf({ Content, Contents }: Turn): readonly JsonRecord[] {
  return Contents ?? [{ Type: "text", Text: Content }];
}
