// Wrong redemption and gift codes: few per user and per address, since a code is money (reliability L04).
import type { Clock } from "#server/clock.ts";
import type { Coord } from "#server/coord/coord.ts";
import { faults } from "#server/errors.ts";
import type { Events } from "#server/events.ts";
import { limitKey } from "./address.ts";

// The budget refills evenly, one guess at a time; the guess that finds it empty is evaluated too. So 4 in 80 minutes come to
// 5 at once and 2 every 20 minutes, 9 in any hour per user; 39 to 98 per address (reliability L04: 10 and 100).
const WINDOW_MS = 80 * 60_000;
const PER_USER = 4;
const PER_ADDRESS = 39;
const LOCKS = 10_000;

export interface Guesses {
  /** Throws: 429 while the user or the address is over its limit. */
  refuseLocked(userId: number, address: string): void;
  /** Counts a code that did not exist, was used or was not the user's to use. */
  countFailure(userId: number, address: string): Promise<void>;
}

/** Builds the counter. Failures are counted through coord; who is over the limit is remembered here until it passes. */
export function createGuesses(deps: { clock: Clock; coord: Coord; events: Events }): Guesses {
  const { clock, coord, events } = deps;
  const lockedUntilMs = new Map<string, number>();
  const keysOf = (userId: number, address: string) =>
    [`redeem:user:${userId}`, `redeem:address:${limitKey(address)}`] as const;

  async function count(key: string, limit: number): Promise<void> {
    const counted = await coord.count(key, WINDOW_MS, limit);
    if (counted.allowed) return;
    if (lockedUntilMs.size >= LOCKS) lockedUntilMs.clear();
    lockedUntilMs.set(key, clock.now() + counted.retryAfterMs);
  }

  return {
    refuseLocked(userId, address) {
      for (const key of keysOf(userId, address)) {
        const leftMs = (lockedUntilMs.get(key) ?? 0) - clock.now();
        if (leftMs <= 0) {
          lockedUntilMs.delete(key);
          continue;
        }
        events.rateLimited({ limit: "redeem", address });
        throw faults.tooMany(leftMs);
      }
    },
    async countFailure(userId, address) {
      const [user, source] = keysOf(userId, address);
      await count(user, PER_USER);
      await count(source, PER_ADDRESS);
    },
  };
}
