// Members of Gemini's bodies, which clients may write in camelCase or snake_case (vendors/gemini-clients). Pure.
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";

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
