// Members of Gemini's bodies, which clients may write in camelCase or snake_case (vendors/gemini-clients). Pure.
import { asList, asObject, type JsonRecord } from "#server/upstream/json/values.ts";

const SNAKE = new Map<string, string>();

function snake(name: string): string {
  let found = SNAKE.get(name);
  if (found === undefined) {
    found = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    // The names come from this program's source, so the cache is bounded.
    SNAKE.set(name, found);
  }
  return found;
}

/** The member of that camelCase name, whichever way it is written. */
export function member(record: JsonRecord, name: string): unknown {
  return record[name] ?? record[snake(name)];
}

/** A member that is an object; undefined = there is none. */
export function objectMember(record: JsonRecord, name: string): JsonRecord | undefined {
  return asObject(member(record, name));
}

/** The objects of a list; an object alone counts as a list of one. */
export function objectsMember(record: JsonRecord, name: string): readonly JsonRecord[] {
  const value = member(record, name);
  return objectsOf(Array.isArray(value) ? value : [value]);
}

/** The objects among these. */
export function objectsOf(values: readonly unknown[]): readonly JsonRecord[] {
  return values.map(asObject).filter((object) => object !== undefined);
}

/** A name in camelCase. */
export function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

// Gemini's Schema as standard JSON schema (requirements T18.6). Pure.

/** Keywords that only Gemini knows. */
const LEFT_OUT: ReadonlySet<string> = new Set(["propertyOrdering", "example", "nullable"]);
/** Integers that protocol buffers write as strings. */
const COUNTERS: ReadonlySet<string> = new Set([
  "minItems",
  "maxItems",
  "minLength",
  "maxLength",
  "minProperties",
  "maxProperties",
]);

/** Types in lower case, `nullable` as a type of its own; standard JSON schema stays unchanged. */
export function jsonSchema(schema: JsonRecord): JsonRecord {
  const plain: Record<string, unknown> = {};
  for (const [given, value] of Object.entries(schema)) {
    const name = given.startsWith("$") ? given : camel(given);
    if (!LEFT_OUT.has(name)) plain[name] = wordOf(name, value);
  }
  if (plain["format"] === "enum") delete plain["format"];
  if (schema["nullable"] === true) makeNullable(plain);
  return plain;
}

function wordOf(name: string, value: unknown): unknown {
  if (name === "type") return typeof value === "string" ? value.toLowerCase() : value;
  if (COUNTERS.has(name)) return typeof value === "string" ? Number(value) : value;
  if (name === "properties" || name === "$defs" || name === "definitions") {
    const members = Object.entries(asObject(value) ?? {});
    return Object.fromEntries(members.map(([key, item]) => [key, nested(item)]));
  }
  if (name === "items" || name === "additionalProperties") return nested(value);
  return name === "anyOf" || name === "oneOf" || name === "allOf" ? asList(value).map(nested) : value;
}

function nested(value: unknown): unknown {
  const schema = asObject(value);
  return schema === undefined ? value : jsonSchema(schema);
}

function makeNullable(plain: Record<string, unknown>): void {
  const { type, anyOf, enum: values } = plain;
  if (typeof type === "string") plain["type"] = [type, "null"];
  else if (Array.isArray(anyOf)) plain["anyOf"] = [...anyOf, { type: "null" }];
  if (Array.isArray(values)) plain["enum"] = [...values, null];
}
