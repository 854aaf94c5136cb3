// Shared by wires simpler than OpenAI's: tool choice limited to auto or one function, alternating roles, limits of their own. Pure.
import { asList, asNumber, asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { type ChatFunction, functionOf, toolText } from "./chat-body.ts";
import type { HubChunk } from "./reply.ts";
import {
  argumentText,
  type HubMessage,
  type HubRequest,
  isToolForced,
  type ToolNames,
  Unmappable,
} from "./request.ts";

/** The offered functions, and the one that must be called. */
interface Offer {
  readonly functions: readonly ChatFunction[];
  readonly forced: ChatFunction | undefined;
  /** The client also wants the upstream's own web search. */
  readonly searches: boolean;
}

/**
 * The tools of a request for a wire whose tool choice is auto or one function: `none` means no tools, a choice among some drops the
 * others. Throws: Unmappable where any of several must be called.
 */
export function offerOf({ tools = [], toolChoice }: HubRequest, names: ToolNames): Offer {
  const searches = tools.some(({ kind }) => kind === "web-search");
  const wanted = toolChoice?.kind === "subset" ? new Set(toolChoice.names) : undefined;
  const offered = tools.filter(
    (tool) => tool.kind !== "web-search" && (wanted === undefined || wanted.has(tool.name)),
  );
  const functions =
    toolChoice?.kind === "none"
      ? []
      : offered.flatMap((tool) => (tool.kind === "web-search" ? [] : [functionOf(tool, names)]));
  return { functions, forced: forcedOf(toolChoice, functions, names), searches };
}

function forcedOf(
  choice: HubRequest["toolChoice"],
  functions: readonly ChatFunction[],
  names: ToolNames,
): ChatFunction | undefined {
  if (!isToolForced(choice)) return undefined;
  const name = choice?.kind === "tool" ? names.wireName(choice.name) : undefined;
  const found = name === undefined ? functions : functions.filter((item) => item.name === name);
  const [only, another] = found;
  if (only === undefined) throw new Unmappable("tool_choice", "没有可用的工具");
  if (another !== undefined) throw new Unmappable("tool_choice", "上游渠道只能指定一个工具");
  return only;
}

const MAPS_OF_SCHEMAS: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
]);
const SCHEMAS: ReadonlySet<string> = new Set(["items", "prefixItems", "anyOf", "oneOf", "allOf", "not"]);

/** A JSON schema without keywords that old wires refuse: `additionalProperties: false` and `$schema` (vendors/baidu). */
export function plainSchema(schema: JsonRecord): JsonRecord {
  const members = Object.entries(schema).flatMap(([name, value]): [string, unknown][] => {
    if (name === "$schema" || (name === "additionalProperties" && value === false)) return [];
    if (MAPS_OF_SCHEMAS.has(name)) return [[name, mapOf(value)]];
    return [[name, SCHEMAS.has(name) ? nested(value) : value]];
  });
  return Object.fromEntries(members);
}

function mapOf(value: unknown): unknown {
  const map = asObject(value);
  return map && Object.fromEntries(Object.entries(map).map(([name, item]) => [name, nested(item)]));
}

function nested(value: unknown): unknown {
  if (Array.isArray(value)) return asList(value).map(nested);
  const schema = asObject(value);
  return schema === undefined ? value : plainSchema(schema);
}

/** How a wire takes two adjacent turns of one role: joined, both unchanged, or undefined = neither is possible. */
export type Joined<T> = T | "beside" | undefined;

interface Alternation<T> {
  isAnswer(turn: T): boolean;
  /** The turn is empty, and the wire refuses empty turns. */
  isBlank(turn: T): boolean;
  join(one: T, other: T): Joined<T>;
  say(role: "user" | "assistant", text: string): T;
}

/** The text of a turn that a wire requires and the conversation lacks. */
const FILLERS = { first: "你好", answer: "OK", last: "继续" } as const;

/** For wires that refuse an empty result: many tools return no text on success. */
export const SILENT_RESULT = FILLERS.answer;

/** A tool result for such wires. */
export function resultSaid(message: HubMessage & { role: "tool" }): string {
  return toolText(message) || SILENT_RESULT;
}

/** Whether a text is blank. */
export function isBlank(text: string): boolean {
  return text.trim() === "";
}

/**
 * The messages for wires that require text in every answer and JSON in every call: blank parts and answers are dropped, and an
 * unfinished call has no arguments.
 */
export function soundMessages(messages: readonly HubMessage[]): HubMessage[] {
  return messages.flatMap((message): HubMessage[] => {
    if (message.role === "tool") return [message];
    const parts = message.parts.filter((part) => part.kind !== "text" || !isBlank(part.text));
    if (message.role !== "assistant") return parts.length > 0 ? [{ ...message, parts }] : [message];
    const { toolCalls } = message;
    if (toolCalls.length === 0 && parts.length === 0) return [];
    const whole = toolCalls.map((call) =>
      call.isCustom === true ? call : { ...call, arguments: argumentText(call) },
    );
    return [{ ...message, parts, toolCalls: whole }];
  });
}

