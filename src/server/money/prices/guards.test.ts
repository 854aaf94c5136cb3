// What of a price list is never taken without a person, one list for each rule (requirements X02).
import { describe, expect, test } from "vitest";
import { unitOf } from "#contract/charged-unit.ts";
import type { ModelPrice } from "#contract/price-list.ts";
import { listPrice } from "#test/seeds/list-prices.ts";
import { draftRows } from "./draft.ts";
import { listWarning, type PriceBounds } from "./guards.ts";
import { readPriceList } from "./lists.ts";

const BOUNDS: PriceBounds = { rise: 20, fall: 50, changed: 30, shrink: 10 };
/** $2, $8 of output, $0.2 from the cache, $2.5 into it, $4 and $8 of sound, $6 and $12 of pictures. */
const OURS: ModelPrice = {
  ...listPrice("1", "4", "0.1", "1.25"),
  audio_ratio: "2",
  audio_completion_ratio: "2",
  image_ratio: "3",
  image_completion_ratio: "2",
};
const LISTED = {
  input_cost_per_token: 2,
  output_cost_per_token: 8,
  cache_read_input_token_cost: 0.2,
  cache_creation_input_token_cost: 2.5,
  input_cost_per_audio_token: 4,
  output_cost_per_audio_token: 8,
  input_cost_per_image_token: 6,
  output_cost_per_image_token: 12,
};
type Field = keyof typeof LISTED;
// The keys of the list are exactly Field.
const FIELDS = Object.keys(LISTED) as Field[];

interface More {
  readonly old?: ModelPrice | undefined;
  readonly others?: readonly ModelPrice[];
  readonly bounds?: PriceBounds;
}

/** A row by a list in dollars a million, times `factor`. */
function judge(change: Readonly<Record<string, unknown>>, more: More = {}, factor = 1) {
  const { old = OURS, others = [], bounds = BOUNDS } = more;
  const prices = { ...LISTED, ...change };
  const entry = Object.fromEntries(
    Object.entries(prices).map(([key, value]) => [
      key,
      typeof value === "number" ? (value * factor) / 1e6 : value,
    ]),
  );
  const { list } = readPriceList(JSON.stringify({ m: { litellm_provider: "x", ...entry } }));
  const [row] = draftRows({
    models: ["m"],
    list,
    bounds,
    today: "2026-11-27",
    priceOf: () => ("old" in more ? more.old : old),
    unitOf: () => "token",
    callsOf: () => undefined,
    nameOf: () => undefined,
    othersOf: () => others,
    tiersAfter: () => old.tiers,
    known: new Set(),
  });
  return row;
}

test("what is as ours is the same", () => {
  expect(judge({})).toMatchObject({ verdict: "same", flags: [], change: 0 });
});

describe.each(FIELDS.filter((field) => field !== "input_cost_per_token"))("of %s", (field) => {
  const price = LISTED[field];
  test.each([
    ["a rise of 20 %", price * 1.2, "fine", []],
    ["a rise beyond it", price * 1.21, "doubtful", ["rise"]],
    ["a fall beyond 50 %", price * 0.49, "doubtful", ["fall"]],
    ["a thousandth", price / 1000, "refused", ["unit"]],
    ["a thousand times", price * 1000, "refused", ["unit"]],
    ["nothing", 0, "refused", ["unreadable"]],
    ["more than $10,000", 10_001, "refused", ["too_dear"]],
  ])("%s is told", (_name, value, verdict, flags) => {
    const row = judge({ [field]: value });
    expect(row?.verdict).toBe(verdict);
    expect(row?.flags).toEqual(expect.arrayContaining(flags));
  });

  test("less than nothing, and no number, is no price", () => {
    for (const value of [-1, "NaN", "1e309", {}])
      expect(judge({ [field]: value })).toMatchObject({ verdict: "refused", flags: ["unreadable"] });
  });
});

