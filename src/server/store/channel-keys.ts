// The keys of channels that have several. Every change counts `channels.keys_version` up and keeps the first enabled key in `channels`,
// which older programs use. Sealed keys leave by `listEnabledKeys`, `listSealedKeys` and `findMakersKey` alone.
import { type Insertable, type Selectable, sql } from "kysely";
import { ChannelStatus } from "#contract/channel.ts";
import { CHANNEL_TIMES, type StoredTimes } from "#contract/channel-limits.ts";
import { sumKeyBalances } from "./channel-key-balances.ts";
import { countKeys } from "./channel-key-lists.ts";
import { lockChannel } from "./channels.ts";
import type { Db } from "./db.ts";
import type { ChannelKeysTable } from "./tables-channels.ts";

/** What the relay needs of a key. */
const ENABLED_COLUMNS = [
  "id",
  "key_hash",
  "key_sealed",
  "proxy_sealed",
  "weight",
  "models",
  ...CHANNEL_TIMES,
] as const;

export type EnabledKey = Pick<Selectable<ChannelKeysTable>, (typeof ENABLED_COLUMNS)[number]>;
export type SealedKeyRow = Selectable<ChannelKeysTable>;
export type NewKey = Omit<Insertable<ChannelKeysTable>, "id" | "channel_id">;

/** Why a channel went off when its last key did; with one of them it comes back. */
export const LAST_KEY = "所有密钥都已停用";

const INSERT_ROWS = 500;
/** Parameters of one statement. */
const AT_ONCE = 900;

/** The enabled keys of a channel, in the order of their ids. */
export function listEnabledKeys(db: Db, channelId: number): Promise<EnabledKey[]> {
  return db
    .selectFrom("channel_keys")
    .select(ENABLED_COLUMNS)
    .where("channel_id", "=", channelId)
    .where("status", "=", ChannelStatus.enabled)
    .orderBy("id")
    .execute();
}

/** The keys of a channel, or one of them, with their seals. */
export function listSealedKeys(db: Db, channelId: number, keyId?: number): Promise<SealedKeyRow[]> {
  const query = db.selectFrom("channel_keys").selectAll().where("channel_id", "=", channelId);
  return (keyId === undefined ? query : query.where("id", "=", keyId)).orderBy("id").execute();
}

/**
 * The key of a channel with several by which a task, a file or a response was made; undefined = it was deleted. 0 = the channel had one key alone
 * then, which got the first row when others came.
 */
export function findMakersKey(db: Db, channelId: number, keyId: number): Promise<SealedKeyRow | undefined> {
  const query = db.selectFrom("channel_keys").selectAll().where("channel_id", "=", channelId);
  return (keyId === 0 ? query : query.where("id", "=", keyId)).orderBy("id").limit(1).executeTakeFirst();
}

/**
 * Adds keys to a channel, those it has already left out; a channel with one key gets a row for that first. In a transaction, with the channel
 * locked until its end. Returns how many were added and how many there are now. Unit of `now`: seconds.
 */
export async function addKeys(
  db: Db,
  channelId: number,
  keys: readonly NewKey[],
  now: number,
): Promise<{ readonly added: number; readonly total: number }> {
  await lockChannel(db, channelId);
  const channel = await db
    .selectFrom("channels")
    .select(["key_hash", "key_sealed", "keys_version"])
    .where("id", "=", channelId)
    .executeTakeFirstOrThrow();
  const isFirst = channel.keys_version === 0;
  const { key_hash, key_sealed } = channel;
  const own: NewKey = { ...newKey(now), key_hash, key_sealed };
  if (isFirst) await insertAll(db, channelId, [own]);
  const added = await insertAll(db, channelId, keys);
  await noteKeys(db, channelId, now);
  return { added, total: await countKeys(db, channelId, { status: 0, keyword: "" }) };
}

/** Puts the keys of an imported or copied channel beside it as they are. In a transaction. */
export async function putKeys(
  db: Db,
  channelId: number,
  keys: readonly NewKey[],
  now: number,
): Promise<void> {
  await insertAll(db, channelId, keys);
  await noteKeys(db, channelId, now);
}

