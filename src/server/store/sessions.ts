// Console sessions, known by the hash of their id alone.
import type { Insertable, Selectable } from "kysely";
import type { Db } from "./db.ts";
import type { SessionsTable } from "./tables.ts";

export type SessionRow = Selectable<SessionsTable>;

/** Adds a session. Call it in the transaction that looked whether its user may have one (requirements A06). */
export async function insertSession(db: Db, session: Insertable<SessionsTable>): Promise<void> {
  await db.insertInto("sessions").values(session).execute();
}

/** The session of a hashed id, ended by time or not; the caller judges. */
export function findSession(db: Db, idHash: string): Promise<SessionRow | undefined> {
  return db
    .selectFrom("sessions")
    .select(["id_hash", "user_id", "created_at", "last_seen"])
    .where("id_hash", "=", idHash)
    .executeTakeFirst();
}

/** Notes that the session is in use. Unit: seconds. */
export async function touchSession(db: Db, idHash: string, lastSeen: number): Promise<void> {
  await db.updateTable("sessions").set({ last_seen: lastSeen }).where("id_hash", "=", idHash).execute();
}

/** Ends one session; none is no fault. */
export async function deleteSession(db: Db, idHash: string): Promise<void> {
  await db.deleteFrom("sessions").where("id_hash", "=", idHash).execute();
}

/** Ends all sessions of a user, except one when given. */
export async function deleteSessionsOfUser(db: Db, userId: number, exceptHash?: string): Promise<void> {
  let query = db.deleteFrom("sessions").where("user_id", "=", userId);
  if (exceptHash !== undefined) query = query.where("id_hash", "!=", exceptHash);
  await query.execute();
}

/** Removes sessions that are too old or unused for too long. Units: seconds. */
export async function deleteExpiredSessions(
  db: Db,
  limits: { createdBefore: number; seenBefore: number },
): Promise<void> {
  await db.deleteFrom("sessions").where("last_seen", "<", limits.seenBefore).execute();
  await db.deleteFrom("sessions").where("created_at", "<", limits.createdBefore).execute();
}
