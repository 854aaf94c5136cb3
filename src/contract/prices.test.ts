// Promises of the default price table: exact, complete for the default models, true to requirements W14, W21.1.
import { describe, expect, it } from "vitest";
import { pricedName } from "./price-names.ts";
import {
  cacheWriteRatioRule,
  chargeUnit,
  completionRatioRule,
  defaultAudioCompletionRatio,
  defaultAudioRatio,
  defaultCacheRatio,
  defaultCacheWriteRatio,
  defaultCompletionRatio,
  defaultImageCompletionRatio,
  defaultImageRatio,
  defaultModelRatio,
  defaultTiers,
  priceGaps,
  tiersOf,
} from "./prices.ts";
import { chinaPrices } from "./prices-china.ts";
import { globalPrices } from "./prices-global.ts";
import { newerPrices } from "./prices-newer.ts";
import { openaiPrices } from "./prices-openai.ts";
import { providerModels } from "./provider-models.ts";

/** The completion ratio that the ledger uses: the table, then the family rule. */
function completionOf(model: string): string {
  return String(defaultCompletionRatio[model] ?? completionRatioRule(model));
}

/** Prices per million of input, output and cached input as a vendor prints them; `unit` is the price that makes a ratio of 1. */
function pricesOf(model: string, unit: number): readonly number[] {
  const input = (defaultModelRatio[model] ?? Number.NaN) * unit;
  const cache = defaultCacheRatio[model] ?? defaultCacheRatio[model.replace(/>.*/, "")] ?? 1;
  return [input, input * (defaultCompletionRatio[model] ?? Number.NaN), input * cache];
}

const multiples = [
  defaultCompletionRatio,
  defaultCacheRatio,
  defaultCacheWriteRatio,
  defaultAudioRatio,
  defaultAudioCompletionRatio,
  defaultImageRatio,
  defaultImageCompletionRatio,
];

