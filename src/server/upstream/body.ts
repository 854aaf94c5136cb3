// Edits an OpenAI-shaped request body where it must differ for an upstream, and leaves every other byte as the client sent it:
// the model's name, the wish for usage, and the quirks of a row (design 4.6). Pure.
import type { BodyEdits } from "#contract/providers.ts";
import { editedMessages } from "./body-messages.ts";
import { asObject, type JsonRecord } from "./hub.ts";
import { findMember, type JsonObject, readMember, wholeObject } from "./json.ts";
import { editObject } from "./json-edit.ts";

/** A client's body: its bytes and where its members stand. Values are parsed when they matter. */
export interface ClientBody {
  readonly bytes: Buffer;
  readonly object: JsonObject;
  /** The model it names; undefined = none, or no text. */
  readonly model: unknown;
}

const NOTHING: readonly string[] = [];

const values = new WeakMap<ClientBody, JsonRecord>();

/** All of a body, parsed once however often it is asked for. */
export function valuesOf(body: ClientBody): JsonRecord {
  const known = values.get(body);
  if (known !== undefined) return known;
  const parsed = asObject(JSON.parse(body.bytes.toString())) ?? {};
  values.set(body, parsed);
  return parsed;
}

export interface BodyOrder {
  /** Upstream name of the model. */
  readonly model: string;
  /** Usage must be asked for: a stream of chat or completions whose upstream takes `stream_options`. */
  readonly asksUsage: boolean;
  /** `stream_options` would be refused. */
  readonly dropsStreamOptions: boolean;
  readonly edits: BodyEdits | undefined;
  readonly toolIdLength: number | undefined;
  /** `reasoning_effort` says this, whatever the client said. */
  readonly effort?: string | undefined;
}

interface Edits {
  readonly set: Map<string, string>;
  readonly drop: Set<string>;
  readonly rename: Map<string, string>;
}

/** The bytes to send. Without anything to change they are the client's own. */
export function encodeBody(body: ClientBody, order: BodyOrder): Uint8Array {
  const needsModel = body.model !== order.model;
  const needsWish = order.asksUsage && !wantsUsage(body);
  const needsDrop = order.dropsStreamOptions && has(body, "stream_options");
  const hasQuirks =
    order.edits !== undefined || order.toolIdLength !== undefined || order.effort !== undefined;
  if (!(needsModel || needsWish || needsDrop || hasQuirks)) return body.bytes;
  const edits: Edits = { set: new Map(), drop: new Set(), rename: new Map() };
  if (needsModel) edits.set.set("model", JSON.stringify(order.model));
  if (needsDrop) edits.drop.add("stream_options");
  else if (needsWish) edits.set.set("stream_options", usageWish(body));
  if (hasQuirks) addQuirks(edits, body, order);
  const isUnchanged = edits.set.size + edits.drop.size + edits.rename.size === 0;
  return isUnchanged ? body.bytes : editObject(body.bytes, body.object, edits);
}

/** Whether the client itself wants usage in its stream. */
export function wantsUsage({ bytes, object }: ClientBody): boolean {
  return asObject(readMember(bytes, object, "stream_options"))?.["include_usage"] === true;
}

function has({ object }: ClientBody, name: string): boolean {
  return findMember(object, name) !== undefined;
}

/** The client's `stream_options` with the wish for usage. */
function usageWish({ bytes, object }: ClientBody): string {
  const member = findMember(object, "stream_options");
  const value = member && bytes.subarray(member.valueStart, member.valueEnd);
  const options = value && wholeObject(value);
  if (value === undefined || options === undefined) return '{"include_usage":true}';
  return Buffer.from(editObject(value, options, { set: new Map([["include_usage", "true"]]) })).toString();
}

function addQuirks({ set, drop, rename }: Edits, body: ClientBody, order: BodyOrder): void {
  const edits = order.edits ?? {};
  for (const [from, to] of Object.entries(edits.renameFields ?? {})) {
    if (!has(body, from)) continue;
    if (has(body, to)) drop.add(from);
    else rename.set(from, to);
  }
  for (const name of droppedBy(body, edits, order.effort)) drop.add(name);
  if (order.effort !== undefined) set.set("reasoning_effort", JSON.stringify(order.effort));
  for (const name of switchedOn(body, edits)) set.set(name, "true");
  for (const [name, value] of [...valuesFor(body, edits), ...fittedNumbers(body, edits)])
    if (!drop.has(name)) set.set(name, JSON.stringify(value));
  const messages = editedMessages(body, edits, order.toolIdLength);
  if (messages !== undefined) set.set("messages", messages);
}

