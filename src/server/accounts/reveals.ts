// Showing sealed keys and codes to users: few calls a minute, and each is in the audit log (requirements K09). Knows the
// actor, not the keys.
import type { Clock } from "#server/clock.ts";
import { ExpiringKeys } from "#server/coord/expiring-keys.ts";
import type { Events } from "#server/events.ts";
import type { Limits } from "#server/limits/limits.ts";
import { LIMITS } from "#server/limits/table.ts";
import { appendAudit } from "#server/store/audit.ts";
import type { Db } from "#server/store/db.ts";
import { isPassing } from "#server/store/fault.ts";
import type { Actor } from "./actors.ts";
import { may } from "./may.ts";

export interface Reveals {
  /**
   * Counts a call that opens secrets, and writes it to the audit log. The same secrets opened again by the same account from the
   * same address within an hour are counted, not written twice. Call it before the answer is sent, and answer with what it returns:
   * what cannot be logged is not shown, also where a database in trouble can still be read (requirements F02). `teams` = those that pay
   * for the tokens. Throws: 429.
   */
  open(
    call: RevealCall,
    kind: "token" | "redemption",
    ids: readonly number[],
    teams?: readonly number[],
  ): Promise<ReadonlySet<number>>;
}

/** The part of a call that is remembered. */
export interface RevealCall {
  readonly actor: Actor;
  readonly address: string;
  readonly requestId: string;
}

const KNOWN_MS = 3_600_000;

export function createReveals(deps: { db: Db; clock: Clock; limits: Limits; events: Events }): Reveals {
  const { db, clock, limits, events } = deps;
  // Of this process: another one may log the same once more.
  const known = new ExpiringKeys();
  return {
    async open({ actor, address, requestId }, kind, ids, teams) {
      if (!maySee(actor, kind)) return new Set();
      await limits.count([{ limit: LIMITS.reveal, subject: String(actor.id) }], address);
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
          teams,
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

/** Who looks at another user's console sees no secret of his. */
function maySee(actor: Actor, kind: "token" | "redemption"): boolean {
  return actor.viewer === undefined && (kind === "token" || may(actor, "redemption.reveal"));
}
