// Checks the books after a benchmark by reading the database file itself: what was served is what was charged.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

export interface Book {
  readonly promise: string;
  readonly isTrue: boolean;
  readonly detail: string;
}

/** Reads one number; counts and sums of this benchmark are far below 2^53. */
function number(db: DatabaseSync, sql: string): number {
  return Number(Object.values(db.prepare(sql).get() ?? {})[0] ?? 0);
}

function compare(promise: string, found: number, expected: number): Book {
  const isTrue = found === expected;
  return { promise, isTrue, detail: isTrue ? String(found) : `${found}, expected ${expected}` };
}

/** Compares the ledger with the balances and with the number of requests that were answered. */
export function checkBooks(dataDir: string, served: number): Book[] {
  const db = new DatabaseSync(join(dataDir, "tollgate.db"), { readOnly: true });
  try {
    const consumed = number(db, "SELECT -sum(amount) FROM ledger WHERE kind = 'consume'");
    const granted = number(db, "SELECT sum(amount) FROM ledger WHERE kind <> 'consume'");
    const users = "users WHERE username = 'root'";
    const token = "tokens WHERE name = 'bench'";
    return [
      compare(
        "one consume entry per request",
        number(db, "SELECT count(*) FROM ledger WHERE kind = 'consume'"),
        served,
      ),
      compare("one log line per request", number(db, "SELECT count(*) FROM logs WHERE type = 2"), served),
      compare("root lost what the ledger says", granted - number(db, `SELECT quota FROM ${users}`), consumed),
      compare("root's used quota is that too", number(db, `SELECT used_quota FROM ${users}`), consumed),
      compare("the token's used quota is that too", number(db, `SELECT used_quota FROM ${token}`), consumed),
      compare(
        "the channel's used quota is that too",
        number(db, "SELECT sum(used_quota) FROM channels"),
        consumed,
      ),
      compare(
        "the log adds up to that too",
        number(db, "SELECT sum(quota) FROM logs WHERE type = 2"),
        consumed,
      ),
      compare("nothing is reserved any more", number(db, "SELECT count(*) FROM reservations"), 0),
      compare("nothing fell short", number(db, "SELECT sum(shortfall) FROM ledger"), 0),
    ];
  } finally {
    db.close();
  }
}
