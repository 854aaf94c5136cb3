// Edits an OpenAI-shaped request body where it must differ for an upstream, and leaves every other byte as the client sent it:
// the model's name, the wish for usage, and the quirks of a row (design 4.6). Pure.
import type { BodyEdits } from "#contract/providers.ts";
import { asObject, type JsonRecord } from "./hub.ts";
import { editObject, findMember, type JsonObject, readMember, wholeObject } from "./json.ts";

/** A client's body: its bytes and where its members stand. Values are parsed when they matter. */
export interface ClientBody {
  readonly bytes: Buffer;
  readonly object: JsonObject;
  /** The model it names; undefined = none, or no text. */
  readonly model: unknown;
}

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
  const hasQuirks = order.edits !== undefined || order.toolIdLength !== undefined;
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
  for (const name of droppedBy(body, edits)) drop.add(name);
  for (const name of switchedOn(body, edits)) set.set(name, "true");
  for (const name of ["temperature", "top_p"]) {
    const value = readMember(body.bytes, body.object, name);
    const fit = fitted(name, value, edits);
    if (fit !== value && !drop.has(name)) set.set(name, String(fit));
  }
  const messages = editedMessages(body, {
    dropsNames: edits.dropFields?.includes("messages[].name") === true,
    dropsThoughts: edits.dropFields?.includes("messages[].reasoning_content") === true,
    toolIdLength: order.toolIdLength,
  });
  if (messages !== undefined) set.set("messages", messages);
}

function droppedBy(body: ClientBody, edits: BodyEdits): readonly string[] {
  const rejected = edits.rejectsZeroPenalties === true ? ["frequency_penalty", "presence_penalty"] : [];
  return [
    ...(edits.dropFields ?? []).filter((name) => has(body, name)),
    ...rejected.filter((name) => readMember(body.bytes, body.object, name) === 0),
  ];
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

interface MessageEdits {
  readonly dropsNames: boolean;
  readonly dropsThoughts: boolean;
  readonly toolIdLength: number | undefined;
}

/** The history, written anew when names must go or tool ids must have another form; undefined = it may stay. */
function editedMessages({ bytes, object }: ClientBody, edits: MessageEdits): string | undefined {
  if (!edits.dropsNames && !edits.dropsThoughts && edits.toolIdLength === undefined) return undefined;
  const messages = readMember(bytes, object, "messages");
  if (!Array.isArray(messages)) return undefined;
  let isChanged = false;
  const edited = messages.map((item: unknown) => {
    const message = asObject(item);
    if (message === undefined) return item;
    const next = editedMessage(message, edits);
    if (next !== message) isChanged = true;
    return next;
  });
  return isChanged ? JSON.stringify(edited) : undefined;
}

function editedMessage(
  message: JsonRecord,
  { dropsNames, dropsThoughts, toolIdLength }: MessageEdits,
): JsonRecord {
  let next = message;
  if (dropsNames && "name" in next) {
    const { name: _, ...rest } = next;
    next = rest;
  }
  // Within a loop of tool calls the thoughts must come back.
  if (dropsThoughts && "reasoning_content" in next && !Array.isArray(next["tool_calls"])) {
    const { reasoning_content: _, ...rest } = next;
    next = rest;
  }
  if (toolIdLength === undefined) return next;
  const id = next["tool_call_id"];
  if (typeof id === "string" && !isPlainId(id, toolIdLength))
    next = { ...next, tool_call_id: shortId(id, toolIdLength) };
  const calls = next["tool_calls"];
  if (!Array.isArray(calls)) return next;
  if (!calls.some((call) => !isPlainId(asObject(call)?.["id"], toolIdLength))) return next;
  return {
    ...next,
    tool_calls: calls.map((item: unknown) => {
      const call = asObject(item);
      const callId = call?.["id"];
      return typeof callId === "string" && !isPlainId(callId, toolIdLength)
        ? { ...call, id: shortId(callId, toolIdLength) }
        : item;
    }),
  };
}

function isPlainId(id: unknown, length: number): boolean {
  return typeof id !== "string" || (id.length === length && /^[A-Za-z0-9]+$/.test(id));
}

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** A name of this length that is always the same for the same id (FNV-1a, 64 bits). It need not be secret. */
function shortId(id: string, length: number): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(id)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  let name = "";
  for (let index = 0; index < length; index += 1) {
    name += ALPHABET[Number(hash % 62n)] ?? "0";
    hash /= 62n;
  }
  return name;
}
