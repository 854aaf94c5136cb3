// One generation request in a vendor-neutral form: client formats parse into it, upstream dialects encode from it. In essence OpenAI's
// chat shape, widened. Types, and the one error both sides throw; it knows no wire.
import { type JsonRecord, readJson } from "#server/upstream/json/values.ts";

/** A breakpoint of a prompt cache: the upstream may cache everything up to here. */
export interface CacheMark {
  readonly ttl: "5m" | "1h" | undefined;
}

/** Inline bytes (base64), or a URL that the upstream or the gateway may fetch. */
export type MediaSource =
  | { readonly kind: "data"; readonly mime: string; readonly base64: string }
  | { readonly kind: "url"; readonly url: string };

export type HubPart =
  | { readonly kind: "text"; readonly text: string; readonly cache?: CacheMark | undefined }
  | {
      readonly kind: "image";
      readonly source: MediaSource;
      readonly detail?: string | undefined;
      readonly cache?: CacheMark | undefined;
    }
  /** `format` as OpenAI names it: wav, mp3 … */
  | { readonly kind: "audio"; readonly base64: string; readonly format: string }
  | { readonly kind: "video"; readonly source: MediaSource }
  | {
      readonly kind: "file";
      readonly source: MediaSource | { readonly kind: "id"; readonly id: string };
      readonly filename: string | undefined;
      readonly cache?: CacheMark | undefined;
    }
  | { readonly kind: "refusal"; readonly text: string };

/** A thought in the history; `signature` proves its origin to the vendor that made it. */
export interface HubThought {
  readonly text: string;
  readonly signature: string | undefined;
  /** Encrypted thinking that only its vendor can read; `text` is empty then. */
  readonly redacted?: string | undefined;
}

export interface HubToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text of an object; of a custom tool the plain input. Never empty for a function: `{}` then. */
  readonly arguments: string;
  readonly isCustom?: boolean | undefined;
  /** Gemini's `thoughtSignature` of the call. */
  readonly signature?: string | undefined;
}

export type HubMessage =
  | {
      readonly role: "system" | "developer";
      readonly parts: readonly HubPart[];
      readonly name?: string | undefined;
    }
  | { readonly role: "user"; readonly parts: readonly HubPart[]; readonly name?: string | undefined }
  | {
      readonly role: "assistant";
      readonly parts: readonly HubPart[];
      readonly thoughts: readonly HubThought[];
      readonly toolCalls: readonly HubToolCall[];
      readonly name?: string | undefined;
    }
  | {
      readonly role: "tool";
      readonly callId: string;
      /** The tool's name, where the client sent it or the history has it. */
      readonly name: string | undefined;
      readonly parts: readonly HubPart[];
      readonly isError: boolean;
      readonly cache?: CacheMark | undefined;
    };

export type HubTool =
  | {
      readonly kind: "function";
      readonly name: string;
      readonly description: string | undefined;
      /** JSON schema; undefined = the tool takes no arguments. */
      readonly parameters: JsonRecord | undefined;
      readonly strict?: boolean | undefined;
      readonly cache?: CacheMark | undefined;
    }
  /** Free text in, e.g. apply_patch. `format` as OpenAI writes it. */
  | {
      readonly kind: "custom";
      readonly name: string;
      readonly description: string | undefined;
      readonly format: JsonRecord | undefined;
    }
  /** The upstream's own web search. */
  | { readonly kind: "web-search"; readonly options: JsonRecord };

export type HubToolChoice =
  | { readonly kind: "auto" | "none" | "any" }
  | { readonly kind: "tool"; readonly name: string }
  /** Only these tools may be called. */
  | { readonly kind: "subset"; readonly names: readonly string[]; readonly isRequired: boolean };

export type HubFormat =
  | { readonly kind: "text" | "json" }
  | {
      readonly kind: "schema";
      readonly name: string;
      readonly schema: JsonRecord;
      readonly strict: boolean | undefined;
      readonly description: string | undefined;
    };

export type Effort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/** The requested effort: a level, a number of tokens, or both. */
export interface HubReasoning {
  readonly effort: Effort | undefined;
  /** Unit: tokens; 0 = off, -1 = the model decides. */
  readonly budgetTokens: number | undefined;
  /** Whether the client wants to see the thoughts; undefined = unspecified. */
  readonly isShown: boolean | undefined;
}

