// Merchant accounts at payment providers. Their secrets are sealed by the caller; what never changes has no setter here.
import type { Insertable, Selectable } from "kysely";
import type { Db } from "./db.ts";
import type { PaymentInstancesTable } from "./tables-payments.ts";

export type InstanceRow = Selectable<PaymentInstancesTable>;

export function listInstances(db: Db): Promise<InstanceRow[]> {
  return db.selectFrom("payment_instances").selectAll().orderBy("sort").orderBy("id").execute();
}

export function findInstance(db: Db, id: number): Promise<InstanceRow | undefined> {
  return db.selectFrom("payment_instances").selectAll().where("id", "=", id).executeTakeFirst();
}

/** By the end of the address of its callbacks. */
export function findInstanceBySlug(db: Db, slug: string): Promise<InstanceRow | undefined> {
  return db.selectFrom("payment_instances").selectAll().where("slug", "=", slug).executeTakeFirst();
}

export async function insertInstance(db: Db, row: Insertable<PaymentInstancesTable>): Promise<number> {
  const { id } = await db
    .insertInto("payment_instances")
    .values(row)
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}

export type InstanceChange = Partial<
  Pick<
    InstanceRow,
    | "name"
    | "settings"
    | "secrets_sealed"
    | "secrets_before"
    | "before_until"
    | "enabled"
    | "sort"
    | "updated_at"
  >
>;

export async function updateInstance(db: Db, id: number, change: InstanceChange): Promise<void> {
  await db.updateTable("payment_instances").set(change).where("id", "=", id).execute();
}

/** Counts an answer that said nothing, or forgets those before one that did. Returns how many there were in a row. */
export async function countUnclear(db: Db, id: number, isClear: boolean): Promise<number> {
  const row = await db
    .updateTable("payment_instances")
    .set((update) => ({ unclear: isClear ? 0 : update("unclear", "+", 1) }))
    .where("id", "=", id)
    .returning("unclear")
    .executeTakeFirst();
  return row?.unclear ?? 0;
}

/** Counts a notice that did not verify. */
export async function countRefused(db: Db, id: number, nowSec: number): Promise<void> {
  await db
    .updateTable("payment_instances")
    .set((update) => ({ refused_notices: update("refused_notices", "+", 1), refused_at: nowSec }))
    .where("id", "=", id)
    .execute();
}
