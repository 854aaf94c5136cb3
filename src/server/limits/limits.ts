// The one mechanism of all limits (table.ts): events are counted through coord, over all processes, or by one process alone.
import type { Clock } from "#server/clock.ts";
import type { Config } from "#server/config.ts";
import type { Coord, Counted, CountedEvent } from "#server/coord/coord.ts";
import { countEvent, ExpiringKeys } from "#server/coord/expiring-keys.ts";
import { faults } from "#server/errors.ts";
import type { Events } from "#server/events.ts";
import { createGuesses, type Guess } from "./guesses.ts";
import { type Counting, keyOf, LIMITS, type Limit, waitText } from "./table.ts";

/** A limit that is only looked at. */
export interface Watched extends Counting {
  /** It is taken by slots (`hold`) and not by events (`check`). */
  readonly isHeld: boolean;
}

/** What a limit has at a moment. Unit: events or slots; of events a part of one counts. */
export interface Left {
  readonly taken: number;
  readonly left: number;
  /** Until all of it is there again; 0 of slots, which come back at any time. Unit: ms. */
  readonly fullAfterMs: number;
}

/** How many events of a limit are taken that is full again after so long. */
export function takenOf({ burst, windowMs }: Pick<Limit, "burst" | "windowMs">, fullAfterMs: number): number {
  return (fullAfterMs / windowMs) * burst;
}

/** An event that may be worth several. */
export interface WorthEvent {
  readonly counting: Counting;
  readonly worth: number;
}

export interface Limits {
  /** Counts one event, and reports one that is refused. Refused events do not count. `address` = the client's. */
  check(counting: Counting, address: string, worth?: number): Promise<Counted>;
  /** The same of several one after another, up to the first that has no room: what each that was asked came to. */
  checkEach(events: readonly WorthEvent[], address: string): Promise<readonly Counted[]>;
  /** Takes back what `check` counted; a negative worth is owed. */
  giveBack(counting: Counting, worth: number): Promise<void>;
  /** Counts one event of each in turn. Throws: 429 with its wait. */
  count(countings: readonly Counting[], address: string): Promise<void>;
  /** Evaluates a guess while each of its limits has room for a wrong one. Throws: 429 with its wait; what `evaluate` throws. */
  guess<T>(guess: Guess<T>): Promise<T>;
  /** What each limit has, in their order. Counts nothing; costs at most two queries, however many there are. */
  look<W extends Watched>(asked: readonly W[]): Promise<ReadonlyMap<W, Left>>;
  /** Takes one of a limit's slots, of which there are `burst`; the result gives it back. undefined = all are taken. */
  hold(counting: Counting, address: string): Promise<(() => void) | undefined>;
}

export function createLimits({
  coord,
  events,
}: {
  coord: Coord;
  events: Pick<Events, "rateLimited">;
}): Limits {
  const guesses = createGuesses(coord);
  async function check(counting: Counting, address: string, worth?: number): Promise<Counted> {
    const { windowMs, burst, name } = counting.limit;
    const counted = await coord.count(keyOf(counting), windowMs, burst, worth);
    if (!counted.allowed) events.rateLimited({ limit: name, address });
    return counted;
  }
  return {
    check,
    async checkEach(asked, address) {
      const counted = await coord.countEach(asked.map(eventOf));
      const last = asked[counted.length - 1];
      if (last !== undefined && counted.at(-1)?.allowed === false)
        events.rateLimited({ limit: last.counting.limit.name, address });
      return counted;
    },
    giveBack: (counting, worth) => {
      const { windowMs, burst } = counting.limit;
      return coord.uncount(keyOf(counting), windowMs, burst, worth);
    },
    async count(countings, address) {
      for (const counting of countings) {
        const { allowed, retryAfterMs } = await check(counting, address);
        if (!allowed) throw faults.tooMany(retryAfterMs, waitText(counting.limit, retryAfterMs));
      }
    },
    guess: (guess) => guesses.guess(guess),
    async look(asked) {
      const keysOf = (isHeld: boolean) => asked.filter((one) => one.isHeld === isHeld).map(keyOf);
      const [full, held] = await Promise.all([coord.fullAfter(keysOf(false)), coord.heldOf(keysOf(true))]);
      return new Map(
        asked.map((one) => {
          const { burst, windowMs } = one.limit;
          const key = keyOf(one);
          // What was counted before the clock stepped back does not lie further ahead (requirements F08).
          const fullAfterMs = Math.min(full.get(key) ?? 0, windowMs);
          const taken = one.isHeld ? (held.get(key) ?? 0) : takenOf(one.limit, fullAfterMs);
          return [one, { taken, left: Math.max(0, burst - taken), fullAfterMs }];
        }),
      );
    },
    async hold(counting, address) {
      const { burst, name } = counting.limit;
      const leave = await coord.hold(keyOf(counting), burst);
      if (leave === undefined) events.rateLimited({ limit: name, address });
      return leave;
    },
  };
}

function eventOf({ counting, worth }: WorthEvent): CountedEvent {
  const { windowMs, burst } = counting.limit;
  return { key: keyOf(counting), windowMs, limit: burst, worth };
}

/** A limit that this process counts alone, where a query to the database would cost more than what is limited. */
interface LocalLimit {
  /** How long the subject has to wait for its next event; 0 = not at all. Counts nothing. Unit: ms. */
  waitMs(subject: string): number;
  /** Counts one event; false = there was no room for it. */
  take(subject: string): boolean;
}

export function createLocalLimit(limit: Limit, clock: Pick<Clock, "now">): LocalLimit {
  const { burst, windowMs } = limit;
  const counted = new ExpiringKeys();
  const waiting = new ExpiringKeys();
  return {
    waitMs(subject) {
      const nowMs = clock.now();
      return (
        (waiting.get(keyOf({ limit, subject }), { nowMs, longestMs: windowMs / burst }) ?? nowMs) - nowMs
      );
    },
    take(subject) {
      const nowMs = clock.now();
      const key = keyOf({ limit, subject });
      const waitMs = countEvent(counted, key, { windowMs, limit: burst, nowMs });
      if (waitMs > 0) waiting.set(key, nowMs + waitMs, nowMs);
      return waitMs === 0;
    },
  };
}

/** Counts a call of an address against one of the family's limits, as the operator set it. Throws: 429. */
export async function limitAddress(
  { config, limits }: { readonly config: Pick<Config, "rateLimits">; readonly limits: Limits },
  name: keyof Config["rateLimits"],
  address: string,
): Promise<void> {
  const { limit: burst, windowMs } = config.rateLimits[name];
  if (burst > 0)
    await limits.count([{ limit: { ...LIMITS[name], burst, windowMs }, subject: address }], address);
}
