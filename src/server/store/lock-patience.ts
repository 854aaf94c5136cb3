// How long a connection waits for a lock that another process holds on the database. Decides nothing else.
import type { DatabaseSync } from "node:sqlite";
import { sqliteFaultKind } from "./fault.ts";

/** How long the first waits (requirements F01). */
export const BUSY_TIMEOUT_MS = 5_000;
/** A caller that waited so long in vain did not choose to wait for a moment only. */
const STUCK_MS = 1_000;

export class LockPatience {
  readonly #database: DatabaseSync;
  #isStuck = false;
  #waitMs = BUSY_TIMEOUT_MS;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /**
   * Runs what may need the lock. Once a caller has waited for it in vain, and until one gets it, no caller waits longer than
   * `stuckMs`: they all stand in one row, and would each wait as long, one after the other (requirements F03). Throws: what `work` throws.
   */
  run<T>(stuckMs: number, work: () => T): T {
    this.#wait(this.#isStuck ? stuckMs : BUSY_TIMEOUT_MS);
    const startMs = performance.now();
    try {
      const result = work();
      this.#isStuck = false;
      return result;
    } catch (error) {
      if (sqliteFaultKind(error) === "busy" && performance.now() - startMs >= STUCK_MS) this.#isStuck = true;
      throw error;
    }
  }

  #wait(ms: number): void {
    if (ms === this.#waitMs) return;
    this.#database.exec(`PRAGMA busy_timeout = ${ms}`);
    this.#waitMs = ms;
  }
}
