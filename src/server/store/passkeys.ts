// Passkeys: public keys of authenticators, and their counters. Times in seconds.
import { type Insertable, type Selectable, sql } from "kysely";
import { changesOne } from "./change.ts";
import type { Db } from "./db.ts";
import type { PasskeysTable } from "./factor-tables.ts";

export type PasskeyRow = Selectable<PasskeysTable>;

/** The passkeys of an account, oldest first. */
export function listPasskeys(db: Db, userId: number): Promise<PasskeyRow[]> {
  return db.selectFrom("passkeys").selectAll().where("user_id", "=", userId).orderBy("id").execute();
}

export function findPasskey(db: Db, credentialId: string): Promise<PasskeyRow | undefined> {
  return db.selectFrom("passkeys").selectAll().where("credential_id", "=", credentialId).executeTakeFirst();
}

/** Throws: an error that `isTaken` recognises when the credential is known already. */
export async function insertPasskey(tx: Db, row: Insertable<PasskeysTable>): Promise<void> {
  await tx.insertInto("passkeys").values(row).execute();
}

/** Notes a use, when the counter is still the one that was checked. Returns whether it was. */
export function advancePasskey(
  db: Db,
  args: { id: number; before: number; after: number; now: number },
): Promise<boolean> {
  return changesOne(
    db
      .updateTable("passkeys")
      .set({ counter: args.after, last_used_at: args.now })
      .where("id", "=", args.id)
      .where("counter", "=", args.before),
  );
}

/** Notes that the counter fell back. */
export async function suspectPasskey(db: Db, id: number): Promise<void> {
  await db.updateTable("passkeys").set({ is_suspicious: 1 }).where("id", "=", id).execute();
}

/** Returns whether the account has it. */
export function renamePasskey(
  tx: Db,
  { id, userId, name }: { id: number; userId: number; name: string },
): Promise<boolean> {
  return changesOne(
    tx.updateTable("passkeys").set({ name }).where("id", "=", id).where("user_id", "=", userId),
  );
}

/** Returns whether the account had it. */
export async function deletePasskey(tx: Db, userId: number, id: number): Promise<boolean> {
  const result = await tx
    .deleteFrom("passkeys")
    .where("id", "=", id)
    .where("user_id", "=", userId)
    .executeTakeFirst();
  return result.numDeletedRows === 1n;
}

/** How many passkeys there are, and how many enabled accounts of a role and above have nothing but passkeys to come in with. */
export async function countOrphans(
  db: Db,
  args: { role: number; status: number },
): Promise<{ passkeys: number; stranded: number }> {
  const total = await db
    .selectFrom("passkeys")
    .select(sql<number>`count(*)`.as("passkeys"))
    .executeTakeFirstOrThrow();
  const stranded = await db
    .selectFrom("users")
    .select(sql<number>`count(*)`.as("stranded"))
    .where("role", ">=", args.role)
    .where("status", "=", args.status)
    .where("id", "in", db.selectFrom("passkeys").select("user_id"))
    .where((where) =>
      where.or([
        where("password", "=", ""),
        // The password alone would not let it in.
        where.and([
          where("id", "not in", db.selectFrom("totp").select("user_id")),
          where("id", "not in", db.selectFrom("recovery_codes").select("user_id")),
        ]),
      ]),
    )
    .executeTakeFirstOrThrow();
  return { ...total, ...stranded };
}
