import { setImmediate as turn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import type { Db } from "./db.ts";
import { totalOf } from "./page.ts";

/** A list's total as a page at a moment tells it; `count` may be set. */
function counted() {
  // Only what it is of.
  const db = {} as Db;
  const list = { total: 1_000_000, count: vi.fn(async () => list.total) };
  const at = (nowMs: number, name = "all", of = db) => totalOf(of, name, () => list.count(), nowMs);
  return { list, at };
}

test("the total of a long list is counted every ten seconds, that of a short one each time", async () => {
  const { list, at } = counted();
  expect([await at(0), await at(9_999), list.count.mock.calls.length]).toEqual([1_000_000, 1_000_000, 1]);
  list.total = 10_000;
  expect([await at(9_999, "mine"), await at(9_999, "all", {} as Db)]).toEqual([10_000, 10_000]);
  list.total = 7;
  expect([await at(10_001, "mine"), await at(10_001, "mine")]).toEqual([7, 7]);
});

test("one that is some seconds old is told while it is counted anew, once; one of more than a minute is not", async () => {
  const { list, at } = counted();
  await at(0);
  list.total = 1_000_001;
  expect(await Promise.all([at(10_000), at(10_000)])).toEqual([1_000_000, 1_000_000]);
  expect([await at(10_002), list.count.mock.calls.length]).toEqual([1_000_001, 2]);
  list.total = 10;
  expect(await at(25_000)).toBe(1_000_001);
  await turn();
  expect(await at(25_001)).toBe(10);
  list.total = 2_000_000;
  await at(26_000);
  list.total = 3_000_000;
  expect(await at(26_000 + 70_000)).toBe(3_000_000);
});

test("a count that fails behind a page is asked for again by the next", async () => {
  const { list, at } = counted();
  await at(0);
  list.count.mockRejectedValueOnce(new Error("the database is away"));
  expect(await at(10_000)).toBe(1_000_000);
  await turn();
  list.total = 1_000_009;
  expect(await at(11_000)).toBe(1_000_000);
  await turn();
  expect(await at(11_001)).toBe(1_000_009);
  list.count.mockRejectedValueOnce(new Error("the database is away"));
  await expect(at(200_000)).rejects.toThrow("the database is away");
});
