// A filter of the usage log → a query that an index answers at ten million rows (requirements N1). Reads only.
import { sql } from "kysely";
import { LogType } from "#contract/log.ts";
import { UserStatus } from "#contract/user.ts";
import { type Db, isPostgres, sumInt } from "./db.ts";
import { idRange } from "./log-spans.ts";
import { SPAN_SEC } from "./span.ts";
import type { LogSumsTable } from "./tables-logs.ts";

/** "" and 0 = not filtered; times in seconds, both ends included (requirements W3.9). */
export interface LogFilter {
  readonly userId?: number | undefined;
  /** Who called, where the user is the wallet of a team: never without it. */
  readonly memberId?: number | undefined;
  /** Of a team: the account is its wallet then. */
  readonly projectId?: number | undefined;
  readonly type?: number | undefined;
  readonly username?: string | undefined;
  readonly tokenName?: string | undefined;
  /** Beside the name, where other tokens of the account have it too. */
  readonly tokenId?: number | undefined;
  /** The index that is walked, where that is known beforehand. */
  readonly driver?: Driver | undefined;
  /** A tag of tokens: `byToken` turns it into filters of one token each. */
  readonly tag?: string | undefined;
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

/** The fields of a filter that rows are found by, and their columns. */
export const FILTER_COLUMNS = {
  memberId: "member_id",
  projectId: "project_id",
  userId: "user_id",
  tokenName: "token_name",
  tokenId: "token_id",
  modelName: "model_name",
  channelId: "channel_id",
} as const satisfies Partial<Record<keyof LogFilter, string>>;
type Field = keyof typeof FILTER_COLUMNS;

/** A way to find rows: an index on the columns of its fields, which goes on with the id and holds what it `covers` too. */
export interface Driver {
  readonly name: string;
  readonly fields: readonly Field[];
  readonly covers: readonly Field[];
  /** The field that only calls of teams have: no others are in it. */
  readonly ofTeams: Field | undefined;
}

function driverOf(name: string, fields: readonly Field[], covers: readonly Field[], ofTeams?: Field): Driver {
  return { name, fields, covers, ofTeams };
}

/** A token's calls are those of its account by its name, which tokens of other accounts may have too. */
export const BY_TOKEN = driverOf(
  "user_token",
  ["userId", "tokenName"],
  ["tokenId", "channelId", "modelName"],
);

export const DRIVERS: readonly Driver[] = [
  driverOf("user_member", ["userId", "memberId"], ["channelId", "modelName"], "memberId"),
  driverOf("project", ["projectId"], ["userId", "channelId", "modelName"], "projectId"),
  BY_TOKEN,
  driverOf("user", ["userId"], ["channelId", "modelName"]),
  driverOf("token", ["tokenName"], []),
  driverOf("model", ["modelName"], ["userId", "channelId"]),
  driverOf("channel", ["channelId"], ["userId", "modelName"]),
];

/** What calls are summed by, of each field that has an index of its own. */
const DIMENSIONS = {
  memberId: "member",
  projectId: "project",
  userId: "user",
  tokenName: "token",
  modelName: "model",
  channelId: "channel",
} as const satisfies Partial<Record<Field, LogSumsTable["dimension"]>>;
const COUNTED = Object.keys(DIMENSIONS) as readonly (keyof typeof DIMENSIONS)[]; // its own keys

/** Reading a row costs about as much as passing over so many entries of an index. */
const ROW_COST = 20;

/** The index that is walked while other columns are compared; undefined = nothing is filtered that has one. */
async function chooseDriver(db: Db, filter: LogFilter): Promise<Driver | undefined> {
  // Entries that are not calls are few and have an index of their own.
  if (filter.type && filter.type !== LogType.consume) return undefined;
  if (filter.driver !== undefined) return filter.driver;
  const usable = DRIVERS.filter(({ fields }) => fields.every((field) => filter[field]));
  // PostgreSQL has statistics, and chooses by itself.
  if (usable.length <= 1 || isPostgres(db)) return usable[0];
  const wanted = COUNTED.filter((field) => filter[field]);
  const counts = await Promise.all(wanted.map((field) => countCalls(db, filter, field)));
  const costs = usable.map(({ fields, covers }) => {
    const most = Math.min(...counts.filter((_, at) => fields.some((field) => field === wanted[at])));
    const held = [...fields, ...covers];
    return most * (wanted.every((field) => held.includes(field)) ? 1 : ROW_COST);
  });
  return usable[costs.indexOf(Math.min(...costs))];
}

/** Calls of a user, token, model or channel, by the sums of their hours. */
async function countCalls(db: Db, filter: LogFilter, field: keyof typeof DIMENSIONS): Promise<number> {
  // A member's calls are summed for each team.
  const key = field === "memberId" ? `${filter.userId} ${filter.memberId}` : String(filter[field]);
  const { total } = await db
    .selectFrom("log_sums")
    .select((select) => sumInt(select.ref("requests")).as("total"))
    .where("dimension", "=", DIMENSIONS[field])
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

const FIELDS = Object.keys(FILTER_COLUMNS) as readonly Field[]; // its own keys
const OF_TEAMS = DRIVERS.map(({ ofTeams }) => ofTeams).filter((field) => field !== undefined);

/** The query over the rows of a plan. Without `byId` the order of ids does not matter: for counting. */
export function logsOf(db: Db, { filter, driver, range }: LogPlan, byId: "by id" | "in any order") {
  let query = db.selectFrom("logs");
  // Counting by time alone has an index on the time.
  if (range && (byId === "by id" || driver || filter.username))
    query = query.where("logs.id", ">=", range.first).where("logs.id", "<=", range.last);
  for (const field of FIELDS) {
    const value = filter[field];
    if (!value) continue;
    const isDriver = driver?.fields.includes(field) === true;
    query = query.where(sql<boolean>`${columnOf(db, field, isDriver)} = ${value}`);
    // Says to the planner, which sees no values, that the index of calls of teams will do.
    if (OF_TEAMS.includes(field))
      query = query.where(sql<boolean>`${sql.ref(`logs.${FILTER_COLUMNS[field]}`)} > 0`);
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
function columnOf(db: Db, field: Field, isDriver: boolean) {
  const reference = sql.ref(`logs.${FILTER_COLUMNS[field]}`);
  return isPostgres(db) || isDriver ? reference : sql`+${reference}`;
}
