// What a page says a model costs is what calls are charged (requirements X05).
import fc from "fast-check";
import { expect, test } from "vitest";
import { unitOf } from "#contract/charged-unit.ts";
import { moneyOf } from "./dollars.ts";
import { charge, createPrice } from "./price.ts";
import { chargeUnits } from "./units.ts";

const MILLION = 1_000_000;
const NOTHING = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
const plain = {
  model: "some-model",
  modelRatio: "1.25",
  completionRatio: "4",
  cacheRatio: "1",
  groupRatio: "1",
};

test("a model's price in dollars, with what has no price of its own left out", () => {
  expect(moneyOf(createPrice(plain), 500_000)).toEqual({
    unit: "token",
    input: "2.5",
    output: "10",
    cache_read: "",
    cache_write: "",
    others: [],
    tiers: [],
  });
});

test("group, quota of a dollar, cache, sound, pictures and tiers are in it", () => {
  const long = createPrice({ ...plain, modelRatio: "2.5", groupRatio: "0.5" });
  const price = createPrice(
    { ...plain, groupRatio: "0.5", cacheRatio: "0.1", cacheWriteRatio: "1.25", audioRatio: "16" },
    [{ above: 200_000, price: long }],
  );
  expect(moneyOf(price, 1_000_000)).toEqual({
    unit: "token",
    input: "0.625",
    output: "2.5",
    cache_read: "0.0625",
    cache_write: "0.78125",
    others: [{ kind: "audio", price: "10" }],
    tiers: [{ above: 200_000, input: "1.25", output: "5", cache_read: "", cache_write: "" }],
  });
});

test("of pictures, characters and minutes of sound one price stands for one unit", () => {
  const money = (model: string, modelRatio: string) =>
    moneyOf(
      createPrice({ ...plain, model, modelRatio, unit: unitOf(model, { call: "call", film: "second" }) }),
      500_000,
    );
  expect(money("dall-e-3", "20")).toMatchObject({ unit: "image", input: "0.04", output: "" });
  expect(money("tts-1", "7.5")).toMatchObject({ unit: "character", input: "15" });
  expect(money("whisper-1", "15")).toMatchObject({ unit: "minute", input: "0.006" });
  expect(money("call", "50")).toMatchObject({ unit: "call", input: "0.1", output: "", tiers: [] });
  expect(money("film", "50")).toMatchObject({ unit: "second", input: "0.1", output: "" });
});

const ratio = fc.integer({ min: 0, max: 5_000_000 }).map((millionths) => String(millionths / 1_000_000));

test("a million tokens of a kind are charged at its price, up to the rounding of both", () => {
  fc.assert(
    fc.property(ratio, ratio, ratio, ratio, (modelRatio, completionRatio, cacheRatio, groupRatio) => {
      const price = createPrice({ model: "m", modelRatio, completionRatio, cacheRatio, groupRatio });
      const { input, output, cache_read } = moneyOf(price, 500_000);
      const isPaid = (dollars: string, quota: bigint) =>
        // Half a millionth of a dollar is a quarter of a unit of quota; a charge is rounded up, and never 0 for what has a price.
        expect(Math.abs(Number(dollars) * 500_000 - Number(quota))).toBeLessThanOrEqual(1.26);
      isPaid(input, charge({ ...NOTHING, promptTokens: MILLION }, price));
      isPaid(output, charge({ ...NOTHING, completionTokens: MILLION }, price));
      const cached = { ...NOTHING, promptTokens: MILLION, cachedTokens: MILLION };
      isPaid(cache_read === "" ? input : cache_read, charge(cached, price));
    }),
    { seed: 7, numRuns: 400 },
  );
});

test("a picture, a million characters and a minute are charged at their price", () => {
  fc.assert(
    fc.property(ratio, ratio, (modelRatio, groupRatio) => {
      const of = (model: string) =>
        createPrice({ ...plain, model, modelRatio, groupRatio, unit: unitOf(model, {}) });
      const isPaid = (model: string, counted: Parameters<typeof chargeUnits>[0]) => {
        const quota = chargeUnits(counted, of(model));
        expect(
          Math.abs(Number(moneyOf(of(model), 500_000).input) * 500_000 - Number(quota)),
        ).toBeLessThanOrEqual(1.26);
      };
      isPaid("dall-e-3", { unit: "image", images: 1, size: "", quality: "" });
      isPaid("tts-1", { unit: "character", characters: MILLION });
      isPaid("whisper-1", { unit: "second", seconds: 60 });
    }),
    { seed: 7, numRuns: 100 },
  );
});
