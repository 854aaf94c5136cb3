// Which log ids fall into which ten minutes. Ids rise with time, but not strictly (several nodes, a clock set back), so the
// ids of each span are kept as they come: a filter by time becomes an exact range of ids, whatever index answers the rest.
import { sql } from "kysely";
import type { Db } from "./db.ts";
import { spanOf } from "./span.ts";

/** Widens a span, named by its start, by the rows of it that were just written. */
export async function noteSpan(db: Db, span: number, ids: readonly number[]): Promise<void> {
  await sql`INSERT INTO log_spans (span, first_id, last_id) VALUES (${span}, ${Math.min(...ids)}, ${Math.max(...ids)})
    ON CONFLICT (span) DO UPDATE SET
      first_id = CASE WHEN excluded.first_id < log_spans.first_id THEN excluded.first_id ELSE log_spans.first_id END,
      last_id = CASE WHEN excluded.last_id > log_spans.last_id THEN excluded.last_id ELSE log_spans.last_id END`.execute(
    db,
  );
}

/** Ids by time: rows of the time lie from `first` to `last`, and rows from `sureFirst` to `sureLast` are all of the time. */
export interface IdRange {
  readonly first: number;
  readonly last: number;
  /** An empty range when `sureFirst` is greater. */
  readonly sureFirst: number;
  readonly sureLast: number;
}

/** The ids that rows of these seconds, both included, can have; undefined when there are none. 0 = open end. */
export async function idRange(db: Db, start: number, end: number): Promise<IdRange | undefined> {
  const firstSpan = start > 0 ? spanOf(start) : 0;
  const lastSpan = end > 0 ? spanOf(end) : Number.MAX_SAFE_INTEGER;
  const inside = await db
    .selectFrom("log_spans")
    .select((select) => [select.fn.min("first_id").as("first"), select.fn.max("last_id").as("last")])
    .where("span", ">=", firstSpan)
    .where("span", "<=", lastSpan)
    .executeTakeFirst();
  const [first, last] = [wholeOrNone(inside?.first), wholeOrNone(inside?.last)];
  if (first === undefined || last === undefined) return undefined;
  const before = await db
    .selectFrom("log_spans")
    .select((select) => select.fn.max("last_id").as("id"))
    .where("span", "<=", start > 0 ? firstSpan : -1)
    .executeTakeFirst();
  const after = await db
    .selectFrom("log_spans")
    .select((select) => select.fn.min("first_id").as("id"))
    .where("span", ">=", lastSpan)
    .executeTakeFirst();
  return {
    first,
    last,
    sureFirst: (wholeOrNone(before?.id) ?? first - 1) + 1,
    sureLast: (wholeOrNone(after?.id) ?? last + 1) - 1,
  };
}

/** min() and max() of no rows are null, which Kysely's types do not say. */
function wholeOrNone(value: number | null | undefined): number | undefined {
  return value ?? undefined;
}