/** Copies the keys of a channel with their settings and states. In a transaction. */
export async function copyKeys(
  db: Db,
  { from, to }: { from: number; to: number },
  now: number,
): Promise<void> {
  const rows = await listSealedKeys(db, from);
  const kept = rows.map(({ id: _id, channel_id: _channel, ...row }) => row);
  await putKeys(db, to, kept, now);
}

/** A key of which nothing is known yet. Unit: seconds. */
export function newKey(now: number): Omit<NewKey, "key_hash" | "key_sealed"> {
  return {
    name: "",
    status: ChannelStatus.enabled,
    status_reason: "",
    status_time: 0,
    weight: 1,
    proxy_sealed: "",
    models: "",
    test_time: 0,
    response_time: 0,
    probe_time: 0,
    probes: 0,
    created_time: now,
  };
}

async function insertAll(db: Db, channelId: number, keys: readonly NewKey[]): Promise<number> {
  let added = 0;
  for (let start = 0; start < keys.length; start += INSERT_ROWS) {
    const rows = keys.slice(start, start + INSERT_ROWS).map((key) => ({ ...key, channel_id: channelId }));
    const inserted = await db
      .insertInto("channel_keys")
      .values(rows)
      .onConflict((conflict) => conflict.columns(["channel_id", "key_hash"]).doNothing())
      .returning("id")
      .execute();
    added += inserted.length;
  }
  return added;
}

/** After a change of keys: the version goes up, the first enabled key stands in `channels`, and the channel's status follows its last key. */
async function noteKeys(db: Db, channelId: number, now: number): Promise<{ readonly isLast: boolean }> {
  const first = await db
    .selectFrom("channel_keys")
    .select(["key_hash", "key_sealed", "status"])
    .where("channel_id", "=", channelId)
    .orderBy(sql`CASE WHEN status = 1 THEN 0 ELSE 1 END`)
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
  if (first === undefined) return { isLast: false };
  const { key_hash, key_sealed, status } = first;
  await db
    .updateTable("channels")
    .set((row) => ({ keys_version: sql<number>`${row.ref("keys_version")} + 1`, key_hash, key_sealed }))
    .where("id", "=", channelId)
    .execute();
  await sumKeyBalances(db, channelId);
  const isOff = status !== ChannelStatus.enabled;
  const [from, to] = isOff
    ? [ChannelStatus.enabled, ChannelStatus.autoDisabled]
    : [ChannelStatus.autoDisabled, ChannelStatus.enabled];
  let moving = db
    .updateTable("channels")
    .set({ status: to, status_reason: isOff ? LAST_KEY : "", status_time: now })
    .where("id", "=", channelId)
    .where("status", "=", from);
  if (!isOff) moving = moving.where("status_reason", "=", LAST_KEY);
  const { numUpdatedRows } = await moving.executeTakeFirstOrThrow();
  return { isLast: isOff && numUpdatedRows > 0n };
}

/** Disables a key that failed for the last time; undefined = it was not enabled any more. Unit of `now` and `next`, its probe: seconds. */
export function autoDisableKey(
  db: Db,
  { channelId, keyId }: { readonly channelId: number; readonly keyId: number },
  { reason, now, next }: { readonly reason: string; readonly now: number; readonly next: number },
): Promise<{ readonly isLast: boolean } | undefined> {
  return db.transaction().execute(async (tx) => {
    await lockChannel(tx, channelId);
    const change = {
      status: ChannelStatus.autoDisabled,
      status_reason: reason,
      status_time: now,
      probes: 0,
      probe_time: next,
    };
    const { numUpdatedRows } = await tx
      .updateTable("channel_keys")
      .set(change)
      .where("id", "=", keyId)
      .where("channel_id", "=", channelId)
      .where("status", "=", ChannelStatus.enabled)
      .executeTakeFirstOrThrow();
    return numUpdatedRows === 0n ? undefined : noteKeys(tx, channelId, now);
  });
}

