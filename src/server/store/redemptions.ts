// Redemption codes. They become used in `money` only; every change here is conditional, so that what is used stays so.
import { type Insertable, type Selectable, sql } from "kysely";
import { RedemptionStatus } from "#contract/redemption.ts";
import type { Db } from "./db.ts";
import { bounds, idOf, keywordOf, newestFirst, type SortedPage, sortColumn, startsWith } from "./page.ts";
import type { RedemptionsTable } from "./tables.ts";

/** A living code; the sealed key is what "copy" opens, the hash proves that it is this row's. */
export type RedemptionRow = Omit<Selectable<RedemptionsTable>, "batch" | "batch_index" | "deleted_at">;

export type NewRedemption = Omit<
  Insertable<RedemptionsTable>,
  "id" | "redeemed_time" | "used_user_id" | "deleted_at"
>;

const COLUMNS = [
  "id",
  "user_id",
  "key_hash",
  "key_sealed",
  "status",
  "name",
  "quota",
  "created_time",
  "redeemed_time",
  "used_user_id",
] as const satisfies readonly (keyof RedemptionRow)[];

/** Columns a list of codes can be sorted by. */
const SORT_COLUMNS = [
  "id",
  "name",
  "status",
  "quota",
  "created_time",
  "redeemed_time",
  "user_id",
  "used_user_id",
] as const satisfies readonly (keyof RedemptionRow)[];

/** Adds codes, all or none. Throws: an error that `isTaken` recognises when the batch was made before. */
export async function insertRedemptions(db: Db, codes: readonly NewRedemption[]): Promise<void> {
  await db.insertInto("redemptions").values(codes).execute();
}

/** The codes of a batch in their order, deleted ones included. */
export function listBatch(db: Db, batch: string): Promise<Pick<RedemptionRow, "key_hash" | "key_sealed">[]> {
  return db
    .selectFrom("redemptions")
    .select(["key_hash", "key_sealed"])
    .where("batch", "=", batch)
    .where("batch", "<>", "")
    .orderBy("batch_index")
    .execute();
}

/** A living code. */
export function findRedemption(db: Db, id: number): Promise<RedemptionRow | undefined> {
  return db
    .selectFrom("redemptions")
    .select(COLUMNS)
    .where("id", "=", id)
    .where("deleted_at", "=", 0)
    .executeTakeFirst();
}

/** The id of the living code with this key. */
export async function findRedemptionIdByKey(db: Db, keyHash: string): Promise<number | undefined> {
  const row = await db
    .selectFrom("redemptions")
    .select("id")
    .where("key_hash", "=", keyHash)
    .where("deleted_at", "=", 0)
    .executeTakeFirst();
  return row?.id;
}

/** Moves a code that is not used to a status. Returns whether it could (requirements M08). */
export async function setRedemptionStatus(db: Db, id: number, status: number): Promise<boolean> {
  const result = await db
    .updateTable("redemptions")
    .set({ status })
    .where("id", "=", id)
    .where("deleted_at", "=", 0)
    .where("status", "<>", RedemptionStatus.used)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Changes name and quota; a used code keeps its quota. Returns whether it could. */
export async function updateRedemption(
  db: Db,
  id: number,
  { name, quota }: { name: string; quota: number },
): Promise<boolean> {
  const result = await db
    .updateTable("redemptions")
    .set({ name, quota })
    .where("id", "=", id)
    .where("deleted_at", "=", 0)
    .where((where) => where.or([where("status", "<>", RedemptionStatus.used), where("quota", "=", quota)]))
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Deletes a code for everybody but the ledger. Returns whether there was one. Unit of `now`: seconds. */
export async function removeRedemption(db: Db, id: number, now: number): Promise<boolean> {
  const result = await db
    .updateTable("redemptions")
    // Nothing opens the code any more; its hash stays, so that it can never be made again.
    .set({ deleted_at: now, key_sealed: "" })
    .where("id", "=", id)
    .where("deleted_at", "=", 0)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

function filtered(db: Db, keyword: string | undefined) {
  const word = keywordOf(keyword);
  const query = db.selectFrom("redemptions").where("deleted_at", "=", 0);
  if (word === "") return query;
  return query.where((where) => where.or([where("id", "=", idOf(word) ?? 0), startsWith(db, "name", word)]));
}

/** A page of codes, newest first unless sorted otherwise; `keyword` is an id or the head of a name. */
export function listRedemptions(
  db: Db,
  args: { keyword?: string | undefined } & SortedPage,
): Promise<RedemptionRow[]> {
  const { limit, offset } = bounds(args);
  const column = sortColumn(args.order, SORT_COLUMNS);
  let query = filtered(db, args.keyword).select(COLUMNS);
  if (column) query = query.orderBy(column, args.desc ? "desc" : "asc");
  const newest = newestFirst(db, keywordOf(args.keyword) !== "");
  return query.orderBy(newest, "desc").limit(limit).offset(offset).execute();
}

export async function countRedemptions(db: Db, keyword?: string): Promise<number> {
  const row = await filtered(db, keyword).select(sql<number>`count(*)`.as("total")).executeTakeFirstOrThrow();
  return row.total;
}
