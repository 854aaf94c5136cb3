// Edits the messages and the reasoning effort of a body where they must differ for an upstream, and leaves the rest unchanged. Pure.
import type { BodyEdits } from "#contract/providers.ts";
import { findMember, type JsonObject, readMember } from "#server/upstream/json/object.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";

interface Body {
  readonly bytes: Buffer;
  readonly object: JsonObject;
}

interface MessageEdits {
  readonly dropsNames: boolean;
  readonly spaceForEmpty: boolean;
  readonly toolIdLength: number | undefined;
}

/** The messages as JSON when one of them must change; undefined = no change needed. */
export function editedMessages(
  { bytes, object }: Body,
  wanted: BodyEdits,
  toolIdLength: number | undefined,
): string | undefined {
  const { dropFields } = wanted;
  const spaceForEmpty = wanted.spaceForEmpty === true;
  const dropsNames = dropFields?.includes("messages[].name") === true;
  const edits = { dropsNames, spaceForEmpty, toolIdLength };
  if (!dropsNames && !spaceForEmpty && toolIdLength === undefined) return undefined;
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

const REASONING = Buffer.from('"reasoning"');

/** The input of a Responses body without such thoughts, as JSON; undefined = there are none. */
export function inputWithoutThoughts(
  { bytes, object }: Body,
  isLeftOut: (item: JsonRecord) => boolean,
): string | undefined {
  const member = findMember(object, "input");
  if (member === undefined || !bytes.subarray(member.valueStart, member.valueEnd).includes(REASONING))
    return undefined;
  const input = readMember(bytes, object, "input");
  if (!Array.isArray(input)) return undefined;
  const left = input.filter((item: unknown) => !isLeftOut(asObject(item) ?? {}));
  return left.length < input.length ? JSON.stringify(left) : undefined;
}

function editedMessage(
  message: JsonRecord,
  { dropsNames, spaceForEmpty, toolIdLength }: MessageEdits,
): JsonRecord {
  let next = message;
  if (spaceForEmpty && Array.isArray(next["tool_calls"]) && (next["content"] ?? "") === "")
    next = { ...next, content: " " };
  if (dropsNames && "name" in next) {
    const { name: _, ...rest } = next;
    next = rest;
  }
  return toolIdLength === undefined ? next : withShortIds(next, toolIdLength);
}

/** The message with its tool call ids brought to this length. */
function withShortIds(message: JsonRecord, toolIdLength: number): JsonRecord {
  let next = message;
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

/** A stable id of this length for a given id (FNV-1a, 64 bits). It need not be secret. */
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

interface Body {
  readonly bytes: Buffer;
  readonly object: JsonObject;
}

/** Whether the vendor takes the client's effort through `thinking` alone. */
export function isThinkingSwitch({ bytes, object }: Body, { effortAsThinking }: BodyEdits): boolean {
  if (effortAsThinking === undefined) return false;
  return effortAsThinking === true || readMember(bytes, object, "reasoning_effort") === effortAsThinking;
}

/** The fields that carry the requested effort, where they must differ from the client's. `named`: the effort in the model's name. */
export function effortValues(
  body: Body,
  edits: BodyEdits,
  named: string | undefined,
): [name: string, value: unknown][] {
  const { bytes, object } = body;
  const asked = named ?? readMember(bytes, object, "reasoning_effort");
  if (asked === undefined) return [];
  if (isThinkingSwitch(body, edits)) {
    if (findMember(object, "thinking") !== undefined) return [];
    return [["thinking", { type: asked === "none" ? "disabled" : "enabled" }]];
  }
  const effort = knownEffort(asked, edits.efforts ?? []);
  return effort === undefined || effort === asked ? [] : [["reasoning_effort", effort]];
}

/** Weakest first. Source: vendors/openai-reasoning. */
const EFFORTS: readonly unknown[] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/** The weakest effort the model knows that is at least as strong as the requested one; undefined = no change needed. */
function knownEffort(asked: unknown, known: readonly string[]): string | undefined {
  const at = EFFORTS.indexOf(asked);
  return at === -1 ? undefined : known.find((word) => EFFORTS.indexOf(word) >= at);
}
