// Plans, their versions, and the periods that users have bought. Rows only; periods are written by `money` alone.
import type { Insertable, Selectable, Updateable } from "kysely";
import type { Db } from "./db.ts";
import type { PlanPeriodsTable, PlansTable, PlanVersionsTable } from "./tables-plans.ts";

/** A plan with what is sold of it now. */
export type PlanRow = Selectable<PlansTable> & Pick<Selectable<PlanVersionsTable>, "terms">;
export type PlanPeriodRow = Selectable<PlanPeriodsTable>;

/** The periods of a user that run or are still to begin, the earliest end first. */
export function findLivePeriods(db: Db, userId: number, nowSec: number): Promise<PlanPeriodRow[]> {
  return db
    .selectFrom("plan_periods")
    .selectAll()
    .where("user_id", "=", userId)
    .where("ends_at", ">", nowSec)
    .where("ended_at", "=", 0)
    .orderBy("ends_at")
    .orderBy("id")
    .execute();
}

/** The last periods of a user, whatever became of them; newest first. */
export function listPeriods(db: Db, userId: number, limit: number): Promise<PlanPeriodRow[]> {
  return db
    .selectFrom("plan_periods")
    .selectAll()
    .where("user_id", "=", userId)
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
}

export function findPeriod(db: Db, id: number): Promise<PlanPeriodRow | undefined> {
  return db.selectFrom("plan_periods").selectAll().where("id", "=", id).executeTakeFirst();
}

/** The period that an order opened. */
export function findPeriodOfOrder(db: Db, orderNo: string): Promise<PlanPeriodRow | undefined> {
  return db.selectFrom("plan_periods").selectAll().where("order_no", "=", orderNo).executeTakeFirst();
}

/** A version of a plan, sold or not. */
export function findPlanVersion(db: Db, id: number): Promise<Selectable<PlanVersionsTable> | undefined> {
  return db.selectFrom("plan_versions").selectAll().where("id", "=", id).executeTakeFirst();
}

function plans(db: Db) {
  return db
    .selectFrom("plans")
    .innerJoin("plan_versions", "plan_versions.id", "plans.version_id")
    .selectAll("plans")
    .select("plan_versions.terms as terms");
}

/** In the order in which they are shown; few. */
export function listPlans(db: Db): Promise<PlanRow[]> {
  return plans(db).orderBy("plans.sort").orderBy("plans.id").execute();
}

export function findPlan(db: Db, id: number): Promise<PlanRow | undefined> {
  return plans(db).where("plans.id", "=", id).executeTakeFirst();
}

/** How many users have a period of each plan that runs. */
export async function countSubscribers(db: Db, nowSec: number): Promise<ReadonlyMap<number, number>> {
  const rows = await db
    .selectFrom("plan_periods")
    .select((select) => ["plan_id", select.fn.countAll<number>().as("count")])
    .where("starts_at", "<=", nowSec)
    .where("ends_at", ">", nowSec)
    .where("ended_at", "=", 0)
    .groupBy("plan_id")
    .execute();
  return new Map(rows.map((row) => [row.plan_id, Number(row.count)]));
}

/** Returns the id. */
export async function insertPlan(db: Db, plan: Insertable<PlansTable>): Promise<number> {
  const row = await db.insertInto("plans").values(plan).returning("id").executeTakeFirstOrThrow();
  return row.id;
}

export async function updatePlan(db: Db, id: number, change: Updateable<PlansTable>): Promise<void> {
  await db.updateTable("plans").set(change).where("id", "=", id).execute();
}

/** Returns the id. */
export async function insertPlanVersion(db: Db, version: Insertable<PlanVersionsTable>): Promise<number> {
  const row = await db.insertInto("plan_versions").values(version).returning("id").executeTakeFirstOrThrow();
  return row.id;
}
