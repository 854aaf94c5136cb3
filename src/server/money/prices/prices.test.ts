// Price lists in five shapes, and what a draft makes of them (requirements X01, X02).
import { describe, expect, test } from "vitest";
import { unitOf } from "#contract/charged-unit.ts";
import type { ModelPrice } from "#contract/price-list.ts";
import { listPrice } from "#test/seeds/list-prices.ts";
import { type DraftInput, draftRows } from "./draft.ts";
import { PriceListError } from "./list-json.ts";
import { readPriceList } from "./lists.ts";

const BOUNDS = { rise: 20, fall: 50, changed: 30, shrink: 10 };

function draft(text: string, ours: Record<string, ModelPrice> = {}, more: Partial<DraftInput> = {}) {
  const { list } = readPriceList(text);
  return draftRows({
    models: [...list.keys()],
    list,
    bounds: BOUNDS,
    today: "2026-11-27",
    priceOf: (model) => (Object.hasOwn(ours, model) ? ours[model] : undefined),
    unitOf: (model) => unitOf(model, {}),
    callsOf: (model) =>
      model === "used"
        ? { calls: 9, week: { quota: 1000, promptTokens: 500, completionTokens: 100, logged: [] } }
        : undefined,
    nameOf: () => undefined,
    othersOf: () => [],
    tiersAfter: (model) => (Object.hasOwn(ours, model) ? (ours[model]?.tiers ?? []) : []),
    known: new Set(),
    ...more,
  });
}

const fresh = (text: string) =>
  Object.fromEntries(draft(text).map((row) => [row.model, row.fresh ?? row.flags]));

