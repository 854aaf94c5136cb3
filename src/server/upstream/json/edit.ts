// Edits members of a JSON object in its bytes, and leaves every other byte unchanged. Pure.
import type { JsonObject, Member } from "./scan.ts";

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
