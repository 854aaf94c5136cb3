// A filter of the usage log → a query that an index answers at ten million rows (requirements N1). Reads only.
import { sql } from "kysely";
import { LogType } from "#contract/log.ts";
import { UserStatus } from "#contract/user.ts";
import { type Db, isPostgres, sumInt } from "./db.ts";
import { idRange } from "./log-spans.ts";
import { SPAN_SEC } from "./span.ts";
import type { LogSumsTable } from "./tables.ts";

/** "" and 0 = not filtered; times in seconds, both ends included (requirements W3.9). */
export interface LogFilter {
  readonly userId?: number | undefined;
  /** Who called, where the user is the wallet of a team. */
  readonly memberId?: number | undefined;
  /** Of a team: the account is its wallet then. */
  readonly projectId?: number | undefined;
  readonly type?: number | undefined;
  readonly username?: string | undefined;
  readonly tokenName?: string | undefined;
  readonly modelName?: string | undefined;
  readonly channelId?: number | undefined;
  readonly start?: number | undefined;
  readonly end?: number | undefined;
}

/** Entries among which is looked for what no index finds. */
const NEWEST = 50_000;

/**
 * Turns a user name into the id of who has it, or of a deleted user who had it last, since entries are found by id; entries
 * keep the name of their time. Any other name stays, and is looked for among the newest entries.
 */
export async function resolveUser(db: Db, filter: LogFilter): Promise<LogFilter> {
  if (!filter.username) return filter;
  const owner = (await findByName(db, filter.username)) ?? (await findDeleted(db, filter.username));
  if (owner === undefined) return filter;
  // Both a name and an id were given, of two users: nothing can match.
  const userId = filter.userId && filter.userId !== owner ? -1 : owner;
  return { ...filter, username: "", userId };
}

async function findByName(db: Db, username: string): Promise<number | undefined> {
  const user = await db.selectFrom("users").select("id").where("username", "=", username).executeTakeFirst();
  return user?.id;
}

/** The deleted user whose newest entry bears the name: deletion gives the name away (requirements W3.3). */
async function findDeleted(db: Db, username: string): Promise<number | undefined> {
  const user = await db
    .selectFrom("users")
    .select("users.id")
    .where("users.status", "=", UserStatus.deleted)
    .where((where) =>
      where(
        where
          .selectFrom("logs")
          .select("logs.username")
          .whereRef("logs.user_id", "=", "users.id")
          .orderBy("logs.id", "desc")
          .limit(1),
        "=",
        username,
      ),
    )
    .orderBy("users.id", "desc")
    .limit(1)
    .executeTakeFirst();
  return user?.id;
}

/** A project's calls are found among those of its team, by the wallet that paid for them; -1 = of no account. */
export async function resolveProject(db: Db, filter: LogFilter): Promise<LogFilter> {
  const { projectId, userId } = filter;
  if (!projectId) return filter;
  const team = await db
    .selectFrom("team_projects")
    .innerJoin("teams", "teams.id", "team_projects.team_id")
    .select("wallet_id")
    .where("team_projects.id", "=", projectId)
    .executeTakeFirst();
  const walletId = team?.wallet_id ?? -1;
  return { ...filter, userId: userId && userId !== walletId ? -1 : walletId };
}

/** Oldest and newest moment of the log, widened to whole spans. Unit: seconds. */
async function extent(db: Db): Promise<{ oldest: number; newest: number }> {
  const row: { oldest: number | null; newest: number | null } = await db
    .selectFrom("log_spans")
    .select((select) => [select.fn.min("span").as("oldest"), select.fn.max("span").as("newest")])
    .executeTakeFirstOrThrow();
  return { oldest: row.oldest ?? 0, newest: (row.newest ?? 0) + SPAN_SEC };
}

/** Takes away bounds that every entry is inside of: the console's window ends in an hour from now. */
async function dropIdleBounds(db: Db, filter: LogFilter): Promise<LogFilter> {
  if (!filter.start && !filter.end) return filter;
  const { oldest, newest } = await extent(db);
  return {
    ...filter,
    start: filter.start && filter.start > oldest ? filter.start : 0,
    end: filter.end && filter.end < newest ? filter.end : 0,
  };
}

/** Columns that have an index of their own which goes on with the id; it holds the columns it `covers` too. Only calls of teams are in some. */
export const DRIVERS = [
  {
    column: "member_id",
    field: "memberId",
    dimension: "member",
    covers: ["userId", "channelId", "modelName"],
    isOfTeams: true,
  },
  {
    column: "project_id",
    field: "projectId",
    dimension: "project",
    covers: ["userId", "channelId", "modelName"],
    isOfTeams: true,
  },
  {
    column: "user_id",
    field: "userId",
    dimension: "user",
    covers: ["channelId", "modelName"],
    isOfTeams: false,
  },
  { column: "token_name", field: "tokenName", dimension: "token", covers: ["userId"], isOfTeams: false },
  {
    column: "model_name",
    field: "modelName",
    dimension: "model",
    covers: ["userId", "channelId"],
    isOfTeams: false,
  },
  {
    column: "channel_id",
    field: "channelId",
    dimension: "channel",
    covers: ["userId", "modelName"],
    isOfTeams: false,
  },
] as const;