describe("a price list", () => {
  test("has no price of a model that an object of it names twice, or something of it", () => {
    const price = { litellm_provider: "v", input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 };
    const [one, other] = [JSON.stringify(price), JSON.stringify({ ...price, input_cost_per_token: 2e-6 })];
    expect(fresh(`{"m":${one},"\\u006d":${other},"n":${one}}`)).toEqual({
      m: ["twice"],
      n: listPrice("0.5", "1"),
    });
    expect(fresh('{"data":{"model_ratio":{"a,{":1,"b":2,"a,{":2},"x":[1,{"y":":"}]}}')).toMatchObject({
      "a,{": ["twice"],
    });
    const cost = '"cost":{"input":1,"output":1';
    expect(fresh(`{"groq":{"models":{"m":{${cost},"input":2}},"n":{${cost}}}}}}`)).toEqual({
      m: ["twice"],
      n: listPrice("0.5", "1"),
    });
  });

  test.each([
    [
      '{"groq":{"models":{"m":{"cost":{"input":1,"output":1}}}},"groq":{"models":{"n":{"cost":{"input":1,"output":1}}}}}',
      "groq",
    ],
    ['{"data":[{"id":"v/m","pricing":{"prompt":"1","prompt":"2","completion":"1"}}]}', "prompt"],
  ])("that has a name twice which is of no model is refused: %s", (text, name) => {
    expect(() => readPriceList(text)).toThrow(new PriceListError(`价目表中“${name}”重复出现`));
  });

  test("may have one name in several objects", () => {
    const text =
      '{"m":{"litellm_provider":"v","input_cost_per_token":1e-6,"x":{"m":"m"}},"n":{"litellm_provider":"v","input_cost_per_token":1e-6,"x":"n:\\"n"}}';
    expect([...readPriceList(text).list.keys()]).toEqual(["m", "n"]);
  });

  test("of models.dev is in dollars a million tokens, the maker's own before a reseller's", () => {
    const text = `{
      "reseller": {"models": {"m": {"cost": {"input": 1, "output": 1}}}},
      "groq": {"models": {"m": {"cost": {"input": 9, "output": 9}}}},
      "openai": {"models": {"m": {"cost": {"input": 2.5, "output": 15, "cache_read": 0.25}}, "free": {}}},
      "anthropic": {"models": {"c": {"cost": {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}}}}
    }`;
    expect(fresh(text)).toEqual({
      m: listPrice("1.25", "6", "0.1"),
      c: listPrice("1.5", "5", "0.1", "1.25"),
    });
  });

  test("of LiteLLM is in dollars a token, read from its text", () => {
    const text = `{
      "sample_spec": {"litellm_provider": "x", "input_cost_per_token": 1},
      "m": {"litellm_provider": "openai", "input_cost_per_token": 2.5e-06, "output_cost_per_token": 1.5e-05},
      "yuan": {"litellm_provider": "x", "input_cost_per_token": 0.000001714286},
      "odd": {"litellm_provider": "x", "cost_of_everything": 0.04}
    }`;
    expect(fresh(text)).toEqual({
      m: listPrice("1.25", "6"),
      yuan: listPrice("0.857143"),
      odd: ["per_call"],
    });
  });

  test("of OpenRouter leaves out variable prices and free variants", () => {
    const row = (id: string, prompt: string, completion: string) => ({ id, pricing: { prompt, completion } });
    const rows = [
      row("openai/m", "0.0000025", "0.000015"),
      row("openai/m:free", "0", "0"),
      row("openrouter/auto", "-1", "-1"),
      row("one/twice", "0.000001", "0.000001"),
      row("other/twice", "0.000002", "0.000002"),
    ];
    expect(fresh(JSON.stringify({ data: rows }))).toEqual({ m: listPrice("1.25", "6"), twice: ["twice"] });
  });

  test("of New API holds ratios; prices a call are shown and not ours, 37.5 is its word for unknown", () => {
    const pricing = [
      { model_name: "m", quota_type: 0, model_ratio: 1.25, completion_ratio: 6, cache_ratio: 0.1 },
      { model_name: "call", quota_type: 1, model_price: 0.1, model_ratio: 37.5 },
      { model_name: "tiered", quota_type: 0, billing_mode: "tiered_expr", model_ratio: 1 },
    ];
    const text = JSON.stringify({ data: pricing });
    expect(fresh(text)).toEqual({
      m: listPrice("1.25", "6", "0.1"),
      call: listPrice("50"),
      tiered: ["per_call"],
    });
    const call = draft(text).find(({ model }) => model === "call");
    expect(call).toMatchObject({ unit: "call", verdict: "refused", flags: ["per_call", "kind"] });
    const config = {
      model_ratio: { m: 1.25, none: 37.5, dear: 37.5 },
      completion_ratio: { dear: 4, none: 1 },
      audio_ratio: { m: 8 },
    };
    expect(fresh(JSON.stringify({ success: true, data: config }))).toEqual({
      m: { ...listPrice("1.25"), audio_ratio: "8" },
      dear: listPrice("37.5", "4"),
    });
  });

  test("says what sound and pictures cost, output as a multiple of its own input", () => {
    const cost = { input: 4, output: 16, input_audio: 32, output_audio: 64 };
    expect(fresh(JSON.stringify({ openai: { models: { m: { cost } } } }))).toMatchObject({
      m: { model_ratio: "2", audio_ratio: "8", audio_completion_ratio: "2" },
    });
    const text = `{"m": {"litellm_provider": "x", "input_cost_per_token": 5e-06, "output_cost_per_token": 4e-05,
      "input_cost_per_image_token": 1e-05, "output_cost_per_image_token": 4e-05}}`;
    expect(fresh(text)).toMatchObject({ m: { image_ratio: "2", image_completion_ratio: "4" } });
  });

  test("prices pictures, characters, seconds and calls in the unit that a model is charged by", () => {
    const text = `{
      "dall-e-3": {"litellm_provider": "openai", "output_cost_per_image": 0.04},
      "tts-1": {"litellm_provider": "openai", "input_cost_per_character": 1.5e-05},
      "whisper-1": {"litellm_provider": "openai", "input_cost_per_second": 0.0001},
      "film": {"litellm_provider": "openai", "mode": "video_generation", "output_cost_per_second": 0.1},
      "order": {"litellm_provider": "cohere", "input_cost_per_query": 0.002}
    }`;
    const units = { film: "second", order: "call" } as const;
    const rows = draft(text, {}, { unitOf: (model) => unitOf(model, units) });
    expect(
      rows.map(({ model, unit, verdict, fresh: price }) => [model, unit, verdict, price?.model_ratio]),
    ).toEqual([
      ["dall-e-3", "image", "fine", "20"],
      ["film", "second", "fine", "50"],
      ["order", "call", "fine", "1"],
      ["tts-1", "character", "fine", "7.5"],
      ["whisper-1", "minute", "fine", "15"],
    ]);
  });

  const TIER = {
    above: 200_000,
    model_ratio: "2.5",
    completion_ratio: "3",
    cache_ratio: "0.1",
    cache_write_ratio: "1",
  };
  const long = { input: 5, output: 15 };
  const tiered = (tiers: object) => ({
    google: { models: { m: { cost: { input: 2.5, output: 15, cache_read: 0.25, ...tiers } } } },
  });
  test.each([
    ["models.dev", tiered({ context_over_200k: { ...long, cache_read: 0.5 } })],
    [
      "models.dev, by its newer rows",
      tiered({
        tiers: [{ ...long, cache_read: 0.5, tier: { type: "context", size: 200_000 } }],
        context_over_200k: { input: 9 },
      }),
    ],
    [
      "LiteLLM",
      {
        m: {
          litellm_provider: "x",
          input_cost_per_token: 2.5e-6,
          output_cost_per_token: 1.5e-5,
          cache_read_input_token_cost: 2.5e-7,
          input_cost_per_token_above_200k_tokens: 5e-6,
          output_cost_per_token_above_200k_tokens: 1.5e-5,
          cache_read_input_token_cost_above_200k_tokens: 5e-7,
        },
      },
    ],
    [
      "OpenRouter",
      {
        data: [
          {
            id: "google/m",
            pricing: {
              prompt: "0.0000025",
              completion: "0.000015",
              input_cache_read: "0.00000025",
              overrides: [
                {
                  min_prompt_tokens: 200_000,
                  prompt: "0.000005",
                  completion: "0.000015",
                  input_cache_read: "0.0000005",
                },
              ],
            },
          },
        ],
      },
    ],
  ])("tells the tiers of long prompts: %s", (_name, list) => {
    const [row] = draft(JSON.stringify(list));
    expect(row?.fresh).toMatchObject({ model_ratio: "1.25", completion_ratio: "6", tiers: [TIER] });
    expect(row?.flags).toEqual([]);
  });

  test("of LiteLLM may tell tiers as ranges of input, and one that cannot be read is told", () => {
    const range = (from: number, to: number, input_cost_per_token: number) => ({
      range: [from, to],
      input_cost_per_token,
      output_cost_per_token: 2e-6,
    });
    const list = (tiered_pricing: object[]) =>
      JSON.stringify({
        m: { litellm_provider: "x", input_cost_per_token: 1e-6, output_cost_per_token: 2e-6, tiered_pricing },
      });
    const rows = draft(list([range(0, 32_000, 1e-6), range(32_000, 128_000, 1.5e-6)]));
    expect(rows).toMatchObject([{ fresh: { tiers: [{ above: 32_000, model_ratio: "0.75" }] }, flags: [] }]);
    expect(draft(list([range(32_000, 128_000, -1)]))).toMatchObject([
      { fresh: { tiers: [] }, flags: ["tiers"], verdict: "doubtful" },
    ]);
  });

  test("tells when a model ends: a day at LiteLLM and OpenRouter, a word at models.dev", () => {
    const lite = { litellm_provider: "x", input_cost_per_token: 1e-6, deprecation_date: "2027-03-01" };
    expect(fresh(JSON.stringify({ m: lite }))).toMatchObject({ m: { last_day: "2027-03-01" } });
    const pricing = { prompt: "0.000001", completion: "0.000001" };
    const router = (expiration_date: unknown) =>
      JSON.stringify({ data: [{ id: "x/m", pricing, expiration_date }] });
    expect(fresh(router("2027-03-01T00:00:00Z"))).toMatchObject({ m: { last_day: "2027-03-01" } });
    expect(fresh(router(null))).toMatchObject({ m: { last_day: "" } });
    expect(fresh(router("2027-02-31"))).toMatchObject({ m: { last_day: "" } });
    const cost = { input: 2, output: 2 };
    const dev = JSON.stringify({ openai: { models: { m: { cost, status: "deprecated" } } } });
    expect(draft(dev)).toMatchObject([{ flags: ["deprecated"], verdict: "fine" }]);
    expect(draft(dev, { m: listPrice("1", "1") })).toMatchObject([
      { flags: ["deprecated"], verdict: "same" },
    ]);
  });

  test.each([
    ["a text", '"NaN"'],
    ["less than nothing", "-1"],
    ["nothing", '""'],
    ["null", "null"],
    ["zero", "0"],
    ["no number of this world", "1e309"],
    ["an object", "{}"],
  ])("whose price is %s has none", (_name, value) => {
    const text = `{"m": {"litellm_provider": "x", "input_cost_per_token": ${value}}}`;
    const [row] = draft(text);
    expect(row?.verdict).toBe("refused");
  });

  test("with names of JavaScript's own does no harm", () => {
    const text = `{"__proto__": {"litellm_provider": "x", "input_cost_per_token": 1e-6},
      "constructor": {"litellm_provider": "x", "input_cost_per_token": 1e-6}}`;
    expect(draft(text).map(({ model }) => model)).toEqual(["__proto__", "constructor"]);
    expect(Object.prototype).not.toHaveProperty("litellm_provider");
  });

  test.each(["", "[]", "<html>", "{}", '{"data": []}', '{"error": "no"}', "null"])("is not %j", (text) => {
    expect(() => readPriceList(text)).toThrow(PriceListError);
  });
});

