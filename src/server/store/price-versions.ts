// Versions of the price tables, numbered without gaps: two who publish over the same version collide in the number. Rows only.
import type { Selectable } from "kysely";
import type { Db } from "./db.ts";
import type { PriceVersionsTable } from "./tables-prices.ts";

export type PriceVersionRow = Selectable<PriceVersionsTable>;

/** As many stand on one page. */
const PAGE = 50;

/** The newest; undefined = none was ever published. */
export function findNewestPriceVersion(db: Db): Promise<PriceVersionRow | undefined> {
  return db.selectFrom("price_versions").selectAll().orderBy("id", "desc").limit(1).executeTakeFirst();
}

/** The number of the one that stood at a moment, seconds; 0 = none was published by then. */
export async function findPriceVersionAt(db: Db, atSec: number): Promise<number> {
  const row = await db
    .selectFrom("price_versions")
    .select("id")
    .where("created_at", "<=", Math.floor(atSec))
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.id ?? 0;
}

/** The newest that was published from this source. */
export function findPriceVersionFrom(db: Db, source: string): Promise<PriceVersionRow | undefined> {
  return db
    .selectFrom("price_versions")
    .selectAll()
    .where("source", "=", source)
    .where("undoes", "=", 0)
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
}

/** Without what they changed, newest first; `before` = an id, 0 = from the newest on. */
export function listPriceVersions(db: Db, before: number): Promise<Omit<PriceVersionRow, "changes">[]> {
  const page = db
    .selectFrom("price_versions")
    .select(["id", "created_at", "user_id", "username", "reason", "source", "listed", "models", "undoes"])
    .orderBy("id", "desc")
    .limit(PAGE);
  return (before > 0 ? page.where("id", "<", before) : page).execute();
}

/** What the newest versions wrote, newest first. */
export function listPriceChanges(
  db: Db,
  limit: number,
): Promise<Pick<PriceVersionRow, "id" | "source" | "undoes" | "changes">[]> {
  return db
    .selectFrom("price_versions")
    .select(["id", "source", "undoes", "changes"])
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
}

/** Throws: a driver's error that `isTaken` knows, when the number is taken. */
export async function insertPriceVersion(db: Db, row: PriceVersionRow): Promise<void> {
  await db.insertInto("price_versions").values(row).execute();
}
