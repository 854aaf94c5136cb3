// The time that several processes share: the database's. Statements can ask for it themselves; where a process must know it before it asks
// anything, it goes by its own clock and by how far that is from the database's.
import { sql } from "kysely";
import type { Clock } from "#server/clock.ts";
import type { Db } from "#server/store/db.ts";

/** In a statement. Unit: ms since 1970, as numbers of JavaScript are. */
export const DATABASE_NOW = sql<number>`(extract(epoch FROM statement_timestamp()) * 1000)::double precision`;

export interface DatabaseClock {
  /** Milliseconds since 1970, at most half a round trip from the database's. */
  now(): number;
  /** Asks the database again: the clock of a process may be set, or drift. */
  compare(): Promise<void>;
}

/** Compares the clocks. Throws: when the database cannot be asked now. */
export async function openDatabaseClock({
  db,
  clock,
}: {
  readonly db: Db;
  readonly clock: Clock;
}): Promise<DatabaseClock> {
  let aheadMs = 0;
  async function compare(): Promise<void> {
    const askedMs = clock.now();
    const { rows } = await sql<{ now_ms: number }>`SELECT ${DATABASE_NOW} AS now_ms`.execute(db);
    const betweenMs = (askedMs + clock.now()) / 2;
    aheadMs = Math.round((rows[0]?.now_ms ?? betweenMs) - betweenMs);
  }
  await compare();
  return { now: () => clock.now() + aheadMs, compare };
}
