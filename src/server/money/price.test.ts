import { expect, test } from "vitest";
import { Fraction, recompute } from "#test/seeds/formula.ts";
import { rounds } from "#test/worlds/soak.ts";
import {
  charge,
  createPrice,
  estimate,
  explain,
  type Price,
  type PriceRatios,
  shown,
  type Usage,
} from "./price.ts";

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

// As requirements W21.1 and T27.5 say.
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

const ROUNDS = rounds(10_000, 100_000);

test(`agrees with an exact oracle in ${ROUNDS} random cases`, () => {
  const random = randomFrom(20_261_120);
  const below = (limit: number) => Math.floor(random() * limit);
  const ratio = () => {
    if (below(20) === 0) return "0";
    if (below(10) === 0) return `${below(9) + 1}/${below(9) + 1}`;
    return (random() * 10 ** below(4)).toFixed(below(7));
  };
  const mismatches: unknown[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
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
  expect(shown("0.0000001")).toBe("0.0000001");
  expect(shown("1e-7")).toBe("0.0000001");
  expect(shown("2.5e+3")).toBe("2500");
});

test.each(["", "abc", "1/0", "1/2/3", "-1", "NaN", "1e5000"])("takes %j for no ratio", (text) => {
  expect(() => price(text)).toThrow(RangeError);
});

/** Prices of every kind, as unlike each other as they come. */
const rich: PriceRatios = {
  model: "m",
  modelRatio: "1.5",
  completionRatio: "5",
  cacheRatio: "0.1",
  groupRatio: "1",
  cacheWriteRatio: "1.25",
  audioRatio: "8",
  audioCompletionRatio: "2",
  imageRatio: "1.6",
  imageCompletionRatio: "4",
};

// As requirements T27.5 says.
test.each<[string, Usage, bigint]>([
  [
    "claude-sonnet-4-6, read 2000, written 500",
    { promptTokens: 2600, completionTokens: 200, cachedTokens: 2000, cacheWriteTokens: 500 },
    2888n,
  ],
  [
    "the same written for an hour, twice the input",
    {
      promptTokens: 2600,
      completionTokens: 200,
      cachedTokens: 2000,
      cacheWriteTokens: 500,
      cacheWriteHourTokens: 500,
    },
    3450n,
  ],
  ["sound in", { promptTokens: 100, completionTokens: 0, cachedTokens: 0, audioPromptTokens: 60 }, 780n],
  [
    "sound and text out",
    { promptTokens: 0, completionTokens: 100, cachedTokens: 0, audioCompletionTokens: 60 },
    1740n,
  ],
  ["a picture in", { promptTokens: 100, completionTokens: 0, cachedTokens: 0, imagePromptTokens: 100 }, 240n],
  [
    "a picture out",
    { promptTokens: 0, completionTokens: 100, cachedTokens: 0, imageCompletionTokens: 100 },
    960n,
  ],
  [
    "reasoning, which is output like any other",
    { promptTokens: 0, completionTokens: 100, cachedTokens: 0, reasoningTokens: 90 },
    750n,
  ],
])("charges %s", (_name, used, expected) => {
  expect(charge(used, createPrice(rich))).toBe(expected);
});

test("sound and pictures cost what text costs where they have no price", () => {
  const parts = { audioPromptTokens: 40, imagePromptTokens: 20, audioCompletionTokens: 5 };
  const plain = price("1.25", "4");
  expect(charge({ ...usage(100, 10), ...parts }, plain)).toBe(charge(usage(100, 10), plain));
});

test("a long prompt makes the whole request dearer", () => {
  const long = createPrice({ ...rich, modelRatio: "3", completionRatio: "3.75" });
  const tiered = createPrice(rich, [{ above: 200_000, price: long }]);
  expect(charge(usage(200_000, 1000), tiered)).toBe(charge(usage(200_000, 1000), createPrice(rich)));
  expect(charge(usage(200_001, 1000), tiered)).toBe(charge(usage(200_001, 1000), long));
  expect(explain(usage(200_001, 1000), tiered, 611_253n)).toBe(
    "输入超过 200000 tokens，模型倍率 3，补全倍率 3.75，分组倍率 1；(200001 + 1000 × 3.75) × 3 × 1 = 611253",
  );
  expect(estimate(200_001, 0, tiered, 0)).toBe(750_004n);
  // A tier that is cheaper must not make what is set aside too small for a shorter prompt.
  const cheaper = createPrice(rich, [{ above: 10, price: price("0.1") }]);
  expect(estimate(20, 0, cheaper, 0)).toBeGreaterThanOrEqual(charge(usage(10, 0), cheaper));
});

test("explains every kind of token that was charged, and no other", () => {
  const used: Usage = {
    promptTokens: 100,
    completionTokens: 50,
    cachedTokens: 10,
    cacheWriteTokens: 20,
    cacheWriteHourTokens: 5,
    audioPromptTokens: 30,
    imagePromptTokens: 15,
    audioCompletionTokens: 8,
    imageCompletionTokens: 4,
  };
  const model = createPrice(rich);
  const charged = charge(used, model);
  expect(explain(used, model, charged)).toBe(
    "模型倍率 1.5，补全倍率 5，缓存倍率 0.1，缓存写入倍率 1.25，音频倍率 8，图片倍率 1.6，音频补全倍率 2，图片补全倍率 4，" +
      "分组倍率 1；(25 + 10 × 0.1 + 15 × 1.25 + 5 × 1.25 × 1.6 + 30 × 8 + 15 × 1.6 + 38 × 5 + 8 × 8 × 2 + 4 × 1.6 × 4) × 1.5 × 1 = 994",
  );
  expect(recompute(explain(used, model, charged))).toEqual({ claimed: charged, computed: charged });
});

const FORMULAS = rounds(4_000, 20_000);

test("is a formula that gives the charge, grows with every count, and is within what was set aside", () => {
  const random = randomFrom(5);
  const below = (limit: number) => Math.floor(random() * limit);
  const ratio = () => {
    if (below(20) === 0) return "0";
    if (below(10) === 0) return `${below(9) + 1}/${below(9) + 1}`;
    return String(Number((random() * 10 ** below(3)).toFixed(below(7))));
  };
  const maybe = () => (below(2) === 0 ? undefined : ratio());
  const part = (total: number) => (below(2) === 0 ? 0 : below(total + 2));
  const drawn = (): PriceRatios => ({
    model: "m",
    modelRatio: ratio(),
    completionRatio: ratio(),
    cacheRatio: ratio(),
    groupRatio: ratio(),
    cacheWriteRatio: maybe(),
    audioRatio: maybe(),
    audioCompletionRatio: maybe(),
    imageRatio: maybe(),
    imageCompletionRatio: maybe(),
  });
  const faults: unknown[] = [];
  for (let round = 0; round < FORMULAS; round += 1) {
    const tiers = below(3) === 0 ? [{ above: below(1000), price: createPrice(drawn()) }] : [];
    const model = createPrice(drawn(), tiers);
    const promptTokens = below(10 ** below(6));
    const completionTokens = below(10 ** below(5));
    const text: Usage = {
      promptTokens,
      completionTokens,
      cachedTokens: part(promptTokens),
      cacheWriteTokens: part(promptTokens),
      audioCompletionTokens: part(completionTokens),
      imageCompletionTokens: part(completionTokens),
    };
    const used = { ...text, audioPromptTokens: part(promptTokens), cacheWriteHourTokens: part(promptTokens) };
    const charged = charge(used, model);
    const { claimed, computed } = recompute(explain(used, model, charged));
    const isWithin = charge(text, model) <= estimate(promptTokens, completionTokens, model, 0);
    const more = charge({ ...used, completionTokens: completionTokens + 1 }, model);
    if (claimed !== charged || computed !== charged || !isWithin || more < charged)
      faults.push({ model, used, charged, computed, isWithin, more });
  }
  expect(faults).toEqual([]);
});

test("cached input is never dearer than fresh input while its ratio is at most 1", () => {
  const random = randomFrom(7);
  const below = (limit: number) => Math.floor(random() * limit);
  for (let round = 0; round < 5_000; round += 1) {
    const model = price(random().toFixed(4), random().toFixed(2), { cache: random().toFixed(3) });
    const [prompt, completion] = [below(10_000), below(1_000)];
    const [less, more] = [below(prompt + 1), below(prompt + 1)].toSorted((a, b) => a - b);
    expect(charge(usage(prompt, completion, more), model)).toBeLessThanOrEqual(
      charge(usage(prompt, completion, less), model),
    );
  }
});
