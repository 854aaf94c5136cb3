// Shared by the client side and the upstream side of the Responses format: usage in both directions (vendors/responses-reply), and the
// statuses of errors within a stream. Pure.

import { toldStatus } from "#server/upstream/errors/status-from-error.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";

/** Codes of invalid requests. Source: OpenAI's SDK, `ResponseError`. */
const REFUSED = /image|^(bio|misalignment)_policy/;

/** The HTTP status that an error of a Responses stream or of a failed response would have had. */
export function statusOfResponsesError({ code, type }: JsonRecord): number {
  const word = String(code);
  return toldStatus(code, type) ?? (REFUSED.test(word) ? 400 : word.includes("rate_limit") ? 429 : 502);
}

/** Usage of a Responses object in OpenAI's chat shape. */
export function usageFromResponses(usage: JsonRecord): JsonRecord {
  const { input_tokens, output_tokens, total_tokens } = usage;
  const input = asObject(usage["input_tokens_details"]);
  const output = asObject(usage["output_tokens_details"]);
  return {
    prompt_tokens: input_tokens,
    completion_tokens: output_tokens,
    total_tokens,
    ...(input !== undefined && { prompt_tokens_details: input }),
    ...(output !== undefined && { completion_tokens_details: output }),
  };
}

/** Usage in OpenAI's chat shape → the usage of a Responses object. */
export function usageToResponses(usage: JsonRecord): JsonRecord {
  const prompt = numberOf(usage["prompt_tokens"]);
  const completion = numberOf(usage["completion_tokens"]);
  const input = asObject(usage["prompt_tokens_details"]);
  const output = asObject(usage["completion_tokens_details"]);
  return {
    input_tokens: prompt,
    // A Responses object requires all three counts; DashScope uses Anthropic's name for cache writes (vendors/dashscope).
    input_tokens_details: {
      ...input,
      cached_tokens: numberOf(input?.["cached_tokens"]),
      cache_write_tokens: numberOf(input?.["cache_write_tokens"] ?? input?.["cache_creation_input_tokens"]),
    },
    output_tokens: completion,
    output_tokens_details: { ...output, reasoning_tokens: numberOf(output?.["reasoning_tokens"]) },
    total_tokens: prompt + completion,
  };
}

function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
