// Windows of limits that their warning may be due for, and who is told. Rows only; of a window nothing but the mark `told` is written.
import { sql } from "kysely";
import type { Db } from "./db.ts";
import type { LimitRow, LimitWindowRow } from "./limits.ts";
import type { UserRow } from "./users.ts";

export interface WatchedWindow {
  readonly limit: LimitRow;
  readonly window: LimitWindowRow;
}

const ROLLING = ["rolling_5h", "rolling_day", "rolling_week", "rolling_month"] as const;
/** Windows of one look; the next one begins behind the last of them. */
const BATCH = 500;

/**
 * Newest windows that have booked four fifths of their limit and more without a warning, and such with one that may be used little
 * again. What of a rolling window counts now is not decided here. Ordered; `after` = the last one seen.
 */
export async function findWatchedWindows(
  db: Db,
  after: Pick<LimitWindowRow, "limit_id" | "holder"> = { limit_id: 0, holder: 0 },
): Promise<WatchedWindow[]> {
  const windows = await db
    .selectFrom("limit_windows as w")
    .innerJoin("limits as l", "l.id", "w.limit_id")
    .selectAll("w")
    .where("w.is_current", "=", 1)
    .where("l.deleted_at", "=", 0)
    .where("l.amount", ">", 0)
    .where((where) =>
      where.or([
        where("w.told", "=", 0).and(sql<boolean>`w.spent * 5 >= l.amount * 4`),
        where("w.told", "=", 1).and(sql<boolean>`w.spent * 2 < l.amount + l.boost_amount`),
        where("w.told", "=", 1).and("l.time_window", "in", ROLLING),
      ]),
    )
    .where((where) =>
      where.or([
        where("w.limit_id", ">", after.limit_id),
        where("w.limit_id", "=", after.limit_id).and("w.holder", ">", after.holder),
      ]),
    )
    .orderBy("w.limit_id")
    .orderBy("w.holder")
    .limit(BATCH)
    .execute();
  if (windows.length === 0) return [];
  const ids = [...new Set(windows.map(({ limit_id }) => limit_id))];
  const limits = await db.selectFrom("limits").selectAll().where("id", "in", ids).execute();
  const byId = new Map(limits.map((limit) => [limit.id, limit]));
  return windows.flatMap((window) => {
    const limit = byId.get(window.limit_id);
    return limit === undefined ? [] : [{ limit, window }];
  });
}

/** Sets the mark of the warning; false = another process was faster. */
export async function markTold(db: Db, window: LimitWindowRow, told: 0 | 1): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("limit_windows")
    .set({ told })
    .where("limit_id", "=", window.limit_id)
    .where("holder", "=", window.holder)
    .where("start", "=", window.start)
    .where("told", "=", 1 - told)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** The owner of a token that was not removed, and the team that pays for it; 0 = none. */
export async function findTokenOwner(
  db: Db,
  tokenId: number,
): Promise<{ userId: number; name: string; teamId: number } | undefined> {
  const row = await db
    .selectFrom("tokens")
    .leftJoin("teams", "teams.wallet_id", "tokens.wallet_id")
    .select(["tokens.user_id", "tokens.name", "teams.id as team_id"])
    .where("tokens.id", "=", tokenId)
    .where("tokens.deleted_at", "=", 0)
    .executeTakeFirst();
  return row === undefined ? undefined : { userId: row.user_id, name: row.name, teamId: row.team_id ?? 0 };
}

/** Who is told of a limit of a member (by the membership's id), a project or a team (by its wallet's id): the member, or the owner. */
export function findTeamOwner(
  db: Db,
  subject: "seat" | "project" | "team",
  id: number,
): Promise<{ userId: number; name: string; teamId: number } | undefined> {
  const seats = db
    .selectFrom("team_members")
    .innerJoin("teams", "teams.id", "team_members.team_id")
    .select(["team_members.user_id as userId", "teams.name as name", "teams.id as teamId"]);
  if (subject === "seat") return seats.where("team_members.id", "=", id).executeTakeFirst();
  const owners = seats.where("team_members.role", "=", "owner");
  if (subject === "team") return owners.where("teams.wallet_id", "=", id).executeTakeFirst();
  const project = db.selectFrom("team_projects").select("team_id").where("id", "=", id);
  return owners.where("teams.id", "in", project).executeTakeFirst();
}

/** Addresses of the users of a role and above who are in a state. */
export async function findAddresses(db: Db, of: Pick<UserRow, "role" | "status">): Promise<string[]> {
  const rows = await db
    .selectFrom("users")
    .select("email")
    .where("role", ">=", of.role)
    .where("status", "=", of.status)
    .where("email", "<>", "")
    .orderBy("id")
    .execute();
  return rows.map(({ email }) => email);
}
