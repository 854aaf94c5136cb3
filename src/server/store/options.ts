// Stored options. Secret ones come and go sealed.
import { type Selectable, sql } from "kysely";
import type { Db } from "./db.ts";
import type { OptionsTable } from "./tables.ts";

export type StoredOption = Selectable<OptionsTable>;

/** The name of what stands beside the options below; no option has it. */
const PRICE_VERSION = "";

/**
 * Every stored text, secrets sealed; what was never written is not among them. And the number of the newest version of the price tables at
 * that very moment, 0 = none: one statement, so that the tables among the options are those of this version.
 */
export async function listOptions(
  db: Db,
): Promise<{ readonly rows: readonly StoredOption[]; readonly priceVersion: number }> {
  const { rows } = await sql<StoredOption>`
    SELECT key, value FROM options
    UNION ALL SELECT ${PRICE_VERSION}, cast(coalesce(max(id), 0) AS text) FROM price_versions
    ORDER BY key`.execute(db);
  const version = rows.find(({ key }) => key === PRICE_VERSION)?.value ?? "0";
  return { rows: rows.filter(({ key }) => key !== PRICE_VERSION), priceVersion: Number(version) };
}

/** One stored text; undefined = never written. */
export async function findOption(db: Db, key: string): Promise<string | undefined> {
  const row = await db.selectFrom("options").select("value").where("key", "=", key).executeTakeFirst();
  return row?.value;
}

/** Several as they are at one moment; those that there are. */
export async function findOptions(db: Db, keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await db.selectFrom("options").select(["key", "value"]).where("key", "in", keys).execute();
  return new Map(rows.map(({ key, value }) => [key, value]));
}

/** Writes an option that still has the value `from`. */
export async function replaceOption(db: Db, key: string, from: string, to: string): Promise<void> {
  await db
    .updateTable("options")
    .set({ value: to })
    .where("key", "=", key)
    .where("value", "=", from)
    .execute();
}

/** Removes an option that still has this value. Returns whether it had. */
export async function removeOption(db: Db, key: string, value: string): Promise<boolean> {
  const result = await db
    .deleteFrom("options")
    .where("key", "=", key)
    .where("value", "=", value)
    .executeTakeFirst();
  return result.numDeletedRows === 1n;
}

/** Writes an option, new or not. */
export async function saveOption(db: Db, key: string, value: string): Promise<void> {
  await db
    .insertInto("options")
    .values({ key, value })
    .onConflict((conflict) => conflict.column("key").doUpdateSet({ value }))
    .execute();
}

/** Writes an option that must not exist yet. Returns whether it was this call that made it. */
export async function insertOptionOnce(db: Db, key: string, value: string): Promise<boolean> {
  const result = await db
    .insertInto("options")
    .values({ key, value })
    .onConflict((conflict) => conflict.column("key").doNothing())
    .executeTakeFirst();
  return result.numInsertedOrUpdatedRows === 1n;
}
