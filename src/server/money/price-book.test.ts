import { expect, test } from "vitest";
import { charge } from "./price.ts";
import { createPriceBook, type PriceTables } from "./price-book.ts";

const tables = (change: Partial<PriceTables> = {}): PriceTables => ({
  ModelRatio: {},
  CompletionRatio: {},
  CacheRatio: {},
  CacheWriteRatio: {},
  AudioRatio: {},
  AudioCompletionRatio: {},
  ImageRatio: {},
  ImageCompletionRatio: {},
  GroupRatio: { default: 1, half: 0.5, free: 0 },
  FallbackModelRatio: null,
  ...change,
});

function find(model: string, change: Partial<PriceTables> = {}) {
  const price = createPriceBook(tables(change)).find(model, model, "default");
  if (price === undefined) throw new Error(`${model} has no price`);
  return price;
}

test("finds the requested model before the one it is mapped to", () => {
  const book = createPriceBook(tables({ ModelRatio: { alias: 7, real: 3 } }));
  expect(book.find("alias", "real", "default")).toMatchObject({ model: "alias", modelRatio: "7" });
  expect(book.find("other", "real", "default")).toMatchObject({ model: "real", modelRatio: "3" });
  expect(book.find("alias", "real", "default")).toBe(book.find("alias", "real", "default"));
});

test("puts the operator's ratios above the built-in ones, and the rule below", () => {
  const book = createPriceBook(
    tables({ ModelRatio: { "gpt-4": 1, "gpt-3.5-turbo-0613": 1 }, CompletionRatio: { "gpt-4": 9 } }),
  );
  expect(book.find("gpt-4", "gpt-4", "half")).toMatchObject({ completionRatio: "9", groupRatio: "0.5" });
  expect(createPriceBook(tables()).find("gpt-4o", "gpt-4o", "default")).toMatchObject({
    modelRatio: "1.25",
    completionRatio: "4",
    cacheRatio: "0.5",
  });
  // In no table: 4/3 comes from the rule (requirements W14.2).
  const byRule = book.find("gpt-3.5-turbo-0613", "gpt-3.5-turbo-0613", "default");
  expect(byRule).toMatchObject({ completionRatio: "4/3", cacheRatio: "1" });
});

test("refuses unpriced models unless there is a fallback", () => {
  expect(createPriceBook(tables()).find("nobody-knows", "nobody-knows", "default")).toBeUndefined();
  const book = createPriceBook(tables({ FallbackModelRatio: 30 }));
  expect(book.find("nobody-knows", "x", "default")).toMatchObject({
    model: "nobody-knows",
    modelRatio: "30",
  });
});

test("tells of models that only the fallback prices, each time, and of no other", () => {
  const told: string[] = [];
  const book = createPriceBook(tables({ FallbackModelRatio: 30, ModelRatio: { real: 1 } }), (model) =>
    told.push(model),
  );
  for (const name of ["nobody-knows", "gpt-4", "nobody-knows"]) book.find(name, name, "default");
  book.find("alias", "real", "default");
  expect(told).toEqual(["nobody-knows", "nobody-knows"]);
});

test.each(["constructor", "__proto__", "toString"])("knows no price of %s", (name) => {
  expect(createPriceBook(tables()).find(name, name, name)).toBeUndefined();
});

test("an unknown group pays the plain price", () => {
  expect(createPriceBook(tables()).find("gpt-4o", "gpt-4o", "unheard-of")).toMatchObject({ groupRatio: "1" });
});

test("keeps a bounded number of prices, whatever names callers make up", () => {
  const book = createPriceBook(tables({ FallbackModelRatio: 1 }));
  const first = book.find("model0", "model0", "default");
  for (let index = 1; index <= 5_000; index += 1) book.find(`model${index}`, `model${index}`, "default");
  expect(book.find("model0", "model0", "default")).not.toBe(first);
});

test("knows what cache writes, sound and pictures cost", () => {
  expect(find("claude-sonnet-4-6")).toMatchObject({ cacheRatio: "0.1", cacheWriteRatio: "1.25" });
  expect(find("gpt-5.6")).toMatchObject({ cacheWriteRatio: "1.25" });
  expect(find("gpt-4o")).toMatchObject({ cacheWriteRatio: "1" });
  // In no table: Anthropic's rule.
  expect(find("claude-next", { ModelRatio: { "claude-next": 1 } })).toMatchObject({
    cacheWriteRatio: "1.25",
  });
  expect(find("gpt-audio")).toMatchObject({ audioRatio: "12.8", audioCompletionRatio: "2" });
  expect(find("gpt-image-1")).toMatchObject({ imageRatio: "2" });
  expect(
    find("gpt-audio", {
      CacheWriteRatio: { "gpt-audio": 2 },
      AudioRatio: { "gpt-audio": 3 },
      AudioCompletionRatio: { "gpt-audio": 4 },
      ImageRatio: { "gpt-audio": 5 },
      ImageCompletionRatio: { "gpt-audio": 6 },
    }),
  ).toMatchObject({
    cacheWriteRatio: "2",
    audioRatio: "3",
    audioCompletionRatio: "4",
    imageRatio: "5",
    imageCompletionRatio: "6",
  });
});

