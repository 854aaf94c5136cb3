// Opening sealed keys and codes for people: few calls a minute, and each opening in the trail (reliability K09). Knows who
// asks, not what the keys are.
import type { Clock } from "#server/clock.ts";
import type { Coord } from "#server/coord/coord.ts";
import { ExpiringKeys } from "#server/coord/expiring-keys.ts";
import { faults } from "#server/errors.ts";
import type { Events } from "#server/events.ts";
import { appendAudit } from "#server/store/audit.ts";
import type { Db } from "#server/store/db.ts";
import { isPassing } from "#server/store/fault.ts";
import type { Actor } from "./actors.ts";

export interface Reveals {
  /**
   * Counts a call that opens secrets, and writes down which. The same opened again by the same account from the same
   * address within an hour is counted, not written twice. Call it before the answer goes out, and show what it returns: what
   * cannot be written down is not shown, also where a database in trouble can still be read (reliability F02). Throws: 429.
   */
  open(call: RevealCall, kind: "token" | "redemption", ids: readonly number[]): Promise<ReadonlySet<number>>;
}

/** The part of a call that is remembered. */
export interface RevealCall {
  readonly actor: Actor;
  readonly address: string;
  readonly requestId: string;
}

/** Calls of one account; a page of a list is one. */
const PER_MINUTE = 60;
const MINUTE_MS = 60_000;
const KNOWN_MS = 3_600_000;

export function createReveals(deps: { db: Db; clock: Clock; coord: Coord; events: Events }): Reveals {
  const { db, clock, coord, events } = deps;
  // Of this process: another one may write down the same once more.
  const known = new ExpiringKeys();
  return {
    async open({ actor, address, requestId }, kind, ids) {
      const counted = await coord.count(`reveal:${actor.id}`, MINUTE_MS, PER_MINUTE);
      if (!counted.allowed) {
        events.rateLimited({ limit: "reveal", address });
        throw faults.tooMany(counted.retryAfterMs);
      }
      const nowMs = clock.now();
      const keyOf = (id: number) => `${actor.id} ${address} ${kind} ${id}`;
      const fresh = ids.filter((id) => known.get(keyOf(id), { nowMs, longestMs: KNOWN_MS }) === undefined);
      const shown = new Set(ids);
      if (fresh.length === 0) return shown;
      try {
        await appendAudit(db, {
          created_at: clock.seconds(),
          actor_id: actor.id,
          actor_name: actor.username,
          action: `${kind}.reveal`,
          target: fresh.join(","),
          detail: "",
          address,
          request_id: requestId,
        });
      } catch (error) {
        if (!isPassing(error)) throw error;
        events.backgroundFailed({ task: "trail of opened keys", error });
        for (const id of fresh) shown.delete(id);
        return shown;
      }
      for (const id of fresh) known.set(keyOf(id), nowMs + KNOWN_MS, nowMs);
      return shown;
    },
  };
}
