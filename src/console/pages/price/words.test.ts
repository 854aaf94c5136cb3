import { expect, test } from "vitest";
import type { PriceDraftRow } from "#contract/price-draft.ts";
import { listPrice } from "#test/seeds/list-prices.ts";
import { otherChanges, priceText } from "./words.ts";

const price = listPrice("1.25", "4", "0.1");
const usd = { unit: "token", currency: "USD" } as const;

test("prices are told in money: a million tokens, or what is counted", () => {
  expect(priceText(price, usd)).toBe("$2.5 / $10 · 缓存 $0.25");
  expect(priceText({ ...price, cache_write_ratio: "1.25" }, usd)).toBe(
    "$2.5 / $10 · 缓存 $0.25 · 写入 $3.125",
  );
  expect(priceText(listPrice("1.25"), usd)).toBe("$2.5");
  expect(priceText(listPrice("0.857143", "4"), usd)).toBe("$1.71429 / $6.85714");
  expect(priceText(price, { ...usd, currency: "CNY" })).toBe("¥17.5 / ¥70 · 缓存 ¥1.75");
  expect(priceText(null, usd)).toBe("—");
  expect(priceText(listPrice("20"), { unit: "image", currency: "USD" })).toBe("$0.04 每张");
  expect(priceText(listPrice("15"), { unit: "minute", currency: "USD" })).toBe("$0.006 每分钟");
  expect(priceText(listPrice("50"), { unit: "second", currency: "USD" })).toBe("$0.1 每秒");
  expect(priceText(listPrice("1"), { unit: "call", currency: "CNY" })).toBe("¥0.014 每次");
});

test("what else differs is told: sound, tiers, the last day", () => {
  const tier = (above: number, model_ratio: string) => ({
    above,
    model_ratio,
    completion_ratio: "4",
    cache_ratio: "0.1",
    cache_write_ratio: "1",
  });
  const old = { ...price, audio_ratio: "2", tiers: [tier(100, "2"), tier(200, "3")] };
  const fresh = {
    ...price,
    audio_ratio: "4",
    audio_completion_ratio: "2",
    tiers: [tier(100, "2.5"), tier(300, "4")],
    last_day: "2027-03-01",
  };
  expect(otherChanges({ old, fresh } as PriceDraftRow, usd)).toEqual([
    "音频 $5 → 音频 $10 / $20",
    "输入超过 100 token：$4 / $16 · 缓存 $0.4 · 写入 $4 → $5 / $20 · 缓存 $0.5 · 写入 $5",
    "输入超过 300 token：$8 / $32 · 缓存 $0.8 · 写入 $8",
    "输入超过 200 token：$6 / $24 · 缓存 $0.6 · 写入 $6 → 无",
    "停用日期 2027-03-01",
  ]);
  expect(otherChanges({ old, fresh: old } as PriceDraftRow, usd)).toEqual([]);
});
