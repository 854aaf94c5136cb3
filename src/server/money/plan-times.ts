// When the periods of plans and the windows in them begin and end. Pure. Months are those of the calendar in Beijing, which has kept one
// time all year since 1991, so that no host's zone matters (requirements Y47). Times: seconds since 1970.
import type { PlanTerms, PlanWindowKind } from "#contract/plan-terms.ts";
import { DAY_SEC } from "#server/clock.ts";
import { SESSION_SEC, type Span } from "./windows.ts";

const BEIJING_SEC = 8 * 3_600;

export interface PeriodTimes {
  readonly startsAt: number;
  readonly endsAt: number;
  /** Months are counted from here, so that a 31st comes back after February. */
  readonly anchorAt: number;
  /** Of `startsAt`, from the anchor on. */
  readonly anchorMonths: number;
}

/** The same time of day so many months on, or on the month's last day where it has no such day. */
export function monthsAfter(anchorAt: number, months: number): number {
  const local = anchorAt + BEIJING_SEC;
  const at = new Date(local * 1_000);
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth() + months];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const day = Date.UTC(year, month, Math.min(at.getUTCDate(), lastDay)) / 1_000;
  return day + (local % DAY_SEC) - BEIJING_SEC;
}

/** A period that begins at `start`; one that follows another without a gap goes on with its months (requirements Y49). */
export function periodFrom(
  start: number,
  { unit, count }: Pick<PlanTerms, "unit" | "count">,
  before?: PeriodTimes & { readonly months: number },
): PeriodTimes {
  if (unit === "day") {
    return { startsAt: start, endsAt: start + count * DAY_SEC, anchorAt: start, anchorMonths: 0 };
  }
  const passed = before === undefined ? 0 : before.anchorMonths + before.months;
  const goesOn = before !== undefined && monthsAfter(before.anchorAt, passed) === start;
  const [anchorAt, anchorMonths] = goesOn ? [before.anchorAt, passed] : [start, 0];
  return { startsAt: start, endsAt: monthsAfter(anchorAt, anchorMonths + count), anchorAt, anchorMonths };
}

/**
 * A period whose ends an invoice names. Its months are counted back from its end, so that it has as many windows of a month as it has months,
 * whatever calendar the provider reckons with.
 */
export function periodNamed(
  { startsAt, endsAt }: Pick<PeriodTimes, "startsAt" | "endsAt">,
  { unit, count }: Pick<PlanTerms, "unit" | "count">,
): PeriodTimes {
  return unit === "day"
    ? { startsAt, endsAt, anchorAt: startsAt, anchorMonths: 0 }
    : { startsAt, endsAt, anchorAt: endsAt, anchorMonths: -count };
}

/** The window of a period that a moment in it belongs to; none goes beyond the period. */
export function windowSpan(kind: PlanWindowKind, period: PeriodTimes, nowSec: number): Span {
  const { startsAt, endsAt, anchorAt, anchorMonths } = period;
  const within = (start: number, end: number) => ({ start, end: Math.min(end, endsAt) });
  if (kind === "session") return within(nowSec, nowSec + SESSION_SEC);
  if (kind === "month") {
    const starts = (months: number) => monthsAfter(anchorAt, anchorMonths + months);
    let months = 0;
    while (starts(months + 1) <= nowSec) months += 1;
    return within(months === 0 ? startsAt : starts(months), starts(months + 1));
  }
  const length = kind === "day" ? DAY_SEC : 7 * DAY_SEC;
  const start = nowSec - ((nowSec - startsAt) % length);
  return within(start, start + length);
}

/** Days that are left and days in all; a day that has begun counts in both. */
export function daysLeft(
  { startsAt, endsAt }: Pick<PeriodTimes, "startsAt" | "endsAt">,
  nowSec: number,
): { readonly left: number; readonly all: number } {
  const days = (seconds: number) => Math.ceil(seconds / DAY_SEC);
  return { left: days(endsAt - Math.max(nowSec, startsAt)), all: days(endsAt - startsAt) };
}
