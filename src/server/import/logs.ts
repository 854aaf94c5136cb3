// The usage log: all entries with their ids, and the sums by hour that statistics are read from. In batches, each whole or
// not at all; a batch that was written before is left alone (requirements W7.5).
import { sql } from "kysely";
import { LogType } from "#contract/log.ts";
import type { Db } from "#server/store/db.ts";
import type { LogRow } from "#server/store/logs.ts";
import { spanOf } from "#server/store/span.ts";
import type { LogSumsTable } from "#server/store/tables-logs.ts";
import { batches } from "./batches.ts";
import { flagOf, intOf, objectOf, type SourceRow, secondsOf, textOf } from "./row.ts";
import type { Family, Source } from "./source.ts";
import { insertRows, presentIds, slices, type Target, writeRows } from "./target.ts";

const UPSERT_ROWS = 1_000;
const HOUR_SEC = 3600;

/** Copies the log in batches and its sums with it; `onProgress` hears how many entries were read. What was written before stays. */
export async function importLogs(
  source: Source,
  target: Target,
  { family, onProgress }: { family: Family; onProgress(rows: number): void },
): Promise<void> {
  if (!source.tables.has("logs")) return;
  const { tally } = target;
  const count = tally.of("logs");
  const read = (rows: readonly SourceRow[]) => rows.map((row) => logOf(row, family));
  for await (const logs of batches(source, "logs", tally, read)) {
    count.found += logs.length;
    for (const log of logs) tally.add("log quota", log.quota);
    await writeLogs(target, logs);
    onProgress(count.found);
  }
}

async function writeLogs(target: Target, logs: readonly LogRow[]): Promise<void> {
  const { store, tally } = target;
  const rows = logs.map((row) => ({ row }));
  if (store === undefined) return writeRows(target, "logs", rows);
  const ids = logs.map((log) => log.id);
  await store.db.transaction().execute(async (tx) => {
    const present = await presentIds(tx, "logs", ids);
    const fresh = logs.filter((log) => !present.has(log.id));
    await insertRows(tx, "logs", fresh);
    await addSpans(tx, fresh);
    await addSums(tx, fresh);
    tally.of("logs").written += fresh.length;
    tally.of("logs").present += present.size;
  });
}

/** New API's number for failed calls, where One API has channel tests; its refunds are 6. */
const NEW_API_ERROR = 5;

function typeOf(row: SourceRow, { isNewApi }: Family): number {
  const type = intOf(row, "type");
  if (!isNewApi || type <= LogType.system) return type;
  return type === NEW_API_ERROR ? LogType.error : LogType.system;
}

function logOf(row: SourceRow, family: Family): LogRow {
  const other = objectOf(row, "other");
  const whole = (value: unknown) => (typeof value === "number" && value > 0 ? Math.trunc(value) : 0);
  return {
    id: intOf(row, "id"),
    key_id: 0,
    member_id: 0,
    project_id: 0,
    cost: -1,
    earned: "",
    token_kinds: "",
    price_version: -1,
    user_id: intOf(row, "user_id"),
    created_at: secondsOf(row, "created_at"),
    type: typeOf(row, family),
    content: textOf(row, "content"),
    username: textOf(row, "username"),
    token_id: intOf(row, "token_id"),
    token_name: textOf(row, "token_name"),
    model_name: textOf(row, "model_name"),
    quota: intOf(row, "quota"),
    prompt_tokens: intOf(row, "prompt_tokens"),
    completion_tokens: intOf(row, "completion_tokens"),
    cached_tokens: whole(other["cache_tokens"]),
    channel_id: intOf(row, "channel_id") || intOf(row, "channel"),
    request_id: textOf(row, "request_id"),
    // New API notes whole seconds.
    elapsed_time: Math.max(0, intOf(row, "elapsed_time") || intOf(row, "use_time") * 1000),
    first_byte_time: whole(other["frt"]),
    is_stream: flagOf(row, "is_stream") ? 1 : 0,
    estimated: 0,
    trail: "",
  };
}

