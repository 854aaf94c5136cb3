// When the window of a limit begins and ends: by the calendar of a time zone, from the first call on, or rolling. Pure; days begin when
// the zone's clocks say so, which is not always 24 hours after the day before (requirements L08).
import type { CalendarWindow, LimitWindow } from "#contract/limit-words.ts";
import { DAY_SEC } from "#server/clock.ts";

/** From `start` up to, not including, `end`. Seconds since 1970. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const HOUR_SEC = 3_600;
/** A window that never ends. */
export const NEVER = Number.MAX_SAFE_INTEGER;

const ROLLING_SEC: Readonly<Partial<Record<LimitWindow, number>>> = {
  rolling_5h: 5 * HOUR_SEC,
  rolling_day: DAY_SEC,
  rolling_week: 7 * DAY_SEC,
  rolling_month: 30 * DAY_SEC,
};
/** A rolling window forgets in steps: the oldest is counted whole, so that never too little is counted. */
const SLICES = 60;
export const SESSION_SEC = 5 * HOUR_SEC;

export interface Rolling {
  /** Seconds that count. */
  readonly length: number;
  /** Seconds of one step. */
  readonly width: number;
}

/** How a rolling window forgets; undefined = it is none. */
export function rollingOf(window: LimitWindow): Rolling | undefined {
  const length = ROLLING_SEC[window];
  return length === undefined ? undefined : { length, width: length / SLICES };
}

export interface Calendar {
  /** IANA name. */
  readonly zone: string;
  /** Day of the month on which months begin; in months that are shorter, their last day. */
  readonly anchor: number;
}

/** The spans found last: mostly one of them is still running. No name is made to look for one: that is done twice for each limit of a call. */
const found: { readonly window: CalendarWindow; readonly calendar: Calendar; readonly span: Span }[] = [];
const MOST_FOUND = 8;

/** The window of a calendar that a moment is in. Throws: RangeError for a zone that does not exist. */
export function calendarSpan(window: CalendarWindow, calendar: Calendar, nowSec: number): Span {
  const { zone, anchor } = calendar;
  for (const one of found) {
    const isSame = one.window === window && one.calendar.anchor === anchor && one.calendar.zone === zone;
    if (isSame && one.span.start <= nowSec && nowSec < one.span.end) return one.span;
  }
  const span = findSpan(window, calendar, nowSec);
  found.unshift({ window, calendar, span });
  found.length = Math.min(found.length, MOST_FOUND);
  return span;
}

function findSpan(window: CalendarWindow, { zone, anchor }: Calendar, nowSec: number): Span {
  const today = Temporal.Instant.fromEpochMilliseconds(nowSec * 1_000)
    .toZonedDateTimeISO(zone)
    .toPlainDate();
  // A day that begins at 1:00 is the day before for the hour that its clocks skipped: there is no such moment.
  const first = firstDay(window, today, anchor);
  const next =
    window === "month" ? monthsOn(first, 1, anchor) : first.add({ days: window === "day" ? 1 : 7 });
  return { start: startOf(first, zone), end: startOf(next, zone) };
}

function firstDay(window: CalendarWindow, today: Temporal.PlainDate, anchor: number): Temporal.PlainDate {
  if (window === "day") return today;
  if (window === "week") return today.subtract({ days: today.dayOfWeek - 1 });
  const first = monthsOn(today, 0, anchor);
  return Temporal.PlainDate.compare(first, today) <= 0 ? first : monthsOn(today, -1, anchor);
}

/** The first day of the window so many months on: the anchor, or the last day where the month has no such day. */
function monthsOn(day: Temporal.PlainDate, months: number, anchor: number): Temporal.PlainDate {
  const month = day.with({ day: 1 }).add({ months });
  return month.with({ day: Math.min(anchor, month.daysInMonth) });
}

function startOf(day: Temporal.PlainDate, zone: string): number {
  return Math.floor(day.toZonedDateTime(zone).epochMilliseconds / 1_000);
}
