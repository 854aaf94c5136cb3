// Groups on SQLite: posted to the writer thread, where sqlite-group.ts runs them.

import type { Clock } from "#server/clock.ts";
import type { LedgerBackend } from "#server/money/backend.ts";
import type { SqliteStore } from "#server/store/db.ts";
import { CARRY_OVER, decodeOutcomes, encodeBatch } from "./wire.ts";

const PROGRAM = new URL("./writer.ts", import.meta.url);

/** After this long the tables show what calls brought, though nobody looks. */
const LATEST_MS = 1_000;

/** `onError` is told when what calls brought cannot reach the tables; it waits in the journal then. */
export function createSqliteBackend(
  store: SqliteStore,
  clock: Clock,
  onError: (error: unknown) => void = () => undefined,
): LedgerBackend {
  let timer: NodeJS.Timeout | undefined;
  const carryOver = async () => {
    await store.runProgram(PROGRAM, CARRY_OVER);
  };
  const carryOverSoon = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      carryOver().catch(onError);
    }, LATEST_MS).unref();
  };
  // What the last process left, perhaps.
  store.beforeNextUse(carryOver);
  return {
    async run(batch, tell) {
      // The program answers with outcomes of the batch as text, those that need no disk perhaps ahead of the others.
      const hear = (answer: unknown) => {
        // Whoever is told may look.
        store.beforeNextUse(carryOver);
        decodeOutcomes(answer as string).forEach((outcome, index) => {
          if (outcome !== undefined) tell(index, outcome);
        });
      };
      hear(await store.runProgram(PROGRAM, encodeBatch(batch), hear));
      carryOverSoon();
    },
    async renewLease(node, leaseSec) {
      const leaseUntil = clock.seconds() + leaseSec;
      await store.db
        .insertInto("nodes")
        .values({ node, lease_until: leaseUntil })
        .onConflict((conflict) => conflict.column("node").doUpdateSet({ lease_until: leaseUntil }))
        .execute();
    },
    async dropLease(node) {
      await store.db.deleteFrom("nodes").where("node", "=", node).execute();
    },
    async buryDead(node) {
      // The lock on the data directory proves that no other process is alive.
      await store.db.deleteFrom("nodes").where("node", "!=", node).execute();
    },
    // What cannot be carried over now is by the next start.
    async close() {
      clearTimeout(timer);
      await carryOver().catch(() => undefined);
    },
  };
}
