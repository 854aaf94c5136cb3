// The ledger check after a benchmark, by reading the database itself: what was served is what was charged.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";

export interface Book {
  readonly promise: string;
  readonly isTrue: boolean;
  readonly detail: string;
}

/** Reads one number; counts and sums of this benchmark are far below 2^53. */
type ReadNumber = (sql: string) => number | Promise<number>;

function numberOf(row: object | undefined): number {
  return Number(Object.values(row ?? {})[0] ?? 0);
}

function compare(promise: string, found: number, expected: number): Book {
  const isTrue = found === expected;
  return { promise, isTrue, detail: isTrue ? String(found) : `${found}, expected ${expected}` };
}

/** Compares the ledger with the balances and with the number of requests that were answered. */
async function check(read: ReadNumber, served: number): Promise<Book[]> {
  const consumed = await read("SELECT -sum(amount) FROM ledger WHERE kind = 'consume'");
  const granted = await read("SELECT sum(amount) FROM ledger WHERE kind <> 'consume'");
  const users = "users WHERE username = 'root'";
  const token = "tokens WHERE name = 'bench'";
  const sql = {
    entries: "SELECT count(*) FROM ledger WHERE kind = 'consume'",
    logs: "SELECT count(*) FROM logs WHERE type = 2",
    channels: "SELECT sum(used_quota) FROM channels",
    log: "SELECT sum(quota) FROM logs WHERE type = 2",
    open: "SELECT count(*) FROM reservations",
    shortfall: "SELECT sum(shortfall) FROM ledger",
  };
  return [
    compare("one consume entry per request", await read(sql.entries), served),
    compare("one log line per request", await read(sql.logs), served),
    compare("root lost what the ledger says", granted - (await read(`SELECT quota FROM ${users}`)), consumed),
    compare("root's used quota is that too", await read(`SELECT used_quota FROM ${users}`), consumed),
    compare("the token's used quota is that too", await read(`SELECT used_quota FROM ${token}`), consumed),
    compare("the channel's used quota is that too", await read(sql.channels), consumed),
    compare("the log adds up to that too", await read(sql.log), consumed),
    compare("nothing is reserved any more", await read(sql.open), 0),
    compare("nothing fell short", await read(sql.shortfall), 0),
  ];
}

/** The ledger check of a server on SQLite. */
export async function checkBooks(dataDir: string, served: number): Promise<Book[]> {
  const db = new DatabaseSync(join(dataDir, "tollgate.db"), { readOnly: true });
  try {
    return await check((sql) => numberOf(db.prepare(sql).get()), served);
  } finally {
    db.close();
  }
}

/** The ledger check of servers on PostgreSQL. */
export async function checkPostgresBooks(url: string, served: number): Promise<Book[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await check(async (sql) => numberOf((await client.query(sql)).rows[0]), served);
  } finally {
    await client.end();
  }
}
