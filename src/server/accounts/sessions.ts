// Console sessions: opaque ids whose hash alone is stored; idle and absolute lifetimes (requirements A01–A06).
import type { Insertable } from "kysely";
import { UserStatus } from "#contract/user.ts";
import { AHEAD_SEC, type Clock } from "#server/clock.ts";
import { randomId, type Secrets } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { isPassing } from "#server/store/fault.ts";
import {
  deleteExpiredSessions,
  deleteSession,
  findSession,
  insertSession,
  listSessions,
  type SessionRow,
  touchSession,
} from "#server/store/sessions.ts";
import type { SessionsTable } from "#server/store/tables.ts";
import { holdUser, type SeenColumns } from "#server/store/users.ts";

/** Absolute lifetime: 30 days (requirements A05). */
export const SESSION_MAX_SEC = 30 * 24 * 3600;
const IDLE_SEC = 7 * 24 * 3600;
/** `last_seen` is written at most once a minute. */
const TOUCH_SEC = 60;

export interface Sessions {
  /**
   * Opens a session and returns its id, the cookie's value; undefined when the account is not enabled or has changed since the
   * login proved its owner: a change ends the existing sessions, and none may follow (requirements A06). `beside` is written
   * in the same transaction.
   */
  start(
    userId: number,
    proven: SeenColumns,
    opening?: { readonly traits?: SessionTraits; readonly beside?: (tx: Db) => Promise<void> },
  ): Promise<string | undefined>;
  /** A valid session, which is noted to be used from this address. */
  find(id: string, address: string): Promise<SessionRow | undefined>;
  /** A valid session of this user. */
  get(id: string, userId: number): Promise<SessionRow | undefined>;
  /** The valid sessions of a user, last used first. */
  list(userId: number): Promise<SessionRow[]>;
  /** When a valid session of this user began, in seconds. */
  startOf(id: string, userId: number): Promise<number | undefined>;
  /** `beside` is written in the same transaction. */
  end(id: string, beside?: (tx: Db) => Promise<void>): Promise<void>;
}

/** What is known of a session when it begins. */
export type SessionTraits = Partial<
  Omit<Insertable<SessionsTable>, "id_hash" | "user_id" | "created_at" | "last_seen">
>;

function isLiving({ created_at, last_seen }: SessionRow, nowSec: number): boolean {
  const ageSec = nowSec - created_at;
  return ageSec >= -AHEAD_SEC && ageSec < SESSION_MAX_SEC && nowSec - last_seen < IDLE_SEC;
}

/** While the database cannot be written, reads still work (requirements F02); the lifetimes hold all the same. */
function unlessPassing(error: unknown): void {
  if (!isPassing(error)) throw error;
}

export function createSessions(deps: { db: Db; clock: Clock; secrets: Secrets }): Sessions {
  const { db, clock, secrets } = deps;
  return {
    async start(userId, proven, { traits, beside } = {}) {
      const id = randomId();
      const nowSec = clock.seconds();
      await deleteExpiredSessions(db, {
        createdBefore: nowSec - SESSION_MAX_SEC,
        seenBefore: nowSec - IDLE_SEC,
      });
      const session = {
        ...traits,
        id_hash: secrets.hash(id),
        user_id: userId,
        created_at: nowSec,
        last_seen: nowSec,
      };
      return db.transaction().execute(async (tx) => {
        if (!(await holdUser(tx, userId, { ...proven, status: UserStatus.enabled }))) return undefined;
        await insertSession(tx, session);
        await beside?.(tx);
        return id;
      });
    },
    async find(id, address) {
      const hash = secrets.hash(id);
      const session = await findSession(db, hash);
      if (!session) return undefined;
      const nowSec = clock.seconds();
      if (!isLiving(session, nowSec)) {
        await deleteSession(db, hash).catch(unlessPassing);
        return undefined;
      }
      if (Math.abs(nowSec - session.last_seen) >= TOUCH_SEC)
        await touchSession(db, hash, { lastSeen: nowSec, address }).catch(unlessPassing);
      return session;
    },
    async get(id, userId) {
      const session = await findSession(db, secrets.hash(id));
      return session?.user_id === userId && isLiving(session, clock.seconds()) ? session : undefined;
    },
    list(userId) {
      const nowSec = clock.seconds();
      return listSessions(db, userId, {
        seenFrom: nowSec - IDLE_SEC + 1,
        createdFrom: nowSec - SESSION_MAX_SEC + 1,
      });
    },
    async startOf(id, userId) {
      const session = await findSession(db, secrets.hash(id));
      return session?.user_id === userId ? session.created_at : undefined;
    },
    end: (id, beside) =>
      db.transaction().execute(async (tx) => {
        await deleteSession(tx, secrets.hash(id));
        await beside?.(tx);
      }),
  };
}
