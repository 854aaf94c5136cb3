// Pages, sort columns and prefix searches: what every list of the store has in common.
import { type RawBuilder, sql } from "kysely";
import { type Db, isPostgres } from "./db.ts";

/** Rows skipped at most: who wants older ones narrows the filter (requirements D04). */
export const MAX_OFFSET = 100_000;
const MAX_SIZE = 100;
/** Longer search words find nothing that shorter ones do not (requirements D05). */
const MAX_KEYWORD = 64;

/** A page of a list. `page` counts from 0. */
export interface Page {
  readonly page: number;
  readonly size: number;
}

/** A page with the column the user sorts by; unknown columns count as absent. */
export interface SortedPage extends Page {
  readonly order?: string | undefined;
  readonly desc?: boolean | undefined;
}

/** LIMIT and OFFSET of a page, both bounded. Beyond the bound nothing is returned. */
export function bounds({ page, size }: Page): { limit: number; offset: number } {
  const limit = Math.min(Math.max(size, 1), MAX_SIZE);
  const offset = Math.max(page, 0) * limit;
  return offset > MAX_OFFSET ? { limit: 0, offset: 0 } : { limit, offset };
}

/** The sort column when it is one of those the list offers. */
export function sortColumn<Column extends string>(
  order: string | undefined,
  columns: readonly Column[],
): Column | undefined {
  return columns.find((column) => column === order);
}

/** Whether a keyword is worth a search. */
export function keywordOf(text: string | undefined): string {
  return (text ?? "").trim().slice(0, MAX_KEYWORD);
}

/** Behind every character there is. */
const LAST = "\u{10ffff}";

/**
 * Whether a column begins with the keyword, ignoring case; nothing in the keyword is a wildcard (requirements D05). Each database
 * gets the form for which it uses an index on lower(column).
 */
export function startsWith(db: Db, column: string, keyword: string): RawBuilder<boolean> {
  const head = sql`lower(${sql.ref(column)})`;
  if (isPostgres(db)) {
    const pattern = `${keyword.replaceAll(/[\\%_]/g, "\\$&")}%`;
    return sql<boolean>`${head} LIKE lower(${pattern})`;
  }
  return sql<boolean>`(${head} >= lower(${keyword}) AND ${head} < lower(${keyword}) || ${LAST})`;
}

/**
 * What a list is ordered by, newest first. PostgreSQL would rather walk all rows from the newest on, hoping to meet what is searched
 * soon, than ask the indexes of a search: a sum is in no index.
 */
export function newestFirst(db: Db, isSearch: boolean): RawBuilder<number> {
  return isSearch && isPostgres(db) ? sql<number>`id + 0` : sql<number>`id`;
}

/** The keyword as an id, when it is one. */
export function idOf(keyword: string): number | undefined {
  return /^[1-9]\d{0,15}$/.test(keyword) ? Number(keyword) : undefined;
}
