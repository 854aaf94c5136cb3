// Anthropic's usage object in OpenAI's shape: Anthropic's input excludes the cache, OpenAI's includes it (vendors/claude-reply,
// vendors/claude-messages).
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";

/** Counters that are sent at the start and corrected later. */
const INPUTS = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"] as const;

/**
 * Merges newer counters over older ones: they are totals, never added. A zero never overwrites a reported count: vendors repeat the object
 * with its input counts empty (vendors/claude-events).
 */
export function laterUsage(known: JsonRecord | undefined, news: JsonRecord): JsonRecord {
  const merged: Record<string, unknown> = { ...known };
  for (const [name, value] of Object.entries(news)) {
    if (value === null || value === undefined) continue;
    if (isZero(value) && merged[name] !== undefined) continue;
    merged[name] = value;
  }
  return merged;
}

/** A counter of 0, or an object of such counters. */
export function isZero(value: unknown): boolean {
  const counters = asObject(value);
  return counters === undefined ? value === 0 : Object.values(counters).every((counter) => counter === 0);
}

/** undefined = no valid usage: a counter is no whole number ≥ 0, or there is none. */
export function openAiUsage(usage: JsonRecord): JsonRecord | undefined {
  const written = asObject(usage["cache_creation"]);
  const hour = countOf(written?.["ephemeral_1h_input_tokens"]);
  const counts = INPUTS.map((name) => countOf(usage[name]));
  const output = countOf(usage["output_tokens"]);
  if ([...counts, output, hour].some((count) => Number.isNaN(count))) return undefined;
  if (output === undefined && counts.every((count) => count === undefined)) return undefined;
  const [fresh = 0, cached = 0, write = 0] = counts;
  const completion = output ?? 0;
  const prompt = fresh + cached + write;
  const thinking = countOf(asObject(usage["output_tokens_details"])?.["thinking_tokens"]) ?? 0;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(cached + write > 0 && {
      prompt_tokens_details: {
        cached_tokens: cached,
        ...(write > 0 && { cache_write_tokens: write }),
        ...(write > 0 && hour !== undefined && hour > 0 && { cache_write_1h_tokens: hour }),
      },
    }),
    ...(thinking > 0 && { completion_tokens_details: { reasoning_tokens: thinking } }),
  };
}

/** undefined = absent; NaN = invalid. */
function countOf(value: unknown): number | undefined {
  if (typeof value !== "number") return undefined;
  return Number.isSafeInteger(value) && value >= 0 ? value : Number.NaN;
}
