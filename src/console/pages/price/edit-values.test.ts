// A price is edited in money or as ratios, and what was not touched stays exact (requirements X07).
import { describe, expect, test } from "vitest";
import { NO_PRICE, ratiosOf, ruleText, textsOf } from "./edit-values.ts";

const SCALE = { unit: "token", quotaPerUnit: 500_000 } as const;
const ratios = { ...NO_PRICE, model_ratio: "1.25", completion_ratio: "4", cache_ratio: "0.5" };

describe("the fields of a price", () => {
  test("show money in either currency, and ratios as they are", () => {
    expect(textsOf(ratios, "USD", SCALE)).toMatchObject({
      model_ratio: "2.5",
      completion_ratio: "10",
      cache_ratio: "1.25",
      cache_write_ratio: "",
    });
    expect(textsOf(ratios, "CNY", SCALE)).toMatchObject({ model_ratio: "17.5", completion_ratio: "70" });
    expect(textsOf(ratios, "ratio", SCALE)).toEqual(ratios);
  });

  test("that are not touched keep ratios that money cannot tell", () => {
    const known = { ...ratios, model_ratio: "0.33333333333", completion_ratio: "7.77777777777" };
    const texts = textsOf(known, "USD", SCALE);
    expect(ratiosOf(texts, "USD", { known, ...SCALE })).toEqual(known);
    expect(ratiosOf({ ...texts, cache_ratio: "0.1" }, "USD", { known, ...SCALE })).toMatchObject({
      model_ratio: known.model_ratio,
      completion_ratio: known.completion_ratio,
    });
  });

  test("keep their money when the input changes in money, and their ratio when it changes as ratio", () => {
    const texts = textsOf(ratios, "USD", SCALE);
    expect(ratiosOf({ ...texts, model_ratio: "5" }, "USD", { known: ratios, ...SCALE })).toMatchObject({
      model_ratio: "2.5",
      completion_ratio: "2",
      cache_ratio: "0.25",
    });
    expect(ratiosOf({ ...ratios, model_ratio: "2.5" }, "ratio", { known: ratios, ...SCALE })).toMatchObject({
      completion_ratio: "4",
    });
  });

  test("price sound and pictures as output by themselves as input", () => {
    const known = { ...NO_PRICE, model_ratio: "1", audio_ratio: "8", audio_completion_ratio: "2" };
    const texts = textsOf(known, "USD", SCALE);
    expect(texts).toMatchObject({ audio_ratio: "16", audio_completion_ratio: "32" });
    expect(ratiosOf({ ...texts, audio_completion_ratio: "64" }, "USD", { known, ...SCALE })).toMatchObject({
      audio_ratio: "8",
      audio_completion_ratio: "4",
    });
  });

  test.each([
    ["USD", { model_ratio: "0", completion_ratio: "1" }, "completion_ratio", "输入免费"],
    ["USD", { model_ratio: "1e3" }, "model_ratio", "六位小数"],
    ["CNY", { model_ratio: "-1" }, "model_ratio", "六位小数"],
    ["ratio", { model_ratio: "0.1234567890123" }, "model_ratio", "十二位小数"],
  ] as const)("in %s %j is refused at %s", (mode, texts, field, message) => {
    const fault = ratiosOf({ ...NO_PRICE, ...texts }, mode, { known: NO_PRICE, ...SCALE });
    expect(fault).toMatchObject({ field, message: expect.stringContaining(message) });
  });

  test("left empty say what the rule makes of them", () => {
    const rules = { ...NO_PRICE, completion_ratio: "4", cache_ratio: "1" };
    const texts = { ...NO_PRICE, model_ratio: "2.5" };
    expect(ruleText("completion_ratio", texts, "USD", rules)).toBe("10");
    expect(ruleText("completion_ratio", texts, "ratio", rules)).toBe("4");
    expect(ruleText("audio_completion_ratio", texts, "USD", rules)).toBe("");
  });
});
