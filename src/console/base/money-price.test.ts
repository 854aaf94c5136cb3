// Prices as pages write them.
import { expect, test } from "vitest";
import type { ModelMoney } from "#contract/catalogue.ts";
import { moneyText, priceLines, tierText } from "./money-price.ts";

const money = (change: Partial<ModelMoney> = {}): ModelMoney => ({
  unit: "token",
  input: "2.5",
  output: "10",
  cache_read: "1.25",
  cache_write: "",
  others: [],
  tiers: [],
  ...change,
});

test.each([
  ["2.5", "USD", "$2.5"],
  ["2.5", "CNY", "¥17.5"],
  ["0.285714", "CNY", "¥2"],
  ["0", "USD", "$0"],
  ["0.000001", "USD", "$0.000001"],
  ["0.0000001", "USD", "$0.0000001"],
] as const)("%s in %s is %s", (dollars, currency, text) => {
  expect(moneyText(dollars, currency)).toBe(text);
});

test("each kind with a price has a line", () => {
  const audio = money({ others: [{ kind: "audio", price: "40" }] });
  expect(priceLines(audio, "USD").map(({ label, text }) => `${label} ${text}`)).toEqual([
    "输入 $2.5",
    "输出 $10",
    "缓存读取 $1.25",
    "音频输入 $40",
  ]);
  expect(priceLines(money({ unit: "image", input: "0.04", output: "" }), "CNY")).toEqual([
    { label: "每张", text: "¥0.28" },
  ]);
  const embedding = money({ input: "0.13", output: "0", cache_read: "" });
  expect(priceLines(embedding, "USD")).toEqual([{ label: "输入", text: "$0.13" }]);
  expect(priceLines(money({ input: "0", output: "0" }), "USD")).toEqual([{ label: "价格", text: "免费" }]);
});

test("a tier says from when it holds", () => {
  const tier = { above: 200_000, input: "5", output: "22.5", cache_read: "", cache_write: "" };
  expect(tierText(tier, "USD")).toBe("输入超过 200,000 token 时，整个请求按 输入 $5、输出 $22.5 计费");
});
