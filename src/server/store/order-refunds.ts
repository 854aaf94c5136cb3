// Money that goes back. Rows are made and ended by `money`; here they are read, and marked as asked.
import type { Selectable } from "kysely";
import type { Db } from "./db.ts";
import type { OrderRefundsTable } from "./tables-payments.ts";

export type RefundRow = Selectable<OrderRefundsTable>;

export function listRefunds(db: Db, orderNo: string): Promise<RefundRow[]> {
  return db.selectFrom("order_refunds").selectAll().where("order_no", "=", orderNo).orderBy("id").execute();
}

export function findRefund(db: Db, refundNo: string): Promise<RefundRow | undefined> {
  return db.selectFrom("order_refunds").selectAll().where("refund_no", "=", refundNo).executeTakeFirst();
}

/** A refund of ours that has no last word yet. */
export async function markRefund(
  db: Db,
  refundNo: string,
  mark: { state: "asked" | "unknown"; nextCheck: number; checks: number; nowSec: number },
): Promise<void> {
  await db
    .updateTable("order_refunds")
    .set({ state: mark.state, next_check: mark.nextCheck, checks: mark.checks, updated_at: mark.nowSec })
    .where("refund_no", "=", refundNo)
    .where("state", "in", ["held", "asked", "unknown"])
    .execute();
}
