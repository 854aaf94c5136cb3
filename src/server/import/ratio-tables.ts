// Price tables of the source, row by row: one that is no ratio costs itself, not the others.
import { builtInRatios } from "#contract/prices.ts";
import type { Tally } from "./tally.ts";

/** Longest part of a value that is reported. */
const VALUE_LENGTH = 40;

/** Options that are tables of ratios. */
export function isRatioTable(option: string): boolean {
  return option === "GroupRatio" || Object.hasOwn(builtInRatios, option);
}

/** The rows of a table in JSON, of a name that stands there twice the last; undefined = it is no table. */
export function tableIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const table: unknown = JSON.parse(text);
    // Just found to be an object; its fields are unknown.
    if (typeof table === "object" && table !== null && !Array.isArray(table))
      return table as Record<string, unknown>;
  } catch {
    // What is wrong with it is reported where the option is checked.
  }
  return undefined;
}

/** The text of a table without the rows that are no ratio, each of which is reported: One API itself ships one of −500000. */
export function withoutBadRows(option: string, text: string, tally: Tally): string {
  const table = tableIn(text);
  if (table === undefined) return text;
  const rows = Object.entries(table);
  const kept = rows.filter(([, value]) => typeof value === "number" && Number.isFinite(value) && value >= 0);
  const good = new Set(kept.map(([name]) => name));
  for (const [name, value] of rows) {
    if (good.has(name)) continue;
    const shown = typeof value === "number" ? String(value) : JSON.stringify(value).slice(0, VALUE_LENGTH);
    tally.tellPrice("skipped", `${option} ${name}: ${shown}`);
  }
  if (option === "GroupRatio" && !good.has("default")) {
    kept.push(["default", 1]);
    tally.remark("the group default had no ratio: it is 1, as it was there");
  }
  return JSON.stringify(Object.fromEntries(kept));
}
