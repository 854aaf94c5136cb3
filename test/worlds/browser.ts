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
import { findChromium } from "./chromium.ts";

const SCREENSHOTS = join(import.meta.dirname, "../../test-results");

/**
 * What Playwright switches off, but for the partitions of storage (the last list counts): without them a framed page of another site has
 * no storage at all, which is not what visitors' browsers do.
 */
const SWITCHED_OFF = [
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsUpgrades",
  "HttpsFirstBalancedModeAutoEnable",
  "MediaRouter",
  "PaintHolding",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "OptimizationHints",
  "NetworkTimeServiceQuerying",
  "AimEnabled",
  "PreconnectToSearch",
];

/** No sandbox, since tests may run as root in a container; nothing that connects to other servers than ours. */
const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
  "--font-render-hinting=none",
  "--hide-scrollbars",
  `--disable-features=${SWITCHED_OFF.join()}`,
];

/** Starts a headless browser with a fresh profile; the test closes it. Throws: when none is found or starts. */
export function launchBrowser(): Promise<Browser> {
  const { path, env } = findChromium();
  return chromium.launch({
    executablePath: path,
    headless: true,
    args: ARGS,
    // Playwright wants every value to be text.
    // Without a UTF-8 locale Chromium gives Chinese file names up.
    env: Object.fromEntries(
      Object.entries({ ...process.env, LC_ALL: "C.UTF-8", ...env }).filter((entry) => entry[1] !== undefined),
    ),
  });
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

/** Saves what the page shows as test-results/<name>.png, animations finished. Returns the file's path. */
export async function screenshot(page: Page, name: string): Promise<string> {
  mkdirSync(SCREENSHOTS, { recursive: true });
  const path = join(SCREENSHOTS, `${name}.png`);
  await page.screenshot({ path, animations: "disabled" });
  return path;
}
