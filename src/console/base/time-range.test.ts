import { expect, it } from "vitest";
import { rangePresets, wholeIn } from "./time-range.ts";

it("presets are today, yesterday, seven days and the month", () => {
  const [today, yesterday, week, month] = rangePresets(new Date(2026, 10, 20, 15)).map(
    ({ window }) => window,
  );
  const at = (day: number) => new Date(2026, 10, day).getTime() / 1000;
  expect(today).toEqual({ start: at(20), end: at(21) - 1 });
  expect(yesterday).toEqual({ start: at(19), end: at(20) - 1 });
  expect(week?.start).toBe(at(14));
  expect(month?.start).toBe(at(1));
});

it("a query holds a whole number or none", () => {
  expect(["7", "0", "-3", "1.5", "1e99", "x", "", null].map(wholeIn)).toEqual([7, 0, 0, 0, 0, 0, 0, 0]);
});
