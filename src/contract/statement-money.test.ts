// Money of statements: rounded half away from zero, exactly, and added up by tag (requirements Y59).
import { expect, test } from "vitest";
import type { StatementUsage } from "./statement.ts";
import {
  hasTokens,
  missingInUsage,
  moneyOf,
  StatementMoney,
  sumUsage,
  usageByTag,
} from "./statement-money.ts";

test.each([
  // As many decimals as the amount has, two at least.
  [750_000, 500_000, "$1.50"],
  [700, 500_000, "$0.0014"],
  [1, 500_000, "$0.000002"],
  [617_283_945_000_000, 500_000, "$1,234,567,890.00"],
  // Six at most; a half goes away from zero.
  [1, 2_000_000, "$0.000001"],
  [-1, 2_000_000, "-$0.000001"],
  [1, 2_000_001, "$0.000000"],
  [1, 3, "$0.333333"],
  [-2, 3, "-$0.666667"],
  // More than a double can hold.
  [9_007_199_254_740_991, 500_000, "$18,014,398,509.481982"],
  // Any price of a dollar that an operator can set.
  [1, 0.25, "$4.00"],
  [3, 1e-7, "$30,000,000.00"],
  [5, 1e21, "$0.000000"],
  [5_000_000, 2.5e21, "$0.000000"],
])("%d at %d a dollar is %s", (quota, quotaPerUnit, text) => {
  expect(new StatementMoney([quota], quotaPerUnit).textOf(quota)).toBe(text);
});

test("all amounts of a statement have the decimals of the one that has most", () => {
  const money = new StatementMoney([500_000, 700], 500_000);
  expect([500_000, 700, 0].map((quota) => money.textOf(quota))).toEqual(["$1.0000", "$0.0014", "$0.0000"]);
});

const row: StatementUsage = {
  ...{ token_id: 1, token_name: "t", tags: "", model_name: "m", calls: 1 },
  ...{ quota: 1, plan_quota: 0, shortfall: 0 },
};

test("usage by tag counts a token in each of its tags, and those without behind", () => {
  const rows = [
    { ...row, tags: "b,a", quota: 3 },
    { ...row, quota: 5, calls: 2, shortfall: 4 },
    { ...row, tags: "b", quota: 7, plan_quota: 2 },
  ];
  expect(usageByTag(rows)).toEqual([
    { tag: "a", calls: 1, quota: 3, plan_quota: 0, shortfall: 0 },
    { tag: "b", calls: 2, quota: 10, plan_quota: 2, shortfall: 0 },
    { tag: "", calls: 2, quota: 5, plan_quota: 0, shortfall: 4 },
  ]);
  expect(usageByTag([row])).toEqual([]);
  expect(usageByTag(rows.slice(0, 1)).map(({ tag }) => tag)).toEqual(["a", "b"]);
  expect(sumUsage(rows)).toEqual({ calls: 4, quota: 15, plan_quota: 2, shortfall: 4 });
});

test("tokens are summed where they are known of every row, by tag too", () => {
  const tokens = { prompt_tokens: 10, cached_tokens: 4, completion_tokens: 5 };
  const rows = [
    { ...row, tags: "a", tokens },
    { ...row, tags: "a,b", tokens: { ...tokens, cached_tokens: 0 } },
  ];
  expect(sumUsage(rows).tokens).toEqual({ prompt_tokens: 20, cached_tokens: 4, completion_tokens: 10 });
  const mixed = [...rows, { ...row, tags: "b" }];
  expect(sumUsage(mixed)).not.toHaveProperty("tokens");
  expect(usageByTag(mixed).map((one) => [one.tag, one.tokens?.cached_tokens])).toEqual([
    ["a", 4],
    ["b", undefined],
  ]);
  expect([hasTokens(mixed), hasTokens([row]), hasTokens([])]).toEqual([true, false, false]);
});

test("no money is made where the operator shows none, and rows that add up lack nothing", () => {
  const parts = { opening: 0, closing: 1, debt: 0, sums: [], usage: [row, row] };
  expect(moneyOf(parts, { inCurrency: false, quotaPerUnit: 3 })).toBe(undefined);
  const exact = moneyOf(parts, { inCurrency: true, quotaPerUnit: 500_000 });
  expect(exact && missingInUsage(exact, parts.usage)).toBe(undefined);
  const rounded = moneyOf(parts, { inCurrency: true, quotaPerUnit: 300_000 });
  expect(rounded && missingInUsage(rounded, parts.usage)).toEqual({
    quota: 1n,
    plan_quota: 0n,
    shortfall: 0n,
  });
});
