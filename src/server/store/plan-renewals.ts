// Plans that providers renew by themselves, and what users have chosen for after a period. Rows only.
import type { Insertable, Selectable, Updateable } from "kysely";
import { changesOne } from "./change.ts";
import type { Db } from "./db.ts";
import type { PlanChangesTable, PlanRenewalsTable } from "./tables-plans.ts";

export type RenewalRow = Selectable<PlanRenewalsTable>;
export type ChangeRow = Selectable<PlanChangesTable>;

/** Keeps a new one; what is known already stays as it is. */
export async function insertRenewal(db: Db, row: Insertable<PlanRenewalsTable>): Promise<void> {
  await db
    .insertInto("plan_renewals")
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export function findRenewal(db: Db, id: number): Promise<RenewalRow | undefined> {
  return db.selectFrom("plan_renewals").selectAll().where("id", "=", id).executeTakeFirst();
}

/** By the provider's name of it. */
export function findRenewalAt(
  db: Db,
  instanceId: number,
  providerId: string,
): Promise<RenewalRow | undefined> {
  return db
    .selectFrom("plan_renewals")
    .selectAll()
    .where("instance_id", "=", instanceId)
    .where("provider_id", "=", providerId)
    .executeTakeFirst();
}

/** The one whose last period an order opened. */
export function findRenewalByLast(db: Db, orderNo: string): Promise<RenewalRow | undefined> {
  return db.selectFrom("plan_renewals").selectAll().where("last_order_no", "=", orderNo).executeTakeFirst();
}

/** The one that an order began. */
export function findRenewalByFirst(db: Db, orderNo: string): Promise<RenewalRow | undefined> {
  return db.selectFrom("plan_renewals").selectAll().where("order_no", "=", orderNo).executeTakeFirst();
}

/** Those of a user that have not ended; few. */
export function listRunningRenewals(db: Db, userId: number): Promise<RenewalRow[]> {
  return db
    .selectFrom("plan_renewals")
    .selectAll()
    .where("user_id", "=", userId)
    .where("ended_at", "=", 0)
    .orderBy("id")
    .execute();
}

export async function updateRenewal(
  db: Db,
  id: number,
  change: Updateable<PlanRenewalsTable>,
): Promise<void> {
  await db.updateTable("plan_renewals").set(change).where("id", "=", id).execute();
}

/** What a user decided; the provider is to be told. One that has ended stays ended. */
export async function setWish(
  db: Db,
  id: number,
  { renews, nowSec }: { readonly renews: number; readonly nowSec: number },
): Promise<void> {
  await db
    .updateTable("plan_renewals")
    .set({ renews, is_told: 0, next_check: nowSec })
    .where("id", "=", id)
    .where("ended_at", "=", 0)
    .execute();
}

/** Notes the order of a later period; one that is told of again, or late, changes nothing. Unit: seconds. */
export async function noteRenewed(
  db: Db,
  id: number,
  { orderNo, endsAt }: { readonly orderNo: string; readonly endsAt: number },
): Promise<void> {
  await db
    .updateTable("plan_renewals")
    .set({ last_order_no: orderNo, next_at: endsAt, status: "active", failed_told: 0 })
    .where("id", "=", id)
    .where("next_at", "<", endsAt)
    .where("ended_at", "=", 0)
    .execute();
}

/** The provider is asked at once about the renewals whose last period one of these orders opened. */
export async function lookSoon(db: Db, orderNos: readonly string[], nowSec: number): Promise<void> {
  await db
    .updateTable("plan_renewals")
    .set({ next_check: nowSec })
    .where("last_order_no", "in", orderNos)
    .where("ended_at", "=", 0)
    .execute();
}

/** How many plans of each version go on by themselves. */
export async function countRenewing(db: Db): Promise<ReadonlyMap<number, number>> {
  const rows = await db
    .selectFrom("plan_renewals")
    .innerJoin("plan_versions", "plan_versions.id", "plan_renewals.version_id")
    .select((select) => ["plan_versions.plan_id as plan_id", select.fn.countAll<number>().as("count")])
    .where("plan_renewals.renews", "=", 1)
    .where("plan_renewals.ended_at", "=", 0)
    .groupBy("plan_versions.plan_id")
    .execute();
  return new Map(rows.map((row) => [row.plan_id, Number(row.count)]));
}

/** With the address of the user who has to hear that a payment failed. */
export type FailedRenewal = RenewalRow & { readonly email: string; readonly user_status: number };

/** Those whose payment failed and whose user was not told, oldest first. */
export function listFailedRenewals(db: Db, limit: number): Promise<FailedRenewal[]> {
  return db
    .selectFrom("plan_renewals")
    .innerJoin("users", "users.id", "plan_renewals.user_id")
    .selectAll("plan_renewals")
    .select(["users.email", "users.status as user_status"])
    .where("plan_renewals.status", "=", "failed")
    .where("failed_told", "=", 0)
    .orderBy("plan_renewals.id")
    .limit(limit)
    .execute();
}

/** Notes that the user is told. Returns whether no other process had noted it. */
export function noteFailedTold(db: Db, id: number): Promise<boolean> {
  return changesOne(
    db.updateTable("plan_renewals").set({ failed_told: 1 }).where("id", "=", id).where("failed_told", "=", 0),
  );
}

/** What was chosen for after these periods. */
export function listChanges(db: Db, periodIds: readonly number[]): Promise<ChangeRow[]> {
  return periodIds.length === 0
    ? Promise.resolve([])
    : db.selectFrom("plan_changes").selectAll().where("period_id", "in", periodIds).execute();
}

/** Chooses, instead of what was chosen before. */
export async function saveChange(db: Db, row: Insertable<PlanChangesTable>): Promise<void> {
  const { period_id: _, ...change } = row;
  await db
    .insertInto("plan_changes")
    .values(row)
    .onConflict((conflict) => conflict.column("period_id").doUpdateSet(change))
    .execute();
}

export async function removeChange(db: Db, periodId: number): Promise<void> {
  await db.deleteFrom("plan_changes").where("period_id", "=", periodId).execute();
}
