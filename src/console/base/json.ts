// Reading JSON that people type: where the mistake is, in lines and columns. Pure.

export interface JsonFault {
  readonly line?: number;
  readonly column?: number;
  /** A Chinese sentence. */
  readonly text: string;
}

/** Line and column (both from 1) of a character offset. */
function placeOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** What browsers say about the place: `line 2 column 5`, or `position 17`. */
function placeIn(message: string, text: string): { line: number; column: number } | undefined {
  const lineColumn = /line (\d+) column (\d+)/.exec(message);
  if (lineColumn !== null) return { line: Number(lineColumn[1]), column: Number(lineColumn[2]) };
  const position = /position (\d+)/.exec(message);
  if (position !== null) return placeOf(text, Number(position[1]));
  return /end of (JSON|data|input)/i.test(message) ? placeOf(text, text.length) : undefined;
}

/** Finds what is wrong with a JSON text; undefined when it is valid or empty. */
export function jsonFault(text: string): JsonFault | undefined {
  if (text.trim() === "") return undefined;
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    const place = placeIn(error instanceof Error ? error.message : "", text);
    if (place === undefined) return { text: "JSON 格式有误" };
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
