// Gifts of registrations that are promised and not yet booked: one row from the insert of an account until the ledger has it.
import type { Selectable } from "kysely";
import type { Db } from "./db.ts";
import type { SignupsTable } from "./tables.ts";

/** Amounts are quota units, as the options were when the account was made. */
export type SignupRow = Selectable<SignupsTable>;

/** Promises gifts, in the transaction that makes the account. */
export async function insertSignup(db: Db, row: SignupRow): Promise<void> {
  await db.insertInto("signups").values(row).execute();
}

/** Takes a promise away when the ledger has booked it; none is no fault. */
export async function removeSignup(db: Db, userId: number): Promise<void> {
  await db.deleteFrom("signups").where("user_id", "=", userId).execute();
}

/** Notes who gets the gifts of a registration, in the transaction that makes the account. Returns whether none of them had any before. */
export async function noteWelcomed(tx: Db, identityHashes: readonly string[]): Promise<boolean> {
  if (identityHashes.length === 0) return true;
  const result = await tx
    .insertInto("welcomed")
    .values(identityHashes.map((identity_hash) => ({ identity_hash })))
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return result.numInsertedOrUpdatedRows === BigInt(identityHashes.length);
}

/** The oldest promises, after a user id; 0 = from the first. */
export function listSignups(db: Db, after: number, limit: number): Promise<SignupRow[]> {
  return db
    .selectFrom("signups")
    .select(["user_id", "inviter_id", "for_new_user", "for_invitee", "for_inviter"])
    .where("user_id", ">", after)
    .orderBy("user_id")
    .limit(limit)
    .execute();
}
