// A foreign PostgreSQL database. Read inside one read-only transaction that sees one moment, through a cursor.
import pg from "pg";
import type { SourceRow, SourceValue } from "./row.ts";
import { ImportError, type Source } from "./source.ts";

/** Rows of one round trip. */
const FETCH_ROWS = 5_000;

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A connection in a transaction that only reads. Throws: ImportError. */
async function connect(address: string): Promise<pg.Client> {
  try {
    // An address that is none throws here already.
    const client = new pg.Client({
      connectionString: address,
      application_name: "tollgate import",
      connectionTimeoutMillis: 10_000,
    });
    await client.connect();
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    return client;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ImportError(`cannot read the PostgreSQL database: ${reason}`, { cause });
  }
}

/** Throws: ImportError when the address cannot be reached. */
export async function openPostgresSource(address: string): Promise<Source> {
  const client = await connect(address);
  const { rows } = await client.query<{ table: string; column: string }>(
    `SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns
     WHERE table_schema = current_schema()`,
  );
  const tables = new Map<string, Set<string>>();
  for (const { table, column } of rows) {
    const columns = tables.get(table) ?? new Set();
    tables.set(table, columns.add(column));
  }
  return {
    engine: "PostgreSQL",
    tables,
    async *rows(table) {
      const order = tables.get(table)?.has("id") ? " ORDER BY id" : "";
      await client.query(`DECLARE source NO SCROLL CURSOR FOR SELECT * FROM ${quoted(table)}${order}`);
      for (;;) {
        const page = await client.query<Record<string, Cell>>(`FETCH ${FETCH_ROWS} FROM source`);
        for (const row of page.rows) yield plain(row);
        if (page.rows.length < FETCH_ROWS) break;
      }
      await client.query("CLOSE source");
    },
    async count(table) {
      const found = await client.query<{ rows: string }>(`SELECT count(*) AS rows FROM ${quoted(table)}`);
      return Number(found.rows[0]?.rows);
    },
    async close() {
      await client.end();
    },
  };
}

type Cell = string | number | boolean | Date | Buffer | object | null;

/** Times come as dates of the driver, JSON and lists as what they say. */
function plain(row: Readonly<Record<string, Cell>>): SourceRow {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plainCell(value)]));
}

function plainCell(value: Cell): SourceValue {
  if (value instanceof Date) return value.toISOString();
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return value;
  return JSON.stringify(value);
}
