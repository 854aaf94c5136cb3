import { expect, test } from "vitest";
import { ExpiringKeys } from "./expiring-keys.ts";

test("a mark is there until its time", () => {
  const marks = new ExpiringKeys();
  const get = (key: string, nowMs: number) => marks.get(key, { nowMs, longestMs: 1_000 });
  marks.set("a", 10, 0);
  expect([get("a", 9), get("a", 10), get("b", 0)]).toEqual([10, undefined, undefined]);
});

test("memory is bounded: first what is over goes, then the oldest", () => {
  const marks = new ExpiringKeys();
  const get = (key: string, nowMs: number) => marks.get(key, { nowMs, longestMs: 1_000 });
  for (let index = 0; index < 100_000; index += 1) marks.set(`old${index}`, index < 50_000 ? 1 : 100, 0);
  marks.set("new", 100, 50);
  expect([get("old0", 0), get("old60000", 50), get("new", 50)]).toEqual([undefined, 100, 100]);
  for (let index = 0; index < 60_000; index += 1) marks.set(`flood${index}`, 1_000, 50);
  expect(get("old50000", 50)).toBeUndefined();
  expect([get("new", 50), get("flood59999", 50)]).toEqual([100, 1_000]);
});

test("a mark that a step back of the clock left far ahead is brought nearer, once", () => {
  const marks = new ExpiringKeys();
  marks.set("a", 3_600_100, 3_600_000);
  expect(marks.get("a", { nowMs: 0, longestMs: 100 })).toBe(101);
  expect(marks.get("a", { nowMs: 60, longestMs: 100 })).toBe(101);
  expect(marks.get("a", { nowMs: 101, longestMs: 100 })).toBeUndefined();
});
