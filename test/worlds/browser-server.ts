// The browser of a run, as a process that test files connect to: each has windows of its own in it, with nothing in common.
import { chromium } from "playwright-core";
import type { Shared } from "./broker.ts";
import { findChromium } from "./chromium.ts";

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
  // A page lives for seconds here: better compiled code would come too late, for a fifth of the processor's time.
  "--js-flags=--no-opt --no-maglev --no-sparkplug",
  `--disable-features=${SWITCHED_OFF.join()}`,
];

/** Starts a headless browser with a fresh profile. Throws: when none is found or starts. */
export async function startBrowserServer(): Promise<Shared> {
  const { path, env } = findChromium();
  const server = await chromium.launchServer({
    executablePath: path,
    headless: true,
    args: ARGS,
    // Playwright wants every value to be text.
    // Without a UTF-8 locale Chromium gives Chinese file names up.
    env: Object.fromEntries(
      Object.entries({ ...process.env, LC_ALL: "C.UTF-8", ...env }).filter((entry) => entry[1] !== undefined),
    ),
  });
  return { url: server.wsEndpoint(), stop: () => server.close() };
}
