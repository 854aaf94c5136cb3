// Second factors of accounts. What is accepted once is accepted by one conditional statement. Times in seconds.
import { type Insertable, type Selectable, sql } from "kysely";
import { changesOne } from "./change.ts";
import type { Db } from "./db.ts";
import type { TotpTable } from "./factor-tables.ts";

export type TotpRow = Selectable<TotpTable>;

/** What an account has to prove itself with besides the password. */
export interface FactorCount {
  readonly totp: number;
  readonly passkeys: number;
  readonly recovery: number;
}

/** How many factors of each kind an account has. */
export async function countFactors(db: Db, userId: number): Promise<FactorCount> {
  const count = (table: "totp" | "passkeys" | "recovery_codes") =>
    db.selectFrom(table).select(sql<number>`count(*)`.as("total")).where("user_id", "=", userId);
  return db
    .selectNoFrom([
      count("totp").$asScalar().as("totp"),
      count("passkeys").$asScalar().as("passkeys"),
      count("recovery_codes").$asScalar().as("recovery"),
    ])
    .executeTakeFirstOrThrow();
}

export function findTotp(db: Db, userId: number): Promise<TotpRow | undefined> {
  return db.selectFrom("totp").selectAll().where("user_id", "=", userId).executeTakeFirst();
}

/** Puts an authenticator app in the place of the account's older one. */
export async function saveTotp(tx: Db, row: Insertable<TotpTable>): Promise<void> {
  await tx.deleteFrom("totp").where("user_id", "=", row.user_id).execute();
  await tx.insertInto("totp").values(row).execute();
}

/** Accepts a step that is newer than all accepted ones; of many that come at once, one. */
export function takeTotpStep(db: Db, args: { userId: number; step: number; now: number }): Promise<boolean> {
  return changesOne(
    db
      .updateTable("totp")
      .set({ last_step: args.step, last_used_at: args.now })
      .where("user_id", "=", args.userId)
      .where("last_step", "<", args.step),
  );
}

/** Returns whether there was one. */
export async function deleteTotp(tx: Db, userId: number): Promise<boolean> {
  const result = await tx.deleteFrom("totp").where("user_id", "=", userId).executeTakeFirst();
  return result.numDeletedRows === 1n;
}

/** New recovery codes, by their hashes; the ones before are void. */
export async function replaceRecoveryCodes(tx: Db, userId: number, hashes: readonly string[]): Promise<void> {
  await tx.deleteFrom("recovery_codes").where("user_id", "=", userId).execute();
  if (hashes.length === 0) return;
  const rows = hashes.map((code_hash) => ({ code_hash, user_id: userId }));
  await tx.insertInto("recovery_codes").values(rows).execute();
}

/** Takes a recovery code away; of many that come with it at once, one has it. */
export async function takeRecoveryCode(db: Db, userId: number, hash: string): Promise<boolean> {
  const result = await db
    .deleteFrom("recovery_codes")
    .where("code_hash", "=", hash)
    .where("user_id", "=", userId)
    .executeTakeFirst();
  return result.numDeletedRows === 1n;
}

/** Removes every factor of an account. */
export async function deleteFactors(tx: Db, userId: number): Promise<void> {
  await tx.deleteFrom("totp").where("user_id", "=", userId).execute();
  await tx.deleteFrom("passkeys").where("user_id", "=", userId).execute();
  await tx.deleteFrom("recovery_codes").where("user_id", "=", userId).execute();
}

/** Until when an account may go on without a factor; undefined = it was never told. */
export async function findFactorDue(db: Db, userId: number): Promise<number | undefined> {
  const query = db.selectFrom("factor_dues").select("due_at").where("user_id", "=", userId);
  return (await query.executeTakeFirst())?.due_at;
}

/** Notes it, unless it is noted already. */
export async function noteFactorDue(db: Db, userId: number, dueAt: number): Promise<void> {
  await db
    .insertInto("factor_dues")
    .values({ user_id: userId, due_at: dueAt })
    .onConflict((conflict) => conflict.column("user_id").doNothing())
    .execute();
}
