// Pages, sort columns and prefix searches: what every list of the store has in common.
import { type RawBuilder, type SelectQueryBuilder, sql } from "kysely";
import { type Db, isPostgres } from "./db.ts";
import type { Tables } from "./tables.ts";

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

/** A page of a query: sorted by the column that is asked for when the list offers it, then the newest first. */
export function pageOf<Table extends keyof Tables, Row>(
  query: SelectQueryBuilder<Tables, Table, Row>,
  { order, desc, ...page }: SortedPage,
  columns: readonly string[],
  newest: RawBuilder<number> = sql`id`,
): SelectQueryBuilder<Tables, Table, Row> {
  const { limit, offset } = bounds(page);
  const column = columns.find((offered) => offered === order);
  const sorted = column === undefined ? query : query.orderBy(sql.ref(column), desc ? "desc" : "asc");
  return sorted.orderBy(newest, "desc").limit(limit).offset(offset);
}

/** How many rows a query has. */
export async function countRows<Table extends keyof Tables>(
  query: SelectQueryBuilder<Tables, Table, object>,
): Promise<number> {
  const { total } = await query.select(sql<number>`count(*)`.as("total")).executeTakeFirstOrThrow();
  return total;
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
