// Channel choice. Pure: no database, no clock, no chance except as arguments.
import type { LiveChannel } from "#server/channels/candidates.ts";

/** What the choice is made from. */
type Choosable = Pick<LiveChannel, "id" | "priority" | "weight">;

export interface Choice {
  /** Channels this request has already failed on; none is chosen twice. */
  readonly tried: ReadonlySet<number>;
  /** In [0, 1). */
  readonly random: number;
  /** Channels that asked for a pause; they are taken only when nothing else is left. */
  readonly isCooling?: ((id: number) => boolean) | undefined;
}

/**
 * Chooses among candidates: the highest priority that is left; within it by weight, where all-zero weights mean an even
 * choice and a zero beside positive ones means "only when the others failed" (contract 9.2 [P]).
 */
export function choose<C extends Choosable>(candidates: readonly C[], choice: Choice): C | undefined {
  const [only] = candidates;
  if (candidates.length === 1 && only !== undefined && choice.tried.size === 0) return only;
  const left = candidates.filter((candidate) => !choice.tried.has(candidate.id));
  const rested = left.filter((candidate) => choice.isCooling?.(candidate.id) !== true);
  return pick(topTier(rested.length > 0 ? rested : left), choice.random);
}

function topTier<C extends Choosable>(candidates: readonly C[]): readonly C[] {
  const top = candidates.reduce(
    (highest, { priority }) => Math.max(highest, priority),
    Number.NEGATIVE_INFINITY,
  );
  return candidates.filter(({ priority }) => priority === top);
}

function pick<C extends Choosable>(tier: readonly C[], random: number): C | undefined {
  const total = tier.reduce((sum, { weight }) => sum + Math.max(0, weight), 0);
  if (total === 0) return tier[Math.floor(random * tier.length)];
  let at = random * total;
  let last: C | undefined;
  for (const candidate of tier) {
    if (candidate.weight <= 0) continue;
    last = candidate;
    at -= candidate.weight;
    if (at < 0) return candidate;
  }
  // Rounding can leave a hair above the last weight.
  return last;
}
