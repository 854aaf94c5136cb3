// The words that everything upstream shares. Imports nothing.

/**
 * LLM tokens of one call. Cached, cache-written, audio and image input are disjoint parts of `promptTokens`, what is left is
 * fresh text; reasoning, audio and image output are parts of `completionTokens`. An absent part is 0.
 */
export interface TokenUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  /** Written to the upstream's cache, for an hour or less. */
  readonly cacheWriteTokens?: number;
  /** Those of `cacheWriteTokens` that were written for an hour. */
  readonly cacheWriteHourTokens?: number;
  readonly audioPromptTokens?: number;
  readonly imagePromptTokens?: number;
  readonly reasoningTokens?: number;
  readonly audioCompletionTokens?: number;
  readonly imageCompletionTokens?: number;
}

/** A parsed JSON object. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/** Narrows a parsed value to an object; undefined = it is an array, a scalar or null. */
export function asObject(value: unknown): JsonRecord | undefined {
  // An object that is no array has string keys only.
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonRecord)
    : undefined;
}

/** Narrows a parsed value to a text; undefined = it is none. */
export function asText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The items of a parsed array; none when it is something else. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Narrows a parsed value to a number; undefined = it is none. */
export function asNumber(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/**
 * Cancels a call from outside: the one signal of a request (design 4.7). Lighter than AbortController, which costs more
 * than the rest of the hot path's bookkeeping together.
 */
export class Cancellation {
  isCancelled = false;
  /** It was cancelled because its time is over: what did not come by then failed. */
  isExpired = false;
  #listener: (() => void) | undefined;

  /** Calls the listener of the moment, once. Idempotent. */
  cancel(): void {
    if (this.isCancelled) return;
    this.isCancelled = true;
    this.#listener?.();
    this.#listener = undefined;
  }

  /** Cancels because the time of the request is over. Idempotent. */
  expire(): void {
    if (this.isCancelled) return;
    this.isExpired = true;
    this.cancel();
  }

  /** Sets what `cancel` ends; undefined = nothing. Whoever sets one later replaces it. */
  watch(listener: (() => void) | undefined): void {
    if (this.isCancelled) listener?.();
    else this.#listener = listener;
  }
}

/** The JSON object in a text; undefined = there is none. */
export function readJson(text: string): JsonRecord | undefined {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return undefined;
  }
}