async function addSpans(db: Db, logs: readonly LogRow[]): Promise<void> {
  const spans = new Map<number, { span: number; first_id: number; last_id: number }>();
  for (const { id, created_at } of logs) {
    const span = spanOf(created_at);
    const known = spans.get(span) ?? { span, first_id: id, last_id: id };
    spans.set(span, known);
    known.first_id = Math.min(known.first_id, id);
    known.last_id = Math.max(known.last_id, id);
  }
  for (const some of slices([...spans.values()], UPSERT_ROWS)) {
    await db
      .insertInto("log_spans")
      .values(some)
      .onConflict((conflict) =>
        conflict.column("span").doUpdateSet((update) => ({
          first_id: sql<number>`CASE WHEN ${update.ref("excluded.first_id")} < log_spans.first_id
            THEN ${update.ref("excluded.first_id")} ELSE log_spans.first_id END`,
          last_id: sql<number>`CASE WHEN ${update.ref("excluded.last_id")} > log_spans.last_id
            THEN ${update.ref("excluded.last_id")} ELSE log_spans.last_id END`,
        })),
      )
      .execute();
  }
}

interface HourSum {
  hour: number;
  quota: number;
  prompt_tokens: number;
  completion_tokens: number;
  requests: number;
}

/** Adds consumption to the sums of its hours, along each dimension and along all at once. */
async function addSums(db: Db, logs: readonly LogRow[]): Promise<void> {
  const sums = new Map<string, HourSum & { dimension: LogSumsTable["dimension"]; key: string }>();
  const rollups = new Map<
    string,
    HourSum & { user_id: number; token_name: string; model_name: string; channel_id: number }
  >();
  for (const log of logs) {
    if (log.type !== LogType.consume) continue;
    const { user_id, token_name, model_name, channel_id } = log;
    const hour = log.created_at - (log.created_at % HOUR_SEC);
    const along = {
      all: "",
      user: String(user_id),
      token: token_name,
      model: model_name,
      channel: String(channel_id),
      "model-channel": `${model_name}\n${channel_id}`,
    };
    for (const dimension of DIMENSIONS) {
      const key = along[dimension];
      addTo(sums, `${dimension}\n${hour}\n${key}`, { ...noSum(hour), dimension, key }, log);
    }
    const rollup = { ...noSum(hour), user_id, token_name, model_name, channel_id };
    addTo(rollups, [hour, user_id, channel_id, model_name, token_name].join("\n"), rollup, log);
  }
  await upsert(db, "log_sums", ["dimension", "key", "hour"], [...sums.values()]);
  const keys = ["user_id", "hour", "token_name", "model_name", "channel_id"] as const;
  await upsert(db, "log_rollups", keys, [...rollups.values()]);
}

/** Not `token-model`: statements put it beside what the ledger booked, and these calls are not in the ledger. */
const DIMENSIONS = ["all", "user", "token", "model", "channel", "model-channel"] as const;

function noSum(hour: number): HourSum {
  return { hour, quota: 0, prompt_tokens: 0, completion_tokens: 0, requests: 0 };
}

function addTo<Sum extends HourSum>(sums: Map<string, Sum>, name: string, empty: Sum, log: LogRow): void {
  const sum = sums.get(name) ?? empty;
  sums.set(name, sum);
  sum.quota += log.quota;
  sum.prompt_tokens += log.prompt_tokens;
  sum.completion_tokens += log.completion_tokens;
  sum.requests += 1;
}

/** Inserts sums, or adds them to those that are there. */
async function upsert(
  db: Db,
  table: "log_sums" | "log_rollups",
  keys: readonly string[],
  rows: readonly HourSum[],
): Promise<void> {
  const [first] = rows;
  if (!first) return;
  const columns = Object.keys(first);
  const list = (names: readonly string[]) => sql.join(names.map((name) => sql.ref(name)));
  const added = ["quota", "prompt_tokens", "completion_tokens", "requests"].map(
    (name) => sql`${sql.ref(name)} = ${sql.ref(`${table}.${name}`)} + ${sql.ref(`excluded.${name}`)}`,
  );
  for (const some of slices(rows, UPSERT_ROWS)) {
    const values = some.map((row) => {
      // Every row of a table has the columns of the first.
      const cells = row as unknown as Record<string, number | string>;
      return sql`(${sql.join(columns.map((name) => cells[name]))})`;
    });
    await sql`INSERT INTO ${sql.table(table)} (${list(columns)}) VALUES ${sql.join(values)}
      ON CONFLICT (${list(keys)}) DO UPDATE SET ${sql.join(added)}`.execute(db);
  }
}
