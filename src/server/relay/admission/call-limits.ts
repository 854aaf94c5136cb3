// The limits that were set for a token, its user, their group or a model: a call passes all of them, or counts in none (requirements L07).
// Running calls and rates are counted here, over all nodes; windows by the ledger, together with the reservation.
import {
  holderOf,
  isModelOf,
  isRateKind,
  isWindowKind,
  type LimitKind,
  type RateKind,
} from "#contract/limit-words.ts";
import { paysFor } from "#contract/plan-terms.ts";
import type { Clock } from "#server/clock.ts";
import type { Limits } from "#server/limits/limits.ts";
import { type Counting, keyOf, LIMITS, type Limit } from "#server/limits/table.ts";
import type { LimitRefusal, PlanRefusal } from "#server/money/operations.ts";
import type { LimitRef } from "#server/money/rows.ts";
import { NEVER } from "#server/money/windows.ts";
import type { Options } from "#server/options.ts";
import { limitErrors } from "#server/relay/http/limit-errors.ts";
import type { Rate } from "#server/relay/http/rate-headers.ts";
import type { LimitRow } from "#server/store/limits.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { TokenUsage } from "#server/upstream/usage.ts";
import type { Caller } from "./admit.ts";

type Limited = Pick<Caller, "userId" | "limits">;

/** A call as limits see it. Unit: LLM tokens. */
export interface LimitedCall {
  readonly caller: Limited;
  readonly model: string;
  /** At most so much input. */
  readonly input: number;
  /** What the client allows as output; undefined = it names no limit. */
  readonly cap: number | undefined;
  /** What is expected where it names none. */
  readonly output: number;
  readonly address: string;
}

/** A call that passed, or with `fault` did not. */
export interface Admission {
  /** 429, or 400 where waiting would not help. */
  readonly fault: RelayFault | undefined;
  /** How much of each rate is left, for the headers of the answer. */
  readonly rates: readonly Rate[];
  /** Ends the call: what it did not use of its tokens is given back, what it used beyond them is owed. undefined = it used none. */
  leave(usage: TokenUsage | undefined): void;
  /** Takes what a part of a long call has used; owed where there is no room. */
  spend(usage: TokenUsage): void;
  /** Something later refused it: it counts nowhere. */
  undo(): void;
}

export interface CallLimits {
  /** Counts a call in all limits or in none. */
  admit(call: LimitedCall): Promise<Admission>;
}

type CountedKind = RateKind | "running";
type TokenKind = Exclude<RateKind, "rpm">;

/** A limit that is counted here, and how: without a boost, and with one that runs. */
interface Counted<Kind extends CountedKind = CountedKind> {
  readonly kind: Kind;
  readonly row: LimitRow;
  readonly usual: Counting;
  readonly boosted: Counting;
}

/** What the limits of a caller are to calls of one model. */
interface OfModel {
  readonly running: readonly Counted[];
  /** Calls first, then tokens. */
  readonly rates: readonly Counted<RateKind>[];
  /** Those that the ledger counts. */
  readonly windows: readonly LimitRef[];
}

/** The same list is remembered with its caller from call to call, and its limits are sorted once. A client may name any model. */
const sorted = new WeakMap<readonly LimitRow[], Map<string, OfModel>>();
const MOST_MODELS = 100;

