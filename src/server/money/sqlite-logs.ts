// Log entries and sums on SQLite. A call's entry is durable with its group in a table without indexes; many together are sorted in
// among the others, with their sums, when there are enough or when somebody is about to read (docs/decisions/017).
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { NewLog } from "#server/store/logs.ts";
import { SPAN_SEC } from "#server/store/span.ts";
import type { Changes, HourSums } from "./books.ts";
import { addToSums, columnNames, LOG_SHEET, ROLLUP_SHEET, SUM_SHEET } from "./rows.ts";
import { addCall, type HourBooks } from "./rules-sums.ts";
import { Inserter, insertSql } from "./sqlite-insert.ts";
import { LogType } from "./states.ts";

/** Entries that are sorted in without being asked for: some 2 ms of the writer's time. */
const ENOUGH = 256;

const LOG_COLUMNS = columnNames(LOG_SHEET);

const SQL = {
  waiting: `SELECT ${LOG_COLUMNS} FROM recent_logs ORDER BY id`,
  move: `INSERT INTO logs (${LOG_COLUMNS}) SELECT ${LOG_COLUMNS} FROM recent_logs ORDER BY id`,
  clear: "DELETE FROM recent_logs",
  // Rows are numbered in their order and without gaps, since there is no other writer: the newest are those just moved.
  spans: `INSERT INTO log_spans (span, first_id, last_id)
    SELECT created_at - created_at % ${SPAN_SEC}, min(id), max(id) FROM logs WHERE id > ? GROUP BY 1
    ON CONFLICT (span) DO UPDATE SET
      first_id = min(first_id, excluded.first_id), last_id = max(last_id, excluded.last_id)`,
  upsertSum: insertSql(SUM_SHEET, { tail: addToSums(SUM_SHEET) }),
  upsertRollup: insertSql(ROLLUP_SHEET, { tail: addToSums(ROLLUP_SHEET) }),
} as const;

/** The log as one connection writes it. Made anew after a transaction that failed: what is stored is the truth. */
export class Logs {
  readonly #statements: Record<keyof typeof SQL, StatementSync>;
  readonly #recent: Inserter<NewLog>;
  #waiting = 0;
  /** Sums of the entries that wait. */
  #sums: HourBooks = noSums();

  constructor(database: DatabaseSync) {
    const entries = Object.entries(SQL).map(([name, sql]) => [name, database.prepare(sql)] as const);
    // The names are those of SQL.
    this.#statements = Object.fromEntries(entries) as Record<keyof typeof SQL, StatementSync>;
    this.#recent = new Inserter(database, { ...LOG_SHEET, table: "recent_logs" });
    // The columns of LOG_SHEET, with the types of a STRICT schema.
    const rows = this.#statements.waiting.all() as unknown as NewLog[];
    this.#waiting = rows.length;
    for (const row of rows)
      if (row.type === LogType.consume) addCall(this.#sums, callOf(row), row.created_at);
  }

  /** Stores what a group adds to log and sums. Runs inside its transaction. */
  add({ logs, sums, rollups }: Changes, nowSec: number): void {
    this.#recent.insert(logs, nowSec);
    this.#waiting += logs.length;
    if (isAllTold({ logs, sums })) {
      merge(this.#sums.sums, sums);
      merge(this.#sums.rollups, rollups);
    } else this.#storeSums({ sums, rollups }, nowSec);
    if (this.#waiting >= ENOUGH) this.sortIn();
  }

  /** Brings the entries that wait among the others, with their sums. Runs inside a transaction. */
  sortIn(): void {
    if (this.#waiting === 0) return;
    const { move, clear, spans } = this.#statements;
    const lastId = Number(move.run().lastInsertRowid);
    spans.get(lastId - this.#waiting);
    clear.get();
    this.#storeSums(this.#sums, 0);
    this.#waiting = 0;
    this.#sums = noSums();
  }

  #storeSums({ sums, rollups }: HourBooks, nowSec: number): void {
    const { upsertSum, upsertRollup } = this.#statements;
    for (const part of sums.values()) upsertSum.get(...SUM_SHEET.values(part, nowSec));
    for (const part of rollups.values()) upsertRollup.get(...ROLLUP_SHEET.values(part, nowSec));
  }
}

function noSums(): HourBooks {
  return { sums: new Map(), rollups: new Map() };
}

function callOf(row: NewLog) {
  return {
    userId: row.user_id,
    tokenName: row.token_name,
    modelName: row.model_name,
    channelId: row.channel_id,
    charged: BigInt(row.quota),
    promptTokens: row.prompt_tokens,
    completionTokens: row.completion_tokens,
  };
}

/** Whether every call that was summed up has its entry, so that the entries alone could bring the sums back. */
function isAllTold({ logs, sums }: Pick<Changes, "logs" | "sums">): boolean {
  let calls = 0;
  for (const part of sums.values()) if (part.dimension === "all") calls += part.requests;
  return calls === logs.filter(({ type }) => type === LogType.consume).length;
}

/** Adds the sums of a group to those of the groups before. */
function merge<Part extends HourSums>(all: Map<string, Part>, group: ReadonlyMap<string, Part>): void {
  for (const [name, part] of group) {
    const known = all.get(name);
    if (!known) {
      all.set(name, part);
      continue;
    }
    known.quota += part.quota;
    known.promptTokens += part.promptTokens;
    known.completionTokens += part.completionTokens;
    known.requests += part.requests;
  }
}
