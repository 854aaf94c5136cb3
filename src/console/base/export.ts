// Whole lists for a file: page after page, each row once.
import { csvText } from "./download.ts";
import { pageCount } from "./paging.ts";

/** Rows per call; the most the server gives. */
const SIZE = 100;
/** Beyond this a file is no longer a comfortable way; the filter should be narrower. */
export const MAX_ROWS = 20_000;

interface RowPage<Row> {
  readonly data: readonly Row[];
  readonly total?: number | undefined;
}

/** Fetches one page, 0-based. */
export type FetchPage<Row> = (p: number, size: number) => Promise<RowPage<Row>>;

/**
 * All rows of a list, at most MAX_ROWS; `onProgress` gets rows fetched and rows in all, where the server says so. Rows that come to the
 * front meanwhile push others to the next page, which then come twice and are taken once. Throws what `fetchPage` throws.
 */
export async function fetchRows<Row extends { readonly id: number }>(
  fetchPage: FetchPage<Row>,
  onProgress: (fetched: number, total: number | undefined) => void,
): Promise<Row[]> {
  const found = new Map<number, Row>();
  for (let page = 0, pages = 1; page < pages && found.size < MAX_ROWS; page += 1) {
    const { data, total } = await fetchPage(page, SIZE);
    for (const row of data) found.set(row.id, row);
    onProgress(found.size, total);
    pages = data.length === 0 ? 0 : pageCount({ page, size: SIZE, received: data.length, total });
  }
  return [...found.values()].slice(0, MAX_ROWS);
}

/** A column of a file: its title, and what stands in it. */
export type CsvColumn<Row> = readonly [title: string, read: (row: Row) => string | number];

/** Rows as a CSV file. */
export function rowsCsv<Row>(rows: readonly Row[], columns: readonly CsvColumn<Row>[]): string {
  return csvText([
    columns.map(([title]) => title),
    ...rows.map((row) => columns.map(([, read]) => read(row))),
  ]);
}
