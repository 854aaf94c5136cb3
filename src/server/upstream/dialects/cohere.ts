// Cohere's v2 (vendors/rerank, vendors/cohere): /v2/chat, /v2/embed, /v2/rerank; requests and replies are in cohere-*.ts.
import { asList, asNumber, asObject, asText } from "#server/upstream/json/values.ts";
import { CohereDecoder, cohereError, decodeWhole } from "./cohere-reply.ts";
import { encodeRequest } from "./cohere-request.ts";
import type { Dialect, Embedded, EmbeddingWire, Ranked, RerankWire, WireError } from "./dialect.ts";

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
    const results = asList(body["results"]).flatMap((item) => {
      const index = asNumber(asObject(item)?.["index"]);
      const score = asNumber(asObject(item)?.["relevance_score"]);
      return index === undefined || score === undefined ? [] : [{ index, score }];
    });
    return cohereError(body, 502) ?? { kind: "ranked", results, usage: undefined };
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