export interface HubRequest {
  /** Upstream name, after the model mapping. */
  readonly model: string;
  readonly isStream: boolean;
  readonly messages: readonly HubMessage[];
  readonly maxTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly stop?: readonly string[] | undefined;
  readonly seed?: number | undefined;
  readonly presencePenalty?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  /** Number of answers; undefined = 1. */
  readonly n?: number | undefined;
  readonly logprobs?: { readonly top: number | undefined } | undefined;
  readonly tools?: readonly HubTool[] | undefined;
  readonly toolChoice?: HubToolChoice | undefined;
  readonly parallelToolCalls?: boolean | undefined;
  readonly format?: HubFormat | undefined;
  readonly reasoning?: HubReasoning | undefined;
  /** The client's format contains thoughts by default, and this client did not switch them off. */
  readonly tellsThoughts?: boolean | undefined;
  readonly verbosity?: string | undefined;
  readonly serviceTier?: string | undefined;
  /** The end user's id, for the upstream's abuse control. */
  readonly user?: string | undefined;
  readonly cacheKey?: string | undefined;
  /**
   * Extras: members without a place in the hub, under the names of an OpenAI chat body. OpenAI wires send them, all others report them as
   * dropped. Members of foreign client formats without such a name are refused or reported by the client format.
   */
  readonly extras?: JsonRecord | undefined;
  /** Hints that the client format has dropped already, by the client's names. */
  readonly dropped?: readonly string[] | undefined;
}

/** A requested feature has no counterpart on the other side, and dropping it would change the answer. */
export class Unmappable extends Error {
  override readonly name = "Unmappable";
  /** The client's name for it, e.g. `n` or `messages[].content[].input_audio`. */
  readonly what: string;
  /** The reason, in Chinese, for the caller. */
  readonly reason: string;

  constructor(what: string, reason = "上游渠道不支持该参数") {
    super(`${what}: ${reason}`);
    this.what = what;
    this.reason = reason;
  }
}

/** Whether the client requires a tool call. */
export function isToolForced(choice: HubToolChoice | undefined): boolean {
  if (choice?.kind === "subset") return choice.isRequired;
  return choice?.kind === "any" || choice?.kind === "tool";
}

/** The texts of parts, joined; media are skipped. */
export function textOf(parts: readonly HubPart[], separator = ""): string {
  return parts
    .flatMap((part) => (part.kind === "text" || part.kind === "refusal" ? [part.text] : []))
    .join(separator);
}

/** All system and developer texts, in order, blank lines between; undefined = there are none. */
export function systemText(messages: readonly HubMessage[]): string | undefined {
  const texts = messages.flatMap((message) =>
    message.role === "system" || message.role === "developer" ? [textOf(message.parts, "\n")] : [],
  );
  return texts.length === 0 ? undefined : texts.join("\n\n");
}

/** Parses a data URL; undefined = it is none. */
export function parseDataUrl(url: string): MediaSource | undefined {
  const match = /^data:([^;,]*)(?:;[^;,]*)*?;base64,/.exec(url.slice(0, 256));
  if (match === null) return undefined;
  return { kind: "data", mime: match[1] || "application/octet-stream", base64: url.slice(match[0].length) };
}

/** A medium as one text: its URL, or a data URL. */
export function mediaUrl(source: MediaSource): string {
  return source.kind === "url" ? source.url : `data:${source.mime};base64,${source.base64}`;
}

/** Optional features that a wire supports. */
export type Ability =
  | "n"
  | "logprobs"
  | "seed"
  | "penalties"
  | "top_k"
  | "verbosity"
  | "service_tier"
  | "user"
  | "prompt_cache_key"
  | "parallel_tool_calls"
  /** Thoughts of earlier turns, at least some. */
  | "thoughts";

/**
 * The hints of a request that a wire without these features drops, by OpenAI's names; extras are among them. Throws: Unmappable for
 * features that would change the answer: several answers, logprobs, audio.
 */
export function hintsBeyond(request: HubRequest, can: ReadonlySet<Ability>): string[] {
  if ((request.n ?? 1) > 1 && !can.has("n")) throw new Unmappable("n", "上游渠道只支持 n = 1");
  if (request.logprobs !== undefined && !can.has("logprobs")) throw new Unmappable("logprobs");
  const { extras = {} } = request;
  const modalities = extras["modalities"];
  if (Array.isArray(modalities) && modalities.some((item) => item !== "text"))
    throw new Unmappable("modalities");
  const hints: [name: string, ability: Ability, value: unknown][] = [
    ["seed", "seed", request.seed],
    ["presence_penalty", "penalties", request.presencePenalty || undefined],
    ["frequency_penalty", "penalties", request.frequencyPenalty || undefined],
    ["top_k", "top_k", request.topK],
    ["verbosity", "verbosity", request.verbosity],
    ["service_tier", "service_tier", request.serviceTier],
    ["user", "user", request.user],
    ["prompt_cache_key", "prompt_cache_key", request.cacheKey],
    ["parallel_tool_calls", "parallel_tool_calls", request.parallelToolCalls === false ? false : undefined],
  ];
  const left = hints.flatMap(([name, ability, value]) =>
    value === undefined || can.has(ability) ? [] : [name],
  );
  const thoughts = can.has("thoughts") ? [] : lostThoughts(request, () => false);
  return [...left, ...thoughts, ...Object.keys(extras).filter((name) => name !== "modalities")];
}

