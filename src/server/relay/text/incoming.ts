// Reads a request: only fields that decide route or price are parsed, everything else stays bytes (requirements W8.5, M02, M18, R05).
// The body that is billed is the body that is sent, so texts that two parsers could read differently are refused. Pure.

import { isUtf8 } from "node:buffer";
import type { EndpointName, TextEndpoint } from "#contract/providers.ts";
import type { MediaEndpoint } from "#contract/relay-endpoint.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import type { ClientBody } from "#server/upstream/call/body.ts";
import type { FormBody } from "#server/upstream/call/form.ts";
import {
  findMember,
  type JsonObject,
  type Member,
  readMember,
  wholeObject,
} from "#server/upstream/json/object.ts";
import { newTally, type Tally } from "#server/upstream/json/scan.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { chatFrom } from "./cursor-compat.ts";
import { TEXT_ENDPOINTS } from "./endpoints.ts";
import { refuseState, type StateAsked, stateAsked } from "./stateful-fields.ts";

/** What a task is charged by. */
export type TaskFacts =
  | {
      readonly kind: "images";
      readonly images: number;
      readonly size: string;
      readonly quality: string;
      readonly prompt: string;
    }
  | { readonly kind: "speech"; readonly text: string }
  | {
      readonly kind: "sound";
      readonly bytes: number;
      /** undefined where only the upstream knows it. */
      readonly seconds: number | undefined;
      /** Subtitles are requested, which have time stamps. */
      readonly hasStamps: boolean;
    };

export interface IncomingRequest {
  readonly endpoint: TextEndpoint | MediaEndpoint;
  readonly body: ClientBody;
  /** The client sent a form; `body` is empty then. */
  readonly form?: FormBody | undefined;
  readonly model: string;
  /** The client named no model: this is the interface's default. */
  readonly isModelDefault?: boolean;
  readonly isStream: boolean;
  /** No stream was requested, though the answer is sent as it comes. */
  readonly isTimed?: boolean;
  /** A stream that is sent as one JSON array (Gemini without `alt=sse`). */
  readonly isArray: boolean;
  /** Headers of the client's format, names and values in turn. */
  readonly passHeaders: readonly string[];
  /** The client's hints beyond the fields of its endpoint, by their own names. */
  readonly hints?: JsonRecord | undefined;
  /** The client's own name of the conversation, from a header; "" = none. */
  readonly session: string;
  /** `api-version` of the query; "" = none. */
  readonly apiVersion: string;
  /** The client's limit of tokens for one choice; undefined = none. */
  readonly maxTokens: number | undefined;
  /** Where the client names none: the most that a rule of a channel may ask for. */
  readonly raisedTokens?: number | undefined;
  /** How many answers are generated: n, or best_of when that is more. */
  readonly choices: number;
  /** Texts, numbers and media in the body, for a first estimate. */
  readonly tally: Readonly<Tally>;
  /** Of a request for pictures or sound. */
  readonly task?: TaskFacts;
  /** What a request for a response asks its upstream to keep; absent = nothing is kept. */
  readonly state?: StateAsked | undefined;
  /** The one channel that it may go to, with its key. */
  readonly pinned?: LiveChannel;
}

/** Source: requirements W8.1. */
const DEFAULT_MODELS: Readonly<Partial<Record<EndpointName, string>>> = {
  moderation: "text-moderation-stable",
};
/** Source: requirements W8.5. */
const MAX_TOKENS = 1_073_741_823;
const MAX_CHOICES = 128;
const MAX_BEST_OF = 20;

/** What path, query and headers of a request say. */
export interface Outside {
  readonly endpoint: TextEndpoint | MediaEndpoint;
  /** The model for a body without one. */
  readonly pathModel: string | undefined;
  /** Overrides the model that the body names. */
  readonly deployment?: string | undefined;
  /** The path says whether a stream is wanted; undefined = the body does. */
  readonly isStream?: boolean | undefined;
  readonly wantsEvents: boolean;
  readonly apiVersion: string;
  readonly passHeaders: readonly string[];
  readonly session?: string;
  readonly hints?: JsonRecord | undefined;
  /** Upstreams may keep responses. */
  readonly keepsState?: boolean;
  /** A conversation is to be made short. */
  readonly isCompact?: boolean | undefined;
}

