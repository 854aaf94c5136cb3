import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { imageFactors, imageTokens, unlistedPart } from "#contract/image-prices.ts";
import { recompute } from "#test/seeds/formula.ts";
import { createPrice } from "./price.ts";
import { type Counted, chargeUnits, explainUnits, roughSeconds } from "./units.ts";

const price = (model: string, modelRatio: string, groupRatio = "1") =>
  createPrice({ model, modelRatio, completionRatio: "1", cacheRatio: "1", groupRatio });

const images = (count: number, size = "", quality = ""): Counted => ({
  unit: "image",
  images: count,
  size,
  quality,
});

describe("charges by units", () => {
  // As requirements W12.1, W21.1 and T27.5 say.
  it.each([
    ["dall-e-3 hd square", price("dall-e-3", "20"), images(1, "1024x1024", "hd"), 40_000n],
    ["dall-e-3 hd tall", price("dall-e-3", "20"), images(1, "1024x1792", "hd"), 60_000n],
    ["dall-e-3 wide", price("dall-e-3", "20"), images(1, "1792x1024", "standard"), 40_000n],
    ["dall-e-2 512, three", price("dall-e-2", "8"), images(3, "512x512"), 27_000n],
    ["dall-e-2 by default", price("dall-e-2", "8"), images(1), 10_000n],
    ["a size that was refused before", price("dall-e-3", "20"), images(1, "1x1"), 20_000n],
    ["a model without sizes", price("cogview-4", "4.285714"), images(2, "864x1152"), 8572n],
    ["a free picture", price("cogview-3-flash", "0"), images(1), 0n],
    ["half price", price("dall-e-3", "20", "0.5"), images(1), 10_000n],
    ["tts-1, 100 characters", price("tts-1", "7.5"), { unit: "character", characters: 100 } as const, 750n],
    ["one character", price("tts-1", "0.1"), { unit: "character", characters: 1 } as const, 1n],
    ["nothing to read", price("tts-1", "7.5"), { unit: "character", characters: 0 } as const, 0n],
    ["whisper-1, a minute", price("whisper-1", "15"), { unit: "second", seconds: 60 } as const, 3000n],
    ["whisper-1, 8.47 s", price("whisper-1", "15"), { unit: "second", seconds: 8.47 } as const, 424n],
    ["a video, 5 s", price("v", "50"), { unit: "video", seconds: 5 } as const, 250_000n],
    ["a video, 5.042 s", price("v", "0.5"), { unit: "video", seconds: 5.042 } as const, 2_521n],
    ["sound by the second, 8.5 s", price("v", "0.5"), { unit: "sound", seconds: 8.5 } as const, 4_250n],
    ["no video", price("v", "50"), { unit: "video", seconds: 0 } as const, 0n],
    [
      "an hour at Groq",
      price("whisper-large-v3", "4.625"),
      { unit: "second", seconds: 3600 } as const,
      55_500n,
    ],
  ])("%s", (_name, model, counted, expected) => {
    const charged = chargeUnits(counted, model);
    expect(charged).toBe(expected);
    expect(recompute(explainUnits(counted, model, charged))).toEqual({
      claimed: expected,
      computed: expected,
    });
  });

  it("is told as a formula", () => {
    expect(explainUnits(images(1, "1024x1792", "hd"), price("dall-e-3", "20"), 60_000n)).toBe(
      "按张计费，模型倍率 20，分组倍率 1；(1 × 2 × 1.5 × 1000) × 20 × 1 = 60000",
    );
    expect(explainUnits({ unit: "second", seconds: 8.47 }, price("whisper-1", "15"), 424n)).toBe(
      "按时长（秒）计费，模型倍率 15，分组倍率 1；(8.47 × 200/60) × 15 × 1 = 424",
    );
    expect(explainUnits({ unit: "video", seconds: 8 }, price("v", "50"), 400_000n)).toBe(
      "按视频时长（秒）计费，模型倍率 50，分组倍率 1；(8 × 1000) × 50 × 1 = 400000",
    );
  });

  it("never throws, never pays out, and grows with the count", () => {
    const model = price("dall-e-2", "8.123456", "4/3");
    fc.assert(
      fc.property(fc.double(), fc.double({ min: 0, max: 1e9, noNaN: true }), (any, step) => {
        for (const make of [
          (count: number): Counted => images(count, "256x256"),
          (count: number): Counted => ({ unit: "character", characters: count }),
          (count: number): Counted => ({ unit: "second", seconds: count }),
        ]) {
          const charged = chargeUnits(make(any), model);
          expect(charged).toBeGreaterThanOrEqual(0n);
          if (any >= 0) expect(chargeUnits(make(any + step), model)).toBeGreaterThanOrEqual(charged);
          expect(recompute(explainUnits(make(any), model, charged)).computed).toBe(charged);
        }
      }),
    );
  });
});

describe("pictures", () => {
  it.each([
    ["dall-e-2", "1024x1792", "", "size"],
    ["dall-e-3", "256x256", "", "size"],
    ["dall-e-3", "1024X1024", "", "size"],
    ["dall-e-3", "7x7", "HD", "size"],
    ["dall-e-3", "1024x1792", "HD", "quality"],
    ["dall-e-3", "", "auto", "quality"],
    ["dall-e-2", "", "hd", "quality"],
    ["dall-e-2", "", "constructor", "quality"],
    ["dall-e-3", "1024x1792", "hd", undefined],
    ["dall-e-3", "", "standard", undefined],
    ["dall-e-2", "", "", undefined],
    ["gpt-image-1", "7x7", "any", undefined],
    ["constructor", "", "", undefined],
  ])("%s of %j and %j has no price for its %s", (model, size, quality, part) => {
    expect(unlistedPart(model, { size, quality })).toBe(part);
    if (part === undefined && !model.startsWith("dall"))
      expect(imageFactors(model, { size, quality })).toEqual([]);
  });

  it("have tokens by size and quality, the dearest when either is open", () => {
    expect(imageTokens({ size: "1024x1024", quality: "low" })).toBe(272);
    expect(imageTokens({ size: "1536x1024", quality: "medium" })).toBe(1568);
    expect(imageTokens({ size: "1024x1536", quality: "high" })).toBe(6240);
    expect(imageTokens({ size: "auto", quality: "auto" })).toBe(6240);
    expect(imageTokens({ size: "", quality: "constructor" })).toBe(6240);
  });
});

it("guesses the length of a sound file from its size", () => {
  expect(roughSeconds(240_000)).toBe(60);
});
