// Which last days of models were told, and to whom else they matter. Rows only.
import type { Db } from "./db.ts";

/** Marks a stage as told. Returns whether it was not before: of several processes one gets `true`. */
export async function claimModelNotice(
  db: Db,
  notice: { model: string; last_day: string; stage: number; told_at: number },
): Promise<boolean> {
  const told = await db
    .insertInto("model_notices")
    .values(notice)
    .onConflict((conflict) => conflict.columns(["model", "last_day", "stage"]).doNothing())
    .returning("stage")
    .execute();
  return told.length > 0;
}

/** Addresses of users that called a model since `startSec` and may log in; a team's calls are its wallet's. Order: by user. */
export async function findCallers(
  db: Db,
  model: string,
  startSec: number,
  status: number,
): Promise<string[]> {
  const rows = await db
    .selectFrom("users")
    .select("email")
    .where("status", "=", status)
    .where("email", "<>", "")
    .where("id", "in", (select) =>
      select
        .selectFrom("log_rollups")
        .select("user_id")
        .where("hour", ">=", startSec)
        .where("model_name", "=", model),
    )
    .orderBy("id")
    .execute();
  return rows.map(({ email }) => email);
}
