// Channel choice. Pure: no database, no clock, no chance except as arguments.
import type { LiveChannel } from "#server/channels/candidates.ts";

/** What the choice is made from. */
type Choosable = Pick<LiveChannel, "id" | "priority" | "weight">;

export interface Choice {
  /** Channels this request has already failed on; none is chosen twice. */
  readonly tried: ReadonlySet<number>;
  /** In [0, 1). */
  readonly random: number;
  /** What the requests of one conversation share: they get the same channel as long as it can be had; undefined = chance decides. */
  readonly conversation?: number | undefined;
  /** Channels whose circuit is open; they are chosen only when no other is left. */
  readonly isOpen?: ((id: number) => boolean) | undefined;
}

/**
 * Chooses among candidates: the highest priority that is left; within it by weight, where all-zero weights mean an even
 * choice and a zero beside positive ones means "only when the others failed" (requirements W9.2 [P]).
 */
export function choose<C extends Choosable>(candidates: readonly C[], choice: Choice): C | undefined {
  const [only] = candidates;
  if (candidates.length === 1 && only !== undefined && choice.tried.size === 0) return only;
  const left = candidates.filter((candidate) => !choice.tried.has(candidate.id));
  const closed = left.filter((candidate) => choice.isOpen?.(candidate.id) !== true);
  const tier = topTier(closed.length > 0 ? closed : left);
  const { conversation } = choice;
  return conversation === undefined ? pick(tier, choice.random) : stick(tier, conversation);
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
  // Rounding can leave a tiny rest above the last weight.
  return last;
}

/**
 * Weighted rendezvous hashing: each candidate draws a lot from the conversation's number and its own, and the best lot wins. Over
 * many conversations every channel gets its weight's share; when one comes or goes, only the conversations that it wins move.
 * Nothing is remembered, so all processes agree.
 */
function stick<C extends Choosable>(tier: readonly C[], conversation: number): C | undefined {
  const isEven = tier.every(({ weight }) => weight <= 0);
  let winner: C | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of tier) {
    const weight = isEven ? 1 : candidate.weight;
    if (weight <= 0) continue;
    const lot = -Math.log(lotOf(conversation, candidate.id)) / weight;
    if (lot >= least) continue;
    least = lot;
    winner = candidate;
  }
  return winner;
}

/** Between 0 and 1, neither of them; as good as chance for every pair (MurmurHash3's finish). */
function lotOf(conversation: number, id: number): number {
  let mixed = conversation ^ Math.imul(id, 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (((mixed ^ (mixed >>> 16)) >>> 0) + 0.5) / 2 ** 32;
}
