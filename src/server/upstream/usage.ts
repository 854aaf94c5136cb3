// Reads and validates the usage that upstreams report (requirements M17): whole numbers, not negative, within what the request could
// have caused. Pure.
import type { Quirks } from "#contract/providers.ts";
import { asObject, type JsonRecord } from "./json/values.ts";

/**
 * LLM tokens of one call. Cached, cache-written, audio and image input are disjoint parts of `promptTokens`, the rest is fresh text;
 * reasoning, audio and image output are parts of `completionTokens`. An absent part is 0.
 */
export interface TokenUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  /** Written to the upstream's cache, for an hour or less. */
  readonly cacheWriteTokens?: number;
  /** The part of `cacheWriteTokens` that was written for an hour. */
  readonly cacheWriteHourTokens?: number;
  readonly audioPromptTokens?: number;
  readonly imagePromptTokens?: number;
  readonly reasoningTokens?: number;
  readonly audioCompletionTokens?: number;
  readonly imageCompletionTokens?: number;
}

/** The most that a call can have used. */
export interface UsageBounds {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** The reported usage; undefined = it is impossible and is rejected as a whole. */
export type ReadUsage =
  | { readonly usage: TokenUsage; readonly isImpossible: false }
  | { readonly usage: undefined; readonly isImpossible: true };

const IMPOSSIBLE: ReadUsage = { usage: undefined, isImpossible: true };

/** The usage object of a reply or stream chunk, wherever this upstream puts it; undefined = none here. */
export function findUsage(reply: JsonRecord, quirks: Quirks | undefined): JsonRecord | undefined {
  const own = asObject(reply["usage"]);
  if (own !== undefined || quirks?.usageIn === undefined) return own;
  if (quirks.usageIn === "x_groq.usage") return asObject(asObject(reply["x_groq"])?.["usage"]);
  const choices = reply["choices"];
  return Array.isArray(choices) ? asObject(asObject(choices[0])?.["usage"]) : undefined;
}

/** A count; undefined for strings, fractions, negatives and infinities. */
function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 && Number.isInteger(value)
    ? value
    : undefined;
}

/** Names of the object with the input details: those of Chat, Responses and realtime. */
const PROMPT_DETAILS = ["prompt_tokens_details", "input_tokens_details", "input_token_details"] as const;
const COMPLETION_DETAILS = [
  "completion_tokens_details",
  "output_tokens_details",
  "output_token_details",
] as const;

function detailsOf(usage: JsonRecord, names: readonly string[]): JsonRecord | undefined {
  for (const name of names) {
    const details = asObject(usage[name]);
    if (details !== undefined) return details;
  }
  return undefined;
}

/**
 * Moonshot's, DeepSeek's and Mistral's names; they are no quirks of single rows, because resellers forward them too (vendors/quirks,
 * vendors/deepseek).
 */
const OWN_CACHED = ["cached_tokens", "prompt_cache_hit_tokens", "num_cached_tokens"] as const;

/** The cached prompt tokens by a vendor's own name. */
export function ownCachedOf(usage: JsonRecord): number | undefined {
  for (const name of OWN_CACHED) {
    const count = countOf(usage[name]);
    if (count !== undefined) return count;
  }
  return undefined;
}

/** Splits a total so that its parts never exceed it. */
class Share {
  #left: number;

  constructor(total: number) {
    this.#left = total;
  }

