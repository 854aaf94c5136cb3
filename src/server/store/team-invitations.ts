// Invitations to teams: links that make a user who opens them a member. Rows only; codes are hashes here.
import type { Insertable, Selectable } from "kysely";
import { changesOne } from "./change.ts";
import type { Db } from "./db.ts";
import type { TeamInvitationsTable } from "./team-tables.ts";

export type InvitationRow = Omit<Selectable<TeamInvitationsTable>, "code_hash">;

const COLUMNS = [
  "id",
  "team_id",
  "role",
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
  row: Omit<Insertable<TeamInvitationsTable>, "id">,
): Promise<number> {
  const { id } = await tx
    .insertInto("team_invitations")
    .values(row)
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}

/** The invitations of a team that can still be used at a moment, newest first. */
export function listInvitations(db: Db, teamId: number, nowSec: number): Promise<InvitationRow[]> {
  return usable(db, nowSec).where("team_id", "=", teamId).orderBy("id", "desc").execute();
}

function usable(db: Db, nowSec: number) {
  return db
    .selectFrom("team_invitations")
    .select(COLUMNS)
    .where("revoked_at", "=", 0)
    .where("expires_at", ">", nowSec)
    .whereRef("used", "<", "max_uses");
}

/** The one with this code that can be used now. */
export function findInvitation(db: Db, codeHash: string, nowSec: number): Promise<InvitationRow | undefined> {
  return usable(db, nowSec).where("code_hash", "=", codeHash).executeTakeFirst();
}

/** Takes one use of an invitation; of several at once exactly as many take one as it has. Returns whether it did. */
export function takeInvitation(tx: Db, id: number, nowSec: number): Promise<boolean> {
  return changesOne(
    tx
      .updateTable("team_invitations")
      .set((row) => ({ used: row("used", "+", 1) }))
      .where("id", "=", id)
      .where("revoked_at", "=", 0)
      .where("expires_at", ">", nowSec)
      .whereRef("used", "<", "max_uses"),
  );
}

/** Takes back an invitation of a team. Returns whether it could still be used. */
export function revokeInvitation(tx: Db, teamId: number, id: number, nowSec: number): Promise<boolean> {
  return changesOne(
    tx
      .updateTable("team_invitations")
      .set({ revoked_at: nowSec })
      .where("id", "=", id)
      .where("team_id", "=", teamId)
      .where("revoked_at", "=", 0),
  );
}
