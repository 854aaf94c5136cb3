// Where an import goes: our database, or nowhere for a dry run. Rows keep their ids; what is there already is not written
// again, so that an interrupted import is simply run once more.
import { type Insertable, sql } from "kysely";
import type { Secrets } from "#server/secrets.ts";
import type { NewKey } from "#server/store/channel-keys.ts";
import type { Db, Store } from "#server/store/db.ts";
import type { OpeningsTable, Tables } from "#server/store/tables.ts";
import { noSums, SUM_NAMES, type SumName, type Sums, type Tally } from "./tally.ts";

/** Tables whose rows come with their ids. */
export type ImportedTable = "users" | "tokens" | "channels" | "redemptions" | "logs";

/** What an imported balance is explained by: an entry of the ledger, and what had been used before. */
export interface Opening {
  readonly scope: OpeningsTable["scope"];
  readonly id: number;
  readonly userId: number;
  /** What the user owns. */
  readonly quota?: number;
  /** What the token may spend. */
  readonly tokenQuota?: number;
  /** What the partner plan owes, in millionths of a yuan. */
  readonly yuanMicro?: number;
  readonly usedQuota: number;
  readonly requestCount?: number;
}

/** One row on its way, with what belongs to it. */
export interface ImportedRow<Table extends ImportedTable> {
  readonly row: Insertable<Tables[Table]> & { readonly id: number };
  readonly openings?: readonly Opening[];
  /** Of a channel that has several. */
  readonly keys?: readonly NewKey[];
}

export interface Target {
  readonly secrets: Secrets;
  readonly nowSec: number;
  readonly tally: Tally;
  /** undefined = dry run. */
  readonly store: Store | undefined;
}

/** Rows of one INSERT: SQLite takes 32,766 parameters, PostgreSQL 65,535. */
export const INSERT_ROWS = 500;

export function* slices<Item>(items: readonly Item[], size: number): Generator<Item[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

/** Writes rows that are not there yet, with their openings, in one transaction. */
export async function writeRows<Table extends ImportedTable>(
  target: Target,
  table: Table,
  incoming: readonly ImportedRow<Table>[],
): Promise<void> {
  const count = target.tally.of(table);
  if (target.store === undefined) {
    count.written += incoming.length;
    for (const { row } of incoming) addRow(target.tally.after, table, row);
    return;
  }
  await target.store.db.transaction().execute(async (tx) => {
    const ids = incoming.map(({ row }) => row.id);
    const present = await presentIds(tx, table, ids);
    const fresh = incoming.filter(({ row }) => !present.has(row.id));
    const rows = fresh.map(({ row }) => row);
    await insertRows(tx, table, rows);
    const openings = fresh.flatMap((item) => item.openings ?? []);
    const keys = fresh.flatMap(({ row: { id }, keys: of = [] }) =>
      of.map((key) => ({ ...key, channel_id: id })),
    );
    await insertRows(tx, "channel_keys", keys);
    await writeOpenings(tx, target.nowSec, openings);
    count.written += fresh.length;
    count.present += incoming.length - fresh.length;
  });
}

/** Which column of which table makes up a sum. */
export const SUM_COLUMNS = {
  quota: ["users", "quota"],
  used_quota: ["users", "used_quota"],
  remain_quota: ["tokens", "remain_quota"],
  "log quota": ["logs", "quota"],
  "token used_quota": ["tokens", "used_quota"],
  "channel used_quota": ["channels", "used_quota"],
} as const satisfies Record<SumName, readonly [ImportedTable, string]>;

/** Adds what a row would add to the sums of the result. */
function addRow(sums: Sums, table: ImportedTable, row: Readonly<Record<string, unknown>>): void {
  for (const name of SUM_NAMES) {
    const [of, column] = SUM_COLUMNS[name];
    if (of === table) sums[name] += BigInt(Number(row[column] ?? 0));
  }
}

/** The sums as the database has them. */
export async function readSums(db: Db): Promise<Sums> {
  const sums = noSums();
  for (const name of SUM_NAMES) {
    const [table, column] = SUM_COLUMNS[name];
    // As text: sums of sums that overflowed may be larger than a number holds exactly.
    const { rows } = await sql<{ sum: string }>`
      SELECT cast(coalesce(sum(${sql.ref(column)}), 0) AS text) AS sum FROM ${sql.table(table)}`.execute(db);
    sums[name] = BigInt(rows[0]?.sum ?? 0);
  }
  return sums;
}

/** Which of these ids a table has. */
export async function presentIds(db: Db, table: ImportedTable, ids: readonly number[]): Promise<Set<number>> {
  const present = new Set<number>();
  for (const some of slices(ids, INSERT_ROWS)) {
    const { rows } = await sql<{ id: number }>`
      SELECT id FROM ${sql.table(table)} WHERE id IN (${sql.join(some)})`.execute(db);
    for (const { id } of rows) present.add(id);
  }
  return present;
}

/** Adds rows, as many at once as both databases take. Throws: an error that `isTaken` recognises when one exists. */
export async function insertRows<Table extends keyof Tables>(
  db: Db,
  table: Table,
  rows: readonly Insertable<Tables[Table]>[],
): Promise<void> {
  for (const some of slices(rows, INSERT_ROWS)) {
    // Kysely cannot tell which table a type parameter names; the rows are those of that very table.
    await (db as Db)
      .insertInto(table as "options")
      .values(some as never)
      .execute();
  }
}

async function writeOpenings(db: Db, nowSec: number, openings: readonly Opening[]): Promise<void> {
  const used = openings
    .map(({ scope, id, usedQuota, requestCount = 0 }) => {
      return { scope, id, used_quota: usedQuota, request_count: requestCount };
    })
    .filter(({ used_quota, request_count }) => used_quota !== 0 || request_count !== 0);
  await insertRows(db, "openings", used);
  const entries = openings
    .map((opening) => entryOf(opening, nowSec))
    .filter(({ amount, token_amount, yuan_micro }) => amount !== 0 || token_amount !== 0 || yuan_micro !== 0);
  await insertRows(db, "ledger", entries);
}

function entryOf({ scope, id, userId, quota, tokenQuota, yuanMicro }: Opening, nowSec: number) {
  return {
    created_at: nowSec,
    kind: "opening",
    user_id: userId,
    token_id: scope === "token" ? id : 0,
    channel_id: 0,
    amount: quota ?? 0,
    token_amount: tokenQuota ?? 0,
    yuan_micro: yuanMicro ?? 0,
    request_id: `import-${scope}-${id}`,
    shortfall: 0,
    actor_id: 0,
    detail: "从 One API 导入",
  };
}

/** Lets new rows get ids after the imported ones (requirements W7.5). SQLite does so by itself. */
export async function resetSequences(store: Store): Promise<void> {
  if (store.dialect === "sqlite") return;
  for (const table of ["users", "tokens", "channels", "redemptions", "logs"]) {
    await sql`SELECT setval(pg_get_serial_sequence(${table}, 'id'), greatest(1, max(id)), max(id) IS NOT NULL)
      FROM ${sql.table(table)}`.execute(store.db);
  }
}