  take(count: number | undefined): number {
    const taken = Math.min(count ?? 0, this.#left);
    this.#left -= taken;
    return taken;
  }
}

/** The parts of an input; cached audio or images count as cached, and realtime reports how many they are. */
function promptParts(usage: JsonRecord, promptTokens: number) {
  const details = detailsOf(usage, PROMPT_DETAILS);
  const share = new Share(promptTokens);
  const cachedTokens = share.take(countOf(details?.["cached_tokens"]) ?? ownCachedOf(usage));
  if (details === undefined) return { cachedTokens };
  // DashScope keeps Anthropic's name (vendors/dashscope).
  const written = countOf(details["cache_write_tokens"]) ?? countOf(details["cache_creation_input_tokens"]);
  const cacheWriteTokens = share.take(written);
  const cacheWriteHourTokens = Math.min(longWritten(details), cacheWriteTokens);
  const cached = asObject(details["cached_tokens_details"]);
  const audioPromptTokens = share.take(freshOf("audio_tokens", details, cached));
  const imagePromptTokens = share.take(freshOf("image_tokens", details, cached));
  return {
    cachedTokens,
    ...(cacheWriteTokens > 0 && { cacheWriteTokens }),
    ...(cacheWriteHourTokens > 0 && { cacheWriteHourTokens }),
    ...(audioPromptTokens > 0 && { audioPromptTokens }),
    ...(imagePromptTokens > 0 && { imagePromptTokens }),
  };
}

/** Tokens written for Anthropic's hour or OpenAI's twelve, which both cost twice the input. */
function longWritten(details: JsonRecord): number {
  const byTtl = asObject(details["cache_write_tokens_details"]);
  return countOf(details["cache_write_1h_tokens"]) ?? countOf(byTtl?.["ttl_12h_tokens"]) ?? 0;
}

function freshOf(name: string, details: JsonRecord, cached: JsonRecord | undefined): number {
  return Math.max(0, (countOf(details[name]) ?? 0) - (countOf(cached?.[name]) ?? 0));
}

/** The parts of an output; reasoning may be of any kind, so it is no disjoint part. */
function completionParts(usage: JsonRecord, completionTokens: number) {
  const details = detailsOf(usage, COMPLETION_DETAILS);
  if (details === undefined) return undefined;
  const share = new Share(completionTokens);
  const reasoningTokens = Math.min(countOf(details["reasoning_tokens"]) ?? 0, completionTokens);
  const audioCompletionTokens = share.take(countOf(details["audio_tokens"]));
  const imageCompletionTokens = share.take(countOf(details["image_tokens"]));
  return {
    ...(reasoningTokens > 0 && { reasoningTokens }),
    ...(audioCompletionTokens > 0 && { audioCompletionTokens }),
    ...(imageCompletionTokens > 0 && { imageCompletionTokens }),
  };
}

/**
 * All output tokens: xAI counts reasoning outside the completion (vendors/newer-types), but inside it in Responses, as its totals show.
 */
function spokenOf(usage: JsonRecord, prompt: number, completion: number, quirks: Quirks | undefined): number {
  const isBeside = quirks?.reasoningBeside === true && countOf(usage["total_tokens"]) !== prompt + completion;
  if (!isBeside) return completion;
  return completion + (countOf(detailsOf(usage, COMPLETION_DETAILS)?.["reasoning_tokens"]) ?? 0);
}

/**
 * Reads a usage object. undefined = it is empty (all counts are absent or 0). Impossible = a count is no whole number ≥ 0, or above its
 * bound. In both cases the tokens are counted locally.
 */
export function readUsage(usage: JsonRecord, bounds: UsageBounds, quirks?: Quirks): ReadUsage | undefined {
  if (quirks?.usageUnreliable === true) return undefined;
  const total = usage["total_tokens"];
  const completionGiven = usage["completion_tokens"] ?? usage["output_tokens"];
  const promptGiven =
    usage["prompt_tokens"] ?? usage["input_tokens"] ?? (completionGiven === undefined ? total : undefined);
  const prompt = countOf(promptGiven ?? 0);
  const written = countOf(completionGiven ?? 0);
  if (prompt === undefined || written === undefined) return IMPOSSIBLE;
  if (prompt + written === 0) return undefined;
  const promptTokens = prompt;
  const completionTokens = spokenOf(usage, prompt, written, quirks);
  if (promptTokens > bounds.promptTokens || completionTokens > bounds.completionTokens) return IMPOSSIBLE;
  return {
    usage: {
      promptTokens,
      completionTokens,
      ...promptParts(usage, promptTokens),
      ...completionParts(usage, completionTokens),
    },
    isImpossible: false,
  };
}
