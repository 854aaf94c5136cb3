// Liveness on PostgreSQL. A process holds a shared advisory lock on its ledger backend's connection and a lease in the table `nodes`. A
// lock that stays free for some seconds means that the process is gone; the lease is for hosts that vanish without a word, whose
// connections the server believes in for hours. Knows nothing of what dead processes left open.
import { sql } from "kysely";
import type { Client } from "pg";
import type { PostgresStore } from "#server/store/db.ts";

export interface Liveness {
  /** Takes the lock in the session of this connection; several sessions of one process may hold it. */
  lock(client: Client): Promise<void>;
  renewLease(leaseSec: number): Promise<void>;
  dropLease(): Promise<void>;
  /** Declares processes dead that show no sign of being alive. */
  expireLeases(): Promise<void>;
  /** What was seen of others does not count: our own connection was lost, perhaps every connection was. */
  doubtSightings(): void;
}

/** Locks of processes share this class, so that they meet no other locks. */
const LOCK_CLASS = 0x7012;
/** A lock may be free for a moment: a process connects anew every quarter of a second after it lost its connection. */
const DOUBT_MS = 2_500;

/** Seconds by the clock of the database: the same for all nodes (requirements F08). */
const DATABASE_NOW = sql<number>`extract(epoch FROM clock_timestamp())::bigint`;

/** Whether a session of the process in `nodes.node` holds its lock; key 2 of a lock is shown as an unsigned number. */
const HELD = sql<boolean>`EXISTS (SELECT 1 FROM pg_locks
  WHERE locktype = 'advisory' AND granted AND objsubid = 2
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid::bigint = ${sql.lit(LOCK_CLASS)} AND objid::bigint = (hashtext(nodes.node)::bigint & 4294967295))`;

export function createLiveness({ db }: PostgresStore, node: string): Liveness {
  /** Process → when its lock was first seen to be free. Unit: ms of this process's own time. */
  const freeSince = new Map<string, number>();
  let leaseSec = 0;

  async function renew(): Promise<void> {
    await sql`INSERT INTO nodes (node, lease_until, is_locked) VALUES (${node}, ${DATABASE_NOW} + ${leaseSec}, 1)
      ON CONFLICT (node) DO UPDATE SET lease_until = excluded.lease_until, is_locked = 1`.execute(db);
  }

  /** The processes whose lock is free now and has been for long enough. */
  async function findGone(): Promise<string[]> {
    const { rows } = await sql<{ node: string }>`SELECT node FROM nodes
      WHERE is_locked = 1 AND node <> ${node} AND NOT ${HELD}`.execute(db);
    const free = new Set(rows.map((row) => row.node));
    const nowMs = performance.now();
    for (const name of freeSince.keys()) if (!free.has(name)) freeSince.delete(name);
    for (const name of free) if (!freeSince.has(name)) freeSince.set(name, nowMs);
    return [...free].filter((name) => nowMs - (freeSince.get(name) ?? nowMs) >= DOUBT_MS);
  }

  return {
    async lock(client) {
      await client.query("SELECT pg_advisory_lock_shared($1, hashtext($2))", [LOCK_CLASS, node]);
      // Other nodes may have declared us dead while we were away: nothing is set aside before they know that we are alive.
      if (leaseSec > 0) await renew();
    },
    async renewLease(seconds) {
      leaseSec = seconds;
      await renew();
    },
    async dropLease() {
      leaseSec = 0;
      await db.deleteFrom("nodes").where("node", "=", node).execute();
    },
    async expireLeases() {
      const gone = await findGone();
      await sql`DELETE FROM nodes WHERE node <> ${node} AND (lease_until < ${DATABASE_NOW}
        OR (node = ANY(${gone}) AND NOT ${HELD}))`.execute(db);
    },
    doubtSightings: () => freeSince.clear(),
  };
}
