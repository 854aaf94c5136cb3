// The members of a JSON object as spans of its bytes: only the needed values are parsed, and one can be edited while every other byte
// stays as it is. Pure.
import {
  BACKSLASH,
  CLOSE_BRACE,
  COLON,
  COMMA,
  isDigit,
  OPEN_BRACE,
  QUOTE,
  skipBlanks,
  skipString,
  skipValue,
  type Tally,
  usualName,
} from "./scan.ts";

const LOWER_F = 0x66;
const LOWER_N = 0x6e;
const LOWER_T = 0x74;

/** No real request is larger: such bodies are treated as malformed (requirements R05). */
const MEMBER_LIMIT = 2_000;

/** One member of an object. `name` is decoded; spans are half-open byte offsets, key spans include the quotes. */
export interface Member {
  readonly name: string;
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/** An object's members and the span of the object itself, braces included. */
export interface JsonObject {
  readonly start: number;
  readonly end: number;
  readonly members: readonly Member[];
}

/** The text of a string literal's span, escapes decoded; undefined = not a string. */
function readName(bytes: Uint8Array, start: number, end: number): string | undefined {
  const usual = usualName(bytes, start, end);
  if (usual !== undefined) return usual;
  let text = "";
  for (let at = start + 1; at < end - 1; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === BACKSLASH || byte > 0x7e) return readJson(bytes, start, end);
    text += String.fromCharCode(byte);
  }
  return text;
}

function readJson(bytes: Uint8Array, start: number, end: number): string | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes.subarray(start, end)).toString());
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Finds the members of the object that opens at or after `from` (blanks skipped). Repeated names are all listed. undefined = there is no
 * object, or it is truncated or malformed anywhere inside.
 */
export function objectAt(bytes: Uint8Array, from = 0, tally?: Tally): JsonObject | undefined {
  const start = skipBlanks(bytes, from);
  if (bytes[start] !== OPEN_BRACE) return undefined;
  const members: Member[] = [];
  let at = skipBlanks(bytes, start + 1);
  if (bytes[at] === CLOSE_BRACE) return { start, end: at + 1, members };
  for (;;) {
    const member = memberAt(bytes, at, tally);
    if (member === undefined) return undefined;
    members.push(member);
    at = skipBlanks(bytes, member.valueEnd);
    if (bytes[at] === CLOSE_BRACE) return { start, end: at + 1, members };
    if (bytes[at] !== COMMA || members.length >= MEMBER_LIMIT) return undefined;
    at = skipBlanks(bytes, at + 1);
  }
}

function memberAt(bytes: Uint8Array, keyStart: number, tally: Tally | undefined): Member | undefined {
  if (bytes[keyStart] !== QUOTE) return undefined;
  const keyEnd = skipString(bytes, keyStart, tally);
  if (keyEnd < 0) return undefined;
  const colon = skipBlanks(bytes, keyEnd);
  if (bytes[colon] !== COLON) return undefined;
  const valueStart = skipBlanks(bytes, colon + 1);
  if (tally !== undefined) tally.isFile = false;
  const valueEnd = skipValue(bytes, valueStart, tally, 1);
  const name = readName(bytes, keyStart, keyEnd);
  if (valueEnd < 0 || name === undefined) return undefined;
  return { name, keyStart, keyEnd, valueStart, valueEnd };
}

/** Like `objectAt`, for a whole text: nothing but blanks may follow the object. */
export function wholeObject(bytes: Uint8Array, tally?: Tally): JsonObject | undefined {
  const object = objectAt(bytes, 0, tally);
  return object !== undefined && skipBlanks(bytes, object.end) === bytes.length ? object : undefined;
}

/** The value of a member; undefined = there is no such member. */
export function readMember(bytes: Buffer, object: JsonObject, name: string): unknown {
  const member = findMember(object, name);
  if (member === undefined) return undefined;
  const { valueStart, valueEnd } = member;
  const first = bytes[valueStart];
  if (first === LOWER_T) return true;
  if (first === LOWER_F) return false;
  if (first === LOWER_N) return null;
  if (first === QUOTE) {
    // A text without escapes needs no parser.
    const text = bytes.toString("utf8", valueStart + 1, valueEnd - 1);
    if (!text.includes("\\")) return text;
  }
  return smallNumber(bytes, valueStart, valueEnd) ?? JSON.parse(bytes.toString("utf8", valueStart, valueEnd));
}

/** A whole number of up to this many digits is exact. */
const EXACT_DIGITS = 15;

