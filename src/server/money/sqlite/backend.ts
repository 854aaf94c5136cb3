// Groups on SQLite: posted to the writer thread, where writer.ts runs them.

import type { Clock } from "#server/clock.ts";
import type { LedgerBackend } from "#server/money/backend.ts";
import type { SqliteStore } from "#server/store/db.ts";
import { CHECKPOINT, decodeOutcomes, encodeBatch } from "./wire.ts";

const WRITER = new URL("./writer.ts", import.meta.url);

/** After this long the tables show what calls brought, though no statement asks. */
const LATEST_MS = 1_000;

/** `onError` is told when what calls brought cannot reach the tables; it waits in the journal then. */
export function createSqliteBackend(
  store: SqliteStore,
  clock: Clock,
  onError: (error: unknown) => void = () => undefined,
): LedgerBackend {
  let timer: NodeJS.Timeout | undefined;
  const checkpoint = async () => {
    await store.runInWriter(WRITER, CHECKPOINT);
  };
  const checkpointSoon = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      checkpoint().catch(onError);
    }, LATEST_MS).unref();
  };
  // What the last process left, perhaps.
  store.flushBeforeUse(checkpoint);
  return {
    async run(batch, tell) {
      // The writer answers with outcomes of the batch as text, those that need no disk perhaps ahead of the others.
      const hear = (answer: unknown) => {
        // A caller that was answered may look.
        store.flushBeforeUse(checkpoint);
        decodeOutcomes(answer as string).forEach((outcome, index) => {
          if (outcome !== undefined) tell(index, outcome);
        });
      };
      hear(await store.runInWriter(WRITER, encodeBatch(batch), hear));
      checkpointSoon();
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
    async expireLeases(node) {
      // The lock on the data directory proves that no other process is alive.
      await store.db.deleteFrom("nodes").where("node", "!=", node).execute();
    },
    // What cannot reach the tables now does by the next start.
    async close() {
      clearTimeout(timer);
      await checkpoint().catch(() => undefined);
    },
  };
}
