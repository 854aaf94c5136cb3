// Service accounts: access tokens of machines. Rows only; tokens are hashes here.
import type { Insertable, Selectable } from "kysely";
import { changesOne } from "./change.ts";
import type { Db } from "./db.ts";
import type { ServiceAccountsTable } from "./tables-staff.ts";

export type ServiceAccountRow = Omit<Selectable<ServiceAccountsTable>, "key_hash">;

const COLUMNS = [
  "id",
  "name",
  "permissions",
  "subnet",
  "created_by",
  "created_at",
  "expires_at",
  "revoked_at",
  "last_used_at",
  "last_address",
] as const satisfies readonly (keyof ServiceAccountRow)[];

/** Returns the id. */
export async function insertServiceAccount(
  tx: Db,
  row: Omit<Insertable<ServiceAccountsTable>, "id">,
): Promise<number> {
  const insert = tx.insertInto("service_accounts").values(row).returning("id");
  return (await insert.executeTakeFirstOrThrow()).id;
}

/** The newest ones, whatever became of them; `makerId` 0 = of everybody. */
export function listServiceAccounts(db: Db, makerId: number, limit: number): Promise<ServiceAccountRow[]> {
  let rows = db.selectFrom("service_accounts").select(COLUMNS);
  if (makerId !== 0) rows = rows.where("created_by", "=", makerId);
  return rows.orderBy("id", "desc").limit(limit).execute();
}

/** How many of a maker's can be used at a moment. Unit: seconds. */
export async function countServiceAccounts(tx: Db, makerId: number, nowSec: number): Promise<number> {
  const { count } = await tx
    .selectFrom("service_accounts")
    .select((row) => row.fn.countAll().as("count"))
    .where("created_by", "=", makerId)
    .where("revoked_at", "=", 0)
    .where("expires_at", ">", nowSec)
    .executeTakeFirstOrThrow();
  return Number(count);
}

export function findServiceAccount(db: Db, id: number): Promise<ServiceAccountRow | undefined> {
  return db.selectFrom("service_accounts").select(COLUMNS).where("id", "=", id).executeTakeFirst();
}

/** The one with this token that can be used at a moment. Unit: seconds. */
export function findLiveServiceAccount(
  db: Db,
  keyHash: string,
  nowSec: number,
): Promise<ServiceAccountRow | undefined> {
  return db
    .selectFrom("service_accounts")
    .select(COLUMNS)
    .where("key_hash", "=", keyHash)
    .where("revoked_at", "=", 0)
    .where("expires_at", ">", nowSec)
    .executeTakeFirst();
}

/** Notes when and from where it was used. */
export async function touchServiceAccount(
  db: Db,
  id: number,
  use: Pick<ServiceAccountRow, "last_used_at" | "last_address">,
): Promise<void> {
  await db.updateTable("service_accounts").set(use).where("id", "=", id).execute();
}

/** Ends one for good. Returns whether that was still to do. */
export function revokeServiceAccount(tx: Db, id: number, nowSec: number): Promise<boolean> {
  return changesOne(
    tx
      .updateTable("service_accounts")
      .set({ revoked_at: nowSec })
      .where("id", "=", id)
      .where("revoked_at", "=", 0),
  );
}
