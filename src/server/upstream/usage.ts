// Reads and validates the usage that upstreams report (requirements M17): whole numbers, not negative, within what the request could
// have caused. Observes replies that pass: collects the generated text and notices usage, errors and finish reasons by keys and strings
// alone, without parsing, which costs a fraction of a JSON.parse. Pure.
import type { Quirks } from "#contract/providers.ts";
import { escapeExcess } from "./json/scan.ts";
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

/** What one scan noticed; flags of `UsageObserver.scan`. */
export const Seen = {
  /** A `usage` object. */
  usage: 1,
  /** An `error` that is not null. */
  error: 2,
  /** A non-empty `finish_reason`. */
  finish: 4,
  /** Generated text, image or audio. */
  text: 8,
} as const;

const TEXT = 1;
const FINISH = 2;
const USAGE = 3;
const ERROR = 4;
const MEDIA = 5;

/** The observed keys by length, so that most keys are skipped after one look-up. */
export type KeyTable = readonly (
  | readonly { readonly name: Uint8Array; readonly kind: number }[]
  | undefined
)[];

/** The observed keys of a format, by meaning. */
interface ObservedKeys {
  readonly text: readonly string[];
  /** Images and audio: no text, but generated output. */
  readonly media?: readonly string[];
  readonly finish: readonly string[];
  readonly usage: readonly string[];
  readonly error: readonly string[];
}

/** Builds the table of keys; once per format, not per reply. */
export function keyTable(keys: ObservedKeys): KeyTable {
  const table: { name: Uint8Array; kind: number }[][] = [];
  const add = (kind: number, names: readonly string[]) => {
    for (const name of names) {
      table[name.length] ??= [];
      table[name.length]?.push({ name: Buffer.from(name), kind });
    }
  };
  add(TEXT, keys.text);
  add(MEDIA, keys.media ?? []);
  add(FINISH, keys.finish);
  add(USAGE, keys.usage);
  add(ERROR, keys.error);
  return table;
}

/** Chat deltas and messages, completions, tool arguments, transcripts of audio, and the names of reasoning text (vendors/openai-chat). */
const OPENAI_KEYS = keyTable({
  text: ["content", "text", "arguments", "input", "refusal", "transcript", "reasoning", "reasoning_content"],
  // The URL or data of an image, and audio.
  media: ["url", "data"],
  finish: ["finish_reason"],
  usage: ["usage"],
  error: ["error"],
});

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LOWER_U = 0x75;
const OPEN_BRACE = 0x7b;

/** Text beyond this is counted but not kept; a better estimate would not be worth the memory. */
const TEXT_LIMIT_BYTES = 1024 * 1024;

/** One observer per reply. */
export class UsageObserver {
  /** Bytes of generated text seen so far; an escape counts about as much as the character it encodes. */
  textBytes = 0;
  textChars = 0;
  /** Events or replies that brought text, pictures or sound. Most upstreams send one token in each. */
  textPieces = 0;
  readonly #keys: KeyTable;
  #text = Buffer.allocUnsafe(512);
  #kept = 0;

  constructor(keys: KeyTable = OPENAI_KEYS) {
    this.#keys = keys;
  }

  /** Scans one JSON payload. Returns the `Seen` flags of its content. */
  scan(bytes: Uint8Array, start: number, end: number): number {
    let seen = 0;
    let at = start;
    while (at < end) {
      if (bytes[at] !== QUOTE) {
        at += 1;
        continue;
      }
      const keyEnd = stringEnd(bytes, at + 1, end);
      const kind = kindOf(this.#keys, bytes, at + 1, keyEnd);
      const value = kind === 0 ? -1 : valueAfter(bytes, keyEnd + 1, end);
      if (value < 0) {
        at = keyEnd + 1;
        continue;
      }
      seen |= this.#note(kind, bytes, value, end);
      // A string is a value, not the next key; into objects and arrays the search goes on.
      at = bytes[value] === QUOTE ? stringEnd(bytes, value + 1, end) + 1 : value;
    }
    if ((seen & Seen.text) !== 0) this.textPieces += 1;
    return seen;
  }

  /** Takes the value of an observed key. */
  #note(kind: number, bytes: Uint8Array, value: number, end: number): number {
    const first = bytes[value];
    if (kind === USAGE) return first === OPEN_BRACE ? Seen.usage : 0;
    // Not null, not false.
    if (kind === ERROR) return first === 0x6e || first === 0x66 ? 0 : Seen.error;
    if (first !== QUOTE) return 0;
    const valueEnd = stringEnd(bytes, value + 1, end);
    if (valueEnd === value + 1) return 0;
    if (kind === MEDIA) return Seen.text;
    return kind === FINISH ? Seen.finish : this.#keep(bytes, value + 1, valueEnd);
  }

  /** All text seen, escapes decoded. Up to 1 MiB; the rest is in `textBytes` only. */
  text(): string {
    // The concatenated bodies of JSON strings are the body of one JSON string.
    const raw = this.#text.subarray(0, this.#kept).toString();
    try {
      return String(JSON.parse(`"${raw}"`));
    } catch {
      return raw;
    }
  }

  #measure(bytes: Uint8Array, start: number, end: number): void {
    let chars = 0;
    let excess = 0;
    for (let at = start; at < end; at += 1) {
      const byte = bytes[at] ?? 0;
      if ((byte & 0xc0) !== 0x80) chars += 1;
      if (byte !== BACKSLASH) continue;
      const letter = bytes[at + 1] ?? 0;
      excess += escapeExcess(letter);
      at += letter === LOWER_U ? 5 : 1;
    }
    this.textChars += chars;
    this.textBytes += end - start - excess;
  }

  #keep(bytes: Uint8Array, start: number, end: number): number {
    const size = end - start;
    this.#measure(bytes, start, end);
    if (this.#kept + size > TEXT_LIMIT_BYTES) return Seen.text;
    if (this.#kept + size > this.#text.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#text.length * 2, this.#kept + size));
      this.#text.copy(larger, 0, 0, this.#kept);
      this.#text = larger;
    }
    if (size < 64)
      for (let at = start; at < end; at += 1) this.#text[this.#kept + at - start] = bytes[at] ?? 0;
    else this.#text.set(bytes.subarray(start, end), this.#kept);
    this.#kept += size;
    return Seen.text;
  }
}

/** The offset of the closing quote of a string whose content begins at `from`; `end` when it never closes. */
function stringEnd(bytes: Uint8Array, from: number, end: number): number {
  let at = from;
  while (at < end) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    at += byte === BACKSLASH ? 2 : 1;
  }
  return end;
}

/** The kind of a key; 0 = not observed. */
function kindOf(keys: KeyTable, bytes: Uint8Array, start: number, end: number): number {
  const candidates = keys[end - start];
  if (candidates === undefined) return 0;
  for (let at = 0; at < candidates.length; at += 1) {
    const candidate = candidates[at];
    if (candidate !== undefined && isAt(bytes, start, candidate.name)) return candidate.kind;
  }
  return 0;
}

function isAt(bytes: Uint8Array, start: number, name: Uint8Array): boolean {
  for (let at = 0; at < name.length; at += 1) if (bytes[start + at] !== name[at]) return false;
  return true;
}

/** The offset of the value behind a key's colon, blanks skipped; -1 = no colon: the string was no key. */
function valueAfter(bytes: Uint8Array, from: number, end: number): number {
  let at = from;
  while (at < end && isBlank(bytes[at])) at += 1;
  if (bytes[at] !== 0x3a) return -1;
  at += 1;
  while (at < end && isBlank(bytes[at])) at += 1;
  return at < end ? at : -1;
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
