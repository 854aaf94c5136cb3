// Console sessions, known by the hash of their id alone. Times in seconds.
import type { Insertable, Selectable } from "kysely";
import { changesOne } from "./change.ts";
import type { Db } from "./db.ts";
import { distrustDevices } from "./devices.ts";
import type { SessionsTable } from "./tables.ts";

export type SessionRow = Selectable<SessionsTable>;

/** Adds a session. Call it in the transaction that looked whether its user may have one (requirements A06). */
export async function insertSession(db: Db, session: Insertable<SessionsTable>): Promise<void> {
  await db.insertInto("sessions").values(session).execute();
}

/** The session of a hashed id, ended by time or not; the caller judges. */
export function findSession(db: Db, idHash: string): Promise<SessionRow | undefined> {
  return db.selectFrom("sessions").selectAll().where("id_hash", "=", idHash).executeTakeFirst();
}

/** Notes that the session is in use, and from where. */
export async function touchSession(
  db: Db,
  idHash: string,
  seen: { lastSeen: number; address: string },
): Promise<void> {
  await db
    .updateTable("sessions")
    .set({ last_seen: seen.lastSeen, address: seen.address })
    .where("id_hash", "=", idHash)
    .execute();
}

/** Notes that the owner proved again to be there. */
export async function confirmSession(
  tx: Db,
  idHash: string,
  proof: { stepup_at: number; mfa_at?: number },
): Promise<void> {
  await tx.updateTable("sessions").set(proof).where("id_hash", "=", idHash).execute();
}

/** Lets a session look at the console of another user, or back at its own. Returns whether it looked `from` there. */
export function lookAs(
  tx: Db,
  idHash: string,
  { from, to, until }: { readonly from: number; readonly to: number; readonly until: number },
): Promise<boolean> {
  return changesOne(
    tx
      .updateTable("sessions")
      .set({ view_of: to, view_until: until })
      .where("id_hash", "=", idHash)
      .where("view_of", "=", from),
  );
}

/** The sessions of a user, newest first. */
export function listSessions(
  db: Db,
  userId: number,
  { seenFrom, createdFrom }: { seenFrom: number; createdFrom: number },
): Promise<SessionRow[]> {
  return db
    .selectFrom("sessions")
    .selectAll()
    .where("user_id", "=", userId)
    .where("last_seen", ">=", seenFrom)
    .where("created_at", ">=", createdFrom)
    .orderBy("last_seen", "desc")
    .limit(100)
    .execute();
}

/** Ends one session; none is no fault. */
export async function deleteSession(db: Db, idHash: string): Promise<void> {
  await db.deleteFrom("sessions").where("id_hash", "=", idHash).execute();
}

/** Ends one session of a user, and the trust in its browser. Returns whether there was one. */
export async function deleteSessionOfUser(tx: Db, userId: number, idHash: string): Promise<boolean> {
  const ended = await tx
    .deleteFrom("sessions")
    .where("user_id", "=", userId)
    .where("id_hash", "=", idHash)
    .returning("device_hash")
    .executeTakeFirst();
  if (ended && ended.device_hash !== "") await distrustDevices(tx, userId, ended.device_hash);
  return ended !== undefined;
}

/** Ends all sessions of a user, except one when given, and the trust in all browsers. */
export async function deleteSessionsOfUser(db: Db, userId: number, exceptHash?: string): Promise<void> {
  let query = db.deleteFrom("sessions").where("user_id", "=", userId);
  if (exceptHash !== undefined) query = query.where("id_hash", "!=", exceptHash);
  await query.execute();
  await distrustDevices(db, userId);
}

/** Removes sessions that are too old or unused for too long. Units: seconds. */
export async function deleteExpiredSessions(
  db: Db,
  limits: { createdBefore: number; seenBefore: number },
): Promise<void> {
  await db.deleteFrom("sessions").where("last_seen", "<", limits.seenBefore).execute();
  await db.deleteFrom("sessions").where("created_at", "<", limits.createdBefore).execute();
}
