// Narrows parsed JSON values. Imports nothing.

/** A parsed JSON object. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/** Narrows a parsed value to an object; undefined = it is an array, a scalar or null. */
export function asObject(value: unknown): JsonRecord | undefined {
  // An object that is no array has string keys only.
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonRecord)
    : undefined;
}

/** Narrows a parsed value to a text; undefined = it is none. */
export function asText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The items of a parsed array; none when it is something else. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Narrows a parsed value to a number; undefined = it is none. */
export function asNumber(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** The JSON object in a text; undefined = there is none. */
export function readJson(text: string): JsonRecord | undefined {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return undefined;
  }
}
