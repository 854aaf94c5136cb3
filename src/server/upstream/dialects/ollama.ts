// Ollama's own wire (vendors/ollama): /api/chat with one JSON text per line, /api/embed; requests and replies are in ollama-*.ts.
import { asList, asNumber, asText, type JsonRecord } from "#server/upstream/json/values.ts";
import type { Dialect, Embedded, EmbeddingWire, WireError } from "./dialect.ts";
import { OllamaDecoder, ollamaError } from "./ollama-reply.ts";
import { encodeRequest } from "./ollama-request.ts";

const embeddings: EmbeddingWire = {
  hints: ["truncate", "options", "keep_alive"],

  encode({ model, inputs, dimensions, user, hints = {} }) {
    const { truncate, options, keep_alive } = hints;
    const body = { model, input: inputs, truncate, dimensions, options, keep_alive };
    return { body, dropped: user === undefined ? [] : ["user"] };
  },

  decode(body): Embedded | WireError {
    const error = ollamaError(body, 500);
    if (error !== undefined) return error;
    // Older servers answer with a single vector.
    const found = body["embedding"] === undefined ? asList(body["embeddings"]) : [body["embedding"]];
    const vectors = found.map((vector) => asList(vector).filter((value) => typeof value === "number"));
    return { kind: "embedded", vectors, usage: usageOf(body) };
  },
};

function usageOf(body: JsonRecord): JsonRecord | undefined {
  const count = asNumber(body["prompt_eval_count"]);
  return count === undefined ? undefined : { prompt_tokens: count, total_tokens: count };
}

export const ollama: Dialect = {
  native: undefined,
  frames: "lines",
  // It opens no URLs.
  inlinesMedia: true,
  embeddings,

  // The base URL may contain the `/api` that every path begins with.
  address: (endpoint, wire, { baseUrl }) => baseUrl.replace(/\/api$/, "") + (wire.paths[endpoint] ?? ""),

  encode: encodeRequest,
  decode: (body, context) => new OllamaDecoder(context).take(body),

  decoder(context) {
    const decoder = new OllamaDecoder(context);
    return { take: ({ data }) => decoder.takeLine(data) };
  },

  readError: (status, body) => (asText(body["error"]) === undefined ? undefined : ollamaError(body, status)),
};