const usage = (promptTokens: number, completionTokens: number, cachedTokens = 0) => ({
  promptTokens,
  completionTokens,
  cachedTokens,
});

// Tiers (requirements T26.20): dollars per million above the bound; a dollar is 500,000 quota.
test.each([
  ["gpt-5.4", 272_000, 5, 22.5],
  ["gpt-6-astra", 272_000, 20, 75],
  ["gpt-6.2-astra", 272_000, 16, 60],
  ["gpt-6.1-terra", 272_000, 2, 7.5],
  ["claude-sonnet-4-5", 200_000, 6, 22.5],
  ["gemini-2.5-pro", 200_000, 2.5, 15],
  ["grok-4.3", 200_000, 2.5, 5],
  ["grok-4.7", 200_000, 4, 12],
  ["qwen3.7-plus", 256_000, 0.96, 3.84],
])("charges %s above %d tokens at $%d and $%d", (model, above, input, output) => {
  const price = find(model);
  const short = charge(usage(above, 0), price);
  expect(charge(usage(above + 1, 0), price)).toBeGreaterThan(short);
  const long = charge(usage(1_000_000, 1_000_000), price);
  expect(Number(long) / 500_000).toBeCloseTo(input + output, 3);
});

// Anthropic's price list: a prompt's length counts what is read from the cache and written to it; the longer price is of every token.
test("charges a long prompt of Claude Haiku 5.5 by all of it, in cache or not", () => {
  const price = find("claude-haiku-5-5");
  const cached = { completionTokens: 100_000, cachedTokens: 60_000, cacheWriteTokens: 30_000 };
  const dollars = (promptTokens: number) =>
    Number(charge({ promptTokens, ...cached, cacheWriteHourTokens: 10_000 }, price)) / 500_000;
  expect(dollars(100_000)).toBeCloseTo(0.001 + 0.0006 + 0.0025 + 0.002 + 0.05, 5);
  expect(dollars(110_000)).toBeCloseTo(0.01 + 0.003 + 0.0125 + 0.01 + 0.25, 5);
});

// The price lists of Anthropic, OpenAI and Moonshot: what is kept for longer costs twice the input, whatever the short time costs.
test.each([
  ["claude-sonnet-4-6", 1.25],
  ["gpt-5.6", 1.25],
  ["kimi-k3.1-pro", 1],
])("charges what %s keeps for long twice the input, and else %d times", (model, times) => {
  const price = find(model);
  const tokens = { promptTokens: 100_000, completionTokens: 0, cachedTokens: 0 };
  const plain = Number(charge(tokens, price));
  const written = { ...tokens, cacheWriteTokens: 100_000 };
  expect(Number(charge(written, price)) / plain).toBeCloseTo(times, 3);
  expect(Number(charge({ ...written, cacheWriteHourTokens: 100_000 }, price)) / plain).toBeCloseTo(2, 3);
});

test("keeps a built-in tier in proportion to a base that the operator has changed", () => {
  // Built in: 1.25 and 2.5, completion 6 and 4.5, cache 0.1 of either.
  const doubled = find("gpt-5.4", { ModelRatio: { "gpt-5.4": 2.5 } });
  expect(doubled.tiers).toMatchObject([
    { above: 272_000, price: { modelRatio: "5", completionRatio: "4.5" } },
  ]);
  const third = find("gpt-5.4", { CompletionRatio: { "gpt-5.4": 2 }, CacheRatio: { "gpt-5.4": 0.7 } });
  expect(third.tiers).toMatchObject([
    { price: { modelRatio: "2.5", completionRatio: "1.5", cacheRatio: "0.7" } },
  ]);
  expect(find("gpt-5.4", { ModelRatio: { "gpt-5.4": 0 } }).tiers).toMatchObject([
    { price: { modelRatio: "0" } },
  ]);
});

test("takes the operator's own tiers, of any model", () => {
  const ModelRatio = { mine: 1, "mine>1000": 3, "mine>100": 2, "gpt-5.4>272000": 9 };
  const mine = find("mine", { ModelRatio, CompletionRatio: { mine: 4, "mine>1000": 5 } });
  expect(mine.tiers).toMatchObject([
    { above: 100, price: { modelRatio: "2", completionRatio: "4" } },
    { above: 1000, price: { modelRatio: "3", completionRatio: "5" } },
  ]);
  expect(find("gpt-5.4", { ModelRatio }).tiers).toMatchObject([{ price: { modelRatio: "9" } }]);
  expect(charge(usage(1001, 0), mine)).toBe(3003n);
});
