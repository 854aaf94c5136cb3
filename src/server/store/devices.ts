// Browsers that accounts are used from, known by the hash of their cookie. Times in seconds.
import { sql } from "kysely";
import { changesOne } from "./change.ts";
import type { Db } from "./db.ts";

export interface DeviceRef {
  readonly deviceHash: string;
  readonly userId: number;
}

/** Whether a login from this browser needs no second factor now. `latest` bounds what a wrong clock wrote. */
export async function isTrustedDevice(
  db: Db,
  { deviceHash, userId }: DeviceRef,
  { now, latest }: { now: number; latest: number },
): Promise<boolean> {
  const row = await db
    .selectFrom("devices")
    .select("user_id")
    .where("device_hash", "=", deviceHash)
    .where("user_id", "=", userId)
    .where("trusted_until", ">", now)
    .where("trusted_until", "<=", latest)
    .executeTakeFirst();
  return row !== undefined;
}

/** Notes that an account is used from this browser. Returns what it is to the account. */
export async function meetDevice(
  tx: Db,
  { deviceHash, userId }: DeviceRef,
  { now, trustUntil }: { now: number; trustUntil: number | undefined },
): Promise<"first" | "new" | "known"> {
  const known = tx
    .updateTable("devices")
    .set({ seen_at: now, ...(trustUntil === undefined ? {} : { trusted_until: trustUntil }) })
    .where("device_hash", "=", deviceHash)
    .where("user_id", "=", userId);
  if (await changesOne(known)) return "known";
  const others = await tx
    .selectFrom("devices")
    .select(sql<number>`count(*)`.as("total"))
    .where("user_id", "=", userId)
    .executeTakeFirstOrThrow();
  const row = {
    device_hash: deviceHash,
    user_id: userId,
    created_at: now,
    seen_at: now,
    trusted_until: trustUntil ?? 0,
  };
  await tx
    .insertInto("devices")
    .values(row)
    .onConflict((conflict) => conflict.columns(["device_hash", "user_id"]).doUpdateSet({ seen_at: now }))
    .execute();
  return others.total === 0 ? "first" : "new";
}

/** From now on logins from all browsers of an account, or from one, need the second factor. */
export async function distrustDevices(tx: Db, userId: number, deviceHash?: string): Promise<void> {
  let query = tx
    .updateTable("devices")
    .set({ trusted_until: 0 })
    .where("user_id", "=", userId)
    .where("trusted_until", ">", 0);
  if (deviceHash !== undefined) query = query.where("device_hash", "=", deviceHash);
  await query.execute();
}

/** Forgets browsers of an account that it was not used from since. */
export async function deleteUnseenDevices(db: Db, userId: number, seenBefore: number): Promise<void> {
  await db.deleteFrom("devices").where("user_id", "=", userId).where("seen_at", "<", seenBefore).execute();
}
