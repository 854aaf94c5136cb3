// How calls went, by hour: written in bundles by channels/traffic.ts, read by the dashboard.
import { type RawBuilder, sql } from "kysely";
import { DAY_SEC } from "#server/clock.ts";
import { type Db, sumInt } from "./db.ts";
import type { TrafficHoursTable } from "./tables-logs.ts";

const COLUMNS = ["calls", "failures", "streams", "first_byte_ms"] as const;

/** What the table tells of an hour. */
export type Outcomes = Readonly<Pick<TrafficHoursTable, (typeof COLUMNS)[number]>>;

/** Rows of one statement: far below the parameters either database takes. */
const BATCH = 500;

/** Adds to the hours of these rows. All or nothing. */
export async function addTraffic(db: Db, rows: readonly TrafficHoursTable[]): Promise<void> {
  const added = (column: string): RawBuilder<number> =>
    sql`${sql.ref(`traffic_hours.${column}`)} + ${sql.ref(`excluded.${column}`)}`;
  await db.transaction().execute(async (tx) => {
    for (let at = 0; at < rows.length; at += BATCH)
      await tx
        .insertInto("traffic_hours")
        .values(rows.slice(at, at + BATCH))
        .onConflict((conflict) =>
          conflict.columns(["scope", "id", "hour"]).doUpdateSet({
            calls: added("calls"),
            failures: added("failures"),
            streams: added("streams"),
            first_byte_ms: added("first_byte_ms"),
          }),
        )
        .execute();
  });
}

/** Outcomes from `start` on by day; `day` is its start. Unit: seconds. `offsetSec` is where a day begins east of UTC. */
export function listTrafficDays(
  db: Db,
  { userId, start, offsetSec }: { userId: number | undefined; start: number; offsetSec: number },
): Promise<(Outcomes & { day: number })[]> {
  const day = dayOf(offsetSec);
  return db
    .selectFrom("traffic_hours")
    .select((select) => [day.as("day"), ...COLUMNS.map((column) => sumInt(select.ref(column)).as(column))])
    .where("scope", "=", userId === undefined ? "all" : "user")
    .where("id", "=", userId ?? 0)
    .where("hour", ">=", start)
    .groupBy(day)
    .orderBy(day)
    .execute();
}

/** Tries at every channel from `start` (seconds) on. */
export function listChannelTraffic(db: Db, start: number): Promise<(Outcomes & { id: number })[]> {
  return db
    .selectFrom("traffic_hours")
    .select((select) => ["id", ...COLUMNS.map((column) => sumInt(select.ref(column)).as(column))])
    .where("scope", "=", "channel")
    .where("hour", ">=", start)
    .groupBy("id")
    .execute();
}

/** The start of the day an hour lies in. */
export function dayOf(offsetSec: number): RawBuilder<number> {
  return sql<number>`hour - (hour + ${sql.lit(offsetSec)}) % ${sql.lit(DAY_SEC)}`;
}
