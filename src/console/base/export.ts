// Whole lists for a file: page after page or block after block, each row once.
import { csvText } from "#contract/csv.ts";
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

/** Rows of a file that is read in blocks: more than a spreadsheet takes. */
export const MAX_BLOCK_ROWS = 1_000_000;

/** Fetches the block of rows below an id; 0 = the first, which says how many there are (contract: InBlocks). */
export type FetchBlock<Row> = (before: number) => Promise<RowPage<Row>>;

/**
 * All rows of a list, block after block by falling ids: what comes meanwhile moves nothing, and the last block costs the server no more than
 * the first. Throws what `fetchBlock` throws.
 */
export async function fetchBlocks<Row extends { readonly id: number }>(
  fetchBlock: FetchBlock<Row>,
  onProgress: (fetched: number, total: number | undefined) => void,
): Promise<Row[]> {
  const found: Row[] = [];
  let total: number | undefined;
  for (let before = 0; found.length < MAX_BLOCK_ROWS; ) {
    const block = await fetchBlock(before);
    total ??= block.total;
    const fresh = before === 0 ? block.data : block.data.filter(({ id }) => id < before);
    const last = fresh.at(-1);
    // A block says by its emptiness alone that it is behind the last: how many rows it may have is the server's matter.
    if (last === undefined) break;
    found.push(...fresh);
    before = last.id;
    onProgress(found.length, total);
    if (total !== undefined && found.length >= total) break;
  }
  return found;
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
