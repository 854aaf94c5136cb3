// Changes of users by those above them: conditional on what the rule was decided on, and aware of the last super
// administrator. Balances are not touched.
import { sql } from "kysely";
import { Role, UserStatus } from "#contract/user.ts";
import { changesOne } from "./change.ts";
import type { Db } from "./db.ts";
import { deleteFactorReset } from "./factor-resets.ts";
import { eraseInvoicesOf } from "./invoices.ts";
import { holdName } from "./names.ts";
import { countRows } from "./page.ts";
import { erasePayoutsOf } from "./payouts.ts";
import { deleteSessionsOfUser } from "./sessions.ts";
import { eraseStatementsOf } from "./statements.ts";
import { leaveTeams } from "./teams.ts";
import { removeTokensOfUser } from "./tokens.ts";
import { type UserChange, withMailbox } from "./users.ts";

/** A user as the caller saw it when deciding. */
export interface Seen {
  readonly id: number;
  readonly role: number;
  readonly status: number;
}

/** Changes a user who still has the role and status that were seen; a name inside a transaction. Returns whether it had. */
export async function changeSeenUser(db: Db, seen: Seen, change: UserChange): Promise<boolean> {
  const { id, role, status } = seen;
  const asSeen = db.updateTable("users").where((where) => where.and({ id, role, status }));
  const isAsSeen = await changesOne(asSeen.set(withMailbox(change)));
  if (isAsSeen && change.username !== undefined) await holdName(db, seen.id, change.username);
  return isAsSeen;
}

/** Key of the advisory lock below; any constant that no other lock has. */
const SUPERS_LOCK = 7_260_551_205;

/**
 * Counts the enabled super administrators beside one user, and keeps everybody else who asks waiting until the transaction
 * `tx` ends: two who remove each other are judged one after the other (requirements A23).
 */
export async function countOtherSupers(
  tx: Db,
  dialect: "sqlite" | "postgres",
  userId: number,
): Promise<number> {
  // On SQLite the transaction itself has the only writer.
  if (dialect === "postgres") await sql`SELECT pg_advisory_xact_lock(${SUPERS_LOCK})`.execute(tx);
  return countRows(supers(tx).where("id", "<>", userId));
}

function supers(db: Db) {
  return db.selectFrom("users").where("role", ">=", Role.root).where("status", "=", UserStatus.enabled);
}

/** The enabled super administrators, oldest first. */
export function listSupers(db: Db): Promise<{ id: number; username: string }[]> {
  return supers(db).select(["id", "username"]).orderBy("id").execute();
}

/**
 * Deletes a user for everybody but the ledger: the name is free again, what proved who it was is gone, sessions and keys
 * die (requirements W3.3, A26, P07). Returns whether the user was still as seen. Unit of `now`: seconds.
 */
export async function deleteUser(tx: Db, seen: Seen, args: { name: string; now: number }): Promise<boolean> {
  const isDeleted = await changeSeenUser(tx, seen, {
    username: args.name,
    display_name: "",
    password: "",
    email: "",
    github_id: "",
    wechat_id: "",
    access_token_hash: null,
    aff_code: "",
    status: UserStatus.deleted,
  });
  if (!isDeleted) return false;
  await deleteSessionsOfUser(tx, seen.id);
  await removeTokensOfUser(tx, seen.id, args.now);
  await leaveTeams(tx, seen.id, args.now);
  await erasePayoutsOf(tx, seen.id);
  await eraseInvoicesOf(tx, seen.id);
  await eraseStatementsOf(tx, seen.id);
  await deleteFactorReset(tx, seen.id);
  return true;
}

/** Ends every session of a user but one, and the access token with them. */
export async function revokeAccess(tx: Db, userId: number, exceptSessionHash?: string): Promise<void> {
  await deleteSessionsOfUser(tx, userId, exceptSessionHash);
  await tx.updateTable("users").set({ access_token_hash: null }).where("id", "=", userId).execute();
}
