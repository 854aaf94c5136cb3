// Limits of calls and what they have counted by window. Rows only; windows are written by `money`, but for the mark of the warning.
import type { Insertable, Selectable, Updateable } from "kysely";
import { LIMIT_SUBJECTS, OWNED_SUBJECTS } from "#contract/limit-words.ts";
import type { Db } from "./db.ts";
import type { LimitsTable, LimitWindowsTable } from "./limit-tables.ts";

export type LimitRow = Selectable<LimitsTable>;
export type NewLimit = Insertable<LimitsTable>;
export type LimitWindowRow = Selectable<LimitWindowsTable>;

/** Whose limits are meant. */
export interface Limited {
  readonly tokenId: number;
  readonly userId: number;
  readonly group: string;
  /** The wallet of the team that pays; absent = the user does. */
  readonly walletId?: number;
  /** The user's membership of that team. */
  readonly seatId?: number;
  /** The project of that team; 0 = none. */
  readonly projectId?: number;
}

/** All limits that calls of a token pass, from the token's upwards. */
export async function findCallerLimits(
  db: Db,
  { tokenId, userId, group, walletId = 0, seatId = 0, projectId = 0 }: Limited,
): Promise<LimitRow[]> {
  const rows = await db
    .selectFrom("limits")
    .selectAll()
    .where("deleted_at", "=", 0)
    .where((where) =>
      where.or([
        where("subject", "=", "token").and("subject_id", "=", tokenId),
        where("subject", "=", "user").and("subject_id", "=", userId),
        where("subject", "in", ["member", "group"]).and("subject_name", "=", group),
        where("subject", "=", "all"),
        ...(walletId === 0
          ? []
          : [
              where("subject", "=", "seat").and("subject_id", "=", seatId),
              where("subject", "=", "project").and("subject_id", "=", projectId),
              where("subject", "=", "team").and("subject_id", "=", walletId),
            ]),
      ]),
    )
    .orderBy("id")
    .execute();
  return rows.sort((a, b) => LIMIT_SUBJECTS.indexOf(a.subject) - LIMIT_SUBJECTS.indexOf(b.subject));
}

/** Limits of one subject, or of all that administrators set; oldest first. */
export function listLimits(
  db: Db,
  of?: { readonly subject: LimitRow["subject"]; readonly ids: readonly number[] },
): Promise<LimitRow[]> {
  let query = db.selectFrom("limits").selectAll().where("deleted_at", "=", 0);
  if (of === undefined) query = query.where("subject", "not in", OWNED_SUBJECTS);
  else if (of.ids.length === 0) return Promise.resolve([]);
  else query = query.where("subject", "=", of.subject).where("subject_id", "in", of.ids);
  return query.orderBy("id").execute();
}

/** The limits of a user's living tokens. */
export function findOwnTokenLimits(db: Db, userId: number): Promise<LimitRow[]> {
  return db
    .selectFrom("limits")
    .innerJoin("tokens", "tokens.id", "limits.subject_id")
    .selectAll("limits")
    .where("limits.subject", "=", "token")
    .where("limits.deleted_at", "=", 0)
    .where("tokens.user_id", "=", userId)
    .where("tokens.deleted_at", "=", 0)
    .orderBy("limits.id")
    .execute();
}

/** A limit that was not removed. */
export function findLimit(db: Db, id: number): Promise<LimitRow | undefined> {
  return db
    .selectFrom("limits")
    .selectAll()
    .where("id", "=", id)
    .where("deleted_at", "=", 0)
    .executeTakeFirst();
}

/** Returns the id. */
export async function insertLimit(db: Db, limit: NewLimit): Promise<number> {
  const row = await db.insertInto("limits").values(limit).returning("id").executeTakeFirstOrThrow();
  return row.id;
}

/** Changes or, by `deleted_at`, removes a limit. */
export async function updateLimit(db: Db, id: number, change: Updateable<LimitsTable>): Promise<void> {
  await db.updateTable("limits").set(change).where("id", "=", id).where("deleted_at", "=", 0).execute();
}

/** The newest windows of limits. */
export async function findWindows(db: Db, limitIds: readonly number[]): Promise<LimitWindowRow[]> {
  if (limitIds.length === 0) return [];
  return db
    .selectFrom("limit_windows")
    .selectAll()
    .where("limit_id", "in", limitIds)
    .where("is_current", "=", 1)
    .execute();
}

/** Whether a user is in this group. */
export async function hasGroupMember(db: Db, group: string): Promise<boolean> {
  const row = await db
    .selectFrom("users")
    .select("id")
    .where("group", "=", group)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** What tokens, users, members, projects and teams of limits are called, by `subject id`. */
export async function subjectLabels(
  db: Db,
  rows: readonly Pick<LimitRow, "subject" | "subject_id">[],
): Promise<ReadonlyMap<string, string>> {
  type Label = { readonly id: number; readonly label: string };
  const named = async (subject: LimitRow["subject"], find: (ids: number[]) => Promise<Label[]>) => {
    const ids = rows.filter((row) => row.subject === subject).map((row) => row.subject_id);
    const found = ids.length === 0 ? [] : await find(ids);
    return found.map(({ id, label }) => [`${subject} ${id}`, label] as const);
  };
  const seats = db.selectFrom("team_members").innerJoin("users", "users.id", "team_members.user_id");
  const labels = await Promise.all([
    named("token", (ids) =>
      db.selectFrom("tokens").select(["id", "name as label"]).where("id", "in", ids).execute(),
    ),
    named("user", (ids) =>
      db.selectFrom("users").select(["id", "username as label"]).where("id", "in", ids).execute(),
    ),
    named("seat", (ids) =>
      seats
        .select(["team_members.id as id", "username as label"])
        .where("team_members.id", "in", ids)
        .execute(),
    ),
    named("project", (ids) =>
      db.selectFrom("team_projects").select(["id", "name as label"]).where("id", "in", ids).execute(),
    ),
    named("team", (ids) =>
      db
        .selectFrom("teams")
        .select(["wallet_id as id", "name as label"])
        .where("wallet_id", "in", ids)
        .execute(),
    ),
  ]);
  return new Map(labels.flat());
}
