// What last week's calls would have cost by another price: each by its own length, caches and kinds of tokens.
import { describe, expect, test } from "vitest";
import type { ModelPrice } from "#contract/price-list.ts";
import { charge, createPrice } from "#server/money/price.ts";
import { listPrice } from "#test/seeds/list-prices.ts";
import { type LoggedCall, weekAfter } from "./week.ts";

const logged = (quota: number, more: Partial<LoggedCall> = {}): LoggedCall => ({
  quota,
  promptTokens: 1_000,
  completionTokens: 0,
  cachedTokens: 0,
  kinds: "",
  ...more,
});
const weekOf = (calls: readonly LoggedCall[], more: object = {}) => ({
  quota: calls.reduce((sum, { quota }) => sum + quota, 0),
  promptTokens: calls.reduce((sum, { promptTokens }) => sum + promptTokens, 0),
  completionTokens: 0,
  logged: calls,
  ...more,
});
const of = (old: ModelPrice, fresh: ModelPrice, unit: "token" | "call" | "image" = "token") => ({
  ...{ model: "m", unit, old, fresh },
});
const tier = (model_ratio: string, above = 200_000) => ({
  ...{ above, model_ratio, completion_ratio: "1", cache_ratio: "1", cache_write_ratio: "1" },
});

describe("last week's bill by another price", () => {
  test("counts caches at their own price", () => {
    // 900 of 1,000 came from a cache, which was 0.1 and will be 0.5.
    const calls = [logged(190, { cachedTokens: 900 }), logged(1_000)];
    const bill = weekAfter(weekOf(calls), of(listPrice("1", "1", "0.1"), listPrice("1", "1", "0.5")));
    expect(bill).toEqual({ quota: 1_000 + 550, isEstimate: false });
  });

  test("counts what is written to caches, sound and pictures at their own prices", () => {
    const kinds =
      "cache_write:100 cache_write_hour:50 audio_input:200 image_input:300 audio_output:10 image_output:20";
    const usage = {
      ...{ promptTokens: 1_000, completionTokens: 100, cachedTokens: 100 },
      ...{ cacheWriteTokens: 100, cacheWriteHourTokens: 50, audioPromptTokens: 200, imagePromptTokens: 300 },
      ...{ audioCompletionTokens: 10, imageCompletionTokens: 20 },
    };
    const price = (scale: number): ModelPrice => ({
      ...listPrice(String(scale), "4", "0.1", String(1.25 * scale)),
      ...{ audio_ratio: String(3 * scale), audio_completion_ratio: "2" },
      ...{ image_ratio: String(5 * scale), image_completion_ratio: "6" },
    });
    const charged = (scale: number) =>
      Number(
        charge(
          usage,
          createPrice({
            ...{
              model: "m",
              modelRatio: String(scale),
              completionRatio: "4",
              cacheRatio: "0.1",
              groupRatio: "1",
            },
            ...{
              cacheWriteRatio: String(1.25 * scale),
              audioRatio: String(3 * scale),
              audioCompletionRatio: "2",
            },
            ...{ imageRatio: String(5 * scale), imageCompletionRatio: "6" },
          }),
        ),
      );
    const call = logged(charged(1), { completionTokens: 100, cachedTokens: 100, kinds });
    const { quota } = weekAfter(weekOf([call]), of(price(1), price(2)));
    expect(Math.abs(quota - charged(2))).toBeLessThanOrEqual(charged(2) / charged(1) + 1);
  });

  test("counts long calls at the price of their length, and short ones at theirs", () => {
    const long = logged(400_000, { promptTokens: 200_001 });
    const old = { ...listPrice("1", "1"), tiers: [tier("2")] };
    const fresh = { ...listPrice("1", "1"), tiers: [tier("6")] };
    expect(weekAfter(weekOf([logged(1_000), long]), of(old, fresh)).quota).toBe(1_000 + 1_200_000);
  });

  test("keeps what a group or a batch paid less, and free calls cost nothing", () => {
    const calls = [logged(500), logged(0), logged(1_000)];
    expect(weekAfter(weekOf(calls), of(listPrice("1", "1"), listPrice("3", "1"))).quota).toBe(4_500);
    expect(weekAfter(weekOf([logged(0)]), of(listPrice("1"), listPrice("3")))).toEqual({
      quota: 0,
      isEstimate: false,
    });
    // What cost nothing cannot be compared.
    const paid = [logged(7)];
    expect(weekAfter(weekOf(paid), of(listPrice("0"), listPrice("3"))).quota).toBe(7);
  });

  test("counts calls and pieces by their one price, which the log has no tokens of", () => {
    const piece = logged(100, { promptTokens: 0 });
    for (const unit of ["call", "image"] as const)
      expect(weekAfter(weekOf([piece, piece]), of(listPrice("2"), listPrice("3"), unit))).toEqual({
        quota: 300,
        isEstimate: false,
      });
  });

  test("is an estimate where some of the calls were not looked at, and in their proportion", () => {
    const calls = [logged(190, { cachedTokens: 900 })];
    const week = weekOf(calls, { quota: 1_900 });
    expect(weekAfter(week, of(listPrice("1", "1", "0.1"), listPrice("1", "1", "0.5")))).toEqual({
      quota: 5_500,
      isEstimate: true,
    });
    const none = { quota: 1_900, promptTokens: 1_900, completionTokens: 0, logged: [] };
    expect(weekAfter(none, of(listPrice("1"), listPrice("2")))).toEqual({ quota: 3_800, isEstimate: true });
    const idle = { quota: 0, promptTokens: 0, completionTokens: 0, logged: [] };
    expect(weekAfter(idle, of(listPrice("1"), listPrice("2")))).toEqual({ quota: 0, isEstimate: false });
  });
});