/** The value of a number written in digits only; undefined = it has other characters, or too many digits. */
function smallNumber(bytes: Uint8Array, start: number, end: number): number | undefined {
  if (end - start > EXACT_DIGITS) return undefined;
  let value = 0;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    if (!isDigit(byte)) return undefined;
    value = value * 10 + byte - 0x30;
  }
  return value;
}

/** Finds a member by name; the last one when a name is repeated, as JSON.parse does. */
export function findMember(object: JsonObject, name: string): Member | undefined {
  for (let index = object.members.length - 1; index >= 0; index -= 1) {
    const member = object.members[index];
    if (member?.name === name) return member;
  }
  return undefined;
}

/** Edits of an object's members. Texts are JSON. Absent names are ignored, except in `set`. */
export interface ObjectEdits {
  /** Name → its new value; added at the end when absent. */
  readonly set?: ReadonlyMap<string, string>;
  readonly drop?: ReadonlySet<string>;
  /** Old name → new name; the value stays as it is. */
  readonly rename?: ReadonlyMap<string, string>;
}

/**
 * Returns the bytes with the edits of the object, including the bytes around it. Without a drop every byte except those of changed names
 * and values stays, blanks included; with a drop only the members' own bytes do.
 */
export function editObject(bytes: Buffer, object: JsonObject, edits: ObjectEdits): Buffer {
  const { drop } = edits;
  const isWhole = drop === undefined || !object.members.some(({ name }) => drop.has(name));
  return isWhole ? splice(bytes, splicesOf(object, edits)) : rewrite(bytes, object, edits);
}

/** A span of the bytes and its replacement. */
interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The edits of an object that loses no member, in the order of its bytes. */
function splicesOf({ start, end, members }: JsonObject, edits: ObjectEdits): readonly Splice[] {
  const splices: Splice[] = [];
  for (const { name, keyStart, keyEnd, valueStart, valueEnd } of members) {
    const newName = edits.rename?.get(name);
    const value = edits.set?.get(name);
    if (newName !== undefined) splices.push({ start: keyStart, end: keyEnd, text: JSON.stringify(newName) });
    if (value !== undefined) splices.push({ start: valueStart, end: valueEnd, text: value });
  }
  const added = addedTo(members, edits);
  const last = members.at(-1);
  if (last === undefined) splices.push({ start: start + 1, end: end - 1, text: added });
  else if (added !== "") splices.push({ start: last.valueEnd, end: last.valueEnd, text: `,${added}` });
  return splices;
}

/** Members to be added, without braces around them. */
function addedTo(members: readonly Member[], { set, drop }: ObjectEdits): string {
  let text = "";
  for (const [name, value] of set ?? []) {
    if (drop?.has(name) === true || members.some((member) => member.name === name)) continue;
    text += `${text === "" ? "" : ","}${JSON.stringify(name)}:${value}`;
  }
  return text;
}

function splice(bytes: Buffer, splices: readonly Splice[]): Buffer {
  let length = bytes.length;
  for (const { start, end, text } of splices) length += Buffer.byteLength(text) - (end - start);
  const edited = Buffer.allocUnsafe(length);
  let from = 0;
  let to = 0;
  for (const { start, end, text } of splices) {
    to += bytes.copy(edited, to, from, start);
    to += edited.write(text, to);
    from = end;
  }
  bytes.copy(edited, to, from);
  return edited;
}

/** Writes an object without the members that are dropped. */
function rewrite(bytes: Buffer, object: JsonObject, edits: ObjectEdits): Buffer {
  const kept = object.members.filter(({ name }) => edits.drop?.has(name) !== true);
  const parts: Uint8Array[] = [bytes.subarray(0, object.start + 1)];
  for (const [index, member] of kept.entries()) {
    if (index > 0) parts.push(COMMA_BYTES);
    pushMember(parts, bytes, member, edits);
  }
  const added = addedTo(kept, edits);
  if (added !== "") parts.push(Buffer.from(kept.length > 0 ? `,${added}` : added));
  parts.push(bytes.subarray(object.end - 1));
  return Buffer.concat(parts);
}

const COMMA_BYTES = Buffer.from(",");

function pushMember(parts: Uint8Array[], bytes: Buffer, member: Member, edits: ObjectEdits): void {
  const name = edits.rename?.get(member.name);
  const value = edits.set?.get(member.name);
  if (name === undefined) parts.push(bytes.subarray(member.keyStart, member.keyEnd));
  else parts.push(Buffer.from(JSON.stringify(name)));
  if (value === undefined) parts.push(bytes.subarray(member.keyEnd, member.valueEnd));
  else parts.push(bytes.subarray(member.keyEnd, member.valueStart), Buffer.from(value));
}
