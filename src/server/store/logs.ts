// The usage log: pages by filter at ten million rows. Sums live in log-stats.ts; consumption entries are written by `money`.
import { type Insertable, type Selectable, type SelectQueryBuilder, sql } from "kysely";
import type { Db } from "./db.ts";
import { type FailedAttempt, parseAttempts } from "./failed-attempts.ts";
import { type LogFilter, type LogPlan, logsOf, newestOnly, planLogs } from "./log-filter.ts";
import { noteSpan } from "./log-spans.ts";
import { byToken } from "./log-tags.ts";
import { bounds, idOf, keywordOf, type Page, startsWith } from "./page.ts";
import { spanOf } from "./span.ts";
import type { Tables } from "./tables.ts";
import type { LogsTable } from "./tables-logs.ts";

export type LogRow = Selectable<LogsTable>;
export type NewLog = Omit<Insertable<LogsTable>, "id">;

const COLUMNS = [
  "id",
  "user_id",
  "created_at",
  "type",
  "content",
  "username",
  "token_id",
  "token_name",
  "model_name",
  "quota",
  "prompt_tokens",
  "completion_tokens",
  "cached_tokens",
  "channel_id",
  "request_id",
  "elapsed_time",
  "first_byte_time",
  "is_stream",
  "estimated",
  "trail",
  "key_id",
  "member_id",
  "project_id",
  "cost",
  "earned",
  "token_kinds",
  "price_version",
] as const satisfies readonly (keyof LogRow)[];

/** Writes one entry that is not a call: top-up, management, system. Returns its id. */
export async function insertLog(db: Db, log: NewLog): Promise<number> {
  if (!db.isTransaction) return db.transaction().execute((tx) => insertLog(tx, log));
  const { id } = await db.insertInto("logs").values(log).returning("id").executeTakeFirstOrThrow();
  await noteSpan(db, spanOf(log.created_at), [id]);
  return id;
}

/** Writes several entries that are not booked, all or none. Spans come last: settlements wait for the transaction that holds one. */
export async function insertLogs(db: Db, logs: readonly NewLog[]): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const rows = await tx.insertInto("logs").values(logs).returning(["id", "created_at"]).execute();
    for (const [span, together] of Map.groupBy(rows, (row) => spanOf(row.created_at))) {
      const ids = together.map(({ id }) => id);
      await noteSpan(tx, span, ids);
    }
  });
}

/** An entry with the names its channels have or had. */
export type ListedLog = Omit<LogRow, "trail"> & {
  readonly channel_name: string;
  /** "" = the call is of no project. */
  readonly project_name: string;
  readonly trail: readonly NamedFailure[];
};
type NamedFailure = FailedAttempt & { readonly channelName: string };

/** Entries that can be paged through; who wants older ones narrows the filter (requirements D04). */
const REACH = 50_000;
const REACH_OF_SEVERAL = 5_000;

/** How the rows of a filter are found: with a tag of each token by itself. */
async function plansOf(db: Db, filter: LogFilter): Promise<LogPlan[]> {
  const filters = (await byToken(db, filter)) ?? [];
  const plans = await Promise.all(filters.map((one) => planLogs(db, one)));
  return plans.filter((plan) => plan !== undefined);
}

/** The ids that each plan finds, one after the other; undefined = there is no plan. */
function idsOfAll(
  db: Db,
  plans: readonly LogPlan[],
  idsOf: (plan: LogPlan) => SelectQueryBuilder<Tables, "logs", { id: number }>,
) {
  const [first, ...more] = plans.map((plan) => db.selectFrom(idsOf(plan).as("one")).select("one.id as id"));
  return more.reduce((all, one) => all?.unionAll(one), first);
}

/** Entries that can be paged through: of a tag of several accounts fewer, since each is looked through by itself. */
function reachOf(plans: readonly LogPlan[]): number {
  return new Set(plans.map((plan) => plan.filter.userId)).size > 1 ? REACH_OF_SEVERAL : REACH;
}

/** A page of the log, newest first. With `beforeId` it goes on from there, at any depth. */
export async function listLogs(
  db: Db,
  filter: LogFilter,
  page: Page & { beforeId?: number | undefined },
): Promise<ListedLog[]> {
  const { limit, offset } = bounds(page);
  const plans = await plansOf(db, filter);
  if (offset >= reachOf(plans)) return [];
  const newest = (plan: LogPlan) => {
    const query = logsOf(db, plan, "by id").select("logs.id as id").orderBy("logs.id", "desc");
    return page.beforeId === undefined ? query : query.where("logs.id", "<", page.beforeId);
  };
  // Ids first, from the index alone: PostgreSQL would read each row before the page. Of several plans as many as the page may take of each.
  const isOne = plans.length === 1;
  const ids = isOne
    ? idsOfAll(db, plans, (plan) => newest(plan).limit(limit).offset(offset))
    : idsOfAll(db, plans, (plan) => newest(plan).limit(offset + limit));
  if (!ids) return [];
  const chosen = isOne ? ids : ids.orderBy("id", "desc").limit(limit).offset(offset);
  const rows = await db
    .selectFrom("logs")
    .select(COLUMNS)
    .where("logs.id", "in", chosen)
    .orderBy("logs.id", "desc")
    .execute();
  return nameChannels(db, rows);
}

