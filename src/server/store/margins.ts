// What calls brought and cost, from the sums by hour. Reads only.
import { type Db, sumInt } from "./db.ts";
import type { LogSumsTable } from "./tables-logs.ts";
import { dayOf } from "./traffic.ts";

const COLUMNS = [
  "requests",
  "quota",
  "costed_quota",
  "cost",
  "prompt_tokens",
  "cached_tokens",
  "saved",
  "priced_quota",
  "given_cost",
  "income",
  "fees",
  "commission",
] as const;

/** Quota in its units, money in billionths of a dollar. */
export type CostSums = Readonly<Record<(typeof COLUMNS)[number], number>>;
export type NamedCosts = CostSums & { readonly name: string };

/** Hours that begin at `start` or later, and before `before`, in seconds. */
export interface CostSpan {
  readonly start: number;
  readonly before: number;
}

export type CostDimension = Extract<
  LogSumsTable["dimension"],
  "model" | "channel" | "group" | "user" | "token" | "model-channel"
>;

const PIECE_SEC = 5 * 86_400;

/** By the key of a dimension, in no order. Read in pieces: SQLite has one reader, and other questions get in between. */
export async function sumCosts(db: Db, span: CostSpan, dimension: CostDimension): Promise<NamedCosts[]> {
  const sums = new Map<string, NamedCosts>();
  for (let { start } = span; start < span.before; start += PIECE_SEC) {
    const rows = await db
      .selectFrom("log_sums")
      .select((select) => ["key as name", ...COLUMNS.map((column) => sumInt(select.ref(column)).as(column))])
      .where("dimension", "=", dimension)
      .where("hour", ">=", start)
      .where("hour", "<", Math.min(start + PIECE_SEC, span.before))
      .groupBy("key")
      .execute();
    for (const row of rows) sums.set(row.name, together(sums.get(row.name), row));
  }
  return [...sums.values()];
}

/** By day, `name` = its start in seconds; days without calls are left out. A day begins `offsetSec` east of UTC. */
export async function sumCostDays(db: Db, span: CostSpan, offsetSec: number): Promise<NamedCosts[]> {
  const day = dayOf(offsetSec);
  const rows = await db
    .selectFrom("log_sums")
    .select((select) => [day.as("day"), ...COLUMNS.map((column) => sumInt(select.ref(column)).as(column))])
    .where("dimension", "=", "all")
    .where("hour", ">=", span.start)
    .where("hour", "<", span.before)
    .groupBy(day)
    .orderBy(day)
    .execute();
  return rows.map(({ day: start, ...sums }) => ({ name: String(start), ...sums }));
}

function together(one: NamedCosts | undefined, other: NamedCosts): NamedCosts {
  if (one === undefined) return other;
  const sums = COLUMNS.map((column) => [column, one[column] + other[column]]);
  // Every column is among them.
  return { name: other.name, ...(Object.fromEntries(sums) as CostSums) };
}