type Driver = (typeof DRIVERS)[number]["column"];

/** Reading a row costs about as much as passing over so many entries of an index. */
const ROW_COST = 20;

/** The column whose index is walked while the others are compared; undefined = none is filtered. */
async function chooseDriver(db: Db, filter: LogFilter): Promise<Driver | undefined> {
  // Entries that are not calls are few and have an index of their own.
  if (filter.type && filter.type !== LogType.consume) return undefined;
  const wanted = DRIVERS.filter(({ field }) => filter[field]);
  // PostgreSQL has statistics, and chooses by itself.
  if (wanted.length <= 1 || isPostgres(db)) return wanted[0]?.column;
  const costs = await Promise.all(
    wanted.map(async ({ dimension, field, covers }) => {
      // A member's calls are summed for each team.
      const key = field === "memberId" ? `${filter.userId} ${filter.memberId}` : String(filter[field]);
      const calls = await countCalls(db, dimension, key);
      const covered: readonly string[] = [field, ...covers];
      return calls * (wanted.every((other) => covered.includes(other.field)) ? 1 : ROW_COST);
    }),
  );
  return wanted[costs.indexOf(Math.min(...costs))]?.column;
}

/** Calls of a user, token, model or channel, by the sums of their hours. */
async function countCalls(db: Db, dimension: LogSumsTable["dimension"], key: string): Promise<number> {
  const { total } = await db
    .selectFrom("log_sums")
    .select((select) => sumInt(select.ref("requests")).as("total"))
    .where("dimension", "=", dimension)
    .where("key", "=", key)
    .executeTakeFirstOrThrow();
  return total;
}

/** What the rows of a filter are found by. */
export interface LogPlan {
  readonly filter: LogFilter;
  readonly driver: Driver | undefined;
  /** The ids that entries of these times can have; undefined = any. */
  readonly range: { readonly first: number; readonly last: number } | undefined;
}

/** Decides how to find the rows of a filter; undefined = there are none. */
export async function planLogs(db: Db, given: LogFilter): Promise<LogPlan | undefined> {
  const filter = await dropIdleBounds(db, await resolveProject(db, await resolveUser(db, given)));
  const driver = await chooseDriver(db, filter);
  const { start = 0, end = 0 } = filter;
  const range = start === 0 && end === 0 ? undefined : await idRange(db, start, end);
  if (range === undefined && (start !== 0 || end !== 0)) return undefined;
  if (!filter.username) return { filter, driver, range };
  const newest = await newestOnly(db);
  return {
    filter,
    driver,
    range: { first: Math.max(range?.first ?? 0, newest), last: range?.last ?? Number.MAX_SAFE_INTEGER },
  };
}

/** The id from which on names without an owner, and texts, are looked for. */
export async function newestOnly(db: Db): Promise<number> {
  const { last } = await db
    .selectFrom("logs")
    .select((select) => sql<number>`coalesce(${select.fn.max("id")}, 0)`.as("last"))
    .executeTakeFirstOrThrow();
  return Math.max(last - NEWEST, 0);
}

/** The query over the rows of a plan. Without `byId` the order of ids does not matter: for counting. */
export function logsOf(db: Db, { filter, driver, range }: LogPlan, byId: "by id" | "in any order") {
  let query = db.selectFrom("logs");
  // Counting by time alone has an index on the time.
  if (range && (byId === "by id" || driver || filter.username))
    query = query.where("logs.id", ">=", range.first).where("logs.id", "<=", range.last);
  for (const { column, field, isOfTeams } of DRIVERS) {
    const value = filter[field];
    if (!value) continue;
    query = query.where(sql<boolean>`${isDriven(db, column, driver)} = ${value}`);
    // Says to the planner, which sees no values, that the index of calls of teams will do.
    if (isOfTeams) query = query.where(sql<boolean>`${sql.ref(`logs.${column}`)} > 0`);
  }
  if (filter.type) query = query.where("logs.type", "=", filter.type);
  // Says to the planner, which sees no values, that the index of entries that are not calls will do.
  if (filter.type && filter.type !== LogType.consume)
    query = query.where("logs.type", "<>", sql.lit(LogType.consume));
  if (filter.username) query = query.where("logs.username", "=", filter.username);
  if (filter.start) query = query.where("logs.created_at", ">=", filter.start);
  if (filter.end) query = query.where("logs.created_at", "<=", filter.end);
  return query;
}

/** SQLite has no statistics until it is told to gather them: a plus before a column says that its index is not to be used. */
function isDriven(db: Db, column: Driver, driver: Driver | undefined) {
  const reference = sql.ref(`logs.${column}`);
  return isPostgres(db) || column === driver ? reference : sql`+${reference}`;
}
