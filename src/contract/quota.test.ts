// The numbers of requirements B9 that both sides show.
import { expect, test } from "vitest";
import { abbreviate, formatQuota, quotaHint, responseGrade } from "./quota.ts";

const inCurrency = { quotaPerUnit: 500_000, inCurrency: true };
const asPoints = { quotaPerUnit: 500_000, inCurrency: false };

test.each([
  [0, "$0.00"],
  [1, "$0.00"],
  [2_500, "$0.01"],
  [500_000, "$1.00"],
  [-500_000, "-$1.00"],
  [617_283_945, "$1234.57"],
])(
  "quota %i is %s in currency mode: divided by units per currency, two decimals, prefixed",
  (quota, text) => {
    expect(formatQuota(quota, inCurrency)).toBe(text);
  },
);

test.each([
  [0, "0"],
  [9_999, "9999"],
  [10_000, "10.0k"],
  [999_900, "999.9k"],
  [999_949, "999.9k"],
  [999_950, "1.0M"],
  [1_000_000, "1.0M"],
  [999_949_999, "999.9M"],
  [999_950_000, "1.0B"],
  [2_500_000_000, "2.5B"],
  [-20_000, "-20.0k"],
  [-999_999, "-1.0M"],
])("otherwise quota %i is %s: k from 10,000, then M and B", (quota, text) => {
  expect(formatQuota(quota, asPoints)).toBe(text);
  expect(abbreviate(quota)).toBe(text);
});

test("another rate is another price, and the hint says it beside a field", () => {
  expect(formatQuota(1_000, { quotaPerUnit: 1_000, inCurrency: true })).toBe("$1.00");
  expect(quotaHint(250_000, inCurrency)).toBe("（等价金额：$0.50）");
  expect(quotaHint(1_000, inCurrency)).toBe("（等价金额：$0.002）");
  expect(quotaHint(1, inCurrency)).toBe("（等价金额：$0.000002）");
  expect(quotaHint(0, inCurrency)).toBe("（等价金额：$0.00）");
  expect(quotaHint(250_000, asPoints)).toBe("");
});

test("response times are graded at 1000, 3000 and 5000 ms; 0 is untested (requirements B4, B9)", () => {
  expect([0, 1, 1_000, 1_001, 3_000, 3_001, 5_000, 5_001].map(responseGrade)).toEqual([
    "untested",
    "good",
    "good",
    "fair",
    "fair",
    "slow",
    "slow",
    "bad",
  ]);
});
