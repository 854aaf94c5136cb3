// What the upstreams of channels say they have: one row of each channel that was asked. Rows, no rules.
import type { Selectable } from "kysely";
import type { Db } from "./db.ts";
import type { ModelListsTable } from "./tables-channels.ts";

export type ModelListRow = Selectable<ModelListsTable>;

/** What a list of channels shows. */
export type ModelListHead = Omit<ModelListRow, "known">;

export function findModelList(db: Db, channelId: number): Promise<ModelListRow | undefined> {
  return db.selectFrom("model_lists").selectAll().where("channel_id", "=", channelId).executeTakeFirst();
}

/** Those of some channels, by their ids. */
export async function findModelLists(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, ModelListHead>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom("model_lists")
    .select(["channel_id", "source", "checked_time", "total", "problem", "fresh", "gone"])
    .where("channel_id", "in", ids)
    .execute();
  return new Map(rows.map((row) => [row.channel_id, row]));
}

/** When each channel was asked. Unit: seconds. */
export async function listModelChecks(db: Db): Promise<ReadonlyMap<number, number>> {
  const rows = await db.selectFrom("model_lists").select(["channel_id", "checked_time"]).execute();
  return new Map(rows.map((row) => [row.channel_id, row.checked_time]));
}

/** Replaces the row of a channel. */
export async function saveModelList(db: Db, row: ModelListRow): Promise<void> {
  const { channel_id: _id, ...change } = row;
  await db
    .insertInto("model_lists")
    .values(row)
    .onConflict((conflict) => conflict.column("channel_id").doUpdateSet(change))
    .execute();
}

/** Calls of a channel's models since an hour, from the sums of the log: model → calls. Unit of `since`: seconds. */
export async function countModelCalls(
  db: Db,
  channelId: number,
  { models, since }: { readonly models: readonly string[]; readonly since: number },
): Promise<ReadonlyMap<string, number>> {
  if (models.length === 0) return new Map();
  const behind = `\n${channelId}`;
  const rows = await db
    .selectFrom("log_sums")
    .select(({ fn }) => ["key", fn.sum<number>("requests").as("calls")])
    .where("dimension", "=", "model-channel")
    .where("hour", ">=", since)
    .where(
      "key",
      "in",
      models.map((model) => model + behind),
    )
    .groupBy("key")
    .execute();
  return new Map(rows.map(({ key, calls }) => [key.slice(0, -behind.length), Number(calls)]));
}
