// Consumption of the last days for the dashboard, from the sums by hour: it survives the clearing of the log. Reads only.
import type { AliasedExpression } from "kysely";
import { type Db, sumInt } from "./db.ts";
import { dayOf } from "./traffic.ts";

export interface Sums {
  /** Quota units. */
  readonly quota: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly requests: number;
}

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

const COLUMNS = ["quota", "prompt_tokens", "completion_tokens", "requests"] as const;

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

/** By day and model, in that order; days without calls are left out. `offsetSec` is where a day begins east of UTC. */
export function listUsageDays(
  db: Db,
  span: Span,
  offsetSec: number,
): Promise<(Sums & { day: number; model_name: string })[]> {
  const day = dayOf(offsetSec);
  return db
    .selectFrom(parts(db, span, "model"))
    .select((select) => [
      day.as("day"),
      "name as model_name",
      ...COLUMNS.map((column) => sumInt(select.ref(column)).as(column)),
    ])
    .groupBy([day, "name"])
    .orderBy(day)
    .orderBy("name")
    .execute();
}

/** By hour, oldest first; hours without calls are left out. */
export function listUsageHours(db: Db, span: Span): Promise<(Sums & { hour: number })[]> {
  return db
    .selectFrom(parts(db, span, "all"))
    .select((select) => ["hour", ...COLUMNS.map((column) => sumInt(select.ref(column)).as(column))])
    .groupBy("hour")
    .orderBy("hour")
    .execute();
}

export function sumUsage(db: Db, span: Span): Promise<Sums> {
  return db
    .selectFrom(parts(db, span, "all"))
    .select((select) => COLUMNS.map((column) => sumInt(select.ref(column)).as(column)))
    .executeTakeFirstOrThrow();
}

/** Who or what spent most: the first `count`, by quota and then by calls. `name` is an id as text, or a name. */
export function rankUsage(
  db: Db,
  span: Span,
  { by, count }: { by: "token" | "user" | "channel"; count: number },
): Promise<(Sums & { name: string })[]> {
  return db
    .selectFrom(parts(db, span, by))
    .select((select) => ["name", ...COLUMNS.map((column) => sumInt(select.ref(column)).as(column))])
    .groupBy("name")
    .orderBy("quota", "desc")
    .orderBy("requests", "desc")
    .orderBy("name")
    .limit(count)
    .execute();
}

/** Names of users by id, deleted ones included. */
export async function nameUsers(db: Db, ids: readonly number[]): Promise<ReadonlyMap<number, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db.selectFrom("users").select(["id", "username"]).where("id", "in", ids).execute();
  return new Map(rows.map(({ id, username }) => [id, username]));
}