test.each([
  [2.4, "fine", []],
  [2.42, "doubtful", ["rise"]],
  [1.02, "fine", []],
  [0.98, "doubtful", ["fall"]],
  [2000, "refused", ["unit", "rise"]],
  [0.002, "refused", ["unit", "fall"]],
  [2_000_000, "refused", ["too_dear", "unit", "rise"]],
  [10_001, "refused", ["too_dear", "rise"]],
  [0, "refused", ["unreadable"]],
])("an input of $%d a million is %s", (input, verdict, flags) => {
  const plain = listPrice("1", "1");
  const alone = Object.fromEntries(FIELDS.map((field) => [field, undefined]));
  const row = judge({ ...alone, input_cost_per_token: input, output_cost_per_token: input }, { old: plain });
  expect(row).toMatchObject({ verdict, flags });
});

test("a price from nothing needs a person", () => {
  expect(judge({}, { old: listPrice("0") })).toMatchObject({
    verdict: "doubtful",
    flags: expect.arrayContaining(["from_free"]),
  });
  const freeCache = { ...OURS, cache_ratio: "0" };
  expect(judge({}, { old: freeCache })).toMatchObject({ verdict: "doubtful", flags: ["from_free"] });
});

test("an output below half the input, and a cache above it, are told", () => {
  const cheap = judge(
    { output_cost_per_token: 0.9, output_cost_per_audio_token: undefined },
    { old: undefined },
  );
  expect(cheap).toMatchObject({ verdict: "doubtful", flags: ["output_cheap"] });
  const dear = judge({ cache_read_input_token_cost: 2.1 }, { old: undefined });
  expect(dear).toMatchObject({ verdict: "doubtful", flags: ["cache_dear"] });
});

describe("a mistake of units between sources", () => {
  test.each([1_000, 1_000_000, 0.001, 0.000_001])(
    "of %d times is refused, though we have no price",
    (times) => {
      const other = listPrice(String(Number((1 / times).toFixed(6))), "4");
      expect(judge({}, { old: undefined, others: [other] })).toMatchObject({
        verdict: "refused",
        flags: ["unit"],
      });
    },
  );

  test("is found among the offers of one list", () => {
    const list = (input: number) =>
      readPriceList(
        JSON.stringify({
          openai: { models: { m: { cost: { input: 2, output: 8 } } } },
          groq: { models: { m: { cost: { input, output: 8 } } } },
        }),
      ).list;
    const rows = (input: number) =>
      draftRows({
        models: ["m"],
        list: list(input),
        bounds: BOUNDS,
        today: "2026-11-27",
        priceOf: () => undefined,
        unitOf: () => "token",
        callsOf: () => undefined,
        nameOf: () => undefined,
        othersOf: () => [],
        tiersAfter: () => [],
        known: new Set(),
      });
    expect(rows(2000)).toMatchObject([{ verdict: "refused", flags: ["unit"] }]);
    expect(rows(5)).toMatchObject([{ verdict: "fine", flags: [] }]);
  });
});

test("prices in cents need a person row by row and hold the draft, prices a thousand tokens are refused", () => {
  const cents = judge({}, {}, 100);
  expect(cents).toMatchObject({ verdict: "doubtful", flags: ["rise"] });
  expect(judge({}, {}, 0.001)).toMatchObject({ verdict: "refused", flags: ["unit", "fall"] });
  expect(judge({}, {}, 1000)).toMatchObject({ verdict: "refused" });
  const rows = [cents, cents].flatMap((row) => row ?? []);
  expect(listWarning(rows, { listed: 2, lastListed: 2 }, BOUNDS)).toBe("changed");
});

