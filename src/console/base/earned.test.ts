// Amounts from a billionth of a dollar to thousands are readable, losses too.
import { expect, test } from "vitest";
import { moneyOf, partOf } from "./earned.ts";

test.each([
  [0, "USD", "$0.00"],
  [1_234_560_000_000, "USD", "$1,234.56"],
  [-1_200_000, "USD", "-$0.0012"],
  [1, "USD", "$0.000000001"],
  [1_000_000_000, "CNY", "¥7.00"],
] as const)("%d billionths of a dollar in %s are %s", (nano, currency, text) => {
  expect(moneyOf(nano, currency)).toBe(text);
});

test("a part of nothing is none", () => {
  expect([partOf(1, 4), partOf(-1, 4), partOf(0, 0)]).toEqual(["25.0%", "-25.0%", "—"]);
});
