// The harness itself: a real browser that shows Chinese text.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launchBrowser, screenshot } from "#test/worlds/browser.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(() => browser.close());

const TEXT = "令牌 渠道 额度 兑换码 使用日志";

test("the browser runs scripts and draws Chinese characters, not boxes", async () => {
  const page = await browser.newPage({ viewport: { width: 640, height: 240 } });
  await page.setContent(
    `<body style="font: 32px sans-serif"><p>${TEXT}</p><p style="font-weight: bold">${TEXT} 1234 abc</p>`,
  );
  // A character without a glyph is drawn as the box of a code point that no font has.
  const isDrawn = await page.evaluate(() => {
    const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    if (!context) return [];
    const pixels = (text: string): string => {
      context.clearRect(0, 0, 40, 40);
      context.font = "32px sans-serif";
      context.fillText(text, 2, 34);
      return context.getImageData(0, 0, 40, 40).data.join();
    };
    return [..."令牌渠道额度"].map((character) => pixels(character) !== pixels("\u{10fffd}"));
  });
  expect(isDrawn).toEqual([true, true, true, true, true, true]);
  await screenshot(page, "chinese");
});
