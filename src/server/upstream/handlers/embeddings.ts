// Embeddings on wires that are not OpenAI's: texts in, vectors out. The client always speaks OpenAI (vendors/openai-embeddings).
import type { Embedded, EmbeddingRequest } from "#server/upstream/dialects/dialect.ts";
import { Unmappable } from "#server/upstream/hub/request.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";

/** Reads an OpenAI embeddings body. Throws: Unmappable, e.g. for token arrays, which only their own vendor can read. */
export function embeddingRequest(body: JsonRecord, model: string): EmbeddingRequest {
  const { input, dimensions, user } = body;
  const inputs = typeof input === "string" ? [input] : input;
  if (!isTexts(inputs)) throw new Unmappable("input", "该渠道只支持文本输入");
  return {
    model,
    inputs,
    dimensions: typeof dimensions === "number" ? dimensions : undefined,
    user: typeof user === "string" ? user : undefined,
  };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string");
}

/** Vectors as OpenAI lists them; `isBase64` = as little-endian float32 in base64 instead of numbers. */
export function embeddingList({ vectors, usage }: Embedded, model: string, isBase64: boolean): JsonRecord {
  const data = vectors.map((vector, index) => ({
    object: "embedding",
    index,
    embedding: isBase64 ? Buffer.from(Float32Array.from(vector).buffer).toString("base64") : vector,
  }));
  return { object: "list", data, model, usage: usage ?? NO_USAGE };
}

const NO_USAGE = { prompt_tokens: 0, total_tokens: 0 };
