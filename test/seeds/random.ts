// Chance that can be repeated: tests that throw dice say which seed they threw them with.

/** A whole number from 0 up to, but not, `below`. */
export type Dice = (below: number) => number;

/** Numbers from a seed (mulberry32). */
export function createDice(seed: number): Dice {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** One of these. */
export function pick<T>(dice: Dice, from: readonly T[]): T {
  const found = from[dice(from.length)];
  if (found === undefined) throw new Error("nothing to pick from");
  return found;
}
