// Lengths of periods and windows: fixed when a period begins, by the calendar in Beijing, whatever the host's zone (requirements Y47, Y49).

import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { PLAN_WINDOWS, type PlanUnit } from "#contract/plan-terms.ts";
import { DAY_SEC } from "#server/clock.ts";
import { rounds } from "#test/worlds/soak.ts";
import {
  daysLeft,
  monthsAfter,
  type PeriodTimes,
  periodFrom,
  periodNamed,
  windowSpan,
} from "./plan-times.ts";

const at = (text: string) => Date.parse(`${text}+08:00`) / 1_000;

test("months keep the day of the month as far as a month has it", () => {
  const anchor = at("2027-01-31T23:30:00");
  const months = [1, 2, 3, 13].map((count) => monthsAfter(anchor, count));
  expect(months).toEqual(
    ["2027-02-28", "2027-03-31", "2027-04-30", "2028-02-29"].map((day) => at(`${day}T23:30:00`)),
  );
  expect(monthsAfter(at("2028-02-29T00:00:00"), 12)).toBe(at("2029-02-28T00:00:00"));
  expect(monthsAfter(at("2026-12-31T23:59:59"), 2)).toBe(at("2027-02-28T23:59:59"));
});

const starts = fc.integer({ min: at("2024-01-01T00:00:00"), max: at("2040-01-01T00:00:00") });
const lengths = fc.record({
  unit: fc.constantFrom<PlanUnit>("day", "month"),
  count: fc.integer({ min: 1, max: 13 }),
});

test("renewed in time, periods join without a gap and come to the same as one long period", () => {
  fc.assert(
    fc.property(starts, lengths, fc.integer({ min: 1, max: 6 }), (start, terms, times) => {
      let last: PeriodTimes = periodFrom(start, terms);
      for (let more = 1; more < times; more += 1) {
        const months = terms.unit === "month" ? terms.count : 0;
        const next = periodFrom(last.endsAt, terms, { ...last, months });
        expect(next.startsAt).toBe(last.endsAt);
        last = next;
      }
      expect(last.endsAt).toBe(periodFrom(start, { ...terms, count: terms.count * times }).endsAt);
    }),
    { seed: 20_261_125, numRuns: 3_000 },
  );
});

test("a period that follows something else counts its months from its own start", () => {
  const before = periodFrom(at("2027-01-31T10:00:00"), { unit: "day", count: 28 });
  const next = periodFrom(before.endsAt, { unit: "month", count: 1 }, { ...before, months: 0 });
  expect(next).toMatchObject({ startsAt: at("2027-02-28T10:00:00"), anchorMonths: 0 });
  expect(next.endsAt).toBe(at("2027-03-28T10:00:00"));
});

test("windows of a period join without gaps, and none goes beyond it", () => {
  fc.assert(
    fc.property(starts, lengths, fc.constantFrom(...PLAN_WINDOWS), (start, terms, kind) => {
      const period = periodFrom(start, terms);
      let windows = 0;
      for (let now = start; now < period.endsAt; windows += 1) {
        const span = windowSpan(kind, period, now);
        expect(span.start).toBe(now);
        expect(windowSpan(kind, period, Math.max(now, span.end - 1)).end).toBe(
          kind === "session" ? Math.min(span.end - 1 + 18_000, period.endsAt) : span.end,
        );
        now = span.end;
      }
      const days = (period.endsAt - start) / DAY_SEC;
      if (kind === "day") expect(windows).toBe(days);
      if (kind === "week") expect(windows).toBe(Math.ceil(days / 7));
      if (kind === "month" && terms.unit === "month") expect(windows).toBe(terms.count);
    }),
    { seed: 20_261_125, numRuns: rounds(300, 10_000) },
  );
});

/** So many months on by UTC, as a provider may reckon. */
function utcMonths(anchorAt: number, months: number): number {
  const date = new Date(anchorAt * 1_000);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + months];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return Date.UTC(year, month, Math.min(date.getUTCDate(), lastDay)) / 1_000 + (anchorAt % DAY_SEC);
}

