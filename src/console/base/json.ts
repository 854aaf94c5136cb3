// Reading JSON that users type: where the mistake is, in lines and columns. Pure.

export interface JsonFault {
  readonly line: number;
  readonly column: number;
  /** A Chinese sentence. */
  readonly text: string;
}

/** Line and column (both from 1) of a character offset. */
function placeOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

const SPACE = /[ \t\n\r]*/y;
const STRING = /"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/** How far a text is JSON: the offset of the first word that cannot stand there. Browsers tell no place, or each in its own words. */
function mistakeIn(text: string): number {
  let at = 0;
  const matches = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const isThere = pattern.test(text);
    if (isThere) at = pattern.lastIndex;
    return isThere;
  };
  const take = (mark: string): boolean => {
    matches(SPACE);
    if (text[at] !== mark) return false;
    at += 1;
    return true;
  };
  const list = (end: string, item: () => boolean): boolean => {
    if (take(end)) return true;
    do {
      if (!item()) return false;
    } while (take(","));
    return take(end);
  };
  const value = (): boolean => {
    if (take("{")) return list("}", member);
    if (take("[")) return list("]", value);
    return matches(STRING) || matches(SCALAR);
  };
  const member = (): boolean => {
    matches(SPACE);
    return matches(STRING) && take(":") && value();
  };
  if (value()) matches(SPACE);
  return at;
}

/** Finds what is wrong with a JSON text; undefined when it is valid or empty. */
export function jsonFault(text: string): JsonFault | undefined {
  if (text.trim() === "") return undefined;
  try {
    JSON.parse(text);
    return undefined;
  } catch {
    const place = placeOf(text, mistakeIn(text));
    return { ...place, text: `JSON 格式有误：第 ${place.line} 行第 ${place.column} 列` };
  }
}

/** Name → name pairs of a JSON object text in their order; undefined when it is not such an object. Empty text = none. */
export function readPairs(text: string): readonly (readonly [string, string])[] | undefined {
  if (text.trim() === "") return [];
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    const pairs = Object.entries(value);
    return pairs.every((pair): pair is [string, string] => typeof pair[1] === "string") ? pairs : undefined;
  } catch {
    return undefined;
  }
}

/** Pairs → JSON object text with two spaces; no pairs = "". A later pair of the same name wins. */
export function writePairs(pairs: readonly (readonly [string, string])[]): string {
  return pairs.length === 0 ? "" : JSON.stringify(Object.fromEntries(pairs), null, 2);
}
