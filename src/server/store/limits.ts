// Limits of calls and what they have counted by window. Rows only; windows are written by `money`, but for the mark of the warning.
import { type Insertable, type Selectable, sql, type Updateable } from "kysely";
import { LIMIT_SUBJECTS, OWNED_SUBJECTS } from "#contract/limit-words.ts";
import type { Db } from "./db.ts";
import { inParts } from "./in-parts.ts";
import type { LimitsTable, LimitWindowsTable } from "./limit-tables.ts";
import { bounds, countRows, type Page } from "./page.ts";
import { lockRows } from "./row-locks.ts";

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

/** Limits of some subjects; oldest first. */
export async function listLimits(
  db: Db,
  { subject, ids }: { readonly subject: LimitRow["subject"]; readonly ids: readonly number[] },
): Promise<LimitRow[]> {
  const rows = await inParts(ids, (some) =>
    db
      .selectFrom("limits")
      .selectAll()
      .where("deleted_at", "=", 0)
      .where("subject", "=", subject)
      .where("subject_id", "in", some)
      .execute(),
  );
  return rows.sort((a, b) => a.id - b.id);
}

/** Of the limits that administrators set: those of one user, or the one with this id; 0 = all. */
export interface ManagedFilter {
  readonly userId: number | undefined;
  readonly id: number;
}

function managed(db: Db, { userId, id }: ManagedFilter) {
  const query = db
    .selectFrom("limits")
    .where("deleted_at", "=", 0)
    .where("subject", "not in", OWNED_SUBJECTS);
  const chosen = id === 0 ? query : query.where("id", "=", id);
  return userId === undefined
    ? chosen
    : chosen.where("subject", "=", "user").where("subject_id", "=", userId);
}

/** A page of the limits that administrators set; oldest first. */
export function listManagedLimits(db: Db, args: ManagedFilter & Page): Promise<LimitRow[]> {
  const { limit, offset } = bounds(args);
  return managed(db, args).selectAll().orderBy("id").limit(limit).offset(offset).execute();
}

export function countManagedLimits(db: Db, filter: ManagedFilter): Promise<number> {
  return countRows(managed(db, filter));
}

/** A user as limits bind him. */
interface Bound {
  readonly userId: number;
  readonly group: string;
}

function binding(db: Db, { userId, group }: Bound) {
  const own = db.selectFrom("tokens").select("id").where("user_id", "=", userId).where("deleted_at", "=", 0);
  return db
    .selectFrom("limits")
    .where("deleted_at", "=", 0)
    .where((where) =>
      where.or([
        where("subject", "=", "user").and("subject_id", "=", userId),
        where("subject", "in", ["member", "group"]).and("subject_name", "=", group),
        where("subject", "=", "all"),
        where("subject", "=", "token").and("subject_id", "in", own),
      ]),
    );
}

/** The nearest to the user first. */
const NEARNESS = sql`CASE subject WHEN 'user' THEN 0 WHEN 'member' THEN 1 WHEN 'group' THEN 2 WHEN 'all' THEN 3 ELSE 4 END`;

/** A page of the limits that bind a user whichever of his tokens calls, and behind them those of his living tokens. */
export function listBindingLimits(db: Db, args: Bound & Page): Promise<LimitRow[]> {
  const { limit, offset } = bounds(args);
  return binding(db, args).selectAll().orderBy(NEARNESS).orderBy("id").limit(limit).offset(offset).execute();
}

export function countBindingLimits(db: Db, bound: Bound): Promise<number> {
  return countRows(binding(db, bound));
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

/** Some of them that were not removed. */
export function findLimitRows(db: Db, ids: readonly number[]): Promise<LimitRow[]> {
  return inParts(ids, (some) =>
    db.selectFrom("limits").selectAll().where("deleted_at", "=", 0).where("id", "in", some).execute(),
  );
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

/** Has the days, weeks and months of all limits begin anew at a moment: what was counted by another calendar fills none of the new one. */
export async function restartCalendars(tx: Db, nowSec: number): Promise<void> {
  const calendars = await tx
    .selectFrom("limits")
    .select("id")
    .where("deleted_at", "=", 0)
    .where("time_window", "in", ["day", "week", "month"])
    .execute();
  await lockRows(
    tx,
    "limits",
    calendars.map(({ id }) => id),
  );
  await tx
    .updateTable("limits")
    .set({ since: nowSec })
    .where("deleted_at", "=", 0)
    .where("time_window", "in", ["day", "week", "month"])
    .execute();
}

/** Ends the limits of some members or projects. Unit of `now`: seconds. */
export async function endLimitsOf(
  tx: Db,
  { subject, ids }: { readonly subject: "seat" | "project"; readonly ids: readonly number[] },
  now: number,
): Promise<void> {
  const rows = await listLimits(tx, { subject, ids });
  const limitIds = rows.map(({ id }) => id);
  if (limitIds.length === 0) return;
  await lockRows(tx, "limits", limitIds);
  await tx.updateTable("limits").set({ deleted_at: now }).where("id", "in", limitIds).execute();
}

/** Raises a limit that is not raised at a moment, or ends a raise. Returns whether it was there to be changed so. */
export async function raiseLimit(
  db: Db,
  id: number,
  change: Pick<LimitRow, "boost_amount" | "boost_until" | "boost_reason">,
  when: { readonly atSec: number } | "raised",
): Promise<boolean> {
  let query = db.updateTable("limits").set(change).where("id", "=", id).where("deleted_at", "=", 0);
  if (when !== "raised") query = query.where("boost_until", "<=", when.atSec);
  const { numUpdatedRows } = await query.executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** The newest windows of limits. */
export function findWindows(db: Db, limitIds: readonly number[], userId: number): Promise<LimitWindowRow[]> {
  return inParts(limitIds, (some) =>
    db
      .selectFrom("limit_windows")
      .selectAll()
      .where("limit_id", "in", some)
      .where("holder", "in", [...new Set([0, userId])])
      .where("is_current", "=", 1)
      .execute(),
  );
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
  const named = async (subject: LimitRow["subject"], find: (ids: readonly number[]) => Promise<Label[]>) => {
    const ids = new Set(rows.filter((row) => row.subject === subject).map((row) => row.subject_id));
    const found = await inParts([...ids], find);
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
