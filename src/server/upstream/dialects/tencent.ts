// Tencent Hunyuan's own API (vendors/hunyuan): OpenAI's shapes with capitalized names; whole answers and errors are in `Response`.

import { ChatStream } from "#server/upstream/hub/chat-reply.ts";
import { vectorsOf } from "#server/upstream/hub/plain.ts";
import type { HubChunk } from "#server/upstream/hub/reply.ts";
import { Unmappable } from "#server/upstream/hub/request.ts";
import {
  asList,
  asNumber,
  asObject,
  asText,
  type JsonRecord,
  readJson,
} from "#server/upstream/json/values.ts";
import type { DecodeContext, Dialect, EmbeddingWire, StreamDecoder, WireError } from "./dialect.ts";
import { encodeRequest } from "./tencent-request.ts";

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
