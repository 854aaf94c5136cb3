// Rows of one sheet into a table of SQLite: many in one statement cost much less than one by one.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type ColumnType, columnNames, type Sheet, type Value } from "#server/money/row-codec.ts";

/** Rows of one statement. */
const BULK = 32;

/**
 * An INSERT of so many rows of a sheet. OR FAIL: SQLite keeps no copy of each page for undoing this statement alone, since who fails
 * undoes the whole transaction.
 */
export function insertSql(sheet: Sheet<never>, { rows = 1, tail = "" } = {}): string {
  const row = `(${sheet.columns.map(() => "?").join(", ")})`;
  return `INSERT OR FAIL INTO ${sheet.table} (${columnNames(sheet)}) VALUES ${new Array(rows).fill(row).join(", ")} ${tail}`;
}

/** Numbered, because the values begin with the key that finds the row. */
export function updateSql(sheet: Sheet<never>): string {
  const [key, ...rest] = sheet.columns.map(([name], index) => `${name} = ?${index + 1}`);
  return `UPDATE ${sheet.table} SET ${rest.join(", ")} WHERE ${key}`;
}

/**
 * The values of an item, known to fit their columns: storing them later cannot fail for them. Throws: RangeError, TypeError.
 */
export function rowOf<Item>(sheet: Sheet<Item>, item: Item): Value[] {
  const values = sheet.values(item);
  const { columns, table } = sheet;
  for (let at = 0; at < columns.length; at += 1) {
    const value: unknown = values[at];
    const [name, type] = columns[at] ?? ["", "text"];
    if (!fits(type, value)) throw new TypeError(`${table}.${name} cannot hold this ${typeof value}`);
  }
  return values;
}

function fits(type: ColumnType, value: unknown): boolean {
  if (type === "text") return typeof value === "string";
  return Number.isSafeInteger(value) && (type === "int" || Number(value) >= 0);
}

/** Rows that wait to be inserted into the table of one sheet. */
export class Rows<Item> {
  readonly #sheet: Sheet<Item>;
  readonly #one: StatementSync;
  readonly #many: StatementSync;
  /** The values of so many rows as one statement takes, one row after another: a list for each row would be kept as long. */
  #full: Value[][] = [];
  #last: Value[] = [];

  constructor(database: DatabaseSync, sheet: Sheet<Item>) {
    this.#sheet = sheet;
    this.#one = database.prepare(insertSql(sheet));
    this.#many = database.prepare(insertSql(sheet, { rows: BULK }));
  }

  get count(): number {
    return this.#full.length * BULK + this.#last.length / this.#sheet.columns.length;
  }

  /** Adds a row that storing cannot fail for. Throws: RangeError, TypeError. */
  add(item: Item): void {
    this.#last.push(...rowOf(this.#sheet, item));
    if (this.#last.length < BULK * this.#sheet.columns.length) return;
    this.#full.push(this.#last);
    this.#last = [];
  }

  /** Inserts the rows in their order, and forgets them. Throws: SQLite's error; some of them may be there then. */
  store(): void {
    // `get` makes no answer of a statement that has none; `run` builds an object for each.
    for (const values of this.#full) this.#many.get(...values);
    const width = this.#sheet.columns.length;
    for (let at = 0; at < this.#last.length; at += width) this.#one.get(...this.#last.slice(at, at + width));
    this.#full = [];
    this.#last = [];
  }
}
