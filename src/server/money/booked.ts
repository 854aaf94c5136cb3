// What the ledger booked under a natural key, for a caller that repeats an act. Reads only.
import type { Db } from "#server/store/db.ts";

/** The changes of one entry; undefined = nothing is booked under this operation id. Units: quota, millionths of a yuan. */
export async function bookedUnder(
  db: Db,
  operationId: string,
): Promise<{ readonly quota: bigint; readonly micro: bigint } | undefined> {
  const row = await db
    .selectFrom("ledger")
    .select(["amount", "yuan_micro"])
    .where("request_id", "=", operationId)
    .executeTakeFirst();
  return row && { quota: BigInt(row.amount), micro: BigInt(row.yuan_micro) };
}