describe("the default tables", () => {
  it("hold finite ratios of at least 0 and at most six decimals", () => {
    for (const table of [defaultModelRatio, ...multiples]) {
      for (const [name, ratio] of Object.entries(table)) {
        expect(String(ratio), name).toMatch(/^\d+(\.\d{1,6})?$/);
        expect(name).toMatch(/^\S+$/);
      }
    }
  });

  it("list every name once", () => {
    const sheets = [...openaiPrices, ...globalPrices, ...chinaPrices, ...newerPrices];
    const names = sheets.flatMap(({ rows }) => rows.flatMap(([text]) => text.split(" ")));
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    expect(Object.keys(defaultModelRatio).filter((name) => !name.includes(">")).length).toBe(names.length);
  });

  it("price a completion, a cache or a unit only where there is a model ratio", () => {
    for (const table of [...multiples, chargeUnit]) {
      for (const name of Object.keys(table)) expect(defaultModelRatio[name], name).toBeDefined();
    }
  });

  it("never make cached input dearer than fresh input", () => {
    for (const [name, ratio] of Object.entries(defaultCacheRatio)) expect(ratio, name).toBeLessThanOrEqual(1);
    // MiniMax writes at the plain price of its slower models, 2.625 yuan where fresh input costs 4.2.
    for (const [name, ratio] of Object.entries(defaultCacheWriteRatio))
      expect(ratio, name).toBeGreaterThanOrEqual(/^MiniMax.*-highspeed$/.test(name) ? 0.625 : 1);
  });

  it("make long prompts dearer, never cheaper", () => {
    expect(defaultTiers["gpt-5.4"]).toEqual([272_000]);
    expect(Object.keys(defaultTiers).length).toBeGreaterThan(20);
    for (const [model, bounds] of Object.entries(defaultTiers)) {
      for (const above of bounds) {
        const tier = `${model}>${above}`;
        const input = defaultModelRatio[model] ?? Number.NaN;
        const longInput = defaultModelRatio[tier] ?? Number.NaN;
        expect(longInput, tier).toBeGreaterThan(input);
        const output = input * (defaultCompletionRatio[model] ?? Number.NaN);
        expect(longInput * (defaultCompletionRatio[tier] ?? Number.NaN), tier).toBeGreaterThan(output);
      }
    }
  });

  it("read tiers from names, in order, and nothing else", () => {
    const models = { "a>200": 1, "a>30": 1, "b>x": 1, ">5": 1, "c>": 1, "d>1>2": 1 };
    expect({ ...tiersOf(models) }).toEqual({ a: [30, 200], "d>1": [2] });
  });

  it("find nothing for names of object members", () => {
    for (const member of ["constructor", "toString", "__proto__"]) {
      expect(defaultModelRatio[member]).toBeUndefined();
      expect(priceGaps[member]).toBeUndefined();
    }
  });

  it("price every default model, or say why not", () => {
    const offered = new Set(Object.values(providerModels).flat());
    for (const model of offered) {
      expect([defaultModelRatio[model] !== undefined, priceGaps[model] !== undefined], model).toContain(true);
      expect(defaultModelRatio[model] !== undefined && priceGaps[model] !== undefined, model).toBe(false);
    }
    for (const model of Object.keys(priceGaps)) expect(offered, model).toContain(model);
  });

  it.each([
    ["gpt-3.5-turbo", 0.25, "3"],
    ["gpt-3.5-turbo-0613", 0.75, "4/3"],
    ["gpt-3.5-turbo-1106", 0.5, "2"],
    ["gpt-3.5-turbo-16k", 1.5, "4/3"],
    ["gpt-4", 15, "2"],
    ["gpt-4-32k-0314", 30, "2"],
    ["gpt-4-turbo-preview", 5, "3"],
    ["gpt-4o", 1.25, "4"],
    ["gpt-4o-mini", 0.075, "4"],
    ["chatgpt-4o-latest", 2.5, "3"],
    ["o1", 7.5, "4"],
    ["davinci-002", 1, "1"],
    ["text-davinci-003", 10, "1"],
    ["text-embedding-3-small", 0.01, "0"],
    ["text-embedding-ada-002", 0.05, "0"],
    ["dall-e-2", 8, "1"],
    ["dall-e-3", 20, "1"],
    ["tts-1", 7.5, "1"],
    ["tts-1-hd-1106", 15, "1"],
    ["whisper-1", 15, "0"],
    ["gpt-transcribe", 11.25, "0"],
    ["claude-instant-1.2", 0.4, "3"],
    ["claude-2.1", 4, "3"],
    ["claude-3-haiku-20240307", 0.125, "5"],
    ["claude-3-opus-20240229", 7.5, "5"],
    ["claude-sonnet-4-6", 1.5, "5"],
    ["claude-fable-5-2", 4, "5"],
    ["claude-mythos-5-2", 4, "5"],
    ["claude-fable-5-1", 5, "5"],
    ["claude-opus-5-5", 2, "5"],
    ["claude-sonnet-5-5", 1, "5"],
    ["claude-sonnet-5", 1, "5"],
    ["claude-haiku-5-5", 0.05, "5"],
    ["claude-haiku-5-5>100000", 0.25, "5"],
    ["global.anthropic.claude-opus-5-5", 2, "5"],
    ["claude-sonnet-5@default", 1, "5"],
    ["gemini-2.5-flash", 0.15, "8.333333"],
    ["gemini-4-argon", 1, "5"],
    ["gemini-3.8-flash", 0.375, "5"],
    ["gemini-flash-latest", 0.375, "5"],
    ["gemini-flash-lite-latest", 0.15, "8.333333"],
    ["moonshot-v1-8k", 0.142857, "5"],
    ["kimi-k3", 1.428571, "5"],
    ["kimi-k3.1-pro", 1, "5"],
    ["deepseek-flash", 0.142857, "4"],
    ["glm-5.3-flash", 0.057143, "3.5"],
    ["MiniMax-M3.1-Flash", 0.071429, "4"],
    ["step-5-preview", 0.5, "2.857143"],
    ["doubao-seed-2-1-pro-260915", 0.428571, "5"],
    ["qwen3.8-max", 1, "3"],
    ["qwen3.8-flash", 0.075, "3.133333"],
    ["grok-4.7", 1, "3"],
    ["mistral-large-4-0", 0.35, "3"],
    ["mistral-medium-latest", 0.75, "5"],
    ["llama2-70b-4096", 0.35, "8/7"],
    ["mistral-embed", 0.05, "0"],
    ["PaLM-2", 1, "1"],
    ["glm-4-flash", 0, "1"],
  ])("%s has ratio %d and completion ratio %s", (model, ratio, completion) => {
    expect(defaultModelRatio[model]).toBe(ratio);
    expect(completionOf(model)).toBe(completion);
  });

  it.each([
    ["mistral-large-4-0", 0.7, 2.1, 0.07],
    ["mistral-medium-latest", 1.5, 7.5, 0.15],
    ["ministral-8b-latest", 0.15, 0.15, 0.015],
    ["ministral-3b-latest", 0.1, 0.1, 0.01],
    ["voxtral-small-latest", 0.1, 0.4, 0.01],
    ["codestral-embed", 0.15, 0, 0.015],
    ["grok-4.5", 2, 6, 0.3],
    ["grok-4.5>200000", 4, 12, 0.6],
    ["grok-build-0.1>200000", 2, 4, 0.4],
    ["gpt-5.4-pro>272000", 60, 270, 60],
    ["kimi-k3.1-pro-highspeed", 4, 20, 0.2],
    ["qwen3.8-max", 2, 6, 0.25],
    ["qwen3.8-flash", 0.15, 0.47, 0.016],
    ["qwen3.7-plus", 0.32, 1.28, 0.064],
    ["qwen3.7-plus>256000", 0.96, 3.84, 0.192],
    ["qwen3.5-plus", 0.4, 2.4, 0.04],
    ["qwen3.5-plus>256000", 0.5, 3, 0.05],
    ["qwen/qwen3.8-27b", 0.8, 4, 0.8],
    ["openai/gpt-4o", 2.5, 10, 1.25],
    ["openai/gpt-6.1-sol>272000", 4, 15, 0.2],
    ["moonshotai/kimi-k2.6", 0.95, 4, 0.16],
    ["z-ai/glm-5.3", 1.4, 4.4, 0.26],
    ["google/gemini-3.1-pro-preview>200000", 4, 18, 0.4],
    ["x-ai/grok-4.3>200000", 2.5, 5, 0.4],
    ["@cf/moonshotai/kimi-k2.6", 0.95, 4, 0.16],
    ["deepseek-ai/DeepSeek-V4-Pro-0813", 1.32, 3.96, 0.13],
    ["moonshotai/Kimi-K3", 3, 15, 0.3],
    ["zai-org/glm-5.1", 1.38, 4.4, 0.26],
    ["tencent/hy4", 0.417, 1.2505, 0.021],
  ])("sell %s by its vendor's list in dollars", (model, ...prices) => {
    for (const [index, price] of pricesOf(model, 2).entries())
      expect(price).toBeCloseTo(prices[index] ?? Number.NaN, 3);
  });

  it.each([
    ["doubao-seed-2-1-pro-260915", 6, 30, 1.2],
    ["doubao-seed-2-1-turbo-260628", 3, 15, 0.6],
    ["doubao-seed-2-0-lite-260428", 0.6, 3.6, 0.12],
    ["doubao-seed-2-0-lite-260428>32000", 0.9, 5.4, 0.18],
    ["doubao-seed-2-0-lite-260428>128000", 1.8, 10.8, 0.36],
    ["doubao-seed-1-6-251015>128000", 2.4, 24, 0.16],
    ["hy4", 6, 18, 0.3],
    ["hy4-preview", 6, 18, 0.3],
    ["glm-5.3-flashx", 2, 7, 0.57],
  ])("sell %s by its vendor's list in yuan", (model, ...prices) => {
    for (const [index, price] of pricesOf(model, 14).entries())
      expect(price).toBeCloseTo(prices[index] ?? Number.NaN, 3);
  });

  it("give cache ratios by family", () => {
    expect(defaultCacheRatio["gpt-4o"]).toBe(0.5);
    expect(defaultCacheRatio["gpt-5.4"]).toBe(0.1);
    expect(defaultCacheRatio["claude-sonnet-4-6"]).toBe(0.1);
    expect(defaultCacheWriteRatio["claude-sonnet-4-6"]).toBe(1.25);
    for (const model of [
      "claude-fable-5-2",
      "claude-fable-5-1",
      "claude-haiku-5-5",
      "claude-haiku-5-5>100000",
    ])
      expect(defaultCacheWriteRatio[model], model).toBe(1.25);
    expect(defaultCacheRatio["claude-fable-5-2"]).toBe(0.025);
    expect(defaultCacheRatio["claude-fable-5-1"]).toBe(0.025);
    expect(defaultCacheRatio["claude-opus-5-5"]).toBe(0.05);
    expect(defaultCacheRatio["claude-sonnet-5-5"]).toBe(0.05);
    expect(defaultCacheRatio["claude-haiku-5-5>100000"]).toBe(0.1);
    expect(defaultCacheWriteRatio["gpt-5.6"]).toBe(1.25);
    expect(defaultCacheRatio["deepseek-v4-flash"]).toBe(0.02);
    expect(defaultCacheRatio["deepseek-flash"]).toBe(0.02);
    expect(defaultCacheRatio["MiniMax-M2.7-highspeed"]).toBe(0.1);
    expect(defaultCacheWriteRatio["MiniMax-M2.7-highspeed"]).toBe(0.625);
  });

  it.each([
    ["gpt-6.2-astra", 4, 5, 0.05],
    ["gpt-6.2-sol", 1, 5, 0.05],
    ["gpt-6.1-sol", 1, 5, 0.05],
    ["gpt-6.1-terra", 0.5, 5, 0.05],
    ["gpt-6-astra", 5, 5, 0.1],
    ["gpt-6-sol", 1, 5, 0.1],
    ["gpt-6-luna", 0.05, 5, 0.1],
  ])("sell %s like its family: writes a quarter dearer, long prompts at 2 and 1.5 times", (model, ...row) => {
    const tier = `${model}>272000`;
    const [ratio, completion, cache] = row;
    expect([defaultModelRatio[model], defaultCompletionRatio[model], defaultCacheRatio[model]]).toEqual(row);
    expect(defaultCacheWriteRatio[model]).toBe(1.25);
    expect([defaultModelRatio[tier], defaultCompletionRatio[tier]]).toEqual([ratio * 2, completion * 0.75]);
    expect(defaultCacheRatio[tier] ?? cache).toBe(cache);
  });

  it("say which ratios count images, characters or spoken text", () => {
    expect(chargeUnit["dall-e-3"]).toBe("image");
    expect(chargeUnit["tts-1"]).toBe("character");
    expect(chargeUnit["whisper-1"]).toBe("spoken");
    expect(chargeUnit["gpt-transcribe"]).toBe("spoken");
    expect(chargeUnit["gpt-image-1"]).toBeUndefined();
  });
});

