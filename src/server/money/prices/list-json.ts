// The JSON of price lists: every number as its text, so that 2.5e-06 a token is exactly 2.5 dollars a million. Pure.
import { parseRational, type Rational } from "#server/money/rational.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** A text that is no price list; the message is for the user. */
export class PriceListError extends Error {
  override readonly name = "PriceListError";
}

/** JSON with every number as its text. Throws: PriceListError. */
export function parseList(text: string): Fields {
  const reviver = (_key: string, value: unknown, context?: { source?: string }) =>
    typeof value === "number" ? (context?.source ?? String(value)) : value;
  let root: unknown;
  try {
    root = JSON.parse(text, reviver);
  } catch {
    throw new PriceListError("价目表不是 JSON");
  }
  if (!isFields(root)) throw new PriceListError("价目表须为 JSON 对象");
  return root;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});
export const rowsOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isFields) : []);
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

export function own(table: Fields, name: string): unknown {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** A number of a list; undefined = it is none, or negative. */
export function numberOf(value: unknown): Rational | undefined {
  if (typeof value !== "string" || !/^\d+(\.\d+)?(e[+-]?\d{1,2})?$/i.test(value)) return undefined;
  return parseRational(value);
}

/** Something stands there, but no number that is not negative. */
export function isBroken(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "" && numberOf(value) === undefined;
}

/** The day of `2026-12-31` or of a moment that begins with it; "" = none. */
export function dayIn(value: unknown): string {
  const day = /^\d{4}-\d{2}-\d{2}(?=$|[T ])/.exec(textOf(value))?.[0] ?? "";
  const at = new Date(`${day}T00:00:00Z`);
  return day !== "" && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day) ? day : "";
}
