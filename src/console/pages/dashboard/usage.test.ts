import { describe, expect, it } from "vitest";
import {
  dayLabel,
  dayOffset,
  daysOf,
  growth,
  OTHERS,
  outcomeOf,
  outcomesByDay,
  percent,
  rankModels,
  sum,
  sumByDay,
  weekOf,
} from "./usage.ts";

const DAY_S = 86_400;

function row(day: number, model_name: string, quota: number) {
  return { day, model_name, quota, requests: 1, prompt_tokens: 10, completion_tokens: 5 };
}

describe("usage by day and model", () => {
  it("has the days of the report, oldest first, each a day long", () => {
    expect(daysOf({ start: 1000, days: 3 })).toEqual([1000, 1000 + DAY_S, 1000 + 2 * DAY_S]);
  });

  it("sums each day, with zeros for days without calls", () => {
    const rows = [row(DAY_S, "a", 3), row(DAY_S, "b", 4)];
    expect(sumByDay(rows, [0, DAY_S]).map(({ quota }) => quota)).toEqual([0, 7]);
    expect(sum(rows)).toEqual({ quota: 7, requests: 2, prompt: 20, completion: 10 });
  });

  it("ranks models, with what the report sums as others at the end", () => {
    const rows = [row(0, "", 50), row(0, "a", 3), row(DAY_S, "b", 4), row(0, "b", 3)];
    const models = rankModels(rows);
    expect(models.map(({ name, quota }) => [name, quota])).toEqual([
      ["b", 7],
      ["a", 3],
      [OTHERS, 50],
    ]);
    expect(models.map(({ colour }) => colour)).toEqual(["teal", "blue", "black"]);
    expect(models.reduce((total, { share }) => total + share, 0)).toBeCloseTo(1);
  });

  it("has no models and no shares without rows", () => {
    expect(rankModels([])).toEqual([]);
  });

  it("asks for days that begin where the reader is", () => {
    const at = (minutes: number) => dayOffset({ getTimezoneOffset: () => minutes } as Date); // all that is read
    expect([at(-480), at(0), at(300), at(-330)]).toEqual([480, 0, 1140, 330]);
    const midnight = new Date(2026, 10, 20).getTime() / 1000;
    expect(dayLabel(midnight)).toBe("11-20");
  });
});

describe("how calls went", () => {
  const rows = [
    { day: 0, calls: 8, failures: 2, first_byte_ms: 400 },
    { day: 2, calls: 2, failures: 0, first_byte_ms: 0 },
  ];

  it("is unknown on days without calls, not zero", () => {
    expect(outcomesByDay(rows, [0, 1, 2])).toEqual([
      { failed: 0.25, firstByteMs: 400 },
      { failed: null, firstByteMs: null },
      { failed: 0, firstByteMs: null },
    ]);
  });

  it("comes to one rate and one mean", () => {
    expect(outcomeOf(rows)).toEqual({ failed: 0.2, firstByteMs: 400 });
    expect(outcomeOf([])).toEqual({ failed: null, firstByteMs: null });
  });

  it("is told in per cent that do not hide what is small", () => {
    expect([percent(0), percent(0.0004), percent(0.0123), percent(1)]).toEqual([
      "0.0%",
      "0.04%",
      "1.2%",
      "100.0%",
    ]);
    expect([growth(150, 100), growth(5, 0)]).toEqual([0.5, undefined]);
  });
});

it("the hours of the week make a map of seven days, Monday first", () => {
  const week = weekOf([
    { hour: 9, requests: 3, quota: 11 },
    { hour: 6 * 24 + 23, requests: 2, quota: 7 },
  ]);
  expect(week.map((day) => day.length)).toEqual(Array(7).fill(24));
  expect(week[0]?.[9]).toMatchObject({ requests: 3, quota: 11 });
  expect(week[6]?.[23]).toMatchObject({ requests: 2, quota: 7 });
  expect(week.flat().reduce((total, { requests }) => total + requests, 0)).toBe(5);
});
