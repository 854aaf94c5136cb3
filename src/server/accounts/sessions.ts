// Console sessions: opaque ids whose hash alone is stored; idle and absolute lifetimes (reliability A01–A06).
import type { Clock } from "#server/clock.ts";
import { randomId, type Secrets } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import {
  deleteExpiredSessions,
  deleteSession,
  deleteSessionsOfUser,
  findSession,
  insertSession,
  touchSession,
} from "#server/store/sessions.ts";

/** Absolute lifetime: 30 days (reliability A05). */
export const SESSION_MAX_SEC = 30 * 24 * 3600;
const IDLE_SEC = 7 * 24 * 3600;
/** `last_seen` is written at most once a minute. */
const TOUCH_SEC = 60;

export interface Sessions {
  /** Opens a session and returns its id, the cookie's value. */
  start(userId: number): Promise<string>;
  /** The user of a living session. */
  find(id: string): Promise<number | undefined>;
  /** When a living session of this user began, in seconds. */
  startOf(id: string, userId: number): Promise<number | undefined>;
  end(id: string): Promise<void>;
  /** Ends every session of a user, except one when given. */
  endAll(userId: number, exceptId?: string): Promise<void>;
}

export function createSessions(deps: { db: Db; clock: Clock; secrets: Secrets }): Sessions {
  const { db, clock, secrets } = deps;
  return {
    async start(userId) {
      const id = randomId();
      const nowSec = clock.seconds();
      await deleteExpiredSessions(db, {
        createdBefore: nowSec - SESSION_MAX_SEC,
        seenBefore: nowSec - IDLE_SEC,
      });
      await insertSession(db, {
        id_hash: secrets.hash(id),
        user_id: userId,
        created_at: nowSec,
        last_seen: nowSec,
      });
      return id;
    },
    async find(id) {
      const hash = secrets.hash(id);
      const session = await findSession(db, hash);
      if (!session) return undefined;
      const nowSec = clock.seconds();
      if (session.created_at + SESSION_MAX_SEC <= nowSec || session.last_seen + IDLE_SEC <= nowSec) {
        await deleteSession(db, hash);
        return undefined;
      }
      if (session.last_seen + TOUCH_SEC <= nowSec) await touchSession(db, hash, nowSec);
      return session.user_id;
    },
    async startOf(id, userId) {
      const session = await findSession(db, secrets.hash(id));
      return session?.user_id === userId ? session.created_at : undefined;
    },
    end: (id) => deleteSession(db, secrets.hash(id)),
    endAll: (userId, exceptId) =>
      deleteSessionsOfUser(db, userId, exceptId === undefined ? undefined : secrets.hash(exceptId)),
  };
}
