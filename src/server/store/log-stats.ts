// Sums over consumption: whole hours come from the sums by hour, the edges of a filter from the log itself.
import { type AliasedExpression, type SelectQueryBuilder, sql } from "kysely";
import { LogType } from "#contract/log.ts";
import { type Db, sumInt } from "./db.ts";
import { type LogFilter, newestOnly, resolveProject, resolveUser } from "./log-filter.ts";
import { idRange } from "./log-spans.ts";
import { byToken } from "./log-tags.ts";
import type { Tables } from "./tables.ts";
import type { LogSumsTable } from "./tables-logs.ts";

export interface LogSums {
  /** Quota units. */
  readonly quota: number;
  /** Prompt + completion tokens. */
  readonly tokens: number;
  readonly requests: number;
}

const HOUR_SEC = 3600;
const NOTHING: LogSums = { quota: 0, tokens: 0, requests: 0 };
const SPENT = [
  sumInt(sql.ref<number>("quota")).as("quota"),
  sumInt(sql<number>`prompt_tokens + completion_tokens`).as("tokens"),
] as const;
const HOUR_SUMS = [...SPENT, sumInt(sql.ref<number>("requests")).as("requests")] as const;

/** The columns a filter narrows; those that are not wanted are left out. */
type Wanted = readonly (readonly [
  "user_id" | "token_name" | "model_name" | "channel_id" | "member_id" | "project_id",
  number | string,
])[];

const DIMENSIONS = {
  user_id: "user",
  token_name: "token",
  model_name: "model",
  channel_id: "channel",
  member_id: "member",
  project_id: "project",
} as const satisfies Record<Wanted[number][0], LogSumsTable["dimension"]>;

function wantedOf(filter: LogFilter): Wanted {
  const all = [
    ["user_id", filter.userId],
    ["token_name", filter.tokenName],
    ["model_name", filter.modelName],
    ["channel_id", filter.channelId],
    ["member_id", filter.memberId],
    ["project_id", filter.projectId],
  ] as const;
  return all.flatMap(([column, value]) => (value ? [[column, value] as const] : []));
}

function narrow<Table extends "logs" | "log_rollups", Row>(
  query: SelectQueryBuilder<Tables, Table, Row>,
  wanted: Wanted,
): SelectQueryBuilder<Tables, Table, Row> {
  return wanted.reduce(
    (narrowed, [column, value]) => narrowed.where(sql<boolean>`${sql.ref(column)} = ${value}`),
    query,
  );
}

/** The sums that answer a filter by themselves; undefined = those along all dimensions have to. */
function dimensionOf(wanted: Wanted): Pick<LogSumsTable, "dimension" | "key"> | undefined {
  const project = wanted.find(([column]) => column === "project_id");
  // It says whose wallet paid.
  if (project) return { dimension: "project", key: String(project[1]) };
  const [first, second, ...more] = wanted;
  if (!first) return { dimension: "all", key: "" };
  if (!second) return { dimension: DIMENSIONS[first[0]], key: String(first[1]) };
  // A member's calls are summed for each team.
  if (second[0] === "member_id") return { dimension: "member", key: `${first[1]} ${second[1]}` };
  const isPair = more.length === 0 && first[0] === "model_name" && second[0] === "channel_id";
  return isPair ? { dimension: "model-channel", key: `${first[1]}\n${second[1]}` } : undefined;
}

const HOUR_COLUMNS = ["hour", "quota", "prompt_tokens", "completion_tokens", "requests"] as const;
type HourRow = Pick<LogSumsTable, (typeof HOUR_COLUMNS)[number]>;

type Along = NonNullable<ReturnType<typeof dimensionOf>>;

/** A token of an account, asked for by its name: sums along all dimensions have each of the account's tokens. */
function tokenOf(wanted: Wanted): { readonly userId: number; readonly name: string } | undefined {
  const [first, second, ...more] = wanted;
  const isToken = first?.[0] === "user_id" && second?.[0] === "token_name" && more.length === 0;
  return isToken ? { userId: Number(first[1]), name: String(second[1]) } : undefined;
}

/** Whether no other account ever called by this name of a token. Two look-ups in an index. */
async function isNameOfOne(db: Db, { userId, name }: { userId: number; name: string }): Promise<boolean> {
  for (const side of ["<", ">"] as const) {
    const other = await db
      .selectFrom("log_rollups")
      .select("user_id")
      .where("token_name", "=", name)
      .where("user_id", side, userId)
      .limit(1)
      .executeTakeFirst();
    if (other) return false;
  }
  return true;
}

/** The hours that fit, from `start` up to but not including `before`: along one dimension, or one user's or token's along all. */
function hours(
  db: Db,
  wanted: Wanted,
  { start, before }: { start: number; before: number | undefined },
  along: Along | undefined = dimensionOf(wanted),
): AliasedExpression<HourRow, "hours"> {
  const last = before ?? Number.MAX_SAFE_INTEGER;
  if (!along) {
    const query = db
      .selectFrom("log_rollups")
      .select(HOUR_COLUMNS)
      .where("hour", ">=", start)
      .where("hour", "<", last);
    return narrow(query, wanted).as("hours");
  }
  return db
    .selectFrom("log_sums")
    .select(HOUR_COLUMNS)
    .where("dimension", "=", along.dimension)
    .where("key", "=", along.key)
    .where("hour", ">=", start)
    .where("hour", "<", last)
    .as("hours");
}

