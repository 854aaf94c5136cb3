import { expect, test } from "vitest";
import {
  charge,
  createPrice,
  createPriceBook,
  estimate,
  explain,
  type Price,
  type PriceTables,
} from "./price.ts";

const tables = (change: Partial<PriceTables> = {}): PriceTables => ({
  modelRatio: {},
  completionRatio: {},
  cacheRatio: {},
  groupRatio: { default: 1, half: 0.5, free: 0 },
  fallbackModelRatio: null,
  ...change,
});

const price = (model: string, completion = "1", { cache = "1", group = "1" } = {}): Price =>
  createPrice({
    model: "m",
    modelRatio: model,
    completionRatio: completion,
    cacheRatio: cache,
    groupRatio: group,
  });

const usage = (promptTokens: number, completionTokens: number, cachedTokens = 0) => ({
  promptTokens,
  completionTokens,
  cachedTokens,
});

// Contract 21.1 with the ratios it names, and providers 27.5.
test.each([
  ["gpt-3.5-turbo 1000 + 1000", price("0.25", "3"), usage(1000, 1000), 1000n],
  ["gpt-4 10 + 5", price("15", "2"), usage(10, 5), 300n],
  ["gpt-4-turbo-preview 100 + 100", price("5", "3"), usage(100, 100), 2000n],
  ["claude-3-haiku 8 + 1", price("0.125", "5"), usage(8, 1), 2n],
  ["text-embedding-3-small 7 + 0", price("0.01"), usage(7, 0), 1n],
  ["gpt-3.5-turbo-0613 3 + 3", price("0.75", "4/3"), usage(3, 3), 6n],
  ["anything 0 + 0", price("15", "2"), usage(0, 0), 0n],
  ["free 100 + 100", price("0"), usage(100, 100), 0n],
  ["free group 100 + 100", price("15", "2", { group: "0" }), usage(100, 100), 0n],
  ["unknown model at the fallback 1 + 1", price("30"), usage(1, 1), 60n],
  ["group 0.5, gpt-4 1 + 0", price("15", "2", { group: "0.5" }), usage(1, 0), 8n],
  ["0.1 × 1.1 is not 0.11000000000000001", price("0.1", "1", { group: "1.1" }), usage(100, 0), 11n],
  ["3 × 0.1 × 10 is 3", price("0.1", "1", { group: "10" }), usage(3, 0), 3n],
  ["gpt-4o 1000 + 500", price("1.25", "4", { cache: "0.5" }), usage(1000, 500), 3750n],
  ["gpt-4o with 600 cached", price("1.25", "4", { cache: "0.5" }), usage(1000, 500, 600), 3375n],
  ["gpt-4o-mini 1 + 0", price("0.075", "4"), usage(1, 0), 1n],
  ["output free, but there was some", price("1", "0"), usage(0, 50), 1n],
  ["cached free, all cached", price("1", "4", { cache: "0" }), usage(10, 0, 10), 1n],
])("charges %s", (_name, model, used, expected) => {
  expect(charge(used, model)).toBe(expected);
});

test.each([
  ["no max_tokens: PreConsumedQuota is the floor", price("0.25", "3"), [20, 100, 500], 125n],
  ["gpt-4, prompt 20, max 100", price("15", "2"), [20, 100, 0], 3300n],
  ["gpt-4, prompt 20, max 100, floor above", price("15", "2"), [20, 100, 500], 7500n],
  ["half a quota is a whole one", price("0.5", "1"), [1, 0, 0], 1n],
  ["free", price("0"), [100, 100, 500], 0n],
  ["dearer when cached", price("1", "1", { cache: "2" }), [10, 0, 0], 20n],
] as const)("reserves %s", (_name, model, [prompt, max, floor], expected) => {
  expect(estimate(prompt, max, model, floor)).toBe(expected);
});

test.each([
  [-1_000_000, 5, 0],
  [Number.NaN, 5, 0],
  [5, Number.POSITIVE_INFINITY, 0],
  [5, 1e308, 0],
  [5, 5, -3],
  [5, 5, 1e300],
  [0.5, 0.9, 0],
  [2 ** 53, 2 ** 63, 2 ** 53],
])("never charges less than nothing or throws for %d + %d, %d cached", (prompt, completion, cached) => {
  const charged = charge(usage(prompt, completion, cached), price("1.25", "4", { cache: "0.5" }));
  expect(charged >= 0n).toBe(true);
});

/** An independent exact oracle: reduced fractions over one another, ceiling by floor of the sum. */
class Fraction {
  readonly top: bigint;
  readonly bottom: bigint;
  constructor(top: bigint, bottom: bigint) {
    this.top = top;
    this.bottom = bottom;
  }
  static of(text: string): Fraction {
    const [a = "", b] = text.split("/");
    if (b !== undefined) return Fraction.of(a).over(Fraction.of(b));
    const dot = a.indexOf(".");
    return dot < 0
      ? new Fraction(BigInt(a), 1n)
      : new Fraction(BigInt(a.replace(".", "")), BigInt(`1${"0".repeat(a.length - dot - 1)}`));
  }
  plus(other: Fraction): Fraction {
    return new Fraction(this.top * other.bottom + other.top * this.bottom, this.bottom * other.bottom);
  }
  times(other: Fraction): Fraction {
    return new Fraction(this.top * other.top, this.bottom * other.bottom);
  }
  over(other: Fraction): Fraction {
    return new Fraction(this.top * other.bottom, this.bottom * other.top);
  }
  ceiling(): bigint {
    return (this.top + this.bottom - 1n) / this.bottom;
  }
}

