// Which of several channels is called (requirements W9.2 [P]), and why not another: the relay chooses by this function, and administrators are
// told by it (requirements C47). Pure: no clock, no chance except as arguments.
import type { LiveChannel } from "./live-channel.ts";

/** What the choice is made from. */
type Choosable = Pick<LiveChannel, "id" | "priority" | "weight">;

export interface Choice {
  /** Channels this request has already failed on; none is chosen twice. */
  readonly tried: ReadonlySet<number>;
  /** Channels whose limits have no room; undefined = there are none. */
  readonly full?: ReadonlySet<number> | undefined;
  /** In [0, 1). */
  readonly random: number;
  /** What the requests of one conversation share: they get the same channel as long as it can be had; undefined = chance decides. */
  readonly conversation?: number | undefined;
  /** Channels whose circuit is open; they are chosen only when no other is left. */
  readonly isOpen?: ((id: number) => boolean) | undefined;
}

/** What became of a candidate; `left` = it might have been chosen too. */
export type Verdict = "chosen" | "left" | "tried" | "limited" | "resting" | "priority_lower" | "weight_zero";

/** Told of every candidate, once. `odds` = in how many of all cases it would have been chosen: from 0 to 1. */
export type Listener<C> = (candidate: C, verdict: Verdict, odds: number) => void;

/**
 * Chooses among candidates: the highest priority that is left; within it by weight, where all-zero weights mean an even
 * choice and a zero beside positive ones means "only when the others failed" (requirements W9.2 [P]).
 */
export function choose<C extends Choosable>(
  candidates: readonly C[],
  choice: Choice,
  listener?: Listener<C>,
): C | undefined {
  const { tried, full, conversation } = choice;
  const left = candidates.filter(({ id }) => !tried.has(id) && full?.has(id) !== true);
  const closed = left.filter((candidate) => choice.isOpen?.(candidate.id) !== true);
  const able = closed.length > 0 ? closed : left;
  const tier = topTier(able);
  const chosen = conversation === undefined ? pick(tier, choice.random) : stick(tier, conversation);
  if (listener !== undefined) {
    const total = tier.reduce((sum, { weight }) => sum + Math.max(0, weight), 0);
    for (const candidate of candidates) {
      const odds = oddsOf(candidate, { tier, total, chosen, isSticky: conversation !== undefined });
      listener(candidate, verdictOf(candidate, { choice, able, tier, total, chosen }), odds);
    }
  }
  return chosen;
}

interface Outcome<C> {
  readonly tier: readonly C[];
  readonly total: number;
  readonly chosen: C | undefined;
}

function verdictOf<C extends Choosable>(
  candidate: C,
  { choice, able, tier, total, chosen }: Outcome<C> & { choice: Choice; able: readonly C[] },
): Verdict {
  if (candidate === chosen) return "chosen";
  if (choice.tried.has(candidate.id)) return "tried";
  if (choice.full?.has(candidate.id) === true) return "limited";
  if (!able.includes(candidate)) return "resting";
  if (!tier.includes(candidate)) return "priority_lower";
  return total > 0 && candidate.weight <= 0 ? "weight_zero" : "left";
}

function oddsOf<C extends Choosable>(
  candidate: C,
  { tier, total, chosen, isSticky }: Outcome<C> & { isSticky: boolean },
): number {
  if (!tier.includes(candidate)) return 0;
  if (isSticky) return candidate === chosen ? 1 : 0;
  return total === 0 ? 1 / tier.length : Math.max(0, candidate.weight) / total;
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
