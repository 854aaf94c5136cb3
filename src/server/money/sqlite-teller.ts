// Groups on SQLite: posted to the writer thread, where sqlite-group.ts runs them.

import type { Clock } from "#server/clock.ts";
import type { SqliteStore } from "#server/store/db.ts";
import type { Teller } from "./teller.ts";
import { CARRY_OVER, decodeOutcomes, encodeBatch } from "./wire.ts";

const PROGRAM = new URL("./sqlite-group.ts", import.meta.url);

export function createSqliteTeller(store: SqliteStore, clock: Clock): Teller {
  const carryOver = async () => {
    await store.runProgram(PROGRAM, CARRY_OVER);
  };
  // What the last process left, perhaps.
  store.beforeNextUse(carryOver);
  return {
    async run(batch) {
      // The program answers with the outcomes of the batch as text.
      const answer = (await store.runProgram(PROGRAM, encodeBatch(batch))) as string;
      store.beforeNextUse(carryOver);
      return decodeOutcomes(answer);
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
    close: () => carryOver().catch(() => undefined),
  };
}
