// Price lists in five shapes, and what a draft says of them (requirements X01, X02).
import { describe, expect, test } from "vitest";
import type { ModelPrice } from "#contract/price-list.ts";
import { draftRows, listWarning } from "./draft.ts";
import { PriceListError, readPriceList } from "./lists.ts";

const price = (model_ratio: string, completion_ratio = "", cache_ratio = "", cache_write_ratio = "") => ({
  model_ratio,
  completion_ratio,
  cache_ratio,
  cache_write_ratio,
});

function draft(text: string, ours: Record<string, ModelPrice> = {}, models?: string[]) {
  const { list } = readPriceList(text);
  return draftRows({
    models: models ?? [...list.keys()],
    list,
    priceOf: (model) => ours[model],
    callsOf: (model) =>
      model === "used"
        ? { calls: 9, week: { quota: 1000, promptTokens: 500, completionTokens: 100 } }
        : undefined,
  });
}

const fresh = (text: string) =>
  Object.fromEntries(draft(text).map((row) => [row.model, row.fresh ?? row.flags]));

describe("a price list", () => {
  test("of models.dev is in dollars a million tokens, the maker's own before a reseller's", () => {
    const text = `{
      "reseller": {"models": {"m": {"cost": {"input": 1, "output": 1}}}},
      "groq": {"models": {"m": {"cost": {"input": 9, "output": 9}}}},
      "openai": {"models": {"m": {"cost": {"input": 2.5, "output": 15, "cache_read": 0.25}}, "free": {}}},
      "anthropic": {"models": {"c": {"cost": {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}}}}
    }`;
    expect(fresh(text)).toEqual({ m: price("1.25", "6", "0.1"), c: price("1.5", "5", "0.1", "1.25") });
  });

  test("of LiteLLM is in dollars a token, read from its text", () => {
    const text = `{
      "sample_spec": {"litellm_provider": "x", "input_cost_per_token": 1},
      "m": {"litellm_provider": "openai", "input_cost_per_token": 2.5e-06, "output_cost_per_token": 1.5e-05},
      "yuan": {"litellm_provider": "x", "input_cost_per_token": 0.000001714286},
      "picture": {"litellm_provider": "x", "output_cost_per_image": 0.04}
    }`;
    expect(fresh(text)).toEqual({ m: price("1.25", "6"), yuan: price("0.857143"), picture: ["per_call"] });
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
    expect(fresh(JSON.stringify({ data: rows }))).toEqual({ m: price("1.25", "6"), twice: ["twice"] });
  });

  test("of New API holds ratios; prices a call are not ours, 37.5 is its word for unknown", () => {
    const pricing = [
      { model_name: "m", quota_type: 0, model_ratio: 1.25, completion_ratio: 6, cache_ratio: 0.1 },
      { model_name: "call", quota_type: 1, model_price: 0.1, model_ratio: 37.5 },
      { model_name: "tiered", quota_type: 0, billing_mode: "tiered_expr", model_ratio: 1 },
    ];
    expect(fresh(JSON.stringify({ data: pricing }))).toEqual({
      m: price("1.25", "6", "0.1"),
      call: ["per_call"],
      tiered: ["per_call"],
    });
    const config = {
      model_ratio: { m: 1.25, none: 37.5, dear: 37.5 },
      completion_ratio: { dear: 4, none: 1 },
    };
    expect(fresh(JSON.stringify({ success: true, data: config }))).toEqual({
      m: price("1.25"),
      dear: price("37.5", "4"),
    });
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
  const list = (input: number, output = input) =>
    JSON.stringify({ openai: { models: { used: { cost: { input, output } } } } });
  const judge = (input: number, old: string, output?: number) =>
    draft(list(input, output), { used: price(old, "1") })[0];

  test.each([
    [2, "1", "same", []],
    [2.2, "1", "fine", []],
    [2.4, "1", "fine", []],
    [2.42, "1", "doubtful", ["rise"]],
    [1, "1", "fine", []],
    [0.98, "1", "doubtful", ["fall"]],
    [2000, "1", "refused", ["unit", "rise"]],
    [0.002, "1", "refused", ["unit", "fall"]],
    [2_000_000, "1", "refused", ["too_dear", "unit", "rise"]],
    [2, "0", "doubtful", ["from_free"]],
    [10_001, "5000", "refused", ["too_dear"]],
  ])("of $%d a million against ratio %s is %s", (input, old, verdict, flags) => {
    expect(judge(input, old)).toMatchObject({ verdict, flags });
  });

  test("doubts an output that is cheaper than half the input, and a cache dearer than it", () => {
    expect(judge(2, "1", 0.9)).toMatchObject({ verdict: "doubtful", flags: ["output_cheap"] });
    const text = JSON.stringify({
      openai: { models: { m: { cost: { input: 1, output: 1, cache_read: 2 } } } },
    });
    expect(draft(text)[0]).toMatchObject({ verdict: "doubtful", flags: ["cache_dear"] });
  });

  test("says what the week's calls would have cost", () => {
    expect(judge(4, "1", 8)).toMatchObject({ calls: 9, quota_before: 1000, quota_after: 2333, change: 100 });
  });

  test("keeps what the list leaves open, and names only models that concern us", () => {
    const text = JSON.stringify({
      openai: { models: { m: { cost: { input: 2 } }, other: { cost: { input: 2 } } } },
    });
    expect(draft(text, { m: price("1", "4", "0.5") }, ["m", "mine"])).toMatchObject([
      { model: "m", verdict: "same", fresh: price("1", "4", "0.5") },
    ]);
  });

  test("is doubtful whole when the list shrank or much differs", () => {
    const rows = draft(list(2), { used: price("1", "1") });
    expect(listWarning(rows, 90, 100)).toBe("");
    expect(listWarning(rows, 89, 100)).toContain("可能不完整");
    const many = Array.from({ length: 10 }, (_, at) => ({ ...rows[0], verdict: at < 4 ? "fine" : "same" }));
    expect(listWarning(many as never, 10, 0)).toContain("4 个价格不同");
  });
});
