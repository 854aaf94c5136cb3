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
  /** In place of a page: the next block of a file, of the rows below this id; 0 = the first block. */
  readonly before?: number | undefined;
}

/** Rows of a block: enough that a file takes few calls, few enough that no other statement waits for one. */
const BLOCK_ROWS = 1_000;

/** When the rows of a list were made. Seconds, both included; 0 or absent = open. */
export interface Made {
  readonly start?: number | undefined;
  readonly end?: number | undefined;
}

/** LIMIT and OFFSET of a page, both bounded. Beyond the bound nothing is returned. */
export function bounds({ page, size }: Page): { limit: number; offset: number } {
  const limit = Math.min(Math.max(size, 1), MAX_SIZE);
  const offset = Math.max(page, 0) * limit;
  return offset > MAX_OFFSET ? { limit: 0, offset: 0 } : { limit, offset };
}

/**
 * A page of a query: the newest first, or sorted by the column that is asked for when the list offers it. Rows of one value are in the order of
 * their ids, in the same direction: one index then serves both.
 */
export function pageOf<Table extends keyof Tables, Row>(
  query: SelectQueryBuilder<Tables, Table, Row>,
  { order, desc, before, ...place }: SortedPage,
  columns: readonly string[],
  newest: RawBuilder<number> = sql`id`,
): SelectQueryBuilder<Tables, Table, Row> {
  if (before !== undefined) {
    // By the id and not by an offset: the last block costs no more than the first.
    const rest = before === 0 ? query : query.where(sql<boolean>`id < ${before}`);
    return rest.orderBy(newest, "desc").limit(BLOCK_ROWS);
  }
  const { limit, offset } = bounds(place);
  const column = columns.find((offered) => offered === order);
  const sorted = column === undefined ? query : query.orderBy(sql.ref(column), desc ? "desc" : "asc");
  const page = sorted.orderBy(newest, column === undefined || desc ? "desc" : "asc");
  if (columns.length === 0 || (column === undefined && offset === 0)) return page.limit(limit).offset(offset);
  // What is sorted and skipped are ids: whole rows before the page would be read and thrown away.
  const ids = page.clearSelect().select(sql<number>`id`.as("id")).limit(limit).offset(offset);
  return page.clearWhere().where(sql<boolean>`id IN ${ids}`);
}

/** Only rows that were made then, by this column. */
export function madeBetween<Table extends keyof Tables, Row>(
  query: SelectQueryBuilder<Tables, Table, Row>,
  column: string,
  { start = 0, end = 0 }: Made,
): SelectQueryBuilder<Tables, Table, Row> {
  const from = start === 0 ? query : query.where(sql<boolean>`${sql.ref(column)} >= ${start}`);
  return end === 0 ? from : from.where(sql<boolean>`${sql.ref(column)} <= ${end}`);
}

/** Whether a list of names in a column, separated by commas, has this one. Nothing in the name is a wildcard. */
export function hasName(db: Db, column: string, name: string): RawBuilder<boolean> {
  const place = sql.raw(isPostgres(db) ? "strpos" : "instr");
  const names = sql.ref(column);
  // Most lists of tags are empty, and that is told sooner.
  return sql<boolean>`(${names} <> '' AND ${place}(',' || ${names} || ',', ${`,${name},`}) > 0)`;
}

/** How many rows a query has. */
export async function countRows<Table extends keyof Tables>(
  query: SelectQueryBuilder<Tables, Table, object>,
): Promise<number> {
  const { total } = await query.select(sql<number>`count(*)`.as("total")).executeTakeFirstOrThrow();
  return total;
}

interface Total {
  readonly total: number;
  readonly untilMs: number;
  isCounting: boolean;
}

/** Totals of long lists by what they are of, as they were a moment ago. */
const totals = new WeakMap<Db, Map<string, Total>>();
const LONG = 10_000;
const KEPT_MS = 10_000;
/** Told so long after, while it is counted anew. */
const OLD_MS = 60_000;
const MOST_TOTALS = 100;

/**
 * The total of a list. That of a long one is told again for ten seconds, and for a minute while it is counted anew behind it: counting a million
 * rows takes longer than reading a page of them.
 */
export async function totalOf(
  db: Db,
  list: string,
  count: () => Promise<number>,
  nowMs = performance.now(),
): Promise<number> {
  const known = totals.get(db) ?? new Map<string, Total>();
  const kept = known.get(list);
  if (kept === undefined || nowMs >= kept.untilMs + OLD_MS) return countAnew();
  if (nowMs >= kept.untilMs && !kept.isCounting) {
    kept.isCounting = true;
    // Who asks after it is too old waits for a count, and learns why there is none.
    countAnew().catch(() => (kept.isCounting = false));
  }
  return kept.total;

  async function countAnew(): Promise<number> {
    const total = await count();
    if (known.size >= MOST_TOTALS) known.clear();
    if (total > LONG) totals.set(db, known.set(list, { total, untilMs: nowMs + KEPT_MS, isCounting: false }));
    else known.delete(list);
    return total;
  }
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
