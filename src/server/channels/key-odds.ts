// How often each of several keys is chosen, by the very draws of key-ring.ts: first some draws by the channel's mode, and when they all met keys
// that cannot be had, the next one that can behind a random place. Exact, not simulated. Pure.

/** So often chance is asked before all keys are looked through. */
export const DRAWS = 8;

/** What draws go by. */
export interface Drawn {
  readonly weight: number;
  readonly inFlight: number;
  readonly calls: number;
}

/** The odds of keys in their order, of which at least one can be had; together they are 1. */
export function oddsOfKeys(mode: string, keys: readonly Drawn[], isFree: (at: number) => boolean): number[] {
  if (mode === "first") {
    const first = keys.findIndex((_, at) => isFree(at));
    return keys.map((_, at) => Number(at === first));
  }
  const gaps = gapsOf(keys.length, isFree);
  return mode === "round_robin" ? inTurn(gaps) : byDraws(sharesOf(mode, keys), gaps);
}

/** Of each key that can be had how far the one before it is, counting in a circle; 0 = it cannot be had. */
function gapsOf(count: number, isFree: (at: number) => boolean): number[] {
  const gaps = new Array<number>(count).fill(0);
  const free = gaps.flatMap((_, at) => (isFree(at) ? [at] : []));
  for (const [place, at] of free.entries()) {
    const before = free[place - 1] ?? (free.at(-1) ?? at) - count;
    gaps[at] = at - before;
  }
  return gaps;
}

/**
 * In turn each is met once in a round. Where so many before it cannot be had that the draws of a call end among them, that call goes to
 * the next one behind a random place, and the turn goes on.
 */
function inTurn(gaps: readonly number[]): number[] {
  const lost = gaps.reduce((sum, gap) => sum + (gap === 0 ? 0 : Math.floor((gap - 1) / DRAWS)), 0);
  const met = gaps.filter((gap) => gap > 0).length;
  return gaps.map((gap) => (gap === 0 ? 0 : (1 + (lost * gap) / gaps.length) / (met + lost)));
}

/** p × (1 + q + … + q^7) of the draws, where q = one draw meets none that can be had, and q^8 of the random place. */
function byDraws(shares: readonly number[], gaps: readonly number[]): number[] {
  const miss = gaps.reduce((sum, gap, at) => sum + (gap === 0 ? (shares[at] ?? 0) : 0), 0);
  const tries = Array.from({ length: DRAWS }, (_, turn) => miss ** turn).reduce((sum, one) => sum + one, 0);
  const left = miss ** DRAWS;
  return gaps.map((gap, at) => (gap === 0 ? 0 : (shares[at] ?? 0) * tries + (left * gap) / gaps.length));
}

/** How often each is met by one draw. */
function sharesOf(mode: string, keys: readonly Drawn[]): number[] {
  if (mode === "least_used") return sharesOfTwo(keys);
  const total = keys.reduce((sum, { weight }) => sum + Math.max(0, weight), 0);
  if (mode !== "weighted" || total === 0) return keys.map(() => 1 / keys.length);
  return keys.map(({ weight }) => Math.max(0, weight) / total);
}

/** Two are drawn evenly, perhaps the same one twice, and the one with less to do is taken, the first of equals. */
function sharesOfTwo(keys: readonly Drawn[]): number[] {
  const order = [...keys.keys()].sort((one, other) => load(keys, one, other));
  const shares = new Array<number>(keys.length).fill(0);
  for (let start = 0; start < order.length; ) {
    let end = start + 1;
    while (end < order.length && load(keys, order[start] ?? 0, order[end] ?? 0) === 0) end += 1;
    // It wins as the first of the two against its equals and all behind them, and as the second against those behind them.
    const wins = order.length - start + (order.length - end);
    for (const at of order.slice(start, end)) shares[at] = wins / order.length ** 2;
    start = end;
  }
  return shares;
}

function load(keys: readonly Drawn[], one: number, other: number): number {
  const [a, b] = [keys[one], keys[other]];
  return a === undefined || b === undefined ? 0 : a.inFlight - b.inFlight || a.calls - b.calls;
}