describe("a draft", () => {
  const list = (cost: object) => JSON.stringify({ openai: { models: { used: { cost } } } });

  test("says what the week's calls would have cost, and which price changes most", () => {
    const [row] = draft(list({ input: 4, output: 8 }), { used: listPrice("1", "1") });
    expect(row).toMatchObject({ calls: 9, quota_before: 1000, quota_after: 2333, change: 300 });
    // Nothing of it is in the log.
    expect(row?.is_estimate).toBe(true);
  });

  test("keeps what the list leaves open, and names only models that concern us", () => {
    const text = JSON.stringify({
      openai: { models: { m: { cost: { input: 2 } }, other: { cost: { input: 2 } } } },
    });
    const ours = { m: listPrice("1", "4", "0.5") };
    expect(draft(text, ours, { models: ["m", "mine"] })).toMatchObject([
      { model: "m", verdict: "same", fresh: ours.m },
    ]);
  });

  test("finds a model by its own name, else by the table of names, and by nothing that is like it", () => {
    const text = JSON.stringify({
      openai: { models: { "gpt-9": { cost: { input: 2 } }, plain: { cost: { input: 4 } } } },
    });
    const names: Record<string, string> = { house: "gpt-9", plain: "gpt-9" };
    const models = ["house", "plain", "GPT-9", "gpt-9-latest"];
    expect(draft(text, {}, { models, nameOf: (model) => names[model] })).toMatchObject([
      { model: "house", listed_as: "gpt-9", fresh: { model_ratio: "1" } },
      { model: "plain", listed_as: "", fresh: { model_ratio: "2" } },
    ]);
  });

  test("names a model that the list had and has no more, and leaves its price", () => {
    const known = new Set(["left", "used", "foreign"]);
    const rows = draft(list({ input: 2 }), { left: listPrice("3") }, { models: ["left", "used"], known });
    expect(rows).toMatchObject([
      { model: "left", verdict: "gone", fresh: null, old: listPrice("3") },
      { model: "used", verdict: "fine" },
    ]);
  });

  test("shows the tiers that stay beside those of the list, where a person has to look", () => {
    const tier = (above: number) => ({
      above,
      model_ratio: "2.5",
      completion_ratio: "4.5",
      cache_ratio: "0.1",
      cache_write_ratio: "1",
    });
    const ours = { "gpt-5.4": { ...listPrice("1.25", "6", "0.1"), tiers: [tier(272_000)] } };
    const cost = (size: number) => ({
      input: 2.5,
      output: 15,
      cache_read: 0.25,
      tiers: [{ input: 5, output: 22.5, cache_read: 0.5, tier: { type: "context", size } }],
    });
    const of = (size: number) =>
      draft(JSON.stringify({ openai: { models: { "gpt-5.4": { cost: cost(size) } } } }), ours)[0];
    expect(of(272_000)).toMatchObject({ verdict: "same" });
    expect(of(200_000)).toMatchObject({
      verdict: "doubtful",
      flags: ["rise", "tiers"],
      fresh: { tiers: [tier(200_000), tier(272_000)] },
    });
  });
});
