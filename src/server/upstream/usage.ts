// Usage as upstreams report it, read with suspicion (reliability M17): whole numbers, not negative, within what the request
// could have caused. Pure.
import type { Quirks } from "#contract/providers.ts";
import { asObject, type JsonRecord, type TokenUsage } from "./hub.ts";

/** The most that a call can honestly have used. */
export interface UsageBounds {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

export interface ReadUsage {
  readonly usage: TokenUsage;
  /** A number was out of range and has been put at its bound. */
  readonly isAnomalous: boolean;
}

/** The usage object of a reply or stream chunk, wherever this upstream puts it; undefined = none here. */
export function findUsage(reply: JsonRecord, quirks: Quirks | undefined): JsonRecord | undefined {
  const own = asObject(reply["usage"]);
  if (own !== undefined || quirks?.usageIn === undefined) return own;
  if (quirks.usageIn === "x_groq.usage") return asObject(asObject(reply["x_groq"])?.["usage"]);
  const choices = reply["choices"];
  return Array.isArray(choices) ? asObject(asObject(choices[0])?.["usage"]) : undefined;
}

/** A count, or undefined when it is no honest number: strings, fractions, negatives and infinities are none. */
function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 && Number.isInteger(value)
    ? value
    : undefined;
}

function cachedOf(usage: JsonRecord, quirks: Quirks | undefined): number {
  const details = asObject(usage["prompt_tokens_details"]) ?? asObject(usage["input_tokens_details"]);
  const named = countOf(details?.["cached_tokens"]);
  if (named !== undefined) return named;
  // DeepSeek's name for it stands beside the others without being a quirk of one row: resellers forward it too.
  const other = quirks?.cachedTokensIn === undefined ? undefined : usage[quirks.cachedTokensIn];
  return countOf(other) ?? countOf(usage["prompt_cache_hit_tokens"]) ?? 0;
}

/**
 * Reads a usage object. undefined = it says nothing that can be believed (a count is no whole number ≥ 0, or all are 0):
 * the tokens are to be counted here. Numbers above the bounds are clamped and flagged.
 */
export function readUsage(usage: JsonRecord, bounds: UsageBounds, quirks?: Quirks): ReadUsage | undefined {
  if (quirks?.usageUnreliable === true) return undefined;
  const total = usage["total_tokens"];
  const completionGiven = usage["completion_tokens"] ?? usage["output_tokens"];
  const promptGiven =
    usage["prompt_tokens"] ?? usage["input_tokens"] ?? (completionGiven === undefined ? total : undefined);
  const prompt = countOf(promptGiven ?? 0);
  const completion = countOf(completionGiven ?? 0);
  if (prompt === undefined || completion === undefined || prompt + completion === 0) return undefined;
  const promptTokens = Math.min(prompt, bounds.promptTokens);
  const completionTokens = Math.min(completion, bounds.completionTokens);
  return {
    usage: { promptTokens, completionTokens, cachedTokens: Math.min(cachedOf(usage, quirks), promptTokens) },
    isAnomalous: promptTokens !== prompt || completionTokens !== completion,
  };
}
