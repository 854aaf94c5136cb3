// Wrong redemption and gift codes: few per user and per address, since a code is money (reliability L04).
import type { Coord } from "#server/coord/coord.ts";
import type { Events } from "#server/events.ts";
import { limitKey } from "./address.ts";
import { createTurns } from "./turns.ts";

// 5 at once and one every 16 minutes: at most 8 in any hour per user; 40 and one every 2 minutes, at most 70, per address
// (reliability L04: 10 and 100).
const WINDOW_MS = 80 * 60_000;
const PER_USER = 5;
const PER_ADDRESS = 40;

export interface Guesses {
  /**
   * Tries a code; `isWrong` says of the result that the code did not exist, was used or was not the user's to use. Throws: 429 when
   * the user or the address had too many such; what `evaluate` throws.
   */
  limit<T>(
    who: { userId: number; address: string },
    evaluate: () => Promise<T>,
    isWrong: (result: T) => boolean,
  ): Promise<T>;
}

/** Builds the limit. */
export function createGuesses({ coord, events }: { coord: Coord; events: Events }): Guesses {
  const turns = createTurns(coord);
  return {
    limit: ({ userId, address }, evaluate, isWrong) =>
      turns.guess({
        budgets: [
          { key: `redeem:user:${userId}`, limit: PER_USER, windowMs: WINDOW_MS },
          { key: `redeem:address:${limitKey(address)}`, limit: PER_ADDRESS, windowMs: WINDOW_MS },
        ],
        evaluate,
        isWrong,
        onRefused: () => events.rateLimited({ limit: "redeem", address }),
      }),
  };
}
