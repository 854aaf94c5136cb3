// Which of several channels is called (requirements W9.2), and why not another: the relay chooses by this function, and administrators are
// told by it (requirements C47). Pure: no clock, no chance except as arguments.
import type { LiveChannel } from "./live-channel.ts";

/** What the choice is made from. */
export type Choosable = Pick<LiveChannel, "id" | "priority" | "weight">;

/** Why a strategy passes a channel of the highest tier over: it speaks another format, it is dearer, it is slower. */
export type Passed = "format_other" | "dearer" | "slower";

/** Decides within a tier (`strategy.ts`). */
export interface Strategy<C> {
  /** Of each channel its weight in the choice, or why it is passed over; at least one weight is positive. `isSticky` = for a conversation. */
  weigh(tier: readonly C[], isSticky: boolean): readonly (number | Passed)[];
}

export interface Choice<C = unknown> {
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
  /** undefined = by the channels' own weights. */
  readonly strategy?: Strategy<C> | undefined;
}

/** What became of a candidate; `left` = it might have been chosen too. */
export type Verdict =
  | "chosen"
  | "left"
  | "tried"
  | "limited"
  | "resting"
  | "priority_lower"
  | "weight_zero"
  | Passed;

/** Told of candidates, each once. */
export interface Listener<C> {
  /** So many at the most, the chosen one among them. */
  readonly most: number;
  tell(candidate: C, verdict: Verdict, odds: Odds): void;
}

/** In how many of all cases a candidate would have been chosen: from 0 to 1. */
export type Odds = () => number;

/** What is drawn from: a channel, or one with the weight that a strategy gives it. */
interface Lot {
  readonly id: number;
  readonly weight: number;
}

/** The candidates without those that rest: where another group comes after this one they are passed over (requirements K15). */
export function withoutResting<C extends Choosable>(
  candidates: readonly C[],
  isOpen: (id: number) => boolean,
): readonly C[] {
  const left = candidates.filter(({ id }) => !isOpen(id));
  return left.length === candidates.length ? candidates : left;
}

/**
 * Chooses among candidates: the highest priority that is left; within it by the strategy, and by weight, where all-zero weights mean an
 * even choice and a zero beside positive ones means "only when the others failed" (requirements W9.2).
 */
export function choose<C extends Choosable>(
  candidates: readonly C[],
  choice: Choice<C>,
  listener?: Listener<C>,
): C | undefined {
  const { tried, full, conversation, strategy } = choice;
  const left = candidates.filter(({ id }) => !tried.has(id) && full?.has(id) !== true);
  const closed = left.filter((candidate) => choice.isOpen?.(candidate.id) !== true);
  const able = closed.length > 0 ? closed : left;
  const tier = topTier(able);
  const shares = strategy === undefined ? undefined : strategy.weigh(tier, conversation !== undefined);
  const lots = shares === undefined ? tier : lotsOf(tier, shares);
  const lot = conversation === undefined ? pick(lots, choice.random) : stick(lots, conversation);
  const chosen = lot && tier.find(({ id }) => id === lot.id);
  if (listener !== undefined) {
    const passed = shares && new Map(tier.map(({ id }, at) => [id, shares[at]]));
    tellOf(candidates, { choice, able, tier, lots, passed, chosen }, listener);
  }
  return chosen;
}

function tellOf<C extends Choosable>(
  candidates: readonly C[],
  outcome: Outcome<C>,
  { most, tell }: Listener<C>,
): void {
  const { chosen } = outcome;
  const total = totalOf(outcome.lots);
  const tellOne = (candidate: C) =>
    tell(candidate, verdictOf(candidate, outcome, total), () => oddsOf(candidate, outcome, total));
  const isCut = candidates.length > most;
  if (isCut && chosen !== undefined) tellOne(chosen);
  const told = isCut
    ? candidates.filter((one) => one !== chosen).slice(0, most - Number(chosen !== undefined))
    : candidates;
  for (const candidate of told) tellOne(candidate);
}

function lotsOf(tier: readonly Lot[], shares: readonly (number | Passed)[]): Lot[] {
  return tier.flatMap(({ id }, at) => {
    const weight = shares[at];
    return typeof weight === "number" ? [{ id, weight }] : [];
  });
}

interface Outcome<C> {
  readonly choice: Choice<C>;
  readonly able: readonly C[];
  readonly tier: readonly C[];
  readonly lots: readonly Lot[];
  /** By channel: its weight, or why the strategy passed it over; undefined = the channels' own weights. */
  readonly passed: ReadonlyMap<number, number | Passed | undefined> | undefined;
  readonly chosen: C | undefined;
}

function verdictOf<C extends Choosable>(
  candidate: C,
  { choice, able, tier, passed, chosen }: Outcome<C>,
  total: number,
): Verdict {
  if (candidate === chosen) return "chosen";
  if (choice.tried.has(candidate.id)) return "tried";
  if (choice.full?.has(candidate.id) === true) return "limited";
  if (!able.includes(candidate)) return "resting";
  if (!tier.includes(candidate)) return "priority_lower";
  const share = passed === undefined ? candidate.weight : (passed.get(candidate.id) ?? 0);
  if (typeof share === "string") return share;
  return total > 0 && share <= 0 ? "weight_zero" : "left";
}

function oddsOf<C extends Choosable>(
  candidate: C,
  { lots, choice, chosen }: Outcome<C>,
  total: number,
): number {
  const lot = lots.find(({ id }) => id === candidate.id);
  if (lot === undefined) return 0;
  if (choice.conversation !== undefined) return candidate === chosen ? 1 : 0;
  return total === 0 ? 1 / lots.length : Math.max(0, lot.weight) / total;
}

function totalOf(lots: readonly Lot[]): number {
  return lots.reduce((sum, { weight }) => sum + Math.max(0, weight), 0);
}

function topTier<C extends Choosable>(candidates: readonly C[]): readonly C[] {
  const top = candidates.reduce(
    (highest, { priority }) => Math.max(highest, priority),
    Number.NEGATIVE_INFINITY,
  );
  return candidates.filter(({ priority }) => priority === top);
}

function pick(tier: readonly Lot[], random: number): Lot | undefined {
  const total = totalOf(tier);
  if (total === 0) return tier[Math.floor(random * tier.length)];
  let at = random * total;
  let last: Lot | undefined;
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
function stick(tier: readonly Lot[], conversation: number): Lot | undefined {
  const isEven = tier.every(({ weight }) => weight <= 0);
  let winner: Lot | undefined;
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
