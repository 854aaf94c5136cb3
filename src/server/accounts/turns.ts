// Guesses at what is secret. A turn is taken before a guess is looked at and given back when it was right, so that a burst finds no
// more turns than there are (reliability L03, L04, A20). Knows no passwords and no codes.
import type { Coord } from "#server/coord/coord.ts";
import { faults } from "#server/errors.ts";

/** How many wrong guesses there are for a key: `limit` at once, refilled evenly over `windowMs`. */
export interface Budget {
  readonly key: string;
  readonly limit: number;
  readonly windowMs: number;
}

export interface Guess<T> {
  /** Taken in this order; those who share two of them name them in the same order. */
  readonly budgets: readonly Budget[];
  /** Looks at the guess. One that could not be looked at, because this throws, costs no turn. */
  evaluate(): Promise<T>;
  isWrong(result: T): boolean;
  /** Told when a budget is used up. */
  onRefused(): void;
}

export interface Turns {
  /** Looks at a guess when there is a turn for it in each of its budgets. Throws: 429; what `evaluate` throws. */
  guess<T>(guess: Guess<T>): Promise<T>;
}

type Count = Pick<Coord, "count" | "uncount">;

/** Builds the rule. Turns are counted through coord, over all processes; waiting for one that may come back is of this process. */
export function createTurns(coord: Count): Turns {
  const lines = new Map<string, Line>();

  function join(budget: Budget): Line {
    const line = lines.get(budget.key) ?? new Line(coord, budget);
    line.members += 1;
    lines.set(budget.key, line);
    return line;
  }

  function part(line: Line): void {
    line.members -= 1;
    if (line.members === 0) lines.delete(line.budget.key);
  }

  return {
    async guess({ budgets, evaluate, isWrong, onRefused }) {
      const joined = budgets.map(join);
      const entered: Line[] = [];
      let isSpent = false;
      try {
        for (const line of joined) {
          const waitMs = await line.enter();
          if (waitMs > 0) {
            onRefused();
            throw faults.tooMany(waitMs);
          }
          entered.push(line);
        }
        const result = await evaluate();
        isSpent = isWrong(result);
        return result;
      } finally {
        await Promise.all(entered.map((line) => line.leave(isSpent)));
        for (const line of joined) part(line);
      }
    },
  };
}

/** Those of this process who guess under one key. */
class Line {
  readonly budget: Budget;
  /** Who waits for a turn, or has one. */
  members = 0;
  readonly #coord: Count;
  /** Guesses being looked at: their turns may come back. */
  #running = 0;
  #ended = Promise.withResolvers<void>();
  #tail: Promise<unknown> = Promise.resolve();

  constructor(coord: Count, budget: Budget) {
    this.#coord = coord;
    this.budget = budget;
  }

  /** Takes a turn, one after the other. Returns 0, or how long to wait when there is none. Unit: ms. */
  enter(): Promise<number> {
    const turn = this.#tail.then(() => this.#take());
    this.#tail = turn.catch(() => undefined);
    return turn;
  }

  /** Ends a guess that had a turn, and gives the turn back unless it is spent. */
  async leave(isSpent: boolean): Promise<void> {
    const { key, windowMs, limit } = this.budget;
    // A turn that cannot be given back comes back with time; who was right is in all the same.
    if (!isSpent) await this.#coord.uncount(key, windowMs, limit).catch(() => undefined);
    this.#running -= 1;
    this.#ended.resolve();
    this.#ended = Promise.withResolvers<void>();
  }

  async #take(): Promise<number> {
    const { key, windowMs, limit } = this.budget;
    for (;;) {
      // Looked at before counting, so that a turn that comes back meanwhile is not overlooked.
      const { promise: ended } = this.#ended;
      const mayComeBack = this.#running > 0;
      const counted = await this.#coord.count(key, windowMs, limit);
      if (counted.allowed) {
        this.#running += 1;
        return 0;
      }
      // Those being looked at may be right: their turns must not shut out who comes just after them.
      if (!mayComeBack) return counted.retryAfterMs;
      await ended;
    }
  }
}
