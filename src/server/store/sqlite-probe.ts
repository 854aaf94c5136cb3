// Runs in SQLite's writer thread: writes something and takes it back, so that a full disk, a lock and a database that cannot be written
// to show. It touches no rows that others use.
import type { DatabaseSync } from "node:sqlite";
import { PROBE } from "./ready.ts";

/** The probe that asked has gone by then: the next one finds out (requirements G04). */
const PATIENCE_MS = 500;

/**
 * Commits pages that were not in the database before, without waiting until the disk has them: nothing relies on them. Throws: SQLite's
 * error, after undoing everything.
 */
export function run(database: DatabaseSync): void {
  const settings = ["busy_timeout", "synchronous"].map((name) => {
    const [value] = Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {});
    return `PRAGMA ${name} = ${String(value)}`;
  });
  database.exec(`PRAGMA busy_timeout = ${PATIENCE_MS}; PRAGMA synchronous = NORMAL`);
  try {
    database.exec("BEGIN IMMEDIATE");
    database.prepare("INSERT INTO options (key, value) VALUES (?, ?)").run(PROBE.key, PROBE.value);
    database.prepare("DELETE FROM options WHERE key = ?").run(PROBE.key);
    database.exec("COMMIT");
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  } finally {
    database.exec(settings.join(";"));
  }
}

/** It puts nothing off. */
export function flush(): void {
  // Nor does it remember anything.
}
