// One-time codes: kept by the hash of what they are bound to, read and removed in one statement. Times in seconds.
import type { ExpressionBuilder, Insertable } from "kysely";
import { changesOne } from "./change.ts";
import type { Db } from "./db.ts";
import type { CodesTable, Tables } from "./tables.ts";

/** A code on its way in; one with the same key is replaced: only the newest counts. */
export type NewCode = Omit<Insertable<CodesTable>, "tries">;

export interface FoundCode {
  readonly user_id: number;
  readonly detail: string;
}

/** Which code, by key and hash, and until how many wrong tries it counts. One that ends after `latest` does not. */
export interface CodeQuery {
  readonly key: string;
  readonly codeHash: string;
  readonly now: number;
  readonly latest: number;
  readonly maxTries: number;
}

/** Stores a code that has not been tried yet; one of the same key is replaced. */
export async function saveCode(db: Db, code: NewCode): Promise<void> {
  const { key, ...values } = code;
  await db
    .insertInto("codes")
    .values({ ...code, tries: 0 })
    .onConflict((conflict) => conflict.column("key").doUpdateSet({ ...values, tries: 0 }))
    .execute();
}

/** The code of a key, as long as it counts. */
function counts({ key, now, latest, maxTries }: CodeQuery) {
  return (where: ExpressionBuilder<Tables, "codes">) =>
    where.and([
      where("key", "=", key),
      where("expires_at", ">", now),
      where("expires_at", "<=", latest),
      where("tries", "<", maxTries),
    ]);
}

/** Takes a living code away. Of several that take it at once, one gets it. */
export function takeCode(db: Db, query: CodeQuery): Promise<FoundCode | undefined> {
  return db
    .deleteFrom("codes")
    .where("code_hash", "=", query.codeHash)
    .where(counts(query))
    .returning(["user_id", "detail"])
    .executeTakeFirst();
}

/** A living code, without taking it. */
export function readCode(db: Db, query: CodeQuery): Promise<FoundCode | undefined> {
  return db
    .selectFrom("codes")
    .select(["user_id", "detail"])
    .where("code_hash", "=", query.codeHash)
    .where(counts(query))
    .executeTakeFirst();
}

/** Counts one use of a living code that may be used `maxTries` times. Returns whether it may. */
export async function spendCode(db: Db, query: CodeQuery): Promise<boolean> {
  return changesOne(
    db
      .updateTable("codes")
      .set((update) => ({ tries: update("tries", "+", 1) }))
      .where("code_hash", "=", query.codeHash)
      .where(counts(query)),
  );
}

/**
 * Whether a living code is the one that was typed; a wrong one costs a try in the same statement, so that of many guesses at once no
 * more are looked at than there are tries.
 */
export async function guessCode(db: Db, query: CodeQuery): Promise<boolean> {
  const row = await db
    .updateTable("codes")
    .set((update) => ({
      tries: update
        .case()
        .when("code_hash", "=", query.codeHash)
        .then(update.ref("tries"))
        .else(update("tries", "+", 1))
        .end(),
    }))
    .where(counts(query))
    .returning((code) => code("code_hash", "=", query.codeHash).as("isRight"))
    .executeTakeFirst();
  // SQLite's truth is a number.
  return Boolean(row?.isRight);
}

/** Takes a code away, whatever it is. Of several that do so at once, one is told true. */
export async function deleteCode(db: Db, key: string): Promise<boolean> {
  const result = await db.deleteFrom("codes").where("key", "=", key).executeTakeFirst();
  return result.numDeletedRows === 1n;
}

/** Removes codes that have ended. Unit: seconds. */
export async function deleteExpiredCodes(db: Db, now: number): Promise<void> {
  await db.deleteFrom("codes").where("expires_at", "<=", now).execute();
}
