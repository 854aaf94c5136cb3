import { expect, test } from "vitest";
import { priceText } from "./words.ts";

const price = { model_ratio: "1.25", completion_ratio: "4", cache_ratio: "0.1", cache_write_ratio: "" };

test("prices are told in dollars a million tokens", () => {
  expect(priceText(price)).toBe("$2.5 / $10 · 缓存 $0.25");
  expect(priceText({ ...price, completion_ratio: "", cache_ratio: "" })).toBe("$2.5");
  expect(priceText({ ...price, model_ratio: "0.857143", cache_ratio: "" })).toBe("$1.71429 / $6.85714");
  expect(priceText(null)).toBe("—");
});
