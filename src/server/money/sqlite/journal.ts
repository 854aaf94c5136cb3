// The table of the batches that the other tables do not show yet (docs/decisions/025): one row for a group, written before it is
// answered, read again after a crash.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Batch } from "#server/money/operations.ts";
import { decodeBatch, FORM } from "./wire.ts";

const SQL = {
  append: `INSERT INTO journal (form, batch) VALUES (${FORM}, ?)`,
  all: "SELECT form, batch FROM journal ORDER BY id",
  clear: "DELETE FROM journal",
} as const;

export class Journal {
  readonly #append: StatementSync;
  readonly #clear: StatementSync;
  readonly #all: StatementSync;
  #isEmpty = true;

  constructor(database: DatabaseSync) {
    this.#append = database.prepare(SQL.append);
    this.#clear = database.prepare(SQL.clear);
    this.#all = database.prepare(SQL.all);
  }

  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** Adds an encoded Batch, inside the caller's transaction. */
  append(batch: string): void {
    this.#append.get(batch);
    this.#isEmpty = false;
  }

  /** What an earlier process, or a transaction that failed, left: in the order in which it was decided. Throws: when another program wrote it. */
  read(): readonly Batch[] {
    const batches = this.#all.all().map(({ form, batch }) => {
      if (form !== FORM)
        throw new Error(`the journal is of form ${String(form)}: start the program that wrote it`);
      return decodeBatch(String(batch));
    });
    this.#isEmpty = batches.length === 0;
    return batches;
  }

  /** Forgets all of it, in the transaction that stored it in the tables. */
  clear(): void {
    this.#clear.get();
    this.#isEmpty = true;
  }
}

/** Whether a database has a batch that its tables do not show. */
export function hasJournal(database: DatabaseSync): boolean {
  return database.prepare("SELECT 1 FROM journal LIMIT 1").get() !== undefined;
}
