import { expect, test, vi } from "vitest";
import type { Db } from "./db.ts";
import { totalOf } from "./page.ts";

test("the total of a long list is counted every ten seconds, that of a short one each time", async () => {
  // Only what it is of.
  const [one, other] = [{} as Db, {} as Db];
  let total = 1_000_000;
  const count = vi.fn(async () => total);
  const at = (nowMs: number, list = "all", db = one) => totalOf(db, list, count, nowMs);
  expect([await at(0), await at(9_999), count.mock.calls.length]).toEqual([1_000_000, 1_000_000, 1]);
  total = 10_000;
  expect([await at(9_999, "mine"), await at(9_999, "all", other)]).toEqual([10_000, 10_000]);
  expect(await at(10_000)).toBe(10_000);
  total = 7;
  expect([await at(10_001), await at(10_001, "mine")]).toEqual([7, 7]);
});
