// A foreign SQLite file. Opened read-only and read inside one transaction.
import { DatabaseSync } from "node:sqlite";
import type { SourceRow } from "./row.ts";
import { cannotRead, type Source } from "./source.ts";

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function tablesOf(database: DatabaseSync): Map<string, Set<string>> {
  const tables = new Map<string, Set<string>>();
  for (const { name } of database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()) {
    const columns = database.prepare(`PRAGMA table_info(${quoted(String(name))})`).all();
    tables.set(String(name), new Set(columns.map((column) => String(column["name"]))));
  }
  return tables;
}

/** Begins to read one moment of the file. */
function begin(file: string): { database: DatabaseSync; tables: Source["tables"] } {
  try {
    const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
    database.exec("BEGIN");
    return { database, tables: tablesOf(database) };
  } catch (cause) {
    throw cannotRead(file, cause);
  }
}

/** Throws, and its rows too: ImportError when the file is damaged or locked. */
export async function openSqliteSource(file: string): Promise<Source> {
  const { database, tables } = begin(file);
  return {
    engine: "SQLite",
    tables,
    async *rows(table) {
      const order = tables.get(table)?.has("id") ? " ORDER BY id" : "";
      const statement = database.prepare(`SELECT * FROM ${quoted(table)}${order}`);
      // A sum that overflowed is no reason to stop.
      statement.setReadBigInts(true);
      try {
        for (const row of statement.iterate()) yield row satisfies SourceRow;
      } catch (cause) {
        throw cannotRead(file, cause);
      }
    },
    async count(table) {
      try {
        return Number(database.prepare(`SELECT count(*) AS rows FROM ${quoted(table)}`).get()?.["rows"]);
      } catch (cause) {
        throw cannotRead(file, cause);
      }
    },
    async close() {
      database.close();
    },
  };
}
