// What beside calls adds to or takes from what is earned: payments by account, use of plans by version, commission. Reads only.
import { sql } from "kysely";
import { type Db, sumInt } from "./db.ts";
import type { CostSpan } from "./margins.ts";

export interface PaidIn {
  readonly instance_id: number;
  /** What was paid and did not go back, minor units of the account's currency. */
  readonly kept: number;
  /** Of it, what users paid as fee. */
  readonly fee: number;
}

/** Payments of a span by account, along orders_paid. */
export function sumPaidIn(db: Db, instances: readonly number[], span: CostSpan): Promise<PaidIn[]> {
  if (instances.length === 0) return Promise.resolve([]);
  return db
    .selectFrom("orders")
    .select((row) => [
      "instance_id",
      sumInt(sql<number>`paid_minor - refunded_minor - disputed_minor`).as("kept"),
      sumInt(row.ref("fee_minor")).as("fee"),
    ])
    .where("instance_id", "in", instances)
    .where("trade_no", "<>", "")
    .where("paid_at", ">=", span.start)
    .where("paid_at", "<", span.before)
    .groupBy("instance_id")
    .execute();
}

export interface PlanUse {
  /** JSON of the version. */
  readonly terms: string;
  readonly quota: number;
  readonly spent: number;
}

/**
 * What periods of plans spent in a span, by version. A period that is partly in it counts by its share of time: its calls are not told apart.
 * `nowSec` ends periods that run.
 */
export async function sumPlanUse(db: Db, span: CostSpan, nowSec: number): Promise<readonly PlanUse[]> {
  const least = (one: string, other: string) => `(CASE WHEN ${one} < ${other} THEN ${one} ELSE ${other} END)`;
  const stopped = least("(CASE WHEN ended_at > 0 THEN ended_at ELSE ends_at END)", String(nowSec));
  const from = `(CASE WHEN starts_at > ${span.start} THEN starts_at ELSE ${span.start} END)`;
  const within = `(${least(stopped, String(span.before))} - ${from})`;
  const { rows } = await sql<PlanUse>`SELECT v.terms, v.quota, v.spent FROM (
      SELECT plan_periods.terms, plan_periods.quota,
        cast(sum(spent * 1.0 * ${sql.raw(within)} / (${sql.raw(stopped)} - starts_at)) as bigint) AS spent
      FROM plan_periods
      WHERE starts_at < ${sql.raw(String(Math.min(span.before, nowSec)))} AND ends_at > ${span.start} AND quota > 0
        AND ${sql.raw(within)} > 0
      GROUP BY plan_periods.terms, plan_periods.quota) AS v`.execute(db);
  return rows;
}

/** Commission of a span in millionths of a yuan: what was earned less what was taken back. */
export async function sumCommission(db: Db, span: CostSpan): Promise<number> {
  const row = await db
    .selectFrom("ledger")
    .select((select) => sumInt(select.ref("yuan_micro")).as("sum"))
    // The index ledger_yuan holds these alone.
    .where("yuan_micro", "<>", 0)
    .where("kind", "in", ["commission", "commission-adjust"])
    .where("created_at", ">=", span.start)
    .where("created_at", "<", span.before)
    .executeTakeFirst();
  return row?.sum ?? 0;
}
