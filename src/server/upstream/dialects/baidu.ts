// Qianfan's classic service, the ERNIE models of wenxinworkshop (vendors/baidu): one address per model, errors with status 200.

import { madeCallId } from "#server/upstream/hub/call-ids.ts";
import { scoresIn, usageIn, vectorsOf } from "#server/upstream/hub/plain.ts";
import type { FinishReason, HubChunk } from "#server/upstream/hub/reply.ts";
import { Unmappable } from "#server/upstream/hub/request.ts";
import { asNumber, asObject, asText, type JsonRecord, readJson } from "#server/upstream/json/values.ts";
import { encodeRequest } from "./baidu-request.ts";
import type {
  DecodeContext,
  Dialect,
  EmbeddingWire,
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
