// The trail of administrators' acts: appended to and read, never changed. Each row carries the hash of the one before, so
// that a row that was edited, removed or slipped in shows (requirements P05).
import { type Selectable, sql } from "kysely";
import type { AuditAction } from "#contract/audit-actions.ts";
import { sha256Hex } from "#server/secrets.ts";
import type { Db } from "./db.ts";
import { countRows, type Made, madeBetween, pageOf, type SortedPage } from "./page.ts";
import type { AuditTable } from "./tables-audit.ts";

export type AuditRow = Selectable<AuditTable>;

/** What is known of an act; number and hashes are given here. */
export type NewAudit = Omit<AuditRow, "id" | "previous_hash" | "hash"> & {
  readonly action: AuditAction;
  /** The teams in whose own lists it stands too; absent = none. */
  readonly teams?: readonly number[] | undefined;
};

const COLUMNS = [
  "id",
  "created_at",
  "actor_id",
  "actor_name",
  "action",
  "target",
  "detail",
  "address",
  "request_id",
  "previous_hash",
  "hash",
] as const satisfies readonly (keyof AuditRow)[];

/** Hash of the row before and of every field of this one, in a form that has one reading. */
function hashOf(row: Omit<AuditRow, "hash">): string {
  const fields = [
    row.id,
    row.created_at,
    row.actor_id,
    row.actor_name,
    row.action,
    row.target,
    row.detail,
    row.address,
    row.request_id,
  ];
  return sha256Hex(`${row.previous_hash}\n${JSON.stringify(fields)}`);
}

/**
 * Appends an act. Call it last in the transaction of the act itself: from here to the commit other acts wait, and when this
 * fails the act is undone with it (requirements Z13).
 */
export async function appendAudit(db: Db, entry: NewAudit): Promise<void> {
  if (!db.isTransaction) return db.transaction().execute((tx) => appendAudit(tx, entry));
  const { teams = [], ...act } = entry;
  // The update takes the head's row lock on PostgreSQL; on SQLite the transaction has the only writer.
  const head = await db
    .updateTable("audit_head")
    .set((update) => ({ last_id: update("last_id", "+", 1) }))
    .where("one", "=", 1)
    .returning(["last_id", "last_hash"])
    .executeTakeFirstOrThrow();
  const unhashed = { ...act, id: head.last_id, previous_hash: head.last_hash };
  const hash = hashOf(unhashed);
  await db
    .insertInto("audit")
    .values({ ...unhashed, hash })
    .execute();
  const shown = teams.map((team_id) => ({ team_id, audit_id: head.last_id }));
  if (shown.length > 0) await db.insertInto("team_audit").values(shown).execute();
  await db.updateTable("audit_head").set({ last_hash: hash }).where("one", "=", 1).execute();
}

/** What is absent, 0 or "" is not filtered. */
export interface AuditFilter extends Made {
  readonly actorId?: number;
  /** The name at the time, alone or with a service account. */
  readonly actorName?: string;
  /** Whole action or its head up to a dot, e.g. `channel`. */
  readonly action?: string;
  readonly target?: string;
  /** Only the acts in the list of this team. */
  readonly teamId?: number;
  /** Only these actions. */
  readonly actions?: readonly AuditAction[] | undefined;
}

/** All acts, or those in the list of a team, which has an index of its own. */
function actsOf(db: Db, teamId: number | undefined) {
  const all = db.selectFrom("audit");
  if (teamId === undefined) return all;
  return all
    .innerJoin("team_audit", "team_audit.audit_id", "audit.id")
    .where("team_audit.team_id", "=", teamId) as unknown as typeof all; // only its columns are selected
}

function filtered(db: Db, filter: AuditFilter) {
  const { actorId = 0, actorName = "", action = "", target = "", teamId, actions } = filter;
  let query = madeBetween(actsOf(db, teamId), "created_at", filter);
  if (actions !== undefined) query = query.where("action", "in", actions);
  if (actorId !== 0) query = query.where("actor_id", "=", actorId);
  if (actorName !== "")
    query = query.where((where) =>
      where.or([
        where("actor_name", "=", actorName),
        // Those of his service accounts.
        where(sql`substr(actor_name, 1, ${[...actorName].length + 1})`, "=", `${actorName}/`),
      ]),
    );
  if (target !== "") query = query.where("target", "=", target);
  if (action === "") return query;
  // "/" is the character after ".": everything that begins with `action.`.
  return query.where((where) =>
    where.or([
      where("action", "=", action),
      where.and([
        where(sql`action`, ">=", sql<string>`${`${action}.`}`),
        where(sql`action`, "<", sql<string>`${`${action}/`}`),
      ]),
    ]),
  );
}

/** A page of the trail, newest first. */
export function listAudit(db: Db, filter: AuditFilter, page: SortedPage): Promise<AuditRow[]> {
  const newest = filter.teamId === undefined ? sql<number>`id` : sql<number>`audit_id`;
  return pageOf(filtered(db, filter).select(COLUMNS), page, [], newest).execute();
}

/** The details of one kind of act on a target since a moment. Unit: seconds. Acts of that kind are few. */
export async function listDetails(
  db: Db,
  {
    since,
    ...acts
  }: Pick<AuditFilter, "actorId" | "target"> & { readonly action: AuditAction; readonly since: number },
): Promise<string[]> {
  const rows = await filtered(db, { ...acts, start: since })
    .select("detail")
    .execute();
  return rows.map(({ detail }) => detail);
}

export function countAudit(db: Db, filter: AuditFilter): Promise<number> {
  return countRows(filtered(db, filter));
}

/** What a check of the chain found. `brokenId` is the first row that is not as it was written; 0 = none. */
export interface AuditCheck {
  readonly checked: number;
  readonly brokenId: number;
}

/** Rows hashed between two looks at the database. */
const CHECK_ROWS = 1_000;

/** The check under way. */
const running = new WeakMap<Db, Promise<AuditCheck>>();

/**
 * Recomputes the chain from its first row to its head. It reads the whole table, so there is one at a time: who asks meanwhile is
 * told what that one finds.
 */
export function verifyAudit(db: Db): Promise<AuditCheck> {
  const check = running.get(db) ?? verifyChain(db).finally(() => running.delete(db));
  running.set(db, check);
  return check;
}

async function verifyChain(db: Db): Promise<AuditCheck> {
  // The head first: rows that are appended meanwhile are beyond it and not looked at.
  const head = await db
    .selectFrom("audit_head")
    .select(["last_id", "last_hash"])
    .where("one", "=", 1)
    .executeTakeFirstOrThrow();
  let checked = 0;
  let previous = "";
  while (checked < head.last_id) {
    const rows = await db
      .selectFrom("audit")
      .select(COLUMNS)
      .where("id", ">", checked)
      .where("id", "<=", head.last_id)
      .orderBy("id")
      .limit(CHECK_ROWS)
      .execute();
    for (const row of rows) {
      const isWhole = row.id === checked + 1 && row.previous_hash === previous && row.hash === hashOf(row);
      if (!isWhole) return { checked, brokenId: checked + 1 };
      checked += 1;
      previous = row.hash;
    }
    if (rows.length === 0) return { checked, brokenId: checked + 1 };
  }
  return previous === head.last_hash ? { checked, brokenId: 0 } : { checked, brokenId: head.last_id };
}
