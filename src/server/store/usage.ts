// Consumption of the last days for the dashboard, from the sums by hour: it survives the clearing of the log. Reads only.
import { type AliasedExpression, sql } from "kysely";
import { DAY_SEC } from "#server/clock.ts";
import { type Db, sumInt } from "./db.ts";
import type { LogSumsTable } from "./tables-logs.ts";
import { dayOf } from "./traffic.ts";

const COLUMNS = ["quota", "prompt_tokens", "completion_tokens", "requests"] as const;

/** Sums of calls; quota in its units. */
export type Sums = Readonly<Pick<LogSumsTable, (typeof COLUMNS)[number]>>;

/** Hours that begin at `start` or later, and before `before`. Unit: seconds. */
export interface Span {
  /** undefined = everybody. */
  readonly userId: number | undefined;
  readonly start: number;
  readonly before: number;
}

type By = "all" | "model" | "token" | "user" | "channel";

interface Part extends Sums {
  readonly name: string;
  readonly hour: number;
}

/** The sums of a span along one dimension. Those of one user are kept by model and token only. */
function parts(db: Db, { userId, start, before }: Span, by: By): AliasedExpression<Part, "parts"> {
  if (userId === undefined)
    return db
      .selectFrom("log_sums")
      .select(["key as name", "hour", ...COLUMNS])
      .where("dimension", "=", by)
      .where("hour", ">=", start)
      .where("hour", "<", before)
      .as("parts");
  return db
    .selectFrom("log_rollups")
    .select([by === "token" ? "token_name as name" : "model_name as name", "hour", ...COLUMNS])
    .where("user_id", "=", userId)
    .where("hour", ">=", start)
    .where("hour", "<", before)
    .as("parts");
}

/** Days that one statement reads: SQLite has one reader, and other questions get in between two of them. */
const PIECE_DAYS = 5;

/** A span in pieces of whole days, one after the other. */
function* piecesOf(span: Span): Generator<Span> {
  for (let { start } = span; start < span.before; start += PIECE_DAYS * DAY_SEC)
    yield { ...span, start, before: Math.min(start + PIECE_DAYS * DAY_SEC, span.before) };
}

/**
 * By day and model, in that order; days without calls are left out. `offsetSec` is where a day begins east of UTC, and the span
 * begins with one.
 */
export async function listUsageDays(
  db: Db,
  span: Span,
  offsetSec: number,
): Promise<(Sums & { day: number; model_name: string })[]> {
  const day = dayOf(offsetSec);
  const days: (Sums & { day: number; model_name: string })[] = [];
  for (const piece of piecesOf(span)) {
    const rows = await db
      .selectFrom(parts(db, piece, "model"))
      .select((select) => [
        day.as("day"),
        "name as model_name",
        ...COLUMNS.map((column) => sumInt(select.ref(column)).as(column)),
      ])
      .groupBy([day, "name"])
      .orderBy(day)
      .orderBy("name")
      .execute();
    days.push(...rows);
  }
  return days;
}

const HOUR_SEC = 3_600;
const WEEK_HOURS = 168;
/** 1970 began on a Thursday, three days after a Monday. */
const EPOCH_HOURS = 72;

/** By hour of the week, 0 = Monday's first where a day begins `offsetSec` east of UTC; hours without calls are left out. */
export function listUsageWeek(
  db: Db,
  span: Span,
  offsetSec: number,
): Promise<{ hour: number; requests: number; quota: number }[]> {
  const hour = sql<number>`((hour + ${sql.lit(offsetSec)}) / ${sql.lit(HOUR_SEC)} + ${sql.lit(EPOCH_HOURS)}) % ${sql.lit(WEEK_HOURS)}`;
  return db
    .selectFrom(parts(db, span, "all"))
    .select((select) => [
      hour.as("hour"),
      sumInt(select.ref("requests")).as("requests"),
      sumInt(select.ref("quota")).as("quota"),
    ])
    .groupBy(hour)
    .orderBy(hour)
    .execute();
}

/** All of a span in one sum; zeroes where there was nothing. */
export function sumUsage(db: Db, span: Span): Promise<Sums> {
  return db
    .selectFrom(parts(db, span, "all"))
    .select((select) => COLUMNS.map((column) => sumInt(select.ref(column)).as(column)))
    .executeTakeFirstOrThrow();
}

type Named = Sums & { readonly name: string };

/** Who or what spent most: the first `count`, by quota and then by calls. `name` is an id as text, or a name. */
export async function rankUsage(
  db: Db,
  span: Span,
  { by, count }: { by: "token" | "user" | "channel"; count: number },
): Promise<Named[]> {
  const sums = await sumNames(db, span, by);
  return sums.sort((one, other) => other.quota - one.quota || other.requests - one.requests).slice(0, count);
}

/** Sums by model, in no order. */
export function sumModels(db: Db, span: Span): Promise<Named[]> {
  return sumNames(db, span, "model");
}

async function sumNames(db: Db, span: Span, by: By): Promise<Named[]> {
  const sums = new Map<string, Named>();
  for (const piece of piecesOf(span)) {
    const rows = await db
      .selectFrom(parts(db, piece, by))
      .select((select) => ["name", ...COLUMNS.map((column) => sumInt(select.ref(column)).as(column))])
      .groupBy("name")
      .execute();
    for (const row of rows) sums.set(row.name, together(sums.get(row.name), row));
  }
  return [...sums.values()];
}

function together(one: Named | undefined, other: Named): Named {
  if (one === undefined) return other;
  return {
    name: other.name,
    quota: one.quota + other.quota,
    prompt_tokens: one.prompt_tokens + other.prompt_tokens,
    completion_tokens: one.completion_tokens + other.completion_tokens,
    requests: one.requests + other.requests,
  };
}

/** Names of users by id, deleted ones included. */
export async function nameUsers(db: Db, ids: readonly number[]): Promise<ReadonlyMap<number, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db.selectFrom("users").select(["id", "username"]).where("id", "in", ids).execute();
  return new Map(rows.map(({ id, username }) => [id, username]));
}
