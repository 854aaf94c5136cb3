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

/** `SCREENSHOTS=1 npx vitest run <file>`: pictures are for people to look at, no test reads one, and each is drawn by the processor. */
const HAS_PICTURES = process.env["SCREENSHOTS"] !== undefined;

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
  await context.addInitScript(readOwnCopies);
  return context;
}

/** Runs in each page. The browser of the run has one clipboard: a page reads back what it wrote itself, whatever other tests copy meanwhile. */
function readOwnCopies(): void {
  const { clipboard } = navigator;
  // On pages that the browser does not call secure there is none.
  if (clipboard === undefined) return;
  const write = clipboard.writeText.bind(clipboard);
  const read = clipboard.readText.bind(clipboard);
  let own: string | undefined;
  clipboard.writeText = async (text) => {
    await write(text);
    own = text;
  };
  clipboard.readText = async () => own ?? read();
}

/**
 * Looks at the page on a telephone, where it must not be wider than the screen. With pictures it is saved at both sizes and in both
 * themes, as <name>, <name>-390 and <name>-dark. Throws: when it is wider than a telephone.
 */
export async function screenshots(page: Page, name: string): Promise<void> {
  await inBothThemes(page, name);
  await page.setViewportSize({ width: 390, height: 844 });
  const fits = () => document.documentElement.scrollWidth <= document.documentElement.clientWidth;
  // The page hears of its new size a moment later.
  await page.waitForFunction(fits).catch((cause: unknown) => {
    throw new Error(`${name} is too wide`, { cause });
  });
  await inBothThemes(page, `${name}-390`);
  await page.setViewportSize({ width: 1440, height: 900 });
}

async function inBothThemes(page: Page, name: string): Promise<void> {
  if (!HAS_PICTURES) return;
  await screenshot(page, name);
  await page.emulateMedia({ colorScheme: "dark" });
  await screenshot(page, `${name}-dark`);
  await page.emulateMedia({ colorScheme: "light" });
}

/** Saves what the page shows as test-results/<name>.png, animations finished; without pictures it does nothing. */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (!HAS_PICTURES) return;
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), animations: "disabled" });
}