function ofModel({ userId, limits }: Limited, model: string): OfModel {
  const known = sorted.get(limits) ?? new Map<string, OfModel>();
  const found = known.get(model);
  if (found !== undefined) return found;
  const rows = limits.filter(({ model_pattern }) => isModelOf(model_pattern, model));
  const counted = <Kind extends CountedKind>(is: (kind: LimitKind) => kind is Kind) =>
    rows.flatMap((row) => (is(row.kind) ? [countedOf(row, row.kind, userId)] : []));
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

function countedOf<Kind extends CountedKind>(row: LimitRow, kind: Kind, userId: number): Counted<Kind> {
  const limit = COUNTED_BY[kind];
  const subject = `${row.id}:${holderOf(row.subject, userId)}`;
  // Both are at most half of what counts exactly.
  const key = keyOf({ limit, subject });
  const boosted = { limit: { ...limit, burst: row.amount + row.boost_amount }, subject, key };
  return { kind, row, usual: { limit: { ...limit, burst: row.amount }, subject, key }, boosted };
}

/** The limits of a call that the ledger counts, by the calendar of the operator's zone; undefined = there are none. */
export function windowsOf(
  caller: Limited,
  model: string,
  options: Pick<Options, "get">,
): { readonly limits: readonly LimitRef[]; readonly zone: string } | undefined {
  if (caller.limits.length === 0) return undefined;
  const limits = ofModel(caller, model).windows;
  return limits.length === 0 ? undefined : { limits, zone: options.get("BudgetTimeZone") };
}

/** The plans that pay for a call, by the name that its model was asked for; undefined = there are none (requirements Y52). */
export function plansOf(
  { plans, group }: Pick<Caller, "plans" | "group">,
  model: string,
): { readonly plans: readonly number[] } | undefined {
  const paying = plans.filter(({ terms }) => paysFor(terms, model, group));
  return paying.length === 0 ? undefined : { plans: paying.map(({ periodId }) => periodId) };
}

/** The fault of a reservation that did not fit into a window of a limit or of plans. */
export function windowFault(
  { limits }: Pick<Caller, "limits">,
  refusal: LimitRefusal | PlanRefusal,
  { zone, nowMs }: { zone: string; nowMs: number },
): RelayFault {
  const { resetsAt, canFit } = refusal;
  if ("periodIds" in refusal) {
    if (!canFit) return limitErrors.planTooSmall();
    return limitErrors.planUsedUp({ resetsAt, resetText: `将于 ${timeText(resetsAt, zone)} `, nowMs });
  }
  const { limitId } = refusal;
  const row = limits.find(({ id }) => id === limitId);
  // The ledger judges by the limits of the caller alone.
  if (row === undefined) throw new Error(`limit ${limitId} is not one of the caller's`);
  if (!canFit) return limitErrors.tooLarge(row);
  const resetText = resetsAt === NEVER ? "" : `将于 ${timeText(resetsAt, zone)} `;
  return limitErrors.usedUp(row, { resetsAt, resetText, nowMs });
}

function timeText(seconds: number, zone: string): string {
  const at = Temporal.Instant.fromEpochMilliseconds(seconds * 1_000).toZonedDateTimeISO(zone);
  return `${at.toPlainDateTime().toString({ smallestUnit: "minute" }).replace("T", " ")}（${zone}）`;
}

interface Taken {
  readonly kind: RateKind;
  readonly counting: Counting;
  readonly worth: number;
}

/** Of a limit, for a call that names no cap: so that several fit. */
const SHARE = 4;

interface CallLimitsParts {
  readonly limits: Pick<Limits, "check" | "hold" | "giveBack">;
  readonly clock: Pick<Clock, "seconds">;
}

export function createCallLimits(parts: CallLimitsParts): CallLimits {
  return {
    async admit(call) {
      const admission = new LimitedAdmission(parts, call);
      try {
        admission.fault = await admission.pass();
        if (admission.fault !== undefined) admission.undo();
        return admission;
      } catch (error) {
        admission.undo();
        throw error;
      }
    },
  };
}

/** What a call takes of its limits. */
class LimitedAdmission implements Admission {
  readonly rates: Rate[] = [];
  fault: RelayFault | undefined;
  readonly #limits: CallLimitsParts["limits"];
  readonly #nowSec: number;
  readonly #call: LimitedCall;
  #leaves: (() => void)[] = [];
  #taken: Taken[] = [];

  constructor({ limits, clock }: CallLimitsParts, call: LimitedCall) {
    this.#limits = limits;
    this.#nowSec = clock.seconds();
    this.#call = call;
  }

  /** Takes what is needed of each: what runs first, then rates. Returns why one has no room. */
  async pass(): Promise<RelayFault | undefined> {
    const { caller, model } = this.#call;
    const { running, rates } = ofModel(caller, model);
    for (const one of running) {
      const fault = await this.#hold(one);
      if (fault !== undefined) return fault;
    }
    for (const one of rates) {
      const fault = await this.#take(one);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  undo(): void {
    for (const taken of this.#end()) this.#giveBack(taken, taken.worth);
  }

  leave(usage: TokenUsage | undefined): void {
    for (const taken of this.#end())
      if (taken.kind !== "rpm") this.#giveBack(taken, taken.worth - usedOf(taken.kind, usage));
  }

  spend(usage: TokenUsage): void {
    for (const taken of this.#taken)
      if (taken.kind !== "rpm") this.#giveBack(taken, -usedOf(taken.kind, usage));
  }

  /** Ends the call among those that run; what it took of rates is the caller's to give back, once. */
  #end(): readonly Taken[] {
    const [leaves, taken] = [this.#leaves, this.#taken];
    this.#leaves = [];
    this.#taken = [];
    for (const leave of leaves) leave();
    return taken;
  }

  #countingOf({ row, usual, boosted }: Counted): Counting {
    return this.#nowSec < row.boost_until ? boosted : usual;
  }

  async #hold(one: Counted): Promise<RelayFault | undefined> {
    const counting = this.#countingOf(one);
    // A limit of 0 lets nothing pass; to the mechanism below it would be none.
    const leave =
      counting.limit.burst === 0 ? undefined : await this.#limits.hold(counting, this.#call.address);
    if (leave === undefined) return limitErrors.tooManyAtOnce(one.row);
    this.#leaves.push(leave);
    return undefined;
  }

  async #take(one: Counted<RateKind>): Promise<RelayFault | undefined> {
    const counting = this.#countingOf(one);
    const { row, kind } = one;
    const { burst, windowMs } = counting.limit;
    const worth = kind === "rpm" ? 1 : tokensOf(kind, this.#call, burst);
    if (burst === 0 || worth > burst) return limitErrors.tooLarge(row);
    const { allowed, retryAfterMs, fullAfterMs } = await this.#limits.check(
      counting,
      this.#call.address,
      worth,
    );
    const remaining = Math.max(0, Math.floor(((windowMs - fullAfterMs) / windowMs) * burst + ROUNDING));
    this.rates.push({ kind, limit: burst, remaining, resetMs: fullAfterMs });
    if (!allowed) return limitErrors.tooFast(row, retryAfterMs);
    this.#taken.push({ kind, counting, worth });
    return undefined;
  }

  #giveBack({ counting }: Taken, worth: number): void {
    // What cannot be given back comes back with time.
    if (worth !== 0) this.#limits.giveBack(counting, worth).catch(nothing);
  }
}

function nothing(): void {
  // See above.
}

/** Times are no whole numbers of steps. */
const ROUNDING = 1e-6;

function isTokenKind(kind: LimitKind): kind is TokenKind {
  return isRateKind(kind) && kind !== "rpm";
}

/**
 * What a call may use. An estimate never exceeds the limit, so that the first call always fits; a cap of the client's own does, and is
 * refused then, since waiting would not help.
 */
function tokensOf(kind: TokenKind, { input, cap, output }: LimitedCall, limit: number): number {
  const out = cap ?? Math.min(output, Math.ceil(limit / SHARE));
  switch (kind) {
    case "input_tpm":
      return Math.min(input, limit);
    case "output_tpm":
      return out;
    case "tpm":
      return cap !== undefined && cap > limit ? cap : Math.min(input + out, limit);
  }
}

/** What it used; input that was read from a cache is free, as with Anthropic. */
function usedOf(kind: TokenKind, usage: TokenUsage | undefined): number {
  if (usage === undefined) return 0;
  const input = Math.max(0, usage.promptTokens - usage.cachedTokens);
  switch (kind) {
    case "input_tpm":
      return input;
    case "output_tpm":
      return usage.completionTokens;
    case "tpm":
      return input + usage.completionTokens;
  }
}
