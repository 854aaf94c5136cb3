// Months of statements: `2026-10`, by the calendar of Asia/Shanghai, which has been eight hours east of UTC since 1991. Pure.

const OFFSET_SEC = 8 * 3_600;
/** A month is closed so long after its end: what was under way then has been booked (requirements Y59). */
const CLOSING_SEC = 3_600;

/** What a month looks like. */
export const MONTH = /^20\d\d-(0[1-9]|1[0-2])$/;

/** The month that a moment lies in. Unit: seconds. */
export function monthOf(atSec: number): string {
  return new Date((atSec + OFFSET_SEC) * 1000).toISOString().slice(0, 7);
}

/** The day that a moment lies in, `2026-10-31`. Unit: seconds. */
export function dayOf(atSec: number): string {
  return new Date((atSec + OFFSET_SEC) * 1000).toISOString().slice(0, 10);
}

/** A moment as the calendar of statements has it, `2026-11-01 01:00:00`. Unit: seconds. */
export function beijingTime(atSec: number): string {
  return new Date((atSec + OFFSET_SEC) * 1000).toISOString().slice(0, 19).replace("T", " ");
}

/** When a month begins, seconds. */
export function monthStart(month: string): number {
  return Date.parse(`${month}-01T00:00:00Z`) / 1000 - OFFSET_SEC;
}

/** The month after, or so many months later or (below 0) earlier. */
export function monthAfter(month: string, months = 1): string {
  const [year = 0, number = 0] = month.split("-").map(Number);
  return new Date(Date.UTC(year, number - 1 + months, 1)).toISOString().slice(0, 7);
}

/** The newest month whose books are closed. */
export function lastClosedMonth(nowSec: number): string {
  return monthAfter(monthOf(nowSec - CLOSING_SEC), -1);
}
