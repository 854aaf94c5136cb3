// Where alerts go, what was sent there, and what lasts. No rules.
import type { Insertable, Selectable, Updateable } from "kysely";
import type { AlertConditionsTable, AlertDeliveriesTable, AlertTargetsTable } from "./alert-tables.ts";
import { changesOne } from "./change.ts";
import type { Db } from "./db.ts";
import { countRows, type Page, pageOf } from "./page.ts";

export type AlertTargetRow = Selectable<AlertTargetsTable>;
export type AlertDeliveryRow = Selectable<AlertDeliveriesTable>;
export type NewAlertDelivery = Insertable<AlertDeliveriesTable>;

export function listAlertTargets(db: Db): Promise<AlertTargetRow[]> {
  return db.selectFrom("alert_targets").selectAll().orderBy("id").execute();
}

export function findAlertTarget(db: Db, id: number): Promise<AlertTargetRow | undefined> {
  return db.selectFrom("alert_targets").selectAll().where("id", "=", id).executeTakeFirst();
}

/** Returns the id. */
export async function insertAlertTarget(tx: Db, row: Insertable<AlertTargetsTable>): Promise<number> {
  const { id } = await tx.insertInto("alert_targets").values(row).returning("id").executeTakeFirstOrThrow();
  return id;
}

export function updateAlertTarget(
  tx: Db,
  id: number,
  change: Updateable<AlertTargetsTable>,
): Promise<boolean> {
  return changesOne(tx.updateTable("alert_targets").set(change).where("id", "=", id));
}

/** Removes a target and what was sent to it. */
export async function removeAlertTarget(tx: Db, id: number): Promise<void> {
  await tx.deleteFrom("alert_deliveries").where("target_id", "=", id).execute();
  await tx.deleteFrom("alert_targets").where("id", "=", id).execute();
}

/** How many messages wait for each target. */
export async function countWaiting(db: Db): Promise<ReadonlyMap<number, number>> {
  const rows = await db
    .selectFrom("alert_deliveries")
    .select(["target_id", (count) => count.fn.countAll().as("waiting")])
    .where("state", "=", "waiting")
    .groupBy("target_id")
    .execute();
  return new Map(rows.map(({ target_id, waiting }) => [target_id, Number(waiting)]));
}

/** The newest message of a target in one of two ends, and the newest that was sent. */
export async function lastDeliveries(
  db: Db,
  targetId: number,
): Promise<{ sent: AlertDeliveryRow | undefined; ended: AlertDeliveryRow | undefined }> {
  const of = (states: readonly AlertDeliveryRow["state"][]) =>
    db
      .selectFrom("alert_deliveries")
      .selectAll()
      .where("target_id", "=", targetId)
      .where("state", "in", states)
      .orderBy("id", "desc")
      .limit(1)
      .executeTakeFirst();
  return { sent: await of(["sent"]), ended: await of(["sent", "failed"]) };
}

export async function insertDeliveries(tx: Db, rows: readonly NewAlertDelivery[]): Promise<void> {
  if (rows.length > 0) await tx.insertInto("alert_deliveries").values(rows).execute();
}

/** What waits for a target, the oldest first. */
export function findWaiting(db: Db, targetId: number, limit: number): Promise<AlertDeliveryRow[]> {
  return db
    .selectFrom("alert_deliveries")
    .selectAll()
    .where("target_id", "=", targetId)
    .where("state", "=", "waiting")
    .orderBy("id")
    .limit(limit)
    .execute();
}

/** Changes messages that still wait. */
export async function changeWaiting(
  db: Db,
  ids: readonly number[],
  change: Updateable<AlertDeliveriesTable>,
): Promise<void> {
  await db
    .updateTable("alert_deliveries")
    .set(change)
    .where("id", "in", ids)
    .where("state", "=", "waiting")
    .execute();
}

/** Gives up what waits for a target. */
export async function stopDeliveries(
  tx: Db,
  targetId: number,
  problem: string,
  done_at: number,
): Promise<void> {
  await tx
    .updateTable("alert_deliveries")
    .set({ state: "failed", problem, done_at })
    .where("target_id", "=", targetId)
    .where("state", "=", "waiting")
    .execute();
}

/** Lets a message that failed wait again. Returns whether there was one. */
export function reviveDelivery(tx: Db, id: number): Promise<boolean> {
  const anew = { state: "waiting", tries: 0, problem: "", next_ms: 0, done_at: 0 } as const;
  return changesOne(
    tx.updateTable("alert_deliveries").set(anew).where("id", "=", id).where("state", "=", "failed"),
  );
}

/** A page of messages, the newest first; of one target unless it is 0. */
export async function listDeliveries(
  db: Db,
  { target, ...page }: Page & { readonly target: number },
): Promise<{ rows: (AlertDeliveryRow & { target_name: string })[]; total: number }> {
  const all = db.selectFrom("alert_deliveries");
  const wanted = target === 0 ? all : all.where("target_id", "=", target);
  const rows = await pageOf(wanted.selectAll(), page, []).execute();
  const names = new Map((await listAlertTargets(db)).map(({ id, name }) => [id, name]));
  return {
    rows: rows.map((row) => ({ ...row, target_name: names.get(row.target_id) ?? "" })),
    total: await countRows(wanted),
  };
}

/** Removes messages that ended before a moment, and all but the newest `kept`. Unit: seconds. */
export async function trimDeliveries(db: Db, before: number, kept: number): Promise<void> {
  const oldest = await db
    .selectFrom("alert_deliveries")
    .select("id")
    .orderBy("id", "desc")
    .offset(kept)
    .limit(1)
    .executeTakeFirst();
  await db
    .deleteFrom("alert_deliveries")
    .where("state", "!=", "waiting")
    .where(({ eb, or }) =>
      or([eb("created_at", "<", before), ...(oldest ? [eb("id", "<=", oldest.id)] : [])]),
    )
    .execute();
}

export function listConditions(db: Db, event?: string): Promise<Selectable<AlertConditionsTable>[]> {
  const all = db.selectFrom("alert_conditions").selectAll();
  return (event === undefined ? all : all.where("event", "=", event))
    .orderBy("since")
    .orderBy("about")
    .execute();
}

/** Returns whether it begins now: it did not last yet. */
export async function beginCondition(tx: Db, row: Selectable<AlertConditionsTable>): Promise<boolean> {
  const made = await tx
    .insertInto("alert_conditions")
    .values(row)
    .onConflict((conflict) => conflict.columns(["event", "about"]).doNothing())
    .returning("event")
    .executeTakeFirst();
  return made !== undefined;
}

/** Returns whether it lasted until now. */
export async function endCondition(tx: Db, event: string, about: string): Promise<boolean> {
  const gone = await tx
    .deleteFrom("alert_conditions")
    .where("event", "=", event)
    .where("about", "=", about)
    .returning("event")
    .executeTakeFirst();
  return gone !== undefined;
}
