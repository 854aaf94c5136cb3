// Groups on SQLite: posted to the writer thread, where sqlite-group.ts runs them.

import type { Clock } from "#server/clock.ts";
import type { SqliteStore } from "#server/store/db.ts";
import type { Teller } from "./teller.ts";
import { decodeOutcomes, encodeBatch, SORT_IN } from "./wire.ts";

const PROGRAM = new URL("./sqlite-group.ts", import.meta.url);

export function createSqliteTeller(store: SqliteStore, clock: Clock): Teller {
  const sortIn = async () => {
    await store.runProgram(PROGRAM, SORT_IN);
  };
  // What the last process left, perhaps.
  store.beforeNextUse(sortIn);
  return {
    async run(batch) {
      // The program answers with the outcomes of the batch as text.
      const answer = (await store.runProgram(PROGRAM, encodeBatch(batch))) as string;
      store.beforeNextUse(sortIn);
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
    // What cannot be sorted in now is by the next start.
    close: () => sortIn().catch(() => undefined),
  };
}
