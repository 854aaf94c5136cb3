// Invitation codes and who came by them. What the plan pays is written by `money` only.
import { sql } from "kysely";
import { UserStatus } from "#contract/user.ts";
import { changesOne } from "./change.ts";
import type { Db } from "./db.ts";
import { countRows, type Page, pageOf } from "./page.ts";
import { findUserByAffCode, findUserById, type UserRow } from "./users.ts";

/** Who has this invitation code: as it is written, else in any case when only one has it so (requirements W20.8). */
export async function findAffOwner(db: Db, affCode: string): Promise<UserRow | undefined> {
  if (affCode === "") return undefined;
  const exact = await findUserByAffCode(db, affCode);
  if (exact) return exact;
  const [only, ...more] = await db
    .selectFrom("users")
    .select("id")
    .where(sql<boolean>`lower(aff_code) = lower(${affCode})`)
    .where("aff_code", "<>", "")
    .limit(2)
    .execute();
  return only && more.length === 0 ? findUserById(db, only.id) : undefined;
}

/** Gives a user who has none an invitation code. Returns whether it did. Throws: an error that `isTaken` recognises. */
export async function setAffCode(db: Db, userId: number, affCode: string): Promise<boolean> {
  return changesOne(
    db.updateTable("users").set({ aff_code: affCode }).where("id", "=", userId).where("aff_code", "=", ""),
  );
}

function friendsOf(db: Db, userId: number) {
  return db
    .selectFrom("users")
    .where("inviter_id", "=", userId)
    .where("inviter_id", "<>", 0)
    .where("status", "<>", UserStatus.deleted);
}

/** A page of those a user invited, newest first; who deleted the account is left out (requirements W17.2). */
export function listFriends(
  db: Db,
  userId: number,
  page: Page,
): Promise<{ username: string; created_at: number }[]> {
  return pageOf(friendsOf(db, userId).select(["username", "created_at"]), page, []).execute();
}

export function countFriends(db: Db, userId: number): Promise<number> {
  return countRows(friendsOf(db, userId));
}