/**
 * The hints in the messages and tools of a request: names of speakers, image details, breakpoints of prompt caches. For wires that
 * support none of them.
 */
export function hintsWithin({ messages, tools = [] }: HubRequest): string[] {
  const parts = messages.flatMap((message) => message.parts);
  const marked: readonly object[] = [...messages, ...parts, ...tools];
  const isNamed = messages.some((message) => message.role !== "tool" && message.name !== undefined);
  const isDetailed = parts.some((part) => part.kind === "image" && (part.detail ?? "auto") !== "auto");
  const isMarked = marked.some((item) => "cache" in item && item.cache !== undefined);
  return [
    ...(isNamed ? ["messages[].name"] : []),
    ...(isDetailed ? ["messages[].content[].image_url.detail"] : []),
    ...(isMarked ? ["cache_control"] : []),
  ];
}

/** Thoughts of earlier turns that a wire does not take, as a dropped hint, by chat's name. */
export function lostThoughts(
  { messages }: Pick<HubRequest, "messages">,
  isKept: (thought: HubThought) => boolean,
): string[] {
  const isLost = messages.some(
    (message) => message.role === "assistant" && message.thoughts.some((thought) => !isKept(thought)),
  );
  return isLost ? ["messages[].reasoning_content"] : [];
}

/** Arguments as an object; `{}` for text that is no JSON object, as in unfinished calls. */
export function argumentsOf(call: HubToolCall): JsonRecord {
  return call.isCustom === true ? { input: call.arguments } : (readJson(call.arguments) ?? {});
}

/** The same as JSON text. */
export function argumentText(call: HubToolCall): string {
  const isObject = call.isCustom !== true && readJson(call.arguments) !== undefined;
  return isObject ? call.arguments : JSON.stringify(argumentsOf(call));
}

/** Tool names for a wire that limits them; a name that fits stays. The mapping is stable. */
export class ToolNames {
  /** Name on the wire → the client's name, for changed names. */
  readonly changed = new Map<string, string>();
  readonly #wire = new Map<string, string>();
  readonly #limit: number;
  readonly #begin: RegExp;

  /** `limit` characters of `[A-Za-z0-9_-]`; a name that does not match `begin` gets a `_` before it. */
  constructor(limit: number, begin = /^/) {
    this.#limit = limit;
    this.#begin = begin;
  }

  wireName(name: string): string {
    const known = this.#wire.get(name);
    if (known !== undefined) return known;
    const wire = shortName(this.#begin.test(name) ? name : `_${name}`, this.#limit);
    this.#wire.set(name, wire);
    if (wire !== name) this.changed.set(wire, name);
    return wire;
  }
}

/** A name within `limit` characters of `[A-Za-z0-9_-]`: one that fits stays, any other gets a hash suffix. */
export function shortName(name: string, limit: number): string {
  const clean = name.replace(/[^A-Za-z0-9_-]/g, "_");
  return clean === name && name.length <= limit ? name : `${clean.slice(0, limit - 9)}_${hashOf(name)}`;
}

/** A hash of eight characters (FNV-1a, 32 bits). It need not be secret. */
function hashOf(name: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at += 1) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}

const EFFORTS: ReadonlySet<string> = new Set<Effort>([
  "none",
  "minimal",
  "low",
  "medium",
  "high",
  "xhigh",
  "max",
]);

/** Narrows a word to an effort; undefined = it is none. */
export function effortOf(value: unknown): Effort | undefined {
  // The set holds efforts only.
  return typeof value === "string" && EFFORTS.has(value) ? (value as Effort) : undefined;
}

/** The effort as an OpenAI model takes it: old models and most of the newest cannot switch reasoning off (requirements T18.2, decision 032). */
export function effortFor(model: string, reasoning: HubReasoning): Exclude<Effort, "max"> | undefined {
  const word = effortWord(reasoning);
  if (word === "minimal" && /^gpt-(5\.|6)/.test(model)) return "low";
  if (word !== "none") return word;
  if (/^gpt-6(?!-sol|-luna|\.1-terra)/.test(model)) return "low";
  if (/^(o\d|gpt-5)\S*-pro/.test(model)) return undefined;
  if (/^(o\d|gpt-5\S*-codex)/.test(model)) return "low";
  return /^gpt-5(?!-chat)(-|$)/.test(model) ? "minimal" : word;
}

/** The effort level; a number of tokens becomes the nearest level (requirements T18.2). undefined = the model decides. */
export function effortWord({ effort, budgetTokens }: HubReasoning): Exclude<Effort, "max"> | undefined {
  if (effort !== undefined) return effort === "max" ? "xhigh" : effort;
  if (budgetTokens === undefined || budgetTokens < 0) return undefined;
  if (budgetTokens === 0) return "none";
  if (budgetTokens < 2048) return "low";
  return budgetTokens < 16384 ? "medium" : "high";
}