/** The conversation with alternating roles, the user first and last (vendors/baidu, vendors/hunyuan). Blank turns are dropped. */
export function alternated<T>(turns: readonly T[], law: Alternation<T>): T[] {
  const { isAnswer, say } = law;
  const out: T[] = [];
  for (const turn of turns) {
    if (law.isBlank(turn)) continue;
    const before = out.at(-1);
    if (before === undefined) out.push(...(isAnswer(turn) ? [say("user", FILLERS.first), turn] : [turn]));
    else if (isAnswer(before) === isAnswer(turn)) out.splice(-1, 1, ...neighbours(before, turn, law));
    else out.push(turn);
  }
  const last = out.at(-1);
  if (last === undefined || isAnswer(last)) out.push(say("user", last ? FILLERS.last : FILLERS.first));
  return out;
}

function neighbours<T>(one: T, other: T, { isAnswer, join, say }: Alternation<T>): T[] {
  const joined = join(one, other);
  if (joined === "beside") return [one, other];
  if (joined !== undefined) return [joined];
  return [one, isAnswer(one) ? say("user", FILLERS.last) : say("assistant", FILLERS.answer), other];
}

/** The vectors of a list of objects, in the order of their indexes. */
export function vectorsOf(list: unknown, index: string, vector: string): number[][] {
  return asList(list)
    .map((item, at) => ({
      at: asNumber(asObject(item)?.[index]) ?? at,
      values: asList(asObject(item)?.[vector]),
    }))
    .sort((one, other) => one.at - other.at)
    .map(({ values }) => values.filter((value) => typeof value === "number"));
}

/** The order of a rerank's results. */
export function scoresIn(list: unknown): { readonly index: number; readonly score: number }[] {
  return asList(list).flatMap((item) => {
    const index = asNumber(asObject(item)?.["index"]);
    const score = asNumber(asObject(item)?.["relevance_score"]);
    return index === undefined || score === undefined ? [] : [{ index, score }];
  });
}

/** The usage of a wire that uses OpenAI's names; undefined = absent. */
export function usageIn(usage: JsonRecord | undefined): HubChunk | undefined {
  const prompt_tokens = asNumber(usage?.["prompt_tokens"]);
  if (prompt_tokens === undefined) return undefined;
  const completion_tokens = asNumber(usage?.["completion_tokens"]) ?? 0;
  const total_tokens = asNumber(usage?.["total_tokens"]) ?? prompt_tokens + completion_tokens;
  return { kind: "usage", usage: { prompt_tokens, completion_tokens, total_tokens } };
}

/** The members that a wire knows itself, taken from the hub's extras. */
export function ownExtras(
  request: HubRequest,
  names: readonly string[],
): { readonly own: JsonRecord; readonly rest: HubRequest } {
  const entries = Object.entries(request.extras ?? {});
  const own = entries.filter(([name]) => names.includes(name));
  const others = entries.filter(([name]) => !names.includes(name));
  return { own: Object.fromEntries(own), rest: { ...request, extras: Object.fromEntries(others) } };
}

/** A number clamped to [low, high]; undefined stays. */
export function within(value: number | undefined, low: number, high: number): number | undefined {
  return value === undefined ? undefined : Math.min(Math.max(value, low), high);
}

// Ids of tool calls: for calls that came without one, and for wires where ids must be unique in a request (Anthropic's and Converse's).
// Pure.

/** The id of a call whose wire gave it none: `at` is its position in the answer `index`. */
export function madeCallId(seed: string, at: number, index = 0): string {
  return `call_${seed}${index === 0 ? "" : `x${index}`}x${at}`;
}

/** Replaces a call id that was used before, and that of its result. Clients' ids need only be unique within a turn. */
export class CallIds {
  readonly #spell: (id: string) => string;
  readonly #used = new Set<string>();
  /** How often an id was used. */
  readonly #counts = new Map<string, number>();
  /** Wire ids of calls whose results have not come yet, by the client's id. */
  readonly #open = new Map<string, string[]>();

  /** `spell` converts an id to the characters that the wire accepts. */
  constructor(spell: (id: string) => string) {
    this.#spell = spell;
  }

  ofCall(id: string): string {
    let wire = this.#spell(id);
    while (this.#used.has(wire)) {
      const count = (this.#counts.get(id) ?? 1) + 1;
      this.#counts.set(id, count);
      wire = this.#spell(`${id}_${count}`);
    }
    this.#used.add(wire);
    const open = this.#open.get(id) ?? [];
    open.push(wire);
    this.#open.set(id, open);
    return wire;
  }

  ofResult(id: string): string {
    return this.#open.get(id)?.shift() ?? this.#spell(id);
  }
}