/** One entry by its number. */
export function findLog(db: Db, id: number): Promise<LogRow | undefined> {
  return db.selectFrom("logs").select(COLUMNS).where("logs.id", "=", id).executeTakeFirst();
}

/** Names by one more query: a join would walk the skipped rows of a far page too. */
async function nameChannels(db: Db, rows: readonly LogRow[]): Promise<ListedLog[]> {
  const entries = rows.map((row) => ({ ...row, trail: parseAttempts(row.trail) }));
  const ids = entries.flatMap(({ channel_id, trail }) => [
    channel_id,
    ...trail.map(({ channelId }) => channelId),
  ]);
  const [names, projects] = await Promise.all([channelNames(db, ids), projectNames(db, rows)]);
  const nameOf = (id: number) => names.get(id) ?? "";
  return entries.map(({ trail, ...row }) => ({
    ...row,
    channel_name: nameOf(row.channel_id),
    project_name: projects.get(row.project_id) ?? "",
    trail: trail.map((failure) => ({ ...failure, channelName: nameOf(failure.channelId) })),
  }));
}

/** Names of channels by id, deleted ones included; ids may repeat, and 0 is none. */
export async function channelNames(db: Db, given: readonly number[]): Promise<ReadonlyMap<number, string>> {
  const ids = [...new Set(given)].filter((id) => id !== 0);
  if (ids.length === 0) return new Map();
  const rows = await db.selectFrom("channels").select(["id", "name"]).where("id", "in", ids).execute();
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Names of the projects of entries, closed ones too. */
async function projectNames(db: Db, entries: readonly LogRow[]): Promise<ReadonlyMap<number, string>> {
  const ids = [...new Set(entries.map(({ project_id }) => project_id))].filter((id) => id !== 0);
  if (ids.length === 0) return new Map();
  const rows = await db.selectFrom("team_projects").select(["id", "name"]).where("id", "in", ids).execute();
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Rows that match, counted up to what `listLogs` can page through. */
export async function countLogs(db: Db, filter: LogFilter): Promise<number> {
  const plans = await plansOf(db, filter);
  const reach = reachOf(plans);
  const ids = idsOfAll(db, plans, (plan) =>
    logsOf(db, plan, "in any order").select("logs.id as id").limit(reach),
  );
  if (!ids) return 0;
  const some = ids.limit(reach).as("some");
  const row = await db.selectFrom(some).select(sql<number>`count(*)`.as("total")).executeTakeFirstOrThrow();
  return row.total;
}

/** Entries a search brings (requirements W3.9). */
const FOUND = 100;

/**
 * The newest 100 entries whose type is the keyword or, among the newest 50,000, whose content begins with it
 * (requirements W3.9, D05).
 */
export async function searchLogs(db: Db, args: { keyword: string; userId?: number }): Promise<ListedLog[]> {
  const keyword = keywordOf(args.keyword);
  const byContent = await searchContent(db, keyword, args.userId);
  const type = idOf(keyword);
  if (type === undefined) return byContent;
  const byType = await listLogs(db, { type, userId: args.userId }, { page: 0, size: FOUND });
  const found = new Map([...byType, ...byContent].map((row) => [row.id, row]));
  return [...found.values()].sort((a, b) => b.id - a.id).slice(0, FOUND);
}

async function searchContent(db: Db, keyword: string, userId: number | undefined): Promise<ListedLog[]> {
  let query = db
    .selectFrom("logs")
    .select(COLUMNS)
    .where("id", ">", await newestOnly(db));
  if (userId !== undefined) query = query.where("user_id", "=", userId);
  if (keyword !== "") query = query.where(startsWith(db, "content", keyword));
  return nameChannels(db, await query.orderBy("id", "desc").limit(FOUND).execute());
}

/** Rows one statement of a clearing removes, so that no other statement waits long for the writer (requirements W3.9). */
const CLEAR_ROWS = 1_000;

/** Deletes entries of some types that are older than `before` (seconds), in batches. Returns how many. */
export async function clearLogs(db: Db, before: number, types: readonly number[]): Promise<number> {
  let cleared = 0;
  for (;;) {
    const batch = db
      .selectFrom("logs")
      .select("id")
      .where("created_at", "<", before)
      .where("type", "in", types)
      .orderBy("created_at")
      .limit(CLEAR_ROWS);
    const result = await db.deleteFrom("logs").where("id", "in", batch).executeTakeFirst();
    const count = Number(result.numDeletedRows);
    cleared += count;
    if (count < CLEAR_ROWS) return cleared;
  }
}
