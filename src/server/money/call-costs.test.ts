// What calls cost the operator: by list price and by a channel's own prices, exact to a billionth of a dollar (requirements X09).
import { describe, expect, test } from "vitest";
import { CostSheetText } from "#contract/cost-sheet.ts";
import { channelCosts } from "./channel-costs.ts";
import { costOf, createPrice, nearest, savedBy } from "./price.ts";
import { multiply, parseRational } from "./rational.ts";
import { costOfUnits } from "./units.ts";

const price = createPrice({
  model: "m",
  modelRatio: "1.25",
  completionRatio: "4",
  cacheRatio: "0.5",
  groupRatio: "1",
});
/** Billionths of a dollar of a quota unit at 500,000 to the dollar. */
const BY_LIST = { n: 2_000n, d: 1n };
const usage = (promptTokens: number, completionTokens: number, cachedTokens = 0) => ({
  promptTokens,
  completionTokens,
  cachedTokens,
});

describe("the cost of a call", () => {
  test("is the list price times the channel's ratio, to the nearest billionth of a dollar", () => {
    // $2.5 and $10 a million: 1,000 and 500 tokens are $0.0075.
    expect(costOf(usage(1000, 500), price, BY_LIST)).toBe(7_500_000);
    const { factor } = channelCosts(0.7, "");
    expect(costOf(usage(1000, 500), price, multiply(BY_LIST, factor))).toBe(5_250_000);
    // One token costs less than the smallest unit of quota, and is not rounded up to it.
    expect(costOf(usage(1, 0), price, multiply(BY_LIST, parseRational("0.001")))).toBe(3);
    expect(costOf(usage(0, 0), price, BY_LIST)).toBe(0);
    expect(costOf(usage(1000, 0, 400), price, BY_LIST)).toBe(2_000_000);
  });

  test("by the channel's own prices counts dollars of a million, in its currency at its rate", () => {
    const sheet = {
      currency: "CNY",
      rate: "7",
      models: { m: { input: "14", output: "35", cache_read: "1.4" } },
    };
    const { sheet: prices, factor } = channelCosts(1, JSON.stringify(sheet));
    const own = prices?.get("m");
    if (own === undefined) throw new Error("no price");
    expect(costOf(usage(1_000_000, 0), own, { n: 1_000n, d: 1n })).toBe(2_000_000_000);
    expect(costOf(usage(0, 1_000_000), own, { n: 1_000n, d: 1n })).toBe(5_000_000_000);
    expect(costOf(usage(1_000_000, 0, 1_000_000), own, { n: 1_000n, d: 1n })).toBe(200_000_000);
    // What stands in no sheet is paid in yuan too.
    expect(Number(factor.n) / Number(factor.d)).toBeCloseTo(1 / 7, 12);
    expect(prices?.get("other")).toBeUndefined();
  });

  test("of pictures and sound is that of what was counted", () => {
    const image = createPrice({
      model: "dall-e-3",
      modelRatio: "20",
      completionRatio: "1",
      cacheRatio: "1",
      groupRatio: "1",
    });
    const counted = { unit: "image", images: 2, size: "1024x1024", quality: "standard" } as const;
    // Twice $0.04.
    expect(costOfUnits(counted, image, BY_LIST)).toBe(80_000_000);
  });

  test("never grows beyond what a number holds, and sums of parts differ from the whole by less than a unit each", () => {
    expect(nearest(10n ** 30n, 1n)).toBe(Number.MAX_SAFE_INTEGER);
    let parts = 0;
    let tokens = 0;
    for (let count = 1; count <= 2_000; count += 7) {
      parts += costOf(usage(count, count * 3), price, { n: 1n, d: 3n });
      tokens += count;
    }
    const whole = costOf(usage(tokens, tokens * 3), price, { n: 1n, d: 3n });
    expect(Math.abs(parts - whole)).toBeLessThanOrEqual(143);
  });
});

test("what a cache saves is the difference to plain input, and nothing where it costs as much", () => {
  expect(savedBy(usage(1000, 0, 400), price, BY_LIST)).toBe(500_000);
  expect(savedBy(usage(100, 0, 400), price, BY_LIST)).toBe(125_000);
  expect(savedBy(usage(1000, 0), price, BY_LIST)).toBe(0);
  const plain = createPrice({ ...price, cacheRatio: "1" });
  expect(savedBy(usage(1000, 0, 400), plain, BY_LIST)).toBe(0);
});

test.each([
  ["", true],
  ["{}", true],
  ['{"models":{"m":{"input":"1.5"}}}', true],
  ['{"currency":"CNY","rate":"7.1","rate_day":"2026-11-26"}', true],
  ['{"currency":"CNY"}', false],
  ['{"currency":"EUR","rate":"1"}', false],
  ['{"models":{"m":{"input":"-1"}}}', false],
  ['{"models":{"m":{"input":1}}}', false],
  ['{"models":{"m":{"input":"0","output":"1"}}}', false],
  ['{"modles":{}}', false],
  ["[]", false],
  ["{", false],
])("a cost sheet %s is taken: %s", (text, isTaken) => {
  expect(CostSheetText.safeParse(text).success).toBe(isTaken);
});
