// Windows of limits in zones whose days are not always 24 hours (requirements L08).
import fc from "fast-check";
import { expect, test } from "vitest";
import { isCalendar } from "#contract/limit-words.ts";
import { type Calendar, calendarSpan, rollingOf } from "./windows.ts";

const sec = (text: string) => Date.parse(text) / 1_000;
const text = (seconds: number) => new Date(seconds * 1_000).toISOString().slice(0, 19);
const day = (zone: string, at: string) => calendarSpan("day", { zone, anchor: 1 }, sec(at));

test("a day in Shanghai ends at 16:00 UTC", () => {
  expect(text(day("Asia/Shanghai", "2026-11-23T15:59:59Z").start)).toBe("2026-11-22T16:00:00");
  expect(text(day("Asia/Shanghai", "2026-11-23T16:00:00Z").start)).toBe("2026-11-23T16:00:00");
});

test.each([
  ["Europe/Berlin", "2026-03-29T10:00:00Z", 23, "2026-03-28T23:00:00"],
  ["Europe/Berlin", "2026-10-25T10:00:00Z", 25, "2026-10-24T22:00:00"],
  ["Australia/Lord_Howe", "2026-04-05T03:00:00Z", 24.5, "2026-04-04T13:00:00"],
  // Their clocks skip midnight: the day begins at 1:00.
  ["Africa/Cairo", "2026-04-24T10:00:00Z", 23, "2026-04-23T22:00:00"],
  ["America/Santiago", "2026-09-06T12:00:00Z", 23, "2026-09-06T04:00:00"],
])("the day in %s at %s has %d hours", (zone, at, hours, start) => {
  const span = day(zone, at);
  expect([(span.end - span.start) / 3_600, text(span.start)]).toEqual([hours, start]);
});

test("a week begins on Monday", () => {
  const week = calendarSpan("week", { zone: "Asia/Shanghai", anchor: 1 }, sec("2026-11-22T15:59:59Z"));
  expect([text(week.start), text(week.end)]).toEqual(["2026-11-15T16:00:00", "2026-11-22T16:00:00"]);
});

test("months that begin on the 31st begin on the last day where there is none", () => {
  const calendar = { zone: "UTC", anchor: 31 };
  const starts: string[] = [];
  for (let at = sec("2027-01-31T00:00:00Z"); starts.length < 4; ) {
    const span = calendarSpan("month", calendar, at);
    starts.push(text(span.start).slice(0, 10));
    at = span.end;
  }
  expect(starts).toEqual(["2027-01-31", "2027-02-28", "2027-03-31", "2027-04-30"]);
  expect(text(calendarSpan("month", calendar, sec("2027-02-27T12:00:00Z")).start)).toBe(
    "2027-01-31T00:00:00",
  );
});

test("a zone that does not exist is refused", () => {
  for (const zone of ["", "UTC+8", "Asia/Beijing"])
    expect(() => day(zone, "2026-01-01T00:00:00Z")).toThrow(RangeError);
});

test("windows of any zone follow each other without gap and overlap, and contain the moment", () => {
  const zones = [
    "Asia/Shanghai",
    "Europe/Berlin",
    "Africa/Cairo",
    "America/Santiago",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
  ];
  const calendars = fc.record({ zone: fc.constantFrom(...zones), anchor: fc.integer({ min: 1, max: 31 }) });
  const windows = fc.constantFrom("day", "week", "month").filter((window) => isCalendar(window as "day"));
  const moments = fc.integer({ min: sec("2020-01-01T00:00:00Z"), max: sec("2035-01-01T00:00:00Z") });
  fc.assert(
    fc.property(windows, calendars, moments, (window, calendar: Calendar, at) => {
      const span = calendarSpan(window as "day" | "week" | "month", calendar, at);
      expect(span.start <= at && at < span.end).toBe(true);
      const next = calendarSpan(window as "day" | "week" | "month", calendar, span.end);
      expect(next.start).toBe(span.end);
      expect(calendarSpan(window as "day" | "week" | "month", calendar, span.end - 1)).toEqual(span);
    }),
    { seed: 7, numRuns: 400 },
  );
});

test("a rolling window has sixty steps", () => {
  expect([rollingOf("rolling_5h"), rollingOf("day")]).toEqual([{ length: 18_000, width: 300 }, undefined]);
});