/** Of each channel the key that has waited longest of those whose time to be asked again has come. */
export async function dueKeys(db: Db, now: number): Promise<SealedKeyRow[]> {
  const places = db
    .selectFrom("channel_keys")
    .select([
      "id",
      sql<number>`row_number() OVER (PARTITION BY channel_id ORDER BY probe_time, id)`.as("place"),
    ])
    .where("status", "=", ChannelStatus.autoDisabled)
    .where("probe_time", "<=", now);
  // Not the first: where more are off than can be asked before those are due again, the last would never be.
  const ids = db.selectFrom(places.as("due")).select("id").where("place", "=", 1);
  return db.selectFrom("channel_keys").selectAll().where("id", "in", ids).execute();
}

/** A key was asked again in vain: so often since it was disabled, and when next. Unit of `next`: seconds. */
export async function noteProbe(
  db: Db,
  keyId: number,
  { probes, next }: { readonly probes: number; readonly next: number },
): Promise<void> {
  await db.updateTable("channel_keys").set({ probes, probe_time: next }).where("id", "=", keyId).execute();
}

/** Notes a test that was answered. Units: ms and seconds. */
export async function noteKeyTest(
  db: Db,
  keyId: number,
  { ms, now }: { readonly ms: number; readonly now: number },
): Promise<void> {
  await db
    .updateTable("channel_keys")
    .set({ test_time: now, response_time: ms })
    .where("id", "=", keyId)
    .execute();
}

export interface KeyChange extends Partial<{ readonly [Name in keyof StoredTimes]: number | undefined }> {
  readonly status?: number | undefined;
  readonly name?: string | undefined;
  readonly weight?: number | undefined;
  readonly models?: string | undefined;
  readonly proxy_sealed?: string | undefined;
}

/** Those of the ids that are keys of the channel. */
export async function ownKeyIds(db: Db, channelId: number, ids: readonly number[]): Promise<number[]> {
  const own: number[] = [];
  for (let start = 0; start < ids.length; start += AT_ONCE) {
    const some = ids.slice(start, start + AT_ONCE);
    const query = db.selectFrom("channel_keys").select("id").where("channel_id", "=", channelId);
    own.push(...(await query.where("id", "in", some).execute()).map(({ id }) => id));
  }
  return own;
}

/** Changes keys of a channel. In a transaction. Returns how many. Unit of `now`: seconds. */
export async function changeKeys(
  db: Db,
  { channelId, ids, from }: { channelId: number; ids: readonly number[]; from?: number },
  change: KeyChange,
  now: number,
): Promise<number> {
  await lockChannel(db, channelId);
  const moved =
    change.status === undefined ? {} : { status_reason: "", status_time: now, probes: 0, probe_time: 0 };
  const set = Object.fromEntries(
    Object.entries({ ...change, ...moved }).filter(([, value]) => value !== undefined),
  );
  let changed = 0;
  for (let start = 0; start < ids.length && Object.keys(set).length > 0; start += AT_ONCE) {
    let query = db
      .updateTable("channel_keys")
      .set(set)
      .where("channel_id", "=", channelId)
      .where("id", "in", ids.slice(start, start + AT_ONCE));
    if (from !== undefined) query = query.where("status", "=", from);
    const { numUpdatedRows } = await query.executeTakeFirstOrThrow();
    changed += Number(numUpdatedRows);
  }
  if (changed > 0) await noteKeys(db, channelId, now);
  return changed;
}

/** Deletes keys of a channel; one always stays. In a transaction. Returns how many; undefined = none would be left. */
export async function removeKeys(
  db: Db,
  channelId: number,
  ids: readonly number[],
  now: number,
): Promise<number | undefined> {
  await lockChannel(db, channelId);
  let removed = 0;
  for (let start = 0; start < ids.length; start += AT_ONCE) {
    const { numDeletedRows } = await db
      .deleteFrom("channel_keys")
      .where("channel_id", "=", channelId)
      .where("id", "in", ids.slice(start, start + AT_ONCE))
      .executeTakeFirstOrThrow();
    removed += Number(numDeletedRows);
  }
  const left = await countKeys(db, channelId, { status: 0, keyword: "" });
  if (left === 0) return undefined;
  if (removed > 0) await noteKeys(db, channelId, now);
  return removed;
}