/** Reads a request. Throws: LocalError with status 400. */
export function readIncoming(
  outside: Outside & { readonly endpoint: TextEndpoint },
  bytes: Buffer,
): IncomingRequest {
  const tally = newTally();
  const object = isUtf8(bytes) ? wholeObject(bytes, tally) : undefined;
  if (object === undefined || tally.hasLoneSurrogate) throw new LocalError(localErrors.bodyUnreadable());
  if (hasTwins(object)) throw new LocalError(localErrors.keysRepeated());
  const { endpoint, apiVersion, wantsEvents, passHeaders, session = "", hints } = outside;
  const chat = endpoint === "chat" && mayBeForeign(bytes, object) ? chatFrom(bytes, object) : undefined;
  if (chat !== undefined) return readIncoming(outside, chat);
  const body = { bytes, object, model: readMember(bytes, object, "model") };
  if (OPTIONS.some((name) => hasTwinsIn(body, name))) throw new LocalError(localErrors.keysRepeated());
  const named = namedModel(outside, body);
  const model = named ?? DEFAULT_MODELS[endpoint];
  if (typeof model !== "string" || model === "") throw new LocalError(localErrors.fieldMissing("model"));
  const state = stateIn(outside, body);
  checkSubstance(endpoint, body, state);
  const { maxTokens, choices } = limitsOf(endpoint, body);
  const isStream =
    outside.isStream ?? (flag(body, "stream") && TEXT_ENDPOINTS[endpoint].isInputOnly !== true);
  return {
    endpoint,
    body,
    model,
    isModelDefault: named === undefined,
    isStream,
    isArray: endpoint === "generate" && isStream && !wantsEvents,
    passHeaders,
    hints,
    session,
    apiVersion,
    maxTokens,
    choices,
    tally,
    state,
  };
}

/** What a request asks its upstream to keep, where that may be; else it is refused. Throws: LocalError. */
function stateIn(
  { endpoint, keepsState, isCompact = false }: Outside & { readonly endpoint: TextEndpoint },
  { bytes, object }: ClientBody,
): StateAsked | undefined {
  if (!KEEPS_STATE.has(endpoint)) return undefined;
  const said = (name: string) => readMember(bytes, object, name);
  if (endpoint === "responses" && keepsState === true) return stateAsked(said, isCompact);
  refuseState(endpoint, said);
  return undefined;
}

/** Formats with fields that rely on state kept by an upstream. */
const KEEPS_STATE: ReadonlySet<EndpointName> = new Set<EndpointName>(["messages", "responses"]);

const SCHEMA_NAME = Buffer.from('"input_schema"');

/** Whether a body sent to Chat may be written for another API. Chat's own schemas may have a member of that name, too. */
function mayBeForeign(bytes: Buffer, object: JsonObject): boolean {
  const tools = findMember(object, "tools");
  const hasSchemas =
    tools !== undefined && bytes.subarray(tools.valueStart, tools.valueEnd).includes(SCHEMA_NAME);
  return hasSchemas || findMember(object, "messages") === undefined;
}

/**
 * Members that are objects and are read here: else a stream could be read here as one with usage and by the upstream as one
 * without, and a prompt could be cached for longer than is paid for.
 */
const OPTIONS = ["stream_options", "prompt_cache_options"] as const;

function hasTwinsIn(body: ClientBody, name: string): boolean {
  const options = memberObject(body, name);
  return options !== undefined && hasTwins(options.object);
}

/** The model in the path as Azure's clients send it, else that of the body. Gemini's is in the path; a model in its body does not count. */
function namedModel({ endpoint, deployment, pathModel }: Outside, body: ClientBody): unknown {
  return deployment ?? (endpoint === "generate" ? undefined : body.model) ?? pathModel;
}

/** The limits on length and number of the answers. */
function limitsOf(endpoint: TextEndpoint, body: ClientBody): Pick<IncomingRequest, "maxTokens" | "choices"> {
  if (endpoint === "generate") return geminiLimits(body);
  if (endpoint === "responses")
    return { maxTokens: count(body, "max_output_tokens", MAX_TOKENS), choices: 1 };
  const maxTokens = count(body, "max_tokens", MAX_TOKENS);
  if (endpoint === "messages") return { maxTokens, choices: 1 };
  const maxCompletionTokens = count(body, "max_completion_tokens", MAX_TOKENS);
  const choices = Math.max(1, count(body, "n", MAX_CHOICES) ?? 1, count(body, "best_of", MAX_BEST_OF) ?? 1);
  return { maxTokens: larger(maxTokens, maxCompletionTokens), choices };
}

/** An upstream may know only one of the two names. */
function larger(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.max(one, other);
}

/** Gemini's limits are one level down, and in two spellings (vendors/gemini-clients). Throws: LocalError. */
function geminiLimits(body: ClientBody): Pick<IncomingRequest, "maxTokens" | "choices"> {
  const config = memberObject(body, spelled(body, "generationConfig", "generation_config"));
  if (config === undefined) return { maxTokens: undefined, choices: 1 };
  if (hasTwins(config.object)) throw new LocalError(localErrors.keysRepeated());
  const maxTokens = count(config, spelled(config, "maxOutputTokens", "max_output_tokens"), MAX_TOKENS);
  const choices = count(config, spelled(config, "candidateCount", "candidate_count"), MAX_CHOICES);
  return { maxTokens, choices: Math.max(1, choices ?? 1) };
}

