// What a plan looks like to its buyer: what is left of a period, and what changing it to another plan costs. Pure.
import type { PlanTerms, PlanWindowKind } from "#contract/plan-terms.ts";
import { type PeriodRow, periodBook } from "./plan-row-codec.ts";
import { daysLeft } from "./plan-times.ts";
import { isRunning } from "./rules-plans.ts";

export interface WindowState {
  readonly kind: PlanWindowKind;
  readonly quota: number;
  readonly used: number;
  /** Seconds; 0 = nothing was used in it yet. */
  readonly resetsAt: number;
}

/** What is used in the windows of this moment. */
export function windowStates(row: PeriodRow, nowSec: number): WindowState[] {
  const period = periodBook(row);
  return period.terms.windows.map(({ kind, quota }) => {
    const last = period.windows.findLast((window) => window.kind === kind);
    const isOpen = last !== undefined && nowSec < last.end;
    return {
      kind,
      quota,
      used: isOpen ? Number(last.spent + last.held) : 0,
      resetsAt: isOpen ? last.end : 0,
    };
  });
}

/**
 * Pays the difference of the prices for the days that are left, rounded up, and gets the difference of the quotas for them, rounded down
 * (requirements Y50). undefined = it is no upgrade: it costs no more, or runs for another time.
 */
export function upgradeQuote(
  row: PeriodRow,
  terms: PlanTerms,
  nowSec: number,
): { readonly priceMinor: number; readonly quota: number } | undefined {
  const period = periodBook(row);
  const { price_minor, quota, unit, count } = period.terms;
  if (!isRunning(period, nowSec) || terms.unit !== unit || terms.count !== count) return undefined;
  const more = terms.price_minor - price_minor;
  if (more <= 0) return undefined;
  const { left, all } = daysLeft(period, nowSec);
  const gained = (BigInt(Math.max(0, terms.quota - quota)) * BigInt(left)) / BigInt(all);
  return { priceMinor: Math.ceil((more * left) / all), quota: Number(gained) };
}
