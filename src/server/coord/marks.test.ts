import { expect, test } from "vitest";
import { Marks } from "./marks.ts";

test("a mark is there until its time", () => {
  const marks = new Marks();
  marks.set("a", 10, 0);
  expect([marks.get("a", 9), marks.get("a", 10), marks.get("b", 0)]).toEqual([10, undefined, undefined]);
});

test("memory is bounded: first what is over goes, then the oldest", () => {
  const marks = new Marks();
  for (let index = 0; index < 100_000; index += 1) marks.set(`old${index}`, index < 50_000 ? 1 : 100, 0);
  marks.set("new", 100, 50);
  expect([marks.get("old0", 0), marks.get("old60000", 50), marks.get("new", 50)]).toEqual([
    undefined,
    100,
    100,
  ]);
  for (let index = 0; index < 60_000; index += 1) marks.set(`flood${index}`, 1_000, 50);
  expect(marks.get("old50000", 50)).toBeUndefined();
  expect([marks.get("new", 50), marks.get("flood59999", 50)]).toEqual([100, 1_000]);
});
