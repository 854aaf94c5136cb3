// Takes the rows of a source in batches, each of which is one transaction, and has misread values reported.
import type { SourceRow } from "./row.ts";
import type { Source } from "./source.ts";
import type { Tally } from "./tally.ts";
import type { ImportedTable } from "./target.ts";

const BATCH = 1_000;
/** Source: requirements W7.5. */
const LOG_BATCH = 10_000;

/** What `read` makes of a table's rows, batched. Misread values are reported before a batch is given; no row without an id is written. */
export async function* batches<Item>(
  source: Source,
  table: ImportedTable,
  tally: Tally,
  read: (rows: readonly SourceRow[]) => Item[] | Promise<Item[]>,
): AsyncGenerator<Item[]> {
  for await (const rows of collected(source.rows(table), table === "logs" ? LOG_BATCH : BATCH)) {
    const items = await read(rows);
    tally.tellMisread(table, rows);
    yield items;
  }
}

async function* collected(rows: AsyncIterable<SourceRow>, size: number): AsyncGenerator<SourceRow[]> {
  let batch: SourceRow[] = [];
  for await (const row of rows) {
    batch.push(row);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
