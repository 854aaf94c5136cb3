// How far users' quotas had fallen when they were last looked at, and what they have now. Times in seconds.
import { type Selectable, sql } from "kysely";
import { changesOne } from "./change.ts";
import type { Db } from "./db.ts";
import type { QuotaRemindersTable } from "./tables.ts";

export type ReminderRow = Selectable<QuotaRemindersTable>;

export interface UserBalance {
  readonly id: number;
  readonly email: string;
  readonly status: number;
  /** What the user has, what is set aside for running calls included. */
  readonly quota: number;
}

/** What each of these users was told last; no row = nothing yet. */
export function findReminders(db: Db, userIds: readonly number[]): Promise<ReminderRow[]> {
  return db
    .selectFrom("quota_reminders")
    .select(["user_id", "level", "low_sent_at", "empty_sent_at"])
    .where("user_id", "in", userIds)
    .execute();
}

/** What these users have, and where to write to them. */
export function findBalances(db: Db, userIds: readonly number[]): Promise<UserBalance[]> {
  return db
    .selectFrom("users")
    .select([
      "id",
      "email",
      "status",
      sql<number>`quota + coalesce((SELECT cast(sum(amount) AS bigint) FROM reservations
        WHERE reservations.user_id = users.id), 0)`.as("quota"),
    ])
    .where("id", "in", userIds)
    .execute();
}

/**
 * Moves a user to another level, if it still has the expected one (undefined = none is noted yet). Returns whether it had: of
 * several processes that look at once, one does.
 */
export async function moveReminder(
  db: Db,
  move: {
    userId: number;
    from: number | undefined;
    to: number;
    sent: { low_sent_at?: number; empty_sent_at?: number };
  },
): Promise<boolean> {
  const { userId, from, to, sent } = move;
  if (from === undefined) {
    const result = await db
      .insertInto("quota_reminders")
      .values({ user_id: userId, level: to, ...sent })
      .onConflict((conflict) => conflict.column("user_id").doNothing())
      .executeTakeFirst();
    return result.numInsertedOrUpdatedRows === 1n;
  }
  return changesOne(
    db
      .updateTable("quota_reminders")
      .set({ level: to, ...sent })
      .where("user_id", "=", userId)
      .where("level", "=", from),
  );
}