test("a period that an invoice names has its times, and a window of a month for each of its months, in any calendar", () => {
  fc.assert(
    fc.property(starts, fc.integer({ min: 1, max: 12 }), fc.nat(24), (anchor, count, n) => {
      const edges = [n, n + 1].map((periods) => utcMonths(anchor, periods * count));
      const [startsAt = 0, endsAt = 0] = edges;
      const period = periodNamed({ startsAt, endsAt }, { unit: "month", count });
      expect([period.startsAt, period.endsAt]).toEqual(edges);
      let windows = 0;
      for (let now = startsAt; now < endsAt; windows += 1) {
        const span = windowSpan("month", period, now);
        expect(span.start).toBe(now);
        now = span.end;
      }
      expect(windows).toBe(count);
      // Continued by hand, it goes on from there without a gap.
      const next = periodFrom(endsAt, { unit: "month", count: 1 }, { ...period, months: count });
      expect(next).toMatchObject({ startsAt: endsAt, anchorAt: endsAt, anchorMonths: 0 });
    }),
    { seed: 20_261_126, numRuns: 300 },
  );
});

/** Periods and windows as a process in another zone reckons them. */
const PROGRAM = `
  import { periodFrom, windowSpan } from "#server/money/plan-times.ts";
  const starts = ["2027-03-14T15:30:00+08:00", "2027-01-31T23:30:00+08:00", "2028-02-29T00:00:00+08:00"];
  const periods = starts.map((text) => periodFrom(Date.parse(text) / 1000, { unit: "month", count: 3 }));
  const windows = periods.map((one) => windowSpan("month", one, one.startsAt + 40 * 86400));
  console.log(JSON.stringify({ periods, windows, offset: new Date("2027-07-01").getTimezoneOffset() }));
`;

test("the zone of the host changes nothing, also where clocks are put forward", () => {
  const reckoned = ["UTC", "America/New_York", "Australia/Lord_Howe"].map((zone) => {
    const options = {
      cwd: import.meta.dirname,
      env: { ...process.env, TZ: zone },
      encoding: "utf8",
    } as const;
    return JSON.parse(execFileSync(process.execPath, ["--input-type=module", "-e", PROGRAM], options));
  });
  expect(reckoned.map(({ offset }) => offset)).toEqual([0, 240, -630]);
  const [first, ...others] = reckoned.map(({ periods, windows }) => ({ periods, windows }));
  expect(others).toEqual([first, first]);
  expect(first?.periods[1]).toMatchObject({ endsAt: at("2027-04-30T23:30:00") });
});

test("a purchase at 23:30 has the windows of any other", () => {
  const late = periodFrom(at("2027-03-01T23:30:00"), { unit: "day", count: 30 });
  expect(windowSpan("day", late, at("2027-03-02T00:10:00"))).toEqual({
    start: at("2027-03-01T23:30:00"),
    end: at("2027-03-02T23:30:00"),
  });
  const last = windowSpan("week", late, late.endsAt - 1);
  expect(last).toEqual({ start: late.startsAt + 28 * DAY_SEC, end: late.endsAt });
});

test("a day that has begun counts as one that is left", () => {
  const period = periodFrom(at("2027-03-01T12:00:00"), { unit: "day", count: 30 });
  expect(daysLeft(period, period.startsAt)).toEqual({ left: 30, all: 30 });
  expect(daysLeft(period, period.startsAt - 1_000)).toEqual({ left: 30, all: 30 });
  expect(daysLeft(period, period.startsAt + 1)).toEqual({ left: 30, all: 30 });
  expect(daysLeft(period, period.startsAt + DAY_SEC)).toEqual({ left: 29, all: 30 });
  expect(daysLeft(period, period.endsAt - 1)).toEqual({ left: 1, all: 30 });
});

test("a period of days that an invoice names begins where the invoice says", () => {
  const named = { startsAt: 1_800_000_000, endsAt: 1_800_604_800 };
  const times = periodNamed(named, { unit: "day", count: 7 });
  expect(times).toEqual({ ...named, anchorAt: named.startsAt, anchorMonths: 0 });
});
