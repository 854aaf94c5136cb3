// Tasks of upstreams: rows in, rows out. What changes a row names what it was before, so that of several processes one does it.
import type { Selectable, SelectQueryBuilder } from "kysely";
import { ENDED_STATES } from "#contract/video.ts";
import { changesOne } from "./change.ts";
import type { Db } from "./db.ts";
import { bounds, countRows, type Page } from "./page.ts";
import type { Tables } from "./tables.ts";
import type { TasksTable } from "./tables-tasks.ts";

export type TaskRow = Selectable<TasksTable>;

export type NamedTask = TaskRow & { readonly username: string; readonly channel_name: string | null };

/** Whose tasks: those of a person that an account pays for. */
export interface TaskOwner {
  readonly userId: number;
  readonly payerId: number;
}

export async function insertTask(db: Db, row: Omit<TaskRow, "id">): Promise<number> {
  const { id } = await db.insertInto("tasks").values(row).returning("id").executeTakeFirstOrThrow();
  return id;
}

/** Takes away one that never went out. */
export async function deleteTask(db: Db, id: number): Promise<void> {
  await db.deleteFrom("tasks").where("id", "=", id).where("outcome", "=", "").execute();
}

/** One of the owner's. */
export function findTaskOf(db: Db, owner: TaskOwner, taskId: string): Promise<TaskRow | undefined> {
  return ownedBy(db.selectFrom("tasks").selectAll(), owner).where("task_id", "=", taskId).executeTakeFirst();
}

function ownedBy<Row>(query: SelectQueryBuilder<Tables, "tasks", Row>, { userId, payerId }: TaskOwner) {
  return query.where("user_id", "=", userId).where("payer_id", "=", payerId).where("deleted_at", "=", 0);
}

/** Those of an owner behind one of them, in the order of their making or against it. */
export function listTasksOf(
  db: Db,
  owner: TaskOwner,
  {
    kind,
    after,
    limit,
    isAscending,
  }: { kind: TaskRow["kind"]; after: number | undefined; limit: number; isAscending: boolean },
): Promise<TaskRow[]> {
  const mine = ownedBy(db.selectFrom("tasks").selectAll(), owner).where("kind", "=", kind);
  const rest = after === undefined ? mine : mine.where("id", isAscending ? ">" : "<", after);
  return rest
    .orderBy("id", isAscending ? "asc" : "desc")
    .limit(limit)
    .execute();
}

export interface TaskFilter {
  /** undefined = of all. */
  readonly userId?: number | undefined;
  readonly isOpen?: boolean | undefined;
}

/** A page for the console, the newest first. */
export function listTasks(db: Db, filter: TaskFilter, page: Page): Promise<NamedTask[]> {
  const { limit, offset } = bounds(page);
  return filtered(
    db
      .selectFrom("tasks")
      .innerJoin("users", "users.id", "tasks.user_id")
      .leftJoin("channels", "channels.id", "tasks.channel_id")
      .selectAll("tasks")
      .select(["users.username", "channels.name as channel_name"]),
    filter,
  )
    .orderBy("tasks.id", "desc")
    .limit(limit)
    .offset(offset)
    .execute();
}

export function countTasks(db: Db, filter: TaskFilter): Promise<number> {
  return countRows(filtered(db.selectFrom("tasks"), filter));
}

function filtered<Joined extends "tasks" | "users" | "channels", Row>(
  query: SelectQueryBuilder<Tables, Joined, Row>,
  { userId, isOpen }: TaskFilter,
): SelectQueryBuilder<Tables, Joined, Row> {
  // The tables that are joined besides have none of these names.
  const tasks = query as unknown as SelectQueryBuilder<Tables, "tasks", Row>;
  const shown =
    userId === undefined
      ? tasks
      : tasks.where("tasks.user_id", "=", userId).where("tasks.deleted_at", "=", 0);
  const open = isOpen === true ? shown.where("tasks.is_booked", "=", 0) : shown;
  return open as unknown as SelectQueryBuilder<Tables, Joined, Row>;
}

export function findTask(db: Db, id: number): Promise<TaskRow | undefined> {
  return db.selectFrom("tasks").selectAll().where("id", "=", id).executeTakeFirst();
}

/** The names that its person and its token have now, and the token's project; undefined = the person is gone. */
export function findTaskCaller(db: Db, { user_id, token_id }: Pick<TaskRow, "user_id" | "token_id">) {
  return db
    .selectFrom("users")
    .leftJoin("tokens", (join) => join.on("tokens.id", "=", token_id))
    .select(["users.username", "tokens.name as token_name", "tokens.project_id"])
    .where("users.id", "=", user_id)
    .executeTakeFirst();
}

/** Those that are due, the longest overdue first. */
export function listDueTasks(db: Db, now: number, limit: number): Promise<TaskRow[]> {
  return db
    .selectFrom("tasks")
    .selectAll()
    .where("is_booked", "=", 0)
    .where("next_at", "<=", now)
    .orderBy("next_at")
    .limit(limit)
    .execute();
}

/** Takes the turn to look after a task, until `next_at`. Returns whether it was free. */
export function claimTask(db: Db, seen: TaskRow, next_at: number): Promise<boolean> {
  return changesOne(
    db
      .updateTable("tasks")
      .set({ next_at, polls: seen.polls + 1 })
      .where("id", "=", seen.id)
      .where("polls", "=", seen.polls)
      .where("is_booked", "=", 0),
  );
}

/** Changes one whose outcome is open. Returns whether it was. */
export function changeOpenTask(
  db: Db,
  id: number,
  change: Partial<Omit<TaskRow, "id" | "request_id" | "kind">>,
): Promise<boolean> {
  return changesOne(db.updateTable("tasks").set(change).where("id", "=", id).where("outcome", "=", ""));
}

/** Notes that the ledger has what was decided. */
export async function markTaskBooked(db: Db, id: number): Promise<void> {
  await db.updateTable("tasks").set({ is_booked: 1 }).where("id", "=", id).execute();
}

/** Hides one that has ended from its owner. Returns whether it had. */
export function hideTask(db: Db, id: number, now: number): Promise<boolean> {
  return changesOne(
    db
      .updateTable("tasks")
      .set({ deleted_at: now, result_sealed: "" })
      .where("id", "=", id)
      .where("is_booked", "=", 1)
      .where("deleted_at", "=", 0),
  );
}

/** Forgets those that ended before a moment, with their parts; what they cost stands in the ledger. Returns how many. */
export async function deleteEndedTasks(db: Db, before: number, limit: number): Promise<number> {
  const old = await db
    .selectFrom("tasks")
    .select("id")
    .where("is_booked", "=", 1)
    .where("ended_at", "<", before)
    .limit(limit)
    .execute();
  const ids = old.map(({ id }) => id);
  if (ids.length === 0) return 0;
  await db.deleteFrom("batch_parts").where("task_id", "in", ids).execute();
  await db.deleteFrom("tasks").where("id", "in", ids).execute();
  return ids.length;
}

/** Whether nothing changes any more, money included. */
export function hasEnded({ state, is_booked }: Pick<TaskRow, "state" | "is_booked">): boolean {
  return is_booked === 1 && ENDED_STATES.includes(state);
}
