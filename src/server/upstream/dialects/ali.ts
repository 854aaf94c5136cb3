// DashScope's own wire, Tongyi Qianwen (vendors/dashscope-chat, vendors/dashscope-errors): OpenAI's choices within `output`, usage under
// its own names.

import { ChatStream } from "#server/upstream/hub/chat-reply.ts";
import { vectorsOf } from "#server/upstream/hub/plain.ts";
import type { HubChunk } from "#server/upstream/hub/reply.ts";
import {
  asList,
  asNumber,
  asObject,
  asText,
  type JsonRecord,
  readJson,
} from "#server/upstream/json/values.ts";
import { aliImages, aliRerank, encodeRequest, isMultimodal } from "./ali-request.ts";
import type {
  DecodeContext,
  Dialect,
  EmbeddingWire,
  StreamDecoder,
  WireError,
  WireEvent,
} from "./dialect.ts";

/**
 * The statuses of its codes, where the HTTP status is misleading; the first match counts. Source: vendors/dashscope-errors, requirements
 * T29.18.
 */
const STATUS: readonly (readonly [code: RegExp, status: number])[] = [
  [/^InvalidApiKey/i, 401],
  [/^(\w+\.)?AccessDenied|FreeTierOnly$/, 403],
  [/^(ModelNotFound|model_not_found|InvalidModel)/, 404],
  [/^(Throttling|limit_requests|insufficient_quota)/, 429],
  [/^(Arrearage|Invalid|Unsupported|DataInspectionFailed|data_inspection_failed)/, 400],
  [/^(ModelUnavailable|ServiceUnavailable|RequestTimeOut)/, 503],
];
const NOTHING: readonly HubChunk[] = [];

const embeddings: EmbeddingWire = {
  encode({ model, inputs, dimensions, user }) {
    const body = {
      model,
      input: { texts: inputs },
      ...(dimensions !== undefined && { parameters: { dimension: dimensions } }),
    };
    return { body, dropped: user === undefined ? [] : ["user"] };
  },

  decode(body) {
    const error = errorIn(body);
    if (error !== undefined) return error;
    return {
      kind: "embedded",
      vectors: vectorsOf(asObject(body["output"])?.["embeddings"], "text_index", "embedding"),
      usage: usageOf(asObject(body["usage"])),
    };
  },
};

export const ali: Dialect = {
  native: undefined,
  embeddings,
  images: aliImages(errorIn),
  rerank: aliRerank(errorIn),
  // Some models stream even if the client wants no stream.
  onlyStreams: true,

  address(endpoint, wire, { baseUrl, model }) {
    const path = wire.paths[endpoint] ?? "";
    const isMedia = endpoint === "chat" && isMultimodal(model);
    // The base URL may contain the version already.
    return (
      baseUrl.replace(/\/api\/v1$/, "") +
      (isMedia ? path.replace("/text-generation/", "/multimodal-generation/") : path)
    );
  },

  encode: (request, { target }) => encodeRequest(request, target),
  decode: (body, context) => new AliDecoder(context).read(body),
  decoder: (context) => new AliDecoder(context),
  readError: (status, body) => errorIn(body, status),
};

class AliDecoder implements StreamDecoder {
  readonly #stream: ChatStream;
  #hasSources = false;

  constructor({ wire, seed }: DecodeContext) {
    this.#stream = new ChatStream(wire.quirks, seed);
  }

  take({ data }: Pick<WireEvent, "data">): readonly HubChunk[] | WireError {
    const body = readJson(data);
    return body === undefined ? NOTHING : this.read(body);
  }

  /** A whole answer or one event, as OpenAI's reply. */
  read(body: JsonRecord): readonly HubChunk[] | WireError {
    const error = errorIn(body);
    if (error !== undefined) return error;
    const output = asObject(body["output"]);
    const choices = asList(output?.["choices"]);
    const sources = this.#hasSources ? NOTHING : sourcesIn(asObject(output?.["search_info"]));
    if (sources.length > 0) this.#hasSources = true;
    return [
      ...this.#stream.takeReply({
        id: body["request_id"],
        choices: choices.length > 0 ? choices.map(choiceOf) : plainChoices(output),
        usage: usageOf(asObject(body["usage"])),
      }),
      ...sources,
    ];
  }
}

/** Without `result_format` an answer is a text and a finish reason. */
function plainChoices(output: JsonRecord | undefined): JsonRecord[] {
  const text = asText(output?.["text"]);
  if (text === undefined) return [];
  return [choiceOf({ message: { content: text }, finish_reason: output?.["finish_reason"] })];
}

/** The string "null" means that the answer continues. */
function choiceOf(item: unknown): JsonRecord {
  const choice = asObject(item) ?? {};
  return choice["finish_reason"] === "null" ? { ...choice, finish_reason: null } : choice;
}

/** Web search results, repeated in every event: OpenAI's citations without a position in the text. */
function sourcesIn(search: JsonRecord | undefined): readonly HubChunk[] {
  return asList(search?.["search_results"]).flatMap((item): HubChunk[] => {
    const page = asObject(item);
    const url = asText(page?.["url"]);
    if (url === undefined) return [];
    const url_citation = { url, title: asText(page?.["title"]) ?? "", start_index: 0, end_index: 0 };
    return [{ kind: "annotation", index: 0, annotation: { type: "url_citation", url_citation } }];
  });
}

/** Cumulative in a stream: the last one counts. Embeddings report only the total. */
function usageOf(usage: JsonRecord | undefined): JsonRecord | undefined {
  const total = asNumber(usage?.["total_tokens"]);
  const prompt_tokens = asNumber(usage?.["input_tokens"]) ?? total;
  if (usage === undefined || prompt_tokens === undefined) return undefined;
  const completion_tokens = asNumber(usage["output_tokens"]) ?? 0;
  const input = asObject(usage["input_tokens_details"]);
  const output = asObject(usage["output_tokens_details"]);
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: total ?? prompt_tokens + completion_tokens,
    prompt_tokens_details: {
      cached_tokens: asNumber(asObject(usage["prompt_tokens_details"])?.["cached_tokens"]) ?? 0,
      image_tokens: asNumber(usage["image_tokens"]) ?? asNumber(input?.["image_tokens"]),
      audio_tokens: asNumber(usage["audio_tokens"]) ?? asNumber(input?.["audio_tokens"]),
    },
    completion_tokens_details: { reasoning_tokens: asNumber(output?.["reasoning_tokens"]) ?? 0 },
  };
}

/** `code` and `message` at the top, without an `output`. */
function errorIn(body: JsonRecord, httpStatus = 200): WireError | undefined {
  const code = asText(body["code"]) ?? "";
  if (code === "" || asObject(body["output"]) !== undefined) return undefined;
  const known = STATUS.find(([pattern]) => pattern.test(code))?.[1];
  return {
    kind: "error",
    status: httpStatus >= 400 ? httpStatus : (known ?? 500),
    message: asText(body["message"]) ?? "",
    code,
    type: "ali_error",
  };
}