async function sumHours(
  db: Db,
  wanted: Wanted,
  range: { start: number; before: number | undefined },
): Promise<LogSums> {
  const read = (along?: Along) =>
    db
      .selectFrom(hours(db, wanted, range, along))
      .select(HOUR_SUMS)
      .executeTakeFirstOrThrow();
  const token = tokenOf(wanted);
  if (token === undefined) return read();
  const byName = await read({ dimension: "token", key: token.name });
  // Looked at afterwards, so that no call of another account that came meanwhile is among them.
  return (await isNameOfOne(db, token)) ? byName : read();
}

interface Moments {
  readonly start: number;
  readonly end: number | undefined;
}

/** Log entries from `start` to `end`, both included. */
async function sumLog(
  db: Db,
  wanted: Wanted,
  { start, end, username, tokenId }: Moments & Pick<LogFilter, "username" | "tokenId">,
): Promise<LogSums> {
  if (end !== undefined && start > end) return NOTHING;
  const range = await idRange(db, start, end ?? 0);
  if (!range) return NOTHING;
  // A name without an owner is looked for among the newest entries only.
  const first = username ? Math.max(range.first, await newestOnly(db)) : range.first;
  let query = narrow(db.selectFrom("logs"), wanted)
    .where("id", ">=", first)
    .where("id", "<=", range.last)
    .where("created_at", ">=", start)
    .where("type", "=", LogType.consume);
  if (end !== undefined) query = query.where("created_at", "<=", end);
  if (username) query = query.where("username", "=", username);
  if (tokenId) query = query.where("token_id", "=", tokenId);
  return query.select([...SPENT, sql<number>`count(*)`.as("requests")]).executeTakeFirstOrThrow();
}

function add(sums: readonly LogSums[]): LogSums {
  return sums.reduce((total, part) => ({
    quota: total.quota + part.quota,
    tokens: total.tokens + part.tokens,
    requests: total.requests + part.requests,
  }));
}

/**
 * Sums consumption by filter; the filter's type does not count (requirements W3.9). Hours that lie wholly inside the time come
 * from the sums by hour, which survive the clearing of the log.
 */
export async function statLogs(db: Db, given: LogFilter): Promise<LogSums> {
  const filters = (await byToken(db, given)) ?? [];
  return add([NOTHING, ...(await Promise.all(filters.map((filter) => sumOf(db, filter))))]);
}

async function sumOf(db: Db, given: LogFilter): Promise<LogSums> {
  const filter = await resolveProject(db, await resolveUser(db, given));
  if (filter.projectId && filter.userId === -1) return NOTHING;
  const wanted = wantedOf(filter);
  const start = filter.start ?? 0;
  const end = filter.end ? filter.end : undefined;
  // No user has this name today: the entries of who had it are found by the name in them. Sums of a member or a project are along no other dimension.
  const isMore = filter.tokenName || filter.modelName || filter.channelId;
  const isApart = filter.projectId ? isMore || filter.memberId : filter.memberId && isMore;
  // Sums know tokens by their names.
  if (filter.username || filter.tokenId || isApart) return sumLog(db, wanted, { ...filter, start, end });
  const firstHour = Math.ceil(start / HOUR_SEC) * HOUR_SEC;
  // `end` itself is included, so an hour is whole when its last second is.
  const afterHours = end === undefined ? undefined : Math.floor((end + 1) / HOUR_SEC) * HOUR_SEC;
  if (afterHours !== undefined && afterHours <= firstHour) return sumLog(db, wanted, { start, end });
  return add(
    await Promise.all([
      sumHours(db, wanted, { start: firstHour, before: afterHours }),
      sumLog(db, wanted, { start, end: firstHour - 1 }),
      afterHours === undefined ? NOTHING : sumLog(db, wanted, { start: afterHours, end }),
    ]),
  );
}

export interface HistoryPoint extends LogSums {
  /** Start of the interval, seconds. */
  readonly time: number;
}

/** Consumption over time in steps of whole hours, oldest first; empty steps are left out. Unit: seconds. */
export async function logHistory(db: Db, given: LogFilter, stepSec: number): Promise<HistoryPoint[]> {
  const filter = await resolveUser(db, given);
  const step = Math.max(HOUR_SEC, stepSec - (stepSec % HOUR_SEC));
  const time = sql<number>`hour - hour % ${sql.lit(step)}`;
  const start = (filter.start ?? 0) - ((filter.start ?? 0) % step);
  const before = filter.end ? filter.end + 1 : undefined;
  return db
    .selectFrom(hours(db, wantedOf(filter), { start, before }))
    .select([time.as("time"), ...HOUR_SUMS])
    .groupBy(time)
    .orderBy(time)
    .execute();
}
