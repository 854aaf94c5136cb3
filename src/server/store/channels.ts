// Channels: configured upstream accounts. `used_quota` is written by `money` only. Keys leave by `listLiveChannels`,
// `findChannelKey` and `findSealedChannel` alone. Deleted ones stay as rows.
import { type Insertable, type Selectable, sql, type Updateable } from "kysely";
import { isNoChange } from "./change.ts";
import type { Db } from "./db.ts";
import { bounds, idOf, keywordOf, type SortedPage, sortColumn, startsWith } from "./page.ts";
import type { ChannelsTable } from "./tables.ts";

/** A channel without its key. */
export type ChannelRow = Omit<Selectable<ChannelsTable>, "key_hash" | "key_sealed" | "deleted_at">;

/** A channel with what its key is kept as. */
export type SealedChannel = ChannelRow & Pick<Selectable<ChannelsTable>, "key_hash" | "key_sealed">;

export type NewChannel = Omit<Insertable<ChannelsTable>, "id" | "used_quota" | "deleted_at">;

export type ChannelChange = Omit<Updateable<ChannelsTable>, "id" | "used_quota" | "deleted_at">;

const COLUMNS = [
  "id",
  "type",
  "status",
  "status_reason",
  "status_time",
  "name",
  "weight",
  "priority",
  "created_time",
  "test_time",
  "response_time",
  "base_url",
  "other",
  "balance",
  "balance_updated_time",
  "models",
  "group",
  "used_quota",
  "model_mapping",
  "config",
] as const satisfies readonly (keyof ChannelRow)[];

/** Columns a list of channels can be sorted by. */
export const CHANNEL_SORT_COLUMNS = COLUMNS;

/** Rows one INSERT carries; SQLite and PostgreSQL bound the number of parameters. */
const INSERT_ROWS = 500;

/** Adds channels, all or none. Returns their ids in order. */
export async function insertChannels(db: Db, channels: readonly NewChannel[]): Promise<number[]> {
  if (!db.isTransaction) return db.transaction().execute((tx) => insertChannels(tx, channels));
  const ids: number[] = [];
  for (let start = 0; start < channels.length; start += INSERT_ROWS) {
    const rows = channels.slice(start, start + INSERT_ROWS);
    const inserted = await db.insertInto("channels").values(rows).returning("id").execute();
    ids.push(...inserted.map((row) => row.id));
  }
  return ids;
}

/** A channel with its sealed key, for a copy of it. */
export function findSealedChannel(db: Db, id: number): Promise<SealedChannel | undefined> {
  return db
    .selectFrom("channels")
    .select([...COLUMNS, "key_hash", "key_sealed"])
    .where("id", "=", id)
    .where("deleted_at", "=", 0)
    .executeTakeFirst();
}

export function findChannel(db: Db, id: number): Promise<ChannelRow | undefined> {
  return db
    .selectFrom("channels")
    .select(COLUMNS)
    .where("id", "=", id)
    .where("deleted_at", "=", 0)
    .executeTakeFirst();
}

/** The sealed key of a channel. */
export async function findChannelKey(db: Db, id: number): Promise<string | undefined> {
  const row = await db
    .selectFrom("channels")
    .select("key_sealed")
    .where("id", "=", id)
    .where("deleted_at", "=", 0)
    .executeTakeFirst();
  return row?.key_sealed;
}

/** Every channel with its sealed key, for the tables of the relay; with `status` only those that have it. */
export function listLiveChannels(db: Db, status?: number): Promise<SealedChannel[]> {
  let query = db
    .selectFrom("channels")
    .select([...COLUMNS, "key_hash", "key_sealed"])
    .where("deleted_at", "=", 0);
  if (status !== undefined) query = query.where("status", "=", status);
  return query.orderBy("id").execute();
}

/** Changes anything but the used quota. Returns whether the channel exists. */
export async function updateChannel(db: Db, id: number, change: ChannelChange): Promise<boolean> {
  if (isNoChange(change)) return (await findChannel(db, id)) !== undefined;
  const result = await db
    .updateTable("channels")
    .set(change)
    .where("id", "=", id)
    .where("deleted_at", "=", 0)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Moves a channel to another status if it still has one of the expected. Returns whether it had. Unit of `now`: seconds. */
export async function setChannelStatus(
  db: Db,
  id: number,
  move: { from: readonly number[]; to: number; reason: string; now: number },
): Promise<boolean> {
  const result = await db
    .updateTable("channels")
    .set({ status: move.to, status_reason: move.reason, status_time: move.now })
    .where("id", "=", id)
    .where("status", "in", move.from)
    .where("deleted_at", "=", 0)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Notes the outcome of a test. Units: ms and seconds. */
export async function setChannelTest(
  db: Db,
  id: number,
  test: { responseTimeMs: number; now: number },
): Promise<void> {
  await db
    .updateTable("channels")
    .set({ response_time: test.responseTimeMs, test_time: test.now })
    .where("id", "=", id)
    .execute();
}

/** Notes what is left at the provider, in its own currency. */
export async function setChannelBalance(
  db: Db,
  id: number,
  balance: { amount: number; now: number },
): Promise<void> {
  await db
    .updateTable("channels")
    .set({ balance: balance.amount, balance_updated_time: balance.now })
    .where("id", "=", id)
    .execute();
}

/** Deletes a channel for everybody but the sums, and forgets its key. Returns whether it was there. */
export async function removeChannel(db: Db, id: number, now: number): Promise<boolean> {
  const result = await db
    .updateTable("channels")
    .set({ deleted_at: now, key_sealed: "", key_hash: "" })
    .where("id", "=", id)
    .where("deleted_at", "=", 0)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Deletes all channels with one of these statuses. Returns how many. */
export async function removeChannelsByStatus(
  db: Db,
  statuses: readonly number[],
  now: number,
): Promise<number> {
  const result = await db
    .updateTable("channels")
    .set({ deleted_at: now, key_sealed: "", key_hash: "" })
    .where("status", "in", statuses)
    .where("deleted_at", "=", 0)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

export interface ChannelFilter {
  /** Id or head of the name; "" = all. */
  readonly keyword?: string | undefined;
  /** Keyed hash of the keyword, which may be a whole key (requirements J8). */
  readonly keyHash?: string | undefined;
}

function filtered(db: Db, filter: ChannelFilter) {
  const keyword = keywordOf(filter.keyword);
  const query = db.selectFrom("channels").where("deleted_at", "=", 0);
  if (keyword === "") return query;
  return query.where((where) =>
    where.or([
      where("id", "=", idOf(keyword) ?? 0),
      startsWith(db, "name", keyword),
      ...(filter.keyHash ? [where("key_hash", "=", filter.keyHash)] : []),
    ]),
  );
}

/** A page of channels, newest first unless sorted otherwise. */
export function listChannels(db: Db, args: ChannelFilter & SortedPage): Promise<ChannelRow[]> {
  const { limit, offset } = bounds(args);
  const column = sortColumn(args.order, CHANNEL_SORT_COLUMNS);
  let query = filtered(db, args).select(COLUMNS);
  if (column) query = query.orderBy(column, args.desc ? "desc" : "asc");
  return query.orderBy("id", "desc").limit(limit).offset(offset).execute();
}

export async function countChannels(db: Db, filter: ChannelFilter): Promise<number> {
  const row = await filtered(db, filter).select(sql<number>`count(*)`.as("total")).executeTakeFirstOrThrow();
  return row.total;
}