/** What the client asked for and the upstream is not told, because it would refuse it; by the client's names. */
export function lostFields(body: ClientBody, edits: BodyEdits, effort?: string): readonly string[] {
  const lost = refusedBy(body, edits, effort);
  const stop = edits.oneStop === true ? readMember(body.bytes, body.object, "stop") : undefined;
  return Array.isArray(stop) && stop.length > 1 ? [...lost, "stop"] : lost;
}

function refusedBy(body: ClientBody, edits: BodyEdits, effort: string | undefined): readonly string[] {
  const { dropFields = NOTHING, dropWhenThinking = NOTHING } = edits;
  const refused = dropWhenThinking.length > 0 && isThinking(body, effort) ? dropWhenThinking : NOTHING;
  return [...dropFields, ...refused].filter((name) => has(body, name));
}

function isThinking({ bytes, object }: ClientBody, effort: string | undefined): boolean {
  return (effort ?? readMember(bytes, object, "reasoning_effort") ?? "none") !== "none";
}

function droppedBy(body: ClientBody, edits: BodyEdits, effort: string | undefined): readonly string[] {
  const rejected = edits.rejectsZeroPenalties === true ? ["frequency_penalty", "presence_penalty"] : [];
  const said = [
    ...(edits.userAs === undefined ? [] : ["user"]),
    ...(edits.effortAsThinking === true ? ["reasoning_effort"] : []),
  ];
  return [
    ...refusedBy(body, edits, effort),
    ...said.filter((name) => has(body, name)),
    ...rejected.filter((name) => readMember(body.bytes, body.object, name) === 0),
  ];
}

/** Sampling numbers outside of what the upstream takes, moved into it. */
function fittedNumbers(
  body: ClientBody,
  edits: BodyEdits,
): readonly (readonly [name: string, value: unknown])[] {
  if (edits.clampTemperature === undefined && edits.zeroAs === undefined) return [];
  return ["temperature", "top_p"].flatMap((name) => {
    const value = readMember(body.bytes, body.object, name);
    const fit = fitted(name, value, edits);
    return fit === value ? [] : [[name, fit] as const];
  });
}

/** Fields that say in the vendor's way what the client said in OpenAI's. */
function valuesFor(body: ClientBody, edits: BodyEdits): readonly (readonly [name: string, value: unknown])[] {
  const read = (name: string) => readMember(body.bytes, body.object, name);
  const values: [string, unknown][] = [];
  if (edits.oneStop === true && has(body, "stop")) {
    const stop = read("stop");
    values.push(["stop", Array.isArray(stop) ? stop.slice(0, 1) : [stop]]);
  }
  const { userAs } = edits;
  if (userAs !== undefined && !has(body, userAs.name)) {
    const user = read("user");
    if (typeof user === "string" && user.length >= userAs.min && user.length <= userAs.max)
      values.push([userAs.name, user]);
  }
  if (edits.effortAsThinking === true && has(body, "reasoning_effort") && !has(body, "thinking"))
    values.push(["thinking", { type: read("reasoning_effort") === "none" ? "disabled" : "enabled" }]);
  return values;
}

function switchedOn(body: ClientBody, { trueWithTools = [] }: BodyEdits): readonly string[] {
  return trueWithTools.length > 0 && has(body, "tools")
    ? trueWithTools.filter((name) => !has(body, name))
    : [];
}

/** A sampling number moved into what the upstream takes; anything else stays. */
function fitted(name: string, value: unknown, edits: BodyEdits): unknown {
  if (typeof value !== "number") return value;
  const [low, high] = name === "temperature" ? (edits.clampTemperature ?? []) : [];
  const clamped = Math.min(Math.max(value, low ?? value), high ?? value);
  return clamped === 0 && edits.zeroAs !== undefined ? edits.zeroAs : clamped;
}
