// The usage log: pages by filter at ten million rows. Sums live in log-stats.ts; consumption entries are written by `money`.
import { type Insertable, type RawBuilder, type Selectable, sql } from "kysely";
import { LogType } from "#contract/log.ts";
import type { Db } from "./db.ts";
import { type IdRange, idRange, noteSpan } from "./log-spans.ts";
import { bounds, idOf, keywordOf, MAX_OFFSET, type Page, startsWith } from "./page.ts";
import type { LogsTable } from "./tables.ts";

export type LogRow = Selectable<LogsTable>;
export type NewLog = Omit<Insertable<LogsTable>, "id">;

/** "" and 0 = not filtered; times in seconds, both ends included (contract 3.9). */
export interface LogFilter {
  readonly userId?: number | undefined;
  readonly type?: number | undefined;
  readonly username?: string | undefined;
  readonly tokenName?: string | undefined;
  readonly modelName?: string | undefined;
  readonly channelId?: number | undefined;
  readonly start?: number | undefined;
  readonly end?: number | undefined;
}

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
] as const satisfies readonly (keyof LogRow)[];

/** Writes one entry that is not a call: top-up, management, system. Returns its id. */
export async function insertLog(db: Db, log: NewLog): Promise<number> {
  if (!db.isTransaction) return db.transaction().execute((tx) => insertLog(tx, log));
  const { id } = await db.insertInto("logs").values(log).returning("id").executeTakeFirstOrThrow();
  await noteSpan(db, log.created_at, id);
  return id;
}

/**
 * The columns a filter narrows, the one that leaves fewest rows first. Its index drives the search; the others are written
 * so that no index can be meant, because a planner without statistics would now and then take a worse one.
 */
const DRIVERS = [
  ["user_id", "userId"],
  ["token_name", "tokenName"],
  ["channel_id", "channelId"],
  ["model_name", "modelName"],
] as const;

function narrowing(filter: LogFilter): RawBuilder<boolean>[] {
  const wanted = DRIVERS.flatMap(([column, key]) => (filter[key] ? [{ column, value: filter[key] }] : []));
  return wanted.map(({ column, value }, index) => {
    if (index === 0) return sql<boolean>`${sql.ref(column)} = ${value}`;
    const same = typeof value === "number" ? sql`${sql.ref(column)} + 0` : sql`${sql.ref(column)} || ''`;
    return sql<boolean>`${same} = ${value}`;
  });
}

function logsOf(db: Db, filter: LogFilter, range: IdRange | undefined) {
  let query = db.selectFrom("logs");
  for (const condition of narrowing(filter)) query = query.where(condition);
  if (filter.type) query = query.where("type", "=", filter.type);
  // Says to the planner, which sees no values, that the index of entries that are not calls will do.
  if (filter.type && filter.type !== LogType.consume)
    query = query.where("type", "<>", sql.lit(LogType.consume));
  if (filter.username) query = query.where("username", "=", filter.username);
  if (!range) return query;
  // Only rows at the edges of the time are looked at for it.
  const isOfTime = sql<boolean>`(id BETWEEN ${range.sureFirst} AND ${range.sureLast}
    OR created_at BETWEEN ${filter.start ?? 0} AND ${filter.end || Number.MAX_SAFE_INTEGER})`;
  return query.where("id", ">=", range.first).where("id", "<=", range.last).where(isOfTime);
}

/**
 * Turns a user name into the id of who has it now, since entries are found by id; entries keep the name of their time. A
 * name that nobody has now stays: the entries of a user who is gone are found by it, slowly.
 */
export async function resolveUser(db: Db, filter: LogFilter): Promise<LogFilter> {
  if (!filter.username) return filter;
  const user = await db
    .selectFrom("users")
    .select("id")
    .where("username", "=", filter.username)
    .executeTakeFirst();
  if (!user) return filter;
  // Both a name and an id were given, of two users: nothing can match.
  const userId = filter.userId && filter.userId !== user.id ? -1 : user.id;
  return { ...filter, username: "", userId };
}

/** The query over the rows of a filter; undefined when its times hold none. */
async function filtered(db: Db, given: LogFilter) {
  const filter = await resolveUser(db, given);
  const start = filter.start ?? 0;
  const end = filter.end ?? 0;
  if (start === 0 && end === 0) return logsOf(db, filter, undefined);
  const range = await idRange(db, start, end);
  return range && logsOf(db, filter, range);
}

/** An entry with the name its channel has or had. */
export type ListedLog = LogRow & { readonly channel_name: string };

/** A page of the log, newest first. With `beforeId` it goes on from there, at any depth. */
export async function listLogs(
  db: Db,
  filter: LogFilter,
  page: Page & { beforeId?: number | undefined },
): Promise<ListedLog[]> {
  const { limit, offset } = bounds(page);
  let query = await filtered(db, filter);
  if (!query) return [];
  if (page.beforeId !== undefined) query = query.where("id", "<", page.beforeId);
  // The ids first, from an index alone: rows that a far page skips are not read.
  const ids = query.select("id").orderBy("id", "desc").limit(limit).offset(offset);
  const rows = await db
    .selectFrom("logs")
    .select(COLUMNS)
    .where("id", "in", ids)
    .orderBy("id", "desc")
    .execute();
  return nameChannels(db, rows);
}

/** Names by one more query: a join would walk the skipped rows of a far page too. */
async function nameChannels(db: Db, rows: readonly LogRow[]): Promise<ListedLog[]> {
  const ids = [...new Set(rows.map((row) => row.channel_id))].filter((id) => id !== 0);
  const channels =
    ids.length === 0
      ? []
      : await db.selectFrom("channels").select(["id", "name"]).where("id", "in", ids).execute();
  const names = new Map(channels.map((channel) => [channel.id, channel.name]));
  return rows.map((row) => ({ ...row, channel_name: names.get(row.channel_id) ?? "" }));
}

/** Rows that match, counted up to what `listLogs` can page through (100,000). */
export async function countLogs(db: Db, filter: LogFilter): Promise<number> {
  const query = await filtered(db, filter);
  if (!query) return 0;
  const some = query.select("id").orderBy("id", "desc").limit(MAX_OFFSET).as("some");
  const row = await db.selectFrom(some).select(sql<number>`count(*)`.as("total")).executeTakeFirstOrThrow();
  return row.total;
}

/** The newest 100 entries whose type is the keyword or whose content begins with it (contract 3.9). */
export async function searchLogs(db: Db, args: { keyword: string; userId?: number }): Promise<ListedLog[]> {
  const keyword = keywordOf(args.keyword);
  let query = db.selectFrom("logs").select(COLUMNS);
  if (args.userId !== undefined) query = query.where("user_id", "=", args.userId);
  if (keyword !== "") {
    query = query.where((where) =>
      where.or([where("type", "=", idOf(keyword) ?? -1), startsWith("content", keyword)]),
    );
  }
  return nameChannels(db, await query.orderBy("id", "desc").limit(100).execute());
}

/** Rows one statement of a clearing removes, so that nobody waits long for the writer (contract 3.9). */
const CLEAR_ROWS = 5_000;

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
