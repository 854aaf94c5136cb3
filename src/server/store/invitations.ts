// Invitations to the server: links that make accounts. Rows only; codes are hashes here.
import type { Insertable, Selectable } from "kysely";
import { changesOne } from "./change.ts";
import type { Db } from "./db.ts";
import type { InvitationsTable } from "./sign-on-tables.ts";

export type InvitationRow = Omit<Selectable<InvitationsTable>, "code_hash">;

const COLUMNS = [
  "id",
  "email",
  "group",
  "quota",
  "max_uses",
  "used",
  "created_by",
  "created_at",
  "expires_at",
  "revoked_at",
] as const satisfies readonly (keyof InvitationRow)[];

/** Returns the id. */
export async function insertInvitation(
  tx: Db,
  row: Omit<Insertable<InvitationsTable>, "id">,
): Promise<number> {
  const { id } = await tx.insertInto("invitations").values(row).returning("id").executeTakeFirstOrThrow();
  return id;
}

/** The newest ones, whatever became of them. */
export function listInvitations(db: Db, limit: number): Promise<InvitationRow[]> {
  return db.selectFrom("invitations").select(COLUMNS).orderBy("id", "desc").limit(limit).execute();
}

/** The one with this code that can be used at a moment. Unit: seconds. */
export function findInvitation(db: Db, codeHash: string, nowSec: number): Promise<InvitationRow | undefined> {
  return db
    .selectFrom("invitations")
    .select(COLUMNS)
    .where("code_hash", "=", codeHash)
    .where("revoked_at", "=", 0)
    .where("expires_at", ">", nowSec)
    .whereRef("used", "<", "max_uses")
    .executeTakeFirst();
}

/** Takes one use of an invitation; of several at once exactly as many take one as it has. Returns whether it did. */
export function takeInvitation(tx: Db, id: number, nowSec: number): Promise<boolean> {
  return changesOne(
    tx
      .updateTable("invitations")
      .set((row) => ({ used: row("used", "+", 1) }))
      .where("id", "=", id)
      .where("revoked_at", "=", 0)
      .where("expires_at", ">", nowSec)
      .whereRef("used", "<", "max_uses"),
  );
}

/** Takes back an invitation. Returns whether that was still to do. */
export function revokeInvitation(tx: Db, id: number, nowSec: number): Promise<boolean> {
  return changesOne(
    tx
      .updateTable("invitations")
      .set({ revoked_at: nowSec })
      .where("id", "=", id)
      .where("revoked_at", "=", 0),
  );
}
