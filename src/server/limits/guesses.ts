// Guesses at secrets. A guess is counted before it is evaluated, and the count is taken back when it was right, so that a burst
// of guesses never exceeds the limit. Knows no passwords and no codes.
import type { Coord } from "#server/coord/coord.ts";
import { faults } from "#server/errors.ts";
import { type Counting, keyOf, type Limit, waitText } from "./table.ts";

export interface Guess<T> {
  /** Limits of wrong guesses, taken in this order; guesses that share two of them name them in the same order. */
  readonly limits: readonly Counting[];
  /** Decides whether the guess is right. When this throws, the guess costs nothing. */
  evaluate(): Promise<T>;
  isWrong(result: T): boolean;
  /** Called when a limit has no room. */
  onRefused(): void;
}

export interface Guesses {
  /** Evaluates a guess when each of its limits has room. Throws: 429; what `evaluate` throws. */
  guess<T>(guess: Guess<T>): Promise<T>;
}

type Count = Pick<Coord, "count" | "uncount">;

/** Guesses are counted through coord, over all processes; only guesses of this process wait for room that may come back. */
export function createGuesses(coord: Count): Guesses {
  const queues = new Map<string, GuessQueue>();

  function join(counting: Counting): GuessQueue {
    const queue = queues.get(keyOf(counting)) ?? new GuessQueue(coord, counting);
    queue.members += 1;
    queues.set(queue.key, queue);
    return queue;
  }

  function part(queue: GuessQueue): void {
    queue.members -= 1;
    if (queue.members === 0) queues.delete(queue.key);
  }

  return {
    async guess({ limits, evaluate, isWrong, onRefused }) {
      const joined = limits.map(join);
      const entered: GuessQueue[] = [];
      let isSpent = false;
      try {
        for (const queue of joined) {
          const waitMs = await queue.enter();
          if (waitMs > 0) {
            onRefused();
            throw faults.tooMany(waitMs, waitText(queue.limit, waitMs));
          }
          entered.push(queue);
        }
        const result = await evaluate();
        isSpent = isWrong(result);
        return result;
      } finally {
        await Promise.all(entered.map((queue) => queue.leave(isSpent)));
        for (const queue of joined) part(queue);
      }
    },
  };
}

/** The guesses of this process under one key. */
class GuessQueue {
  readonly key: string;
  readonly limit: Limit;
  /** Guesses that wait for room, or are being evaluated. */
  members = 0;
  readonly #coord: Count;
  /** Guesses being evaluated: their count may come back. */
  #running = 0;
  #ended = Promise.withResolvers<void>();
  #tail: Promise<unknown> = Promise.resolve();

  constructor(coord: Count, counting: Counting) {
    this.#coord = coord;
    this.key = keyOf(counting);
    this.limit = counting.limit;
  }

  /** Counts a guess, one after the other. Returns 0, or how long to wait when there is no room. Unit: ms. */
  enter(): Promise<number> {
    const entry = this.#tail.then(() => this.#take());
    this.#tail = entry.catch(() => undefined);
    return entry;
  }

  /** Ends a guess that was counted, and takes the count back unless it was wrong. */
  async leave(isSpent: boolean): Promise<void> {
    const { windowMs, burst } = this.limit;
    // A count that cannot be taken back expires with time; a right guess is accepted all the same.
    if (!isSpent) await this.#coord.uncount(this.key, windowMs, burst).catch(() => undefined);
    this.#running -= 1;
    this.#ended.resolve();
    this.#ended = Promise.withResolvers<void>();
  }

  async #take(): Promise<number> {
    const { windowMs, burst } = this.limit;
    for (;;) {
      // Read before counting, so that room that comes back meanwhile is not missed.
      const { promise: ended } = this.#ended;
      const mayComeBack = this.#running > 0;
      const counted = await this.#coord.count(this.key, windowMs, burst);
      if (counted.allowed) {
        this.#running += 1;
        return 0;
      }
      // Guesses being evaluated may be right: they must not refuse the guess that comes just after them.
      if (!mayComeBack) return counted.retryAfterMs;
      await ended;
    }
  }
}
