// The limits that were set for a caller, as they bind calls of one model, and how each is counted. Counts nothing itself.
import {
  holderOf,
  isModelOf,
  isRateKind,
  isWindowKind,
  type LimitKind,
  type RateKind,
} from "#contract/limit-words.ts";
import type { Clock } from "#server/clock.ts";
import { type Limits, takenOf } from "#server/limits/limits.ts";
import { type Counting, keyOf, LIMITS, type Limit } from "#server/limits/table.ts";
import type { ReserveOrder, WindowRest } from "#server/money/operations.ts";
import type { LimitRef } from "#server/money/rows.ts";
import type { Options } from "#server/options.ts";
import type { LimitHead, Rate } from "#server/relay/http/limit-head.ts";
import type { LimitRow } from "#server/store/limits.ts";
import type { Caller } from "./admit.ts";

export type Limited = Pick<Caller, "userId" | "limits">;

type CountedKind = RateKind | "running";

/** A limit that is counted by rates or slots, and how: without a boost, and with one that runs. */
export interface SetLimit<Kind extends CountedKind = CountedKind> {
  readonly kind: Kind;
  readonly row: LimitRow;
  readonly usual: Counting;
  readonly boosted: Counting;
}

/** What the limits of a caller are to calls of one model. */
interface OfModel {
  readonly running: readonly SetLimit[];
  /** Calls first, then tokens. */
  readonly rates: readonly SetLimit<RateKind>[];
  /** Those that the ledger counts. */
  readonly windows: readonly LimitRef[];
}

/** The same list is remembered with its caller from call to call, and its limits are sorted once. A client may name any model. */
const sorted = new WeakMap<readonly LimitRow[], Map<string, OfModel>>();
const MOST_MODELS = 100;

/** The limits of a caller that calls of a model pass; of "" those for all models. */
export function ofModel({ userId, limits }: Limited, model: string): OfModel {
  const known = sorted.get(limits) ?? new Map<string, OfModel>();
  const found = known.get(model);
  if (found !== undefined) return found;
  const rows = limits.filter(({ model_pattern }) => isModelOf(model_pattern, model));
  const counted = <Kind extends CountedKind>(is: (kind: LimitKind) => kind is Kind) =>
    rows.flatMap((row) => (is(row.kind) ? [setLimit(row, row.kind, userId)] : []));
  const made = {
    running: counted((kind) => kind === "running"),
    rates: [...counted((kind) => kind === "rpm"), ...counted(isTokenKind)],
    windows: rows
      .filter(({ kind }) => isWindowKind(kind))
      .map(({ id, subject }) => ({ limitId: id, holder: holderOf(subject, userId) })),
  };
  if (known.size >= MOST_MODELS) known.clear();
  known.set(model, made);
  sorted.set(limits, known);
  return made;
}

const COUNTED_BY: Readonly<Record<CountedKind, Limit>> = {
  running: LIMITS.setRunning,
  rpm: LIMITS.setCalls,
  tpm: LIMITS.setTokens,
  input_tpm: LIMITS.setTokens,
  output_tpm: LIMITS.setTokens,
};

/** How a limit is counted for calls of a user. */
export function setLimit<Kind extends CountedKind>(
  row: LimitRow,
  kind: Kind,
  userId: number,
): SetLimit<Kind> {
  const limit = COUNTED_BY[kind];
  const subject = `${row.id}:${holderOf(row.subject, userId)}`;
  // Both are at most half of what counts exactly.
  const key = keyOf({ limit, subject });
  const boosted = { limit: { ...limit, burst: row.amount + row.boost_amount }, subject, key };
  return { kind, row, usual: { limit: { ...limit, burst: row.amount }, subject, key }, boosted };
}

/** How a limit is counted at this moment. */
export function countingOf({ row, usual, boosted }: SetLimit, nowSec: number): Counting {
  return nowSec < row.boost_until ? boosted : usual;
}

/** Times are no whole numbers of steps. */
const ROUNDING = 1e-6;

/** What is left of a rate that is full again after so long. */
export function rateOf(
  { kind, counting: { limit } }: CountedRate,
  { fullAfterMs, nowMs }: { readonly fullAfterMs: number; readonly nowMs: number },
): Rate {
  const remaining = Math.max(0, Math.floor(limit.burst - takenOf(limit, fullAfterMs) + ROUNDING));
  return { kind, limit: limit.burst, remaining, resetAtMs: nowMs + fullAfterMs };
}

/** A rate as it is counted at this moment. */
export interface CountedRate {
  readonly kind: RateKind;
  readonly counting: Counting;
}

/** What is left of rates that no call is counted in. */
export async function ratesLeft(
  { limits, clock }: { readonly limits: Pick<Limits, "look">; readonly clock: Pick<Clock, "now"> },
  rates: readonly CountedRate[],
): Promise<Rate[]> {
  const looked = await limits.look(rates.map((rate) => ({ ...rate.counting, isHeld: false, rate })));
  const nowMs = clock.now();
  return [...looked].map(([{ rate }, { fullAfterMs }]) => rateOf(rate, { fullAfterMs, nowMs }));
}

export function isTokenKind(kind: LimitKind): kind is Exclude<RateKind, "rpm"> {
  return isRateKind(kind) && kind !== "rpm";
}

/**
 * What a reservation says of the limits that the ledger counts, by the calendar of the operator's zone; undefined = there are none. `head`
 * learns what is left of them.
 */
export function windowsOf(
  caller: Limited,
  model: string,
  options: Pick<Options, "get">,
  head?: LimitHead,
): Pick<ReserveOrder, "limits" | "zone" | "hear"> | undefined {
  if (caller.limits.length === 0) return undefined;
  const limits = ofModel(caller, model).windows;
  if (limits.length === 0) return undefined;
  const hear = head && ((rests: readonly WindowRest[]) => head.hear(rests));
  return { limits, zone: options.get("BudgetTimeZone"), hear };
}
