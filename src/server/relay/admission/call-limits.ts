// The limits that were set for a token, its user, their group or a model: a call passes all of them, or counts in none (requirements L07).
// Running calls and rates are counted here, over all nodes; windows by the ledger, together with the reservation.
import type { RateKind } from "#contract/limit-words.ts";
import { paysFor } from "#contract/plan-terms.ts";
import type { Clock } from "#server/clock.ts";
import type { Counted } from "#server/coord/coord.ts";
import type { Limits } from "#server/limits/limits.ts";
import type { LimitRefusal, PlanRefusal } from "#server/money/operations.ts";
import { NEVER } from "#server/money/windows.ts";
import { limitErrors } from "#server/relay/http/limit-errors.ts";
import type { Rate } from "#server/relay/http/limit-head.ts";
import type { LimitRow } from "#server/store/limits.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { TokenUsage } from "#server/upstream/usage.ts";
import type { Caller } from "./admit.ts";
import {
  type CountedRate,
  countingOf,
  type Limited,
  ofModel,
  rateOf,
  ratesLeft,
  type SetLimit,
} from "./set-limits.ts";

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

type TokenKind = Exclude<RateKind, "rpm">;

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

interface Taken extends CountedRate {
  readonly row: LimitRow;
  readonly worth: number;
}

/** Of a limit, for a call that names no cap: so that several fit. */
const SHARE = 4;

interface CallLimitsParts {
  readonly limits: Pick<Limits, "checkEach" | "hold" | "giveBack" | "look">;
  readonly clock: Pick<Clock, "now" | "seconds">;
}

export function createCallLimits(parts: CallLimitsParts): CallLimits {
  return { admit: (call) => new LimitedAdmission(parts, call).pass() };
}

/** What a call takes of its limits. */
class LimitedAdmission implements Admission {
  readonly rates: Rate[] = [];
  fault: RelayFault | undefined;
  readonly #limits: CallLimitsParts["limits"];
  readonly #clock: CallLimitsParts["clock"];
  readonly #nowSec: number;
  readonly #call: LimitedCall;
  #leaves: (() => void)[] = [];
  #taken: Taken[] = [];

  constructor({ limits, clock }: CallLimitsParts, call: LimitedCall) {
    this.#limits = limits;
    this.#clock = clock;
    this.#nowSec = clock.seconds();
    this.#call = call;
  }

  /** Takes what is needed of each limit, or nothing. Throws: what counting throws. */
  async pass(): Promise<Admission> {
    const { running, rates } = ofModel(this.#call.caller, this.#call.model);
    try {
      for (const one of running) this.fault ??= await this.#hold(one);
      if (rates.length > 0) await this.#takeRates(rates.map((one) => this.#demand(one)));
    } catch (error) {
      this.undo();
      throw error;
    }
    if (this.fault !== undefined) this.undo();
    return this;
  }

  /** Takes of each rate, up to the first that has no room; that and the others are only looked at. */
  async #takeRates(asked: readonly Taken[]): Promise<void> {
    const never = asked.find(neverFits);
    const mayFit = never === undefined ? asked : asked.slice(0, asked.indexOf(never));
    const counted =
      this.fault === undefined ? await this.#limits.checkEach(mayFit, this.#call.address) : NONE_COUNTED;
    const nowMs = this.#clock.now();
    const unseen: Taken[] = [];
    for (const [at, one] of asked.entries()) {
      const found = counted[at];
      if (found === undefined) {
        unseen.push(one);
        continue;
      }
      this.rates.push(rateOf(one, { fullAfterMs: found.fullAfterMs, nowMs }));
      if (found.allowed) this.#taken.push(one);
      else this.fault = limitErrors.tooFast(one.row, found.retryAfterMs);
    }
    if (unseen.length > 0)
      this.rates.push(...(await ratesLeft({ limits: this.#limits, clock: this.#clock }, unseen)));
    if (never !== undefined) this.fault ??= limitErrors.tooLarge(never.row);
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

  async #hold(one: SetLimit): Promise<RelayFault | undefined> {
    const counting = countingOf(one, this.#nowSec);
    // A limit of 0 lets nothing pass; to the mechanism below it would be none.
    const leave =
      counting.limit.burst === 0 ? undefined : await this.#limits.hold(counting, this.#call.address);
    if (leave === undefined) return limitErrors.tooManyAtOnce(one.row);
    this.#leaves.push(leave);
    return undefined;
  }

  /** What the call needs of a rate. */
  #demand(one: SetLimit<RateKind>): Taken {
    const { kind, row } = one;
    const counting = countingOf(one, this.#nowSec);
    const worth = kind === "rpm" ? 1 : tokensOf(kind, this.#call, counting.limit.burst);
    return { kind, row, counting, worth };
  }

  #giveBack({ counting }: Taken, worth: number): void {
    // What cannot be given back comes back with time.
    if (worth !== 0) this.#limits.giveBack(counting, worth).catch(nothing);
  }
}

function nothing(): void {
  // See above.
}

const NONE_COUNTED: readonly Counted[] = [];

/** Whether a call never has room; to the mechanism below a limit of 0 would be none. */
function neverFits({ counting: { limit }, worth }: Taken): boolean {
  return limit.burst === 0 || worth > limit.burst;
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