test("a change of what a price counts is told, and shown without being compared", () => {
  const { list } = readPriceList(
    JSON.stringify({
      "dall-e-3": { litellm_provider: "x", input_cost_per_token: 5e-6, output_cost_per_token: 4e-5 },
      "gpt-4o": { litellm_provider: "x", output_cost_per_image: 0.04 },
    }),
  );
  const rows = draftRows({
    models: ["dall-e-3", "gpt-4o"],
    list,
    bounds: BOUNDS,
    today: "2026-11-27",
    priceOf: () => listPrice("20"),
    unitOf: (model) => unitOf(model, {}),
    callsOf: () => undefined,
    nameOf: () => undefined,
    othersOf: () => [],
    tiersAfter: () => [],
    known: new Set(),
  });
  expect(rows).toMatchObject([
    { model: "dall-e-3", unit: "token", flags: ["kind"], verdict: "refused", change: null },
    { model: "gpt-4o", unit: "image", flags: ["kind"], verdict: "refused", change: null },
  ]);
});

test("tiers are judged like the price itself", () => {
  const tier = (input: number) => ({
    input_cost_per_token_above_200k_tokens: input,
    output_cost_per_token_above_200k_tokens: 12,
    cache_read_input_token_cost_above_200k_tokens: 0.2,
    cache_creation_input_token_cost_above_200k_tokens: 2.5,
    input_cost_per_audio_token_above_200k_tokens: 4,
    output_cost_per_audio_token_above_200k_tokens: 8,
    input_cost_per_image_token_above_200k_tokens: 6,
    output_cost_per_image_token_above_200k_tokens: 12,
  });
  expect(judge(tier(4))).toMatchObject({ verdict: "doubtful", flags: expect.arrayContaining(["rise"]) });
  expect(judge(tier(2000))).toMatchObject({ verdict: "refused", flags: expect.arrayContaining(["unit"]) });
  expect(judge(tier(10_001))).toMatchObject({
    verdict: "refused",
    flags: expect.arrayContaining(["too_dear"]),
  });
});

test("a last day that is over needs a person", () => {
  expect(judge({ deprecation_date: "2026-11-26" })).toMatchObject({ verdict: "doubtful", flags: ["ended"] });
  expect(judge({ deprecation_date: "2026-11-27" })).toMatchObject({ verdict: "fine", flags: [] });
});

test("the bounds are the operator's", () => {
  const wide = { ...BOUNDS, rise: 100, fall: 90 };
  expect(judge({ output_cost_per_token: 16 }, { bounds: wide })).toMatchObject({ verdict: "fine" });
  expect(judge({ cache_read_input_token_cost: 0.05 }, { bounds: wide })).toMatchObject({ verdict: "fine" });
  const tight = { ...BOUNDS, rise: 0 };
  expect(judge({ output_cost_per_token: 8.1 }, { bounds: tight })).toMatchObject({ verdict: "doubtful" });
});

describe("the whole draft is held", () => {
  const rows = (changed: number, all: number) =>
    Array.from({ length: all }, (_, at) => ({
      verdict: at < changed ? ("fine" as const) : ("same" as const),
      fresh: OURS,
    }));
  test("when more than 30 % of its models changed", () => {
    const of = (changed: number) => listWarning(rows(changed, 10), { listed: 10, lastListed: 10 }, BOUNDS);
    expect(of(3)).toBe("");
    expect(of(4)).toBe("changed");
  });

  test("when the list shrank by more than 10 %", () => {
    const of = (listed: number) => listWarning(rows(0, 10), { listed, lastListed: 100 }, BOUNDS);
    expect(of(90)).toBe("");
    expect(of(89)).toBe("shrunk");
    expect(listWarning(rows(0, 1), { listed: 1, lastListed: 0 }, BOUNDS)).toBe("");
  });

  test("by the operator's bounds", () => {
    const bounds = { ...BOUNDS, changed: 50, shrink: 20 };
    expect(listWarning(rows(5, 10), { listed: 80, lastListed: 100 }, bounds)).toBe("");
    expect(listWarning(rows(6, 10), { listed: 80, lastListed: 100 }, bounds)).toBe("changed");
  });
});
