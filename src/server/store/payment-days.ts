// Which days of which merchant accounts were compared with the provider's list, and what was found (requirements Y43).
import type { Selectable } from "kysely";
import type { Db } from "./db.ts";
import type { PaymentDaysTable } from "./tables-payments.ts";

export type PaymentDayRow = Selectable<PaymentDaysTable>;

/** A day that is compared again keeps what it found before: that waits for a person already, and is not found twice. */
export async function savePaymentDay(db: Db, row: PaymentDayRow): Promise<void> {
  const { instance_id: _, day: __, ...change } = row;
  await db
    .insertInto("payment_days")
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(["instance_id", "day"]).doUpdateSet((eb) => ({
        ...change,
        brought: eb("payment_days.brought", "+", row.brought),
        missing: eb("payment_days.missing", "+", row.missing),
      })),
    )
    .execute();
}

/** The last day of each account that was compared to its end. */
export async function lastPaymentDays(db: Db): Promise<ReadonlyMap<number, string>> {
  const rows = await db
    .selectFrom("payment_days")
    .select(({ fn }) => ["instance_id", fn.max("day").as("day")])
    .where("problem", "=", "")
    .groupBy("instance_id")
    .execute();
  return new Map(rows.map(({ instance_id, day }) => [instance_id, day]));
}

/** The newest days, with the name of their account. */
export function listPaymentDays(db: Db, limit: number): Promise<(PaymentDayRow & { name: string })[]> {
  return db
    .selectFrom("payment_days")
    .innerJoin("payment_instances", "payment_instances.id", "payment_days.instance_id")
    .selectAll("payment_days")
    .select("payment_instances.name")
    .orderBy("day", "desc")
    .orderBy("instance_id")
    .limit(limit)
    .execute();
}
