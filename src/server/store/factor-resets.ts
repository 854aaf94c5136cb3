// Requests to remove the second factors of a super administrator: one for each account. When one may be carried out is decided by
// those who call. Times in seconds.
import type { Selectable } from "kysely";
import type { Db } from "./db.ts";
import type { FactorResetsTable } from "./factor-tables.ts";

export type FactorResetRow = Selectable<FactorResetsTable>;

export function findFactorReset(db: Db, userId: number): Promise<FactorResetRow | undefined> {
  return db.selectFrom("factor_resets").selectAll().where("user_id", "=", userId).executeTakeFirst();
}

/** Notes a request, unless there is one. Returns whether it did. */
export async function insertFactorReset(tx: Db, row: FactorResetRow): Promise<boolean> {
  const insert = tx.insertInto("factor_resets").values(row);
  const result = await insert
    .onConflict((conflict) => conflict.column("user_id").doNothing())
    .executeTakeFirst();
  return result.numInsertedOrUpdatedRows === 1n;
}

/** Takes away the request as it was seen; of many who do so at once, one has it. */
export async function takeFactorReset(tx: Db, seen: FactorResetRow): Promise<boolean> {
  const { user_id, asked_by, asked_at } = seen;
  const query = tx.deleteFrom("factor_resets").where((where) => where.and({ user_id, asked_by, asked_at }));
  return (await query.executeTakeFirst()).numDeletedRows === 1n;
}

/** Forgets the request about an account, whichever administrator made it. */
export async function deleteFactorReset(tx: Db, userId: number): Promise<void> {
  await tx.deleteFrom("factor_resets").where("user_id", "=", userId).execute();
}
