// Money that an operator types is the money that is shown and charged (requirements X07).
import { describe, expect, test } from "vitest";
import { type Currency, moneyOfRatios, ratioOfMoney } from "./price-money.ts";

const scale = (currency: Currency, tokens = 1_000_000, quotaPerUnit = 500_000) => ({
  tokens,
  quotaPerUnit,
  currency,
});

describe("a price in money", () => {
  test.each([
    ["2.5", "1.25"],
    ["0.15", "0.075"],
    ["0", "0"],
    ["10000", "5000"],
  ])("$%s a million is ratio %s", (money, ratio) => {
    expect(ratioOfMoney(money, [], scale("USD"))).toBe(ratio);
    expect(moneyOfRatios([ratio], scale("USD"))).toBe(money);
  });

  test("¥12 is what 12 yuan at 7 to the dollar come to, and is read back as 12", () => {
    const ratio = ratioOfMoney("12", [], scale("CNY")) ?? "";
    expect(ratio).toBe("0.857142857143");
    expect(moneyOfRatios([ratio], scale("CNY"))).toBe("12");
  });

  test("output is a multiple of the input: $10 above $3", () => {
    const input = ratioOfMoney("3", [], scale("USD")) ?? "";
    const output = ratioOfMoney("10", [input], scale("USD")) ?? "";
    expect(output).toBe("3.333333333333");
    expect(moneyOfRatios([input, output], scale("USD"))).toBe("10");
  });

  test("nothing multiplies a free input to a price", () => {
    expect(ratioOfMoney("1", ["0"], scale("USD"))).toBeUndefined();
    expect(ratioOfMoney("0", ["0"], scale("USD"))).toBe("1");
  });

  test.each(["", "-1", "1e3", "１", "1,000", "NaN", "."])("is not %j", (text) => {
    expect(ratioOfMoney(text, [], scale("USD"))).toBeUndefined();
    expect(moneyOfRatios([text], scale("USD"))).toBe("");
  });

  // A linear congruence: the same prices on every run.
  let seed = 7;
  const next = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  const price = () => {
    const text = `${next(10_000)}.${String(next(1_000_000)).padStart(6, "0")}`;
    return text.replace(/\.?0+$/, "") || "0";
  };
  const anyScale = () => {
    const tokens = [1_000_000, 1_000, 200][next(3)];
    return scale(next(2) === 0 ? "USD" : "CNY", tokens, next(2) === 0 ? 500_000 : 1_000_000);
  };

  test("is read back as it was typed, whatever it is, in both currencies", () => {
    for (let round = 0; round < 20_000; round += 1) {
      const [input, unit] = [price(), anyScale()];
      const ratio = ratioOfMoney(input, [], unit) ?? "";
      expect(moneyOfRatios([ratio], unit)).toBe(input);
      // Tables hold numbers: what is read back from one is the same price.
      expect(moneyOfRatios([Number(ratio).toFixed(12)], unit)).toBe(input);
    }
  });

  test("as a multiple of another is read back as well", () => {
    for (let round = 0; round < 20_000; round += 1) {
      const [input, output, unit] = [price(), price(), anyScale()];
      // A multiple of twelve decimals is as exact as the input is large.
      if (Number(input) < 0.001 || Number(output) > Number(input) * 1_000) continue;
      const ratio = ratioOfMoney(input, [], unit) ?? "";
      const multiple = ratioOfMoney(output, [ratio], unit) ?? "";
      expect(moneyOfRatios([ratio, multiple], unit)).toBe(output);
    }
  });
});
