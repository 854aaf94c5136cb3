// What is asked about the keys of channels: pages, counts, usage, and who has which.
import { type Selectable, sql } from "kysely";
import { ChannelStatus } from "#contract/channel.ts";
import type { Db } from "./db.ts";
import type { SortedPage } from "./page.ts";
import type { ChannelKeysTable } from "./tables-channels.ts";

type SealedKeyRow = Selectable<ChannelKeysTable>;

/** Parameters of one statement. */
const AT_ONCE = 900;

export interface KeyFilter {
  /** 0 = any. */
  readonly status: number;
  /** A part of the reason or the name; "" = any. */
  readonly keyword: string;
}

function filtered(db: Db, channelId: number, { status, keyword }: KeyFilter) {
  let query = db.selectFrom("channel_keys").where("channel_id", "=", channelId);
  if (status !== 0) query = query.where("status", "=", status);
  if (keyword === "") return query;
  const like = `%${keyword.replace(/[\\%_]/g, "\\$&")}%`;
  return query.where((where) =>
    where.or([
      sql<boolean>`name LIKE ${like} ESCAPE '\\'`,
      sql<boolean>`status_reason LIKE ${like} ESCAPE '\\'`,
    ]),
  );
}

/** What a page of keys may be sorted by. */
const SORT_COLUMNS = [
  "name",
  "status",
  "weight",
  "balance",
  "response_time",
  "created_time",
] as const satisfies readonly (keyof ChannelKeysTable)[];

/** A page of keys: by the column that is asked for, then in the order of their ids. */
export function listKeys(
  db: Db,
  channelId: number,
  { order, desc, page, size, ...filter }: KeyFilter & SortedPage,
): Promise<SealedKeyRow[]> {
  const column = SORT_COLUMNS.find((offered) => offered === order);
  const place = { limit: size, offset: page * size };
  const all = filtered(db, channelId, filter);
  if (column === undefined)
    return all.selectAll().orderBy("id").limit(place.limit).offset(place.offset).execute();
  const direction = desc === true ? "desc" : "asc";
  // What is sorted are ids: whole rows, with their seals, would be carried through the sort and thrown away.
  const ids = all.select("id").orderBy(column, direction).orderBy("id");
  return db
    .selectFrom("channel_keys")
    .selectAll()
    .where("id", "in", ids.limit(place.limit).offset(place.offset))
    .orderBy(column, direction)
    .orderBy("id")
    .execute();
}

/** A stretch of keys, in the order of their ids. */
export function keysFrom(
  db: Db,
  channelId: number,
  { offset, limit, ...filter }: KeyFilter & { readonly offset: number; readonly limit: number },
): Promise<SealedKeyRow[]> {
  return filtered(db, channelId, filter).selectAll().orderBy("id").limit(limit).offset(offset).execute();
}

/** Some of a channel's keys, in the order of their ids. */
export function findKeys(db: Db, channelId: number, ids: readonly number[]): Promise<SealedKeyRow[]> {
  if (ids.length === 0) return Promise.resolve([]);
  const own = db.selectFrom("channel_keys").selectAll().where("channel_id", "=", channelId);
  return own.where("id", "in", ids).orderBy("id").execute();
}

export async function countKeys(db: Db, channelId: number, filter: KeyFilter): Promise<number> {
  const row = await filtered(db, channelId, filter)
    .select(({ fn }) => fn.countAll<number>().as("total"))
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

export interface KeyReasonRow {
  readonly status: number;
  readonly reason: string;
  readonly count: number;
}

/** How many keys have which status for which reason, the most frequent first. */
export async function countKeyReasons(db: Db, channelId: number): Promise<readonly KeyReasonRow[]> {
  const rows = await db
    .selectFrom("channel_keys")
    .select(({ fn }) => ["status", "status_reason as reason", fn.countAll<number>().as("count")])
    .where("channel_id", "=", channelId)
    .groupBy(["status", "status_reason"])
    .execute();
  return rows
    .map(({ count, ...row }) => ({ ...row, count: Number(count) }))
    .toSorted((one, other) => other.count - one.count || other.status - one.status);
}

/** How many keys of these channels are not enabled, by their status. */
export async function countOffKeys(
  db: Db,
  channelIds: readonly number[],
): Promise<readonly { readonly channel_id: number; readonly status: number; readonly count: number }[]> {
  if (channelIds.length === 0) return [];
  const rows = await db
    .selectFrom("channel_keys")
    .select(({ fn }) => ["channel_id", "status", fn.countAll<number>().as("count")])
    .where("channel_id", "in", channelIds)
    .where("status", "!=", ChannelStatus.enabled)
    .groupBy(["channel_id", "status"])
    .execute();
  return rows.map((row) => ({ ...row, count: Number(row.count) }));
}

/** What calls with these keys cost, and the last hour with one, from the sums of the log. Unit of `hour`: seconds. */
export async function keyUsage(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, { readonly quota: number; readonly hour: number }>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom("log_sums")
    .select(({ fn }) => ["key", fn.sum<number>("quota").as("quota"), fn.max("hour").as("hour")])
    .where("dimension", "=", "key")
    .where("key", "in", ids.map(String))
    .groupBy("key")
    .execute();
  return new Map(
    rows.map(({ key, quota, hour }) => [Number(key), { quota: Number(quota), hour: Number(hour) }]),
  );
}

/** The channels that have keys with these hashes, as several keys or as their only one. */
export async function findKeyOwners(db: Db, hashes: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const owners = new Map<string, number>();
  for (let start = 0; start < hashes.length; start += AT_ONCE) {
    const some = hashes.slice(start, start + AT_ONCE);
    const single = await db
      .selectFrom("channels")
      .select(["key_hash", "id"])
      .where("deleted_at", "=", 0)
      .where("key_hash", "in", some)
      .execute();
    const several = await db
      .selectFrom("channel_keys")
      .select(["key_hash", "channel_id as id"])
      .where("key_hash", "in", some)
      .execute();
    for (const { key_hash: hash, id } of [...single, ...several]) owners.set(hash, id);
  }
  return owners;
}

/** Those of some hashes that the channel has already. */
export async function findOwnHashes(
  db: Db,
  channelId: number,
  hashes: readonly string[],
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (let start = 0; start < hashes.length; start += AT_ONCE) {
    const rows = await db
      .selectFrom("channel_keys")
      .select("key_hash")
      .where("channel_id", "=", channelId)
      .where("key_hash", "in", hashes.slice(start, start + AT_ONCE))
      .execute();
    for (const { key_hash: hash } of rows) found.add(hash);
  }
  return found;
}

/** The ids of the keys with a status, and with a reason if one is given. */
export async function findKeyIds(
  db: Db,
  channelId: number,
  { status, reason }: { readonly status: number; readonly reason?: string | undefined },
): Promise<number[]> {
  let query = db.selectFrom("channel_keys").select("id").where("channel_id", "=", channelId);
  if (status !== 0) query = query.where("status", "=", status);
  if (reason !== undefined) query = query.where("status_reason", "=", reason);
  const rows = await query.execute();
  return rows.map(({ id }) => id);
}
