// One generation request in words of no vendor: what every client dialect parses into and every upstream dialect encodes from. In
// essence OpenAI's chat shape, widened. Types, and the one error both sides throw; it knows no wire.
import { type JsonRecord, readJson } from "#server/upstream/json/values.ts";

/** A mark of a prompt cache: everything up to here may be kept by the upstream. */
export interface CacheMark {
  readonly ttl: "5m" | "1h" | undefined;
}

/** Bytes inline (base64) or an address the upstream, or we, may fetch. */
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

/** A step of thinking in the history; `signature` proves its origin to the vendor that made it. */
export interface HubThought {
  readonly text: string;
  readonly signature: string | undefined;
  /** Thinking that only its vendor can read; `text` is empty then. */
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
      /** The tool's name, where the client said it or the history tells it. */
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
      /** JSON schema; undefined = the tool takes nothing. */
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
  /** Only these. */
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

/** How much to think: a word, a number of tokens, or both as the client gave them. */
export interface HubReasoning {
  readonly effort: Effort | undefined;
  /** Unit: tokens; 0 = off, -1 = as the model likes. */
  readonly budgetTokens: number | undefined;
  /** The client wants to see the thoughts; undefined = it did not say. */
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
  /** Answers wanted; undefined = 1. */
  readonly n?: number | undefined;
  readonly logprobs?: { readonly top: number | undefined } | undefined;
  readonly tools?: readonly HubTool[] | undefined;
  readonly toolChoice?: HubToolChoice | undefined;
  readonly parallelToolCalls?: boolean | undefined;
  readonly format?: HubFormat | undefined;
  readonly reasoning?: HubReasoning | undefined;
  /** The client's format tells thoughts without being asked, and this client does not mind. */
  readonly tellsThoughts?: boolean | undefined;
  readonly verbosity?: string | undefined;
  readonly serviceTier?: string | undefined;
  /** Who asks, for the upstream's own abuse control. */
  readonly user?: string | undefined;
  readonly cacheKey?: string | undefined;
  /**
   * What the hub has no word for, under the names of an OpenAI chat body: handed on to OpenAI wires, reported as dropped by all
   * others. Members of foreign client formats without such a name are refused or reported by the client dialect.
   */
  readonly extras?: JsonRecord | undefined;
  /** Hints the client dialect had to leave out already, by the client's names. */
  readonly dropped?: readonly string[] | undefined;
}

/** Something asked for has no counterpart on the other side, and leaving it out would change the answer (issue: never in silence). */
export class Unmappable extends Error {
  override readonly name = "Unmappable";
  /** The client's name for it, e.g. `n` or `messages[].content[].input_audio`. */
  readonly what: string;
  /** Why, in Chinese, for the caller. */
  readonly reason: string;

  constructor(what: string, reason = "上游渠道不支持该参数") {
    super(`${what}: ${reason}`);
    this.what = what;
    this.reason = reason;
  }
}

/** Whether the client demands that a tool is called. */
export function isToolForced(choice: HubToolChoice | undefined): boolean {
  if (choice?.kind === "subset") return choice.isRequired;
  return choice?.kind === "any" || choice?.kind === "tool";
}

/** The texts of parts, joined; media is left out. */
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

/** Takes a data URL apart; undefined = it is none. */
export function parseDataUrl(url: string): MediaSource | undefined {
  const match = /^data:([^;,]*)(?:;[^;,]*)*?;base64,/.exec(url.slice(0, 256));
  if (match === null) return undefined;
  return { kind: "data", mime: match[1] || "application/octet-stream", base64: url.slice(match[0].length) };
}

/** A medium as one text: its address, or a data URL. */
export function mediaUrl(source: MediaSource): string {
  return source.kind === "url" ? source.url : `data:${source.mime};base64,${source.base64}`;
}

/** What a wire has a word for, besides what every wire has. */
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
  /** Those of earlier turns, at least some. */
  | "thoughts";

/**
 * The hints of a request that a wire without these abilities has to leave out, by OpenAI's names; extras are among them. Throws:
 * Unmappable for what would change the answer: several answers, logprobs, sound.
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
 * The hints that stand in the messages and tools of a request: speakers' names, the detail pictures are to be looked at in, marks of
 * prompt caches. For wires that have a word for none of them.
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

/** Thoughts of earlier turns that a wire does not take, as a hint that was dropped, by chat's name. */
export function lostThoughts(
  { messages }: Pick<HubRequest, "messages">,
  isKept: (thought: HubThought) => boolean,
): string[] {
  const isLost = messages.some(
    (message) => message.role === "assistant" && message.thoughts.some((thought) => !isKept(thought)),
  );
  return isLost ? ["messages[].reasoning_content"] : [];
}

/** `{}` for what is no JSON object: arguments of calls that no model finished. */
export function argumentsOf(call: HubToolCall): JsonRecord {
  return call.isCustom === true ? { input: call.arguments } : (readJson(call.arguments) ?? {});
}

/** The same as text, for wires that read it. */
export function argumentText(call: HubToolCall): string {
  const isObject = call.isCustom !== true && readJson(call.arguments) !== undefined;
  return isObject ? call.arguments : JSON.stringify(argumentsOf(call));
}

/** The names tools go by on a wire that limits them; a name that fits stays. The same name always becomes the same. */
export class ToolNames {
  /** Name on the wire → the client's name, of those that had to be changed. */
  readonly changed = new Map<string, string>();
  readonly #wire = new Map<string, string>();
  readonly #limit: number;
  readonly #begin: RegExp;

  /** `limit` characters of `[A-Za-z0-9_-]`; a name that does not `begin` as it must gets a `_` before it. */
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

/** A name within `limit` characters of `[A-Za-z0-9_-]`: one that fits stays, any other gets a sign that tells it apart. */
export function shortName(name: string, limit: number): string {
  const clean = name.replace(/[^A-Za-z0-9_-]/g, "_");
  return clean === name && name.length <= limit ? name : `${clean.slice(0, limit - 9)}_${hashOf(name)}`;
}

/** Eight signs that tell names apart (FNV-1a, 32 bits). It need not be secret. */
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

/** The same in what an OpenAI model can do: the older ones and most of the newest cannot but think (requirements T18.2, decision 032). */
export function effortFor(model: string, reasoning: HubReasoning): Exclude<Effort, "max"> | undefined {
  const word = effortWord(reasoning);
  if (word === "minimal" && /^gpt-(5\.|6)/.test(model)) return "low";
  if (word !== "none") return word;
  if (/^gpt-6(?!-sol|-luna|\.1-terra)/.test(model)) return "low";
  if (/^(o\d|gpt-5)\S*-pro/.test(model)) return undefined;
  if (/^(o\d|gpt-5\S*-codex)/.test(model)) return "low";
  return /^gpt-5(?!-chat)(-|$)/.test(model) ? "minimal" : word;
}

/** How much to think as a word; a number of tokens becomes the nearest one (requirements T18.2). undefined = as the model likes. */
export function effortWord({ effort, budgetTokens }: HubReasoning): Exclude<Effort, "max"> | undefined {
  if (effort !== undefined) return effort === "max" ? "xhigh" : effort;
  if (budgetTokens === undefined || budgetTokens < 0) return undefined;
  if (budgetTokens === 0) return "none";
  if (budgetTokens < 2048) return "low";
  return budgetTokens < 16384 ? "medium" : "high";
}