describe("the family rule", () => {
  it.each([
    ["gpt-3.5-turbo-x-0125", "3"],
    ["gpt-3.5-anything", "4/3"],
    ["gpt-4.1-2025-04-14", "4"],
    ["gpt-4o-2024-05-13", "3"],
    ["gpt-4o-audio", "4"],
    ["gpt-4-turbo-x", "3"],
    ["gpt-4-x-preview", "3"],
    ["gpt-4-x", "2"],
    ["gpt-5-2025-08-07", "8"],
    ["gpt-5.3-x", "8"],
    ["gpt-5.4-2026", "6"],
    ["gpt-5.10", "6"],
    ["gpt-6-astra-2026-09-03", "5"],
    ["o3-2025-04-16", "4"],
    ["o4-mini-x", "4"],
    ["claude-3-x", "5"],
    ["claude-opus-6", "5"],
    ["claude-fable-6", "5"],
    ["claude-x", "3"],
    ["mistral-x", "3"],
    ["gemini-2.5-flash-lite-x", "4"],
    ["gemini-2.5-flash-x", "25/3"],
    ["gemini-3-x", "6"],
    ["gemini-4-pro", "6"],
    ["gemini-x", "3"],
    ["deepseek-x", "2"],
    ["llama3-70b-8192", "79/59"],
    ["command-r-plus", "5"],
    ["command-x", "2"],
    ["anything", "1"],
  ])("%s → %s", (model, ratio) => {
    expect(completionRatioRule(model)).toBe(ratio);
  });

  it.each([
    ["claude-opus-6", 1.25],
    ["anthropic/claude-x", 1.25],
    ["us.anthropic.claude-opus-5-5", 1.25],
    ["gpt-claude-like", 1],
    ["gemini-4-pro", 1],
  ])("writes to the cache of %s cost %d of its input", (model, ratio) => {
    expect(cacheWriteRatioRule(model)).toBe(ratio);
  });

  it("looks -internet names up without the suffix, for qwen and command only", () => {
    expect(pricedName("qwen-plus-internet")).toBe("qwen-plus");
    expect(pricedName("command-r-internet")).toBe("command-r");
    expect(pricedName("gpt-4-internet")).toBe("gpt-4-internet");
  });
});
