// A real Chromium for journeys through the console, and pictures of what it showed.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { findChromium } from "./chromium.ts";

const SCREENSHOTS = join(import.meta.dirname, "../test-results");

/** No sandbox, since tests may run as root in a container; nothing that talks to anybody but our server. */
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
];

/** Starts a headless browser with a fresh profile; the caller closes it. Throws: when none is found or starts. */
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

/** Saves what the page shows as test-results/<name>.png, animations finished. Returns the file's path. */
export async function screenshot(page: Page, name: string): Promise<string> {
  mkdirSync(SCREENSHOTS, { recursive: true });
  const path = join(SCREENSHOTS, `${name}.png`);
  await page.screenshot({ path, animations: "disabled" });
  return path;
}