/** The spelling in use. Throws: LocalError when both are used: two parsers could see different values. */
function spelled({ object }: ClientBody, camel: string, snake: string): string {
  if (findMember(object, snake) === undefined) return camel;
  if (findMember(object, camel) !== undefined) throw new LocalError(localErrors.keysRepeated());
  return snake;
}

/** A member that is an object, as a body of its own. */
function memberObject({ bytes, object }: ClientBody, name: string): ClientBody | undefined {
  const member = findMember(object, name);
  const value = member && bytes.subarray(member.valueStart, member.valueEnd);
  const inner = value && wholeObject(value);
  return value === undefined || inner === undefined
    ? undefined
    : { bytes: value, object: inner, model: undefined };
}

/** The members that decide route or price. */
const OWN_NAMES = new Set([
  "model",
  "stream",
  "stream_options",
  "include_usage",
  "n",
  "best_of",
  "max_tokens",
  "max_completion_tokens",
  "max_output_tokens",
  "size",
  "quality",
  "service_tier",
  "servicetier",
  "speed",
  "inference_geo",
  "prompt_cache_options",
]);
/** Gemini's own spelling. */
const OWN_SPELLING = "serviceTier";

/**
 * Whether two parsers could see different values under one name: a name occurs twice, or differs from another only in case.
 * Some parsers ignore case: to them `Model` and `model` are one key and the last one counts. Names are compared the way Go
 * folds them, which makes `ſ` an s and the Kelvin sign a k.
 */
export function hasTwins({ members }: Pick<JsonObject, "members">): boolean {
  const isShort = members.length <= FEW_MEMBERS && members.every(isPlain);
  return isShort ? repeatsName(members) : hasFoldedTwins(members);
}

/** Up to so many names, comparing each with all before it costs less than filling a set. */
const FEW_MEMBERS = 16;

/** For plain names only: folded they stay as they are. */
function repeatsName(members: readonly Member[]): boolean {
  for (let index = 1; index < members.length; index += 1)
    for (let before = 0; before < index; before += 1)
      if (members[before]?.name === members[index]?.name) return true;
  return false;
}

function hasFoldedTwins(members: readonly Member[]): boolean {
  const seen = new Set<string>();
  for (const member of members) {
    const { name } = member;
    const folded = isPlain(member) ? name : foldedName(name);
    const isOwn = folded === name || name === OWN_SPELLING;
    if (seen.has(folded) || (!isOwn && OWN_NAMES.has(folded))) return true;
    seen.add(folded);
  }
  return false;
}

/** A name as parsers see it that ignore case. */
export function foldedName(name: string): string {
  return name.toUpperCase().toLowerCase();
}

const PLAIN_NAME = /^[a-z0-9_]*$/;

function isPlain({ name }: Member): boolean {
  return PLAIN_NAME.test(name);
}

/** A whole number from 0 to `max`; null counts as absent. */
function count({ bytes, object }: ClientBody, name: string, max: number): number | undefined {
  const value = readMember(bytes, object, name);
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > max) {
    throw new LocalError(localErrors.fieldInvalid(name));
  }
  return value;
}

function flag({ bytes, object }: ClientBody, name: string): boolean {
  const value = readMember(bytes, object, name);
  if (value === undefined || value === null) return false;
  if (typeof value !== "boolean") throw new LocalError(localErrors.fieldInvalid(name));
  return value;
}

const QUOTE = 0x22;
const LETTER_N = 0x6e;
const OPEN_BRACKET = 0x5b;

/** Refuses a call without anything to answer; the upstream checks the rest. */
function checkSubstance(
  endpoint: TextEndpoint,
  { bytes, object }: ClientBody,
  state: StateAsked | undefined,
): void {
  // What is made short may be at its upstream.
  if (state?.isCompact === true && state.previous !== "") return;
  const { substance: name, isList } = TEXT_ENDPOINTS[endpoint];
  const member = findMember(object, name);
  const first = member === undefined ? LETTER_N : bytes[member.valueStart];
  const size = member === undefined ? 0 : member.valueEnd - member.valueStart;
  const isEmptyText = first === QUOTE && size === 2;
  const isEmptyChat =
    isList === true && (first !== OPEN_BRACKET || isEmptyList(bytes, member?.valueStart ?? 0));
  // `n` is null's.
  if (first === LETTER_N || isEmptyText || isEmptyChat) throw new LocalError(localErrors.fieldMissing(name));
}

function isEmptyList(bytes: Uint8Array, start: number): boolean {
  let at = start + 1;
  while ((bytes[at] ?? 0) <= 0x20 && at < bytes.length) at += 1;
  return bytes[at] === 0x5d;
}
