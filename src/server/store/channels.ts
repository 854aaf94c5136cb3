// Channels: configured upstream accounts. `used_quota` is written by `money` only. Keys leave by `listLiveChannels`,
// `findChannelKey` and `findSealedChannel` alone. Deleted ones stay as rows.
import type { Insertable, Selectable, Updateable } from "kysely";
import { ChannelStatus } from "#contract/channel.ts";
import { changesOne, isNoChange } from "./change.ts";
import type { Db } from "./db.ts";
import { countRows, hasName, idOf, keywordOf, pageOf, type SortedPage, startsWith } from "./page.ts";
import type { ChannelsTable } from "./tables-channels.ts";

/** A channel without its key; its proxy is sealed. */
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
  "proxy_sealed",
  "reuse",
  "keys_version",
  "key_mode",
  "connect_ms",
  "first_byte_ms",
  "idle_ms",
  "total_ms",
  "cost_ratio",
  "cost_sheet",
  "probe_time",
  "probes",
] as const satisfies readonly (keyof ChannelRow)[];

const SEALED_COLUMNS = [...COLUMNS, "key_hash", "key_sealed"] as const;

/** Columns a list of channels can be sorted by. */
export const CHANNEL_SORT_COLUMNS = COLUMNS.filter((column) => column !== "proxy_sealed");

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

function living(db: Db) {
  return db.selectFrom("channels").where("deleted_at", "=", 0);
}

function changing(db: Db) {
  return db.updateTable("channels").where("deleted_at", "=", 0);
}

/** A channel with its sealed key, for a copy of it. */
export function findSealedChannel(db: Db, id: number): Promise<SealedChannel | undefined> {
  return living(db).select(SEALED_COLUMNS).where("id", "=", id).executeTakeFirst();
}

export function findChannel(db: Db, id: number): Promise<ChannelRow | undefined> {
  return living(db).select(COLUMNS).where("id", "=", id).executeTakeFirst();
}

/** The sealed key of a channel. */
export async function findChannelKey(db: Db, id: number): Promise<string | undefined> {
  const row = await living(db).select("key_sealed").where("id", "=", id).executeTakeFirst();
  return row?.key_sealed;
}

/** Every channel with its sealed key, for the tables of the relay; with `status` only those that have it. */
export function listLiveChannels(db: Db, status?: number): Promise<SealedChannel[]> {
  const query = living(db).select(SEALED_COLUMNS).orderBy("id");
  return (status === undefined ? query : query.where("status", "=", status)).execute();
}

/** Changes anything but the used quota. Returns whether the channel exists. */
export async function updateChannel(db: Db, id: number, change: ChannelChange): Promise<boolean> {
  if (isNoChange(change)) return (await findChannel(db, id)) !== undefined;
  return changesOne(changing(db).set(change).where("id", "=", id));
}

/** Moves a channel to another status if it still has one of the expected. Returns whether it had. Unit of `now`: seconds. */
export function setChannelStatus(
  db: Db,
  id: number,
  { from, to, reason, now }: { from: readonly number[]; to: number; reason: string; now: number },
): Promise<boolean> {
  const moved = changing(db).set({ status: to, status_reason: reason, status_time: now });
  return changesOne(moved.where("id", "=", id).where("status", "in", from));
}

/** Why and since when channels have their status, by id. Unit: seconds; 0 = it was never changed. */
export async function findStatusReasons(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, { readonly reason: string; readonly since: number }>> {
  if (ids.length === 0) return new Map();
  const columns = ["id", "status_reason as reason", "status_time as since"] as const;
  const rows = await db.selectFrom("channels").select(columns).where("id", "in", ids).execute();
  return new Map(rows.map(({ id, ...told }) => [id, told]));
}

/** The channels that were disabled by themselves. */
export function listAutoDisabled(db: Db): Promise<ChannelRow[]> {
  return living(db).select(COLUMNS).where("status", "=", ChannelStatus.autoDisabled).orderBy("id").execute();
}

/** Notes that a channel is asked again, unless another process has begun to or its status has changed. Unit of `now`: seconds. */
export function claimChannelProbe(
  db: Db,
  row: Pick<ChannelRow, "id" | "status_time" | "probe_time" | "probes">,
  now: number,
): Promise<boolean> {
  const probes = row.probe_time > row.status_time ? row.probes + 1 : 1;
  const claim = changing(db).set({ probe_time: now, probes }).where("id", "=", row.id);
  return changesOne(
    claim.where("status", "=", ChannelStatus.autoDisabled).where("probe_time", "=", row.probe_time),
  );
}

/** The probe that was claimed at `now` (seconds) does not count as one: it told nothing of the channel. */
export async function uncountChannelProbe(db: Db, id: number, now: number): Promise<void> {
  await changing(db)
    .set((row) => ({ probes: row("probes", "-", 1) }))
    .where("id", "=", id)
    .where("status", "=", ChannelStatus.autoDisabled)
    .where("probe_time", "=", now)
    .where("probes", ">", 0)
    .execute();
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

/** Changes of one channel come one after another. In a transaction. */
export async function lockChannel(db: Db, id: number): Promise<void> {
  await db
    .updateTable("channels")
    .set((row) => ({ keys_version: row.ref("keys_version") }))
    .where("id", "=", id)
    .execute();
}

function removing(db: Db, now: number) {
  return changing(db).set({ deleted_at: now, key_sealed: "", key_hash: "", proxy_sealed: "" });
}

/** Deletes a channel for everybody but the sums, and forgets its keys. Returns whether it was there. */
export async function removeChannel(db: Db, id: number, now: number): Promise<boolean> {
  const isGone = await changesOne(removing(db, now).where("id", "=", id));
  await forgetKeys(db);
  return isGone;
}

/** Keys of channels that are gone, and what their upstreams said. */
async function forgetKeys(db: Db): Promise<void> {
  const removed = db.selectFrom("channels").select("id").where("deleted_at", ">", 0);
  await db.deleteFrom("model_lists").where("channel_id", "in", removed).execute();
  const gone = db
    .selectFrom("channels")
    .select("id")
    .where("deleted_at", ">", 0)
    .where("keys_version", ">", 0);
  await db.deleteFrom("channel_keys").where("channel_id", "in", gone).execute();
}

/** Deletes all channels with one of these statuses. Returns how many. */
export async function removeChannelsByStatus(
  db: Db,
  statuses: readonly number[],
  now: number,
): Promise<number> {
  const result = await removing(db, now).where("status", "in", statuses).executeTakeFirst();
  await forgetKeys(db);
  return Number(result.numUpdatedRows);
}

export interface ChannelFilter {
  /** Id or head of the name; "" = all. */
  readonly keyword?: string | undefined;
  /** Keyed hash of the keyword, which may be a whole key (requirements J8). */
  readonly keyHash?: string | undefined;
  /** 0 and "" = any. */
  readonly status?: number | undefined;
  readonly type?: number | undefined;
  readonly group?: string | undefined;
  readonly model?: string | undefined;
}

function filtered(db: Db, filter: ChannelFilter) {
  const keyword = keywordOf(filter.keyword);
  let query = living(db);
  if (filter.status) query = query.where("status", "=", filter.status);
  if (filter.type) query = query.where("type", "=", filter.type);
  if (filter.group) query = query.where(hasName(db, "group", filter.group));
  if (filter.model) query = query.where(hasName(db, "models", filter.model));
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
  return pageOf(filtered(db, args).select(COLUMNS), args, CHANNEL_SORT_COLUMNS).execute();
}

export function countChannels(db: Db, filter: ChannelFilter): Promise<number> {
  return countRows(filtered(db, filter));
}
