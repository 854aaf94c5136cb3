// Consumption of one user by day and model, from the sums by hour: it survives the clearing of the log.
import { sql } from "kysely";
import { type Db, sumInt } from "./db.ts";

const DAY_SEC = 86_400;

export interface DayUsage {
  /** Start of the day in UTC, seconds. */
  readonly day: number;
  readonly model_name: string;
  readonly requests: number;
  readonly quota: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

/** The last `days` days in UTC, that of `now` included, by day and then model; days without calls are left out. */
export function listDayUsage(
  db: Db,
  { userId, now, days }: { userId: number; now: number; days: number },
): Promise<DayUsage[]> {
  const first = now - (now % DAY_SEC) - (days - 1) * DAY_SEC;
  const day = sql<number>`hour - hour % ${sql.lit(DAY_SEC)}`;
  return db
    .selectFrom("log_rollups")
    .select((select) => [
      day.as("day"),
      "model_name",
      sumInt(select.ref("requests")).as("requests"),
      sumInt(select.ref("quota")).as("quota"),
      sumInt(select.ref("prompt_tokens")).as("prompt_tokens"),
      sumInt(select.ref("completion_tokens")).as("completion_tokens"),
    ])
    .where("user_id", "=", userId)
    .where("hour", ">=", first)
    .groupBy([day, "model_name"])
    .orderBy(day)
    .orderBy("model_name")
    .execute();
}
