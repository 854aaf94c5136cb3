// Sums of the ledger by user, token and channel up to an entry, so that the books can be checked every minute without reading
// the whole ledger. Derived from it, never written into it.
import { sql } from "kysely";
import type { Clock } from "#server/clock.ts";
import type { Db, Store } from "#server/store/db.ts";

/** Entries added up by one transaction: some ten milliseconds of the writer. */
const SLICE = 10_000;
/** On PostgreSQL an entry may become visible after one with a higher id; no transaction of ours takes this long. */
const SETTLED_MS = 50_000;

export interface SumsParts {
  readonly db: Db;
  readonly store: Pick<Store, "dialect">;
  readonly clock: Clock;
}

/** The highest entry seen by an earlier run of this process: all below it are visible by now. */
const seen = new WeakMap<object, { id: number; atMs: number }>();

/** Adds up what the ledger got since the last time, slice by slice. */
export async function advanceSums({ db, store, clock }: SumsParts): Promise<void> {
  const { newest } = await db
    .selectFrom("ledger")
    .select((select) => sql<number>`coalesce(${select.fn.max("id")}, 0)`.as("newest"))
    .executeTakeFirstOrThrow();
  const settled = store.dialect === "sqlite" ? newest : settledBefore(db, newest, clock.now());
  while (await advance(db, settled));
}

function settledBefore(db: object, newest: number, nowMs: number): number {
  const before = seen.get(db);
  if (before && nowMs >= before.atMs && nowMs - before.atMs < SETTLED_MS) return 0;
  seen.set(db, { id: newest, atMs: nowMs });
  // What was seen later than now was seen before a step back of the clock; how long ago is unknown (requirements F08).
  return before && nowMs >= before.atMs ? before.id : 0;
}

/** Adds up one slice. Returns whether there is more. */
async function advance(db: Db, upTo: number): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    // Takes the row's lock on PostgreSQL, so that two processes do not add the same entries.
    const head = await tx
      .updateTable("ledger_sums_head")
      .set((update) => ({ last_id: update.ref("last_id") }))
      .where("one", "=", 1)
      .returning("last_id")
      .executeTakeFirstOrThrow();
    const from = head.last_id;
    const to = Math.min(from + SLICE, upTo);
    if (to <= from) return false;
    await addUp(tx, { scope: "user", column: "user_id", amount: "amount", from, to });
    await addUp(tx, { scope: "token", column: "token_id", amount: "token_amount", from, to });
    await addUp(tx, { scope: "channel", column: "channel_id", amount: "amount", from, to });
    await tx.updateTable("ledger_sums_head").set({ last_id: to }).where("one", "=", 1).execute();
    return to < upTo;
  });
}

interface Slice {
  readonly scope: "user" | "token" | "channel";
  readonly column: "user_id" | "token_id" | "channel_id";
  readonly amount: "amount" | "token_amount";
  readonly from: number;
  readonly to: number;
}

async function addUp(db: Db, { scope, column, amount, from, to }: Slice): Promise<void> {
  const key = sql.ref(column);
  const whole = (expression: ReturnType<typeof sql>) => sql`cast(sum(${expression}) as bigint)`;
  await sql`
    INSERT INTO ledger_sums (scope, id, credit, spent, calls)
    SELECT ${sql.lit(scope)}, ${key}, ${whole(sql`${sql.ref(amount)}`)},
      ${whole(sql`CASE WHEN kind = 'consume' THEN plan_amount - amount ELSE 0 END`)},
      ${whole(sql`CASE WHEN kind = 'consume' THEN 1 ELSE 0 END`)}
    FROM ledger WHERE id > ${from} AND id <= ${to} AND ${key} <> 0 GROUP BY ${key}
    ON CONFLICT (scope, id) DO UPDATE SET credit = ledger_sums.credit + excluded.credit,
      spent = ledger_sums.spent + excluded.spent, calls = ledger_sums.calls + excluded.calls`.execute(db);
}
