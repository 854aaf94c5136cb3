// Periods of plans that end soon and are followed by none, and which reminder of each was sent.
import { sql } from "kysely";
import type { Db } from "./db.ts";
import type { PlanPeriodRow } from "./plans.ts";

/** What a reminder needs to know of a period and its user. */
export interface EndingPeriod
  extends Pick<PlanPeriodRow, "id" | "user_id" | "terms" | "starts_at" | "ends_at"> {
  readonly username: string;
  readonly email: string;
  readonly status: number;
  /** Of the reminder that was sent last; 0 = none. Unit: days before the end. */
  readonly told_days: number;
}

/**
 * A page of periods that run at `nowSec`, end before `beforeSec`, and have no period of the same plan and user after them, nor a provider that renews them; by id. Unit:
 * seconds.
 */
export async function listEndingPeriods(
  db: Db,
  { nowSec, beforeSec, after, limit }: { nowSec: number; beforeSec: number; after: number; limit: number },
): Promise<readonly EndingPeriod[]> {
  const { rows } = await sql<EndingPeriod>`
    SELECT period.id, period.user_id, period.terms, period.starts_at, period.ends_at, users.username, users.email, users.status,
      coalesce(plan_reminders.days, 0) AS told_days
    FROM plan_periods AS period
    JOIN users ON users.id = period.user_id
    LEFT JOIN plan_reminders ON plan_reminders.period_id = period.id
    WHERE period.id > ${after} AND period.ended_at = 0 AND period.starts_at <= ${nowSec}
      AND period.ends_at > ${nowSec} AND period.ends_at <= ${beforeSec}
      AND NOT EXISTS (
        SELECT 1 FROM plan_periods AS later
        WHERE later.user_id = period.user_id AND later.plan_id = period.plan_id AND later.ended_at = 0
          AND later.starts_at >= period.ends_at)
      AND NOT EXISTS (
        SELECT 1 FROM plan_renewals
        WHERE plan_renewals.last_order_no = period.order_no AND renews = 1 AND plan_renewals.status = 'active')
    ORDER BY period.id LIMIT ${limit}`.execute(db);
  return rows;
}

/** Notes a reminder; false = it, or a later one, was noted already. */
export async function noteReminder(
  db: Db,
  row: { readonly period_id: number; readonly days: number; readonly sent_at: number },
): Promise<boolean> {
  const { period_id: _, ...change } = row;
  const noted = await db
    .insertInto("plan_reminders")
    .values(row)
    .onConflict((conflict) =>
      conflict.column("period_id").doUpdateSet(change).where("plan_reminders.days", ">", row.days),
    )
    .returning("period_id")
    .executeTakeFirst();
  return noted !== undefined;
}