/** Numbers 0 ≤ x < 1 from a seed (mulberry32), so that a failure can be repeated. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

test("agrees with an exact oracle in 100,000 random cases", () => {
  const random = randomFrom(20_261_120);
  const below = (limit: number) => Math.floor(random() * limit);
  const ratio = () => {
    if (below(20) === 0) return "0";
    if (below(10) === 0) return `${below(9) + 1}/${below(9) + 1}`;
    return (random() * 10 ** below(4)).toFixed(below(7));
  };
  const mismatches: unknown[] = [];
  for (let round = 0; round < 100_000; round += 1) {
    const ratios = {
      modelRatio: ratio(),
      completionRatio: ratio(),
      cacheRatio: ratio(),
      groupRatio: ratio(),
    };
    const prompt = below(10 ** below(8));
    const completion = below(10 ** below(7));
    const cached = below(prompt + 1);
    const perPrompt = Fraction.of(ratios.modelRatio).times(Fraction.of(ratios.groupRatio));
    const sum = Fraction.of(String(prompt - cached))
      .plus(Fraction.of(String(cached)).times(Fraction.of(ratios.cacheRatio)))
      .plus(Fraction.of(String(completion)).times(Fraction.of(ratios.completionRatio)))
      .times(perPrompt);
    let expected = sum.ceiling();
    if (expected === 0n && perPrompt.top !== 0n) expected = 1n;
    if (prompt + completion === 0) expected = 0n;
    const model = createPrice({ model: "m", ...ratios });
    const charged = charge(usage(prompt, completion, cached), model);
    const reserved = estimate(prompt, completion, model, 0);
    if (charged !== expected || reserved < charged)
      mismatches.push({ ratios, prompt, completion, cached, charged });
  }
  expect(mismatches).toEqual([]);
});

test("finds the requested model before the one it is mapped to", () => {
  const book = createPriceBook(tables({ modelRatio: { alias: 7, real: 3 } }));
  expect(book.find("alias", "real", "default")).toMatchObject({ model: "alias", modelRatio: "7" });
  expect(book.find("other", "real", "default")).toMatchObject({ model: "real", modelRatio: "3" });
  expect(book.find("alias", "real", "default")).toBe(book.find("alias", "real", "default"));
});

test("puts the operator's ratios above the built-in ones, and the rule below", () => {
  const book = createPriceBook(
    tables({ modelRatio: { "gpt-4": 1, "gpt-3.5-turbo-0613": 1 }, completionRatio: { "gpt-4": 9 } }),
  );
  expect(book.find("gpt-4", "gpt-4", "half")).toMatchObject({ completionRatio: "9", groupRatio: "0.5" });
  expect(createPriceBook(tables()).find("gpt-4o", "gpt-4o", "default")).toMatchObject({
    modelRatio: "1.25",
    completionRatio: "4",
    cacheRatio: "0.5",
  });
  // In no table: 4/3 comes from the rule (contract 14.2).
  const byRule = book.find("gpt-3.5-turbo-0613", "gpt-3.5-turbo-0613", "default");
  expect(byRule).toMatchObject({ completionRatio: "4/3", cacheRatio: "1" });
});

test("refuses unpriced models unless there is a fallback", () => {
  expect(createPriceBook(tables()).find("nobody-knows", "nobody-knows", "default")).toBeUndefined();
  const book = createPriceBook(tables({ fallbackModelRatio: 30 }));
  expect(book.find("nobody-knows", "x", "default")).toMatchObject({
    model: "nobody-knows",
    modelRatio: "30",
  });
});

test.each(["constructor", "__proto__", "toString"])("knows no price of %s", (name) => {
  expect(createPriceBook(tables()).find(name, name, name)).toBeUndefined();
});

test("an unknown group pays the plain price", () => {
  expect(createPriceBook(tables()).find("gpt-4o", "gpt-4o", "unheard-of")).toMatchObject({ groupRatio: "1" });
});

test("keeps a bounded number of prices, whatever names callers make up", () => {
  const book = createPriceBook(tables({ fallbackModelRatio: 1 }));
  const first = book.find("model0", "model0", "default");
  for (let index = 1; index <= 5_000; index += 1) book.find(`model${index}`, `model${index}`, "default");
  expect(book.find("model0", "model0", "default")).not.toBe(first);
});

test("explains a charge so that it can be checked", () => {
  const gpt4o = price("1.25", "4", { cache: "0.5" });
  expect(explain(usage(1000, 500), gpt4o, 3750n)).toBe(
    "模型倍率 1.25，补全倍率 4，分组倍率 1；(1000 + 500 × 4) × 1.25 × 1 = 3750",
  );
  expect(explain(usage(1000, 500, 600), gpt4o, 3375n)).toBe(
    "模型倍率 1.25，补全倍率 4，缓存倍率 0.5，分组倍率 1；(400 + 600 × 0.5 + 500 × 4) × 1.25 × 1 = 3375",
  );
  expect(explain(usage(10, 0, 50), price("0.0000725", "4/3"), 1n)).toContain(
    "模型倍率 0.0000725，补全倍率 1.33333",
  );
});

test("shows ratios of any size without exponents", () => {
  expect(price("0.0000001").shown.model).toBe("0.0000001");
  expect(price("1e-7").shown.model).toBe("0.0000001");
  expect(price("2.5e+3").shown.model).toBe("2500");
});

test.each(["", "abc", "1/0", "1/2/3", "-1", "NaN", "1e5000"])("takes %j for no ratio", (text) => {
  expect(() => price(text)).toThrow(RangeError);
});
