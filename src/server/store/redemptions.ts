// Redemption codes. They become used in `money` only; every change here is conditional, so that what is used stays so.
import type { Insertable, Selectable } from "kysely";
import { RedemptionStatus } from "#contract/redemption.ts";
import { changesOne } from "./change.ts";
import type { Db } from "./db.ts";
import {
  countRows,
  idOf,
  keywordOf,
  type Made,
  madeBetween,
  newestFirst,
  pageOf,
  type SortedPage,
  startsWith,
} from "./page.ts";
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
  "price_minor",
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

function living(db: Db) {
  return db.selectFrom("redemptions").where("deleted_at", "=", 0);
}

function changing(db: Db, id: number) {
  return db.updateTable("redemptions").where("id", "=", id).where("deleted_at", "=", 0);
}

/** A living code. */
export function findRedemption(db: Db, id: number): Promise<RedemptionRow | undefined> {
  return living(db).select(COLUMNS).where("id", "=", id).executeTakeFirst();
}

/** The id of the living code with this key. */
export async function findRedemptionIdByKey(db: Db, keyHash: string): Promise<number | undefined> {
  const row = await living(db).select("id").where("key_hash", "=", keyHash).executeTakeFirst();
  return row?.id;
}

/** Moves a code that is not used to a status. Returns whether it could (requirements M08). */
export function setRedemptionStatus(db: Db, id: number, status: number): Promise<boolean> {
  return changesOne(changing(db, id).set({ status }).where("status", "<>", RedemptionStatus.used));
}

/** Changes name, quota and price; a used code keeps its quota and price. Returns whether it could. */
export function updateRedemption(
  db: Db,
  id: number,
  { name, quota, price_minor }: Pick<RedemptionRow, "name" | "quota" | "price_minor">,
): Promise<boolean> {
  const changed = changing(db, id).set({ name, quota, price_minor });
  return changesOne(
    changed.where((where) =>
      where.or([
        where("status", "<>", RedemptionStatus.used),
        where.and([where("quota", "=", quota), where("price_minor", "=", price_minor)]),
      ]),
    ),
  );
}

/** Deletes a code for everybody but the ledger. Returns whether there was one. Unit of `now`: seconds. */
export function removeRedemption(db: Db, id: number, now: number): Promise<boolean> {
  // Nothing opens the code any more; its hash stays, so that it can never be made again.
  return changesOne(changing(db, id).set({ deleted_at: now, key_sealed: "" }));
}

export interface RedemptionFilter extends Made {
  /** Id or head of the name; "" = all. */
  readonly keyword?: string | undefined;
  /** 0 = any. */
  readonly status?: number | undefined;
  /** Who redeemed them; 0 = any user, or none. */
  readonly usedUserId?: number | undefined;
}

function filtered(db: Db, filter: RedemptionFilter) {
  const word = keywordOf(filter.keyword);
  let query = madeBetween(living(db), "created_time", filter);
  if (filter.status) query = query.where("status", "=", filter.status);
  if (filter.usedUserId) query = query.where("used_user_id", "=", filter.usedUserId);
  if (word === "") return query;
  return query.where((where) => where.or([where("id", "=", idOf(word) ?? 0), startsWith(db, "name", word)]));
}

/** A page of codes, newest first unless sorted otherwise. */
export function listRedemptions(db: Db, args: RedemptionFilter & SortedPage): Promise<RedemptionRow[]> {
  const newest = newestFirst(db, keywordOf(args.keyword) !== "");
  return pageOf(filtered(db, args).select(COLUMNS), args, SORT_COLUMNS, newest).execute();
}

export function countRedemptions(db: Db, filter: RedemptionFilter): Promise<number> {
  return countRows(filtered(db, filter));
}
