// Which channel and key made the responses that upstreams keep: rows in, rows out. What was said in them is not stored here.
import type { Selectable } from "kysely";
import type { Db } from "./db.ts";
import type { StoredResponsesTable } from "./tables-tasks.ts";
import type { TaskOwner } from "./tasks.ts";

export type StoredResponse = Omit<Selectable<StoredResponsesTable>, "id">;

/** Notes a response; one that its owner has already stays as it is. */
export async function insertStoredResponse(db: Db, row: StoredResponse): Promise<void> {
  await db
    .insertInto("stored_responses")
    .values(row)
    .onConflict((conflict) => conflict.columns(["user_id", "response_id"]).doNothing())
    .execute();
}

/** The response, if it is the owner's and has not expired. */
export function findStoredResponse(
  db: Db,
  { userId, payerId }: TaskOwner,
  asked: { readonly id: string; readonly now: number },
): Promise<StoredResponse | undefined> {
  return db
    .selectFrom("stored_responses")
    .selectAll()
    .where("user_id", "=", userId)
    .where("payer_id", "=", payerId)
    .where("response_id", "=", asked.id)
    .where("expires_at", ">", asked.now)
    .executeTakeFirst();
}

export async function deleteStoredResponse(db: Db, { user_id, response_id }: StoredResponse): Promise<void> {
  await db
    .deleteFrom("stored_responses")
    .where("user_id", "=", user_id)
    .where("response_id", "=", response_id)
    .execute();
}

/** Forgets those that their upstreams have forgotten. Returns how many. */
export async function deleteExpiredResponses(db: Db, now: number, limit: number): Promise<number> {
  const old = db.selectFrom("stored_responses").select("id").where("expires_at", "<=", now).limit(limit);
  const { numDeletedRows } = await db
    .deleteFrom("stored_responses")
    .where("id", "in", old)
    .executeTakeFirst();
  return Number(numDeletedRows);
}
