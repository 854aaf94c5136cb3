// Which price list counts for a model: the operator's lists of sources by model, the first of them before the next (requirements X26). Pure.
import { isModelOf } from "#contract/limit-words.ts";

/** Patterns of models → addresses of lists, the first before the next, parted by commas. */
export type SourceTable = Readonly<Record<string, string>>;

const sourcesIn = (text: string) => text.split(",").map((source) => source.trim());

/** The table with sources as they are named where they are kept. */
export function namedIn(table: SourceTable, nameOf: (address: string) => string): SourceTable {
  return Object.fromEntries(
    Object.entries(table).map(([pattern, text]) => [pattern, sourcesIn(text).map(nameOf).join(",")]),
  );
}

/** The place of a source for a model, 0 = first; Infinity = it has none. The first pattern that fits decides. */
export function rankOf(table: SourceTable, model: string, source: string): number {
  const sources = Object.entries(table).find(([pattern]) => isModelOf(pattern, model))?.[1];
  const place = sources === undefined ? -1 : sourcesIn(sources).indexOf(source);
  return place === -1 ? Number.POSITIVE_INFINITY : place;
}

/** Whether an operator named the source for any model. */
export function isNamed(table: SourceTable, source: string): boolean {
  return Object.values(table).some((text) => sourcesIn(text).includes(source));
}
