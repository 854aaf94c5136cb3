// Rows of one sheet into a table of SQLite: sixteen rows in one statement cost a third less than one by one.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type ColumnType, columnNames, type Sheet, type Value } from "./rows.ts";

/** Rows of one statement. */
const BULK = 16;

/** An INSERT of so many rows of a sheet. */
export function insertSql(sheet: Sheet<never>, { rows = 1, tail = "" } = {}): string {
  const row = `(${sheet.columns.map(() => "?").join(", ")})`;
  return `INSERT INTO ${sheet.table} (${columnNames(sheet)}) VALUES ${new Array(rows).fill(row).join(", ")} ${tail}`;
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

/** Inserts rows of one sheet. */
export class Inserter {
  readonly #one: StatementSync;
  readonly #many: StatementSync;

  constructor(database: DatabaseSync, sheet: Sheet<never>) {
    this.#one = database.prepare(insertSql(sheet));
    this.#many = database.prepare(insertSql(sheet, { rows: BULK }));
  }

  /** Inserts rows in their order. Throws: SQLite's error; some of them may be there then. */
  insert(rows: readonly Value[][]): void {
    // `get` makes no answer of a statement that has none; `run` builds an object for each.
    const whole = rows.length - (rows.length % BULK);
    for (let at = 0; at < whole; at += BULK) this.#many.get(...rows.slice(at, at + BULK).flat());
    for (const row of rows.slice(whole)) this.#one.get(...row);
  }
}
