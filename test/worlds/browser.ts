// A real Chromium for tests of the console, and pictures of what it showed.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from "playwright-core";
import { inject } from "vitest";
import { fetchShared } from "./broker.ts";

const SCREENSHOTS = join(import.meta.dirname, "../../test-results");

/** The browser of the run; closing it closes the windows that this file opened. Throws: when none is found or starts. */
export async function launchBrowser(): Promise<Browser> {
  return chromium.connect(await fetchShared(inject("browserBroker")));
}

/** Opens a window of its own onto the console at `url`, in Chinese, at 1440 × 900 unless told; the test closes it. */
export async function openContext(
  browser: Browser,
  url: string,
  more: BrowserContextOptions = {},
): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    locale: "zh-CN",
    baseURL: url,
    // What grows or moves while it is clicked may miss the click.
    reducedMotion: "reduce",
    ...more,
  });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: url });
  return context;
}

/** Saves the page at both sizes, as <name> and <name>-390. Throws: when it is wider than a telephone. */
export async function screenshots(page: Page, name: string): Promise<void> {
  await screenshot(page, name);
  await page.setViewportSize({ width: 390, height: 844 });
  const fits = () => document.documentElement.scrollWidth <= document.documentElement.clientWidth;
  // The page hears of its new size a moment later.
  await page.waitForFunction(fits).catch((cause: unknown) => {
    throw new Error(`${name} is too wide`, { cause });
  });
  await screenshot(page, `${name}-390`);
  await page.setViewportSize({ width: 1440, height: 900 });
}

/** Saves what the page shows as test-results/<name>.png, animations finished. Returns the file's path. */
export async function screenshot(page: Page, name: string): Promise<string> {
  mkdirSync(SCREENSHOTS, { recursive: true });
  const path = join(SCREENSHOTS, `${name}.png`);
  await page.screenshot({ path, animations: "disabled" });
  return path;
}
