// Draws by weight in constant time, however many there are (Vose's alias method). Pure: chance is given.

export class AliasTable {
  readonly #chance: number[];
  readonly #alias: number[];

  /** Weights of zero are never drawn unless all are: then all are alike. */
  constructor(weights: readonly number[]) {
    const total = weights.reduce((sum, weight) => sum + Math.max(0, weight), 0);
    const count = weights.length;
    const shares = weights.map((weight) => (total === 0 ? 1 : (Math.max(0, weight) * count) / total));
    this.#chance = shares.map(() => 1);
    this.#alias = shares.map((_, index) => index);
    const small = shares.flatMap((share, index) => (share < 1 ? [index] : []));
    const large = shares.flatMap((share, index) => (share >= 1 ? [index] : []));
    for (let low = small.pop(); low !== undefined; low = small.pop()) {
      const high = large.at(-1);
      // Rounding leaves a share that is next to one.
      if (high === undefined) break;
      this.#chance[low] = shares[low] ?? 1;
      this.#alias[low] = high;
      shares[high] = (shares[high] ?? 1) + (shares[low] ?? 1) - 1;
      if ((shares[high] ?? 1) < 1) {
        large.pop();
        small.push(high);
      }
    }
  }

  /** An index; `random` in [0, 1). */
  draw(random: number): number {
    const at = random * this.#alias.length;
    const index = Math.floor(at);
    return at - index < (this.#chance[index] ?? 1) ? index : (this.#alias[index] ?? index);
  }
}
