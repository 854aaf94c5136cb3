// A cold load of each page in a real browser: how many files it asks for, how far it shifts while it comes, whether its links can be read.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startHttpEmulator } from "#test/emulators/http-emulator.ts";
import { adminPages, furnish, guestPages, userPages } from "#test/worlds/console-pages.ts";
import { type ConsoleWorld, openConsoleWorld, type Person } from "#test/worlds/console-world.ts";

const DESK = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
/** Over HTTP/1.1 each six files cost a round trip. */
const MOST_FILES = 25;
/** Half of what search engines call good. */
const MOST_SHIFT = 0.05;
const LEAST_CONTRAST = 4.5;

const PAGES: readonly [Person | undefined, readonly string[]][] = [
  [undefined, guestPages],
  ["lihua", userPages],
  ["root", adminPages],
];

let world: ConsoleWorld;

beforeAll(async () => {
  world = await openConsoleWorld();
  const upstream = await startHttpEmulator(() => ({ status: 500, json: {} }));
  await furnish(world, { url: upstream.url, key: "up-key" });
  await upstream.close();
}, 180_000);

afterAll(() => world?.close());

/** Opens a page as a browser that has none of its files. */
async function openCold(page: Page, path: string): Promise<void> {
  const client = await page.context().newCDPSession(page);
  await client.send("Network.setCacheDisabled", { cacheDisabled: true });
  await page.goto(path);
  await page.waitForLoadState("networkidle");
  await page.waitForFunction(() => document.querySelector(".tg-bone, .ant-skeleton-active") === null);
}

/** Files of ours among the addresses; calls are none. */
function filesIn(asked: readonly string[]): string[] {
  return asked.filter(
    (url) => url.startsWith(world.server.url) && !new URL(url).pathname.startsWith("/api/"),
  );
}

describe("asks for few files", () => {
  it.each(PAGES)("as %s", async (person, paths) => {
    const counts = new Map<string, number>();
    for (const path of paths) {
      const { page, context, asked } = await world.visit(person, DESK);
      await openCold(page, path);
      counts.set(path, filesIn(asked).length);
      await context.close();
    }
    const most = Math.max(...counts.values());
    process.stdout.write(`files of a page: ${most} at most\n`);
    // The page itself, its script and its style at least.
    expect(Math.min(...counts.values())).toBeGreaterThan(2);
    expect([...counts].filter(([, count]) => count > MOST_FILES)).toEqual([]);
  });
});

/** Sums up what moves without input, from the first moment of a document on. */
function watchShifts(): void {
  const shifts: number[] = [];
  Object.assign(globalThis, { shifts });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if ("value" in entry) shifts.push(Number(entry.value));
  }).observe({ type: "layout-shift", buffered: true });
}

describe("stands still", () => {
  it.each([DESK, PHONE])(
    "at $width px",
    async (size) => {
      const shifted: Record<string, number> = {};
      for (const [person, paths] of PAGES)
        for (const path of paths) {
          const { page, context } = await world.visit(person, size);
          await page.addInitScript(watchShifts);
          await openCold(page, path);
          const shifts: number[] = await page.evaluate("shifts");
          const sum = shifts.reduce((total, shift) => total + shift, 0);
          if (sum > MOST_SHIFT) shifted[path] = Number(sum.toFixed(3));
          await context.close();
        }
      expect(shifted).toEqual({});
    },
    240_000,
  );
});

/** Links in callouts that are not underlined, or whose words stand out less than they must from what is painted behind them. */
function paleLinks(least: number): string[] {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  if (canvas === null) throw new Error("no canvas");
  const luminance = (colours: readonly string[]) => {
    for (const colour of colours) {
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
    }
    const [r = 0, g = 0, b = 0] = [...canvas.getImageData(0, 0, 1, 1).data].map((part) =>
      part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  return [...document.querySelectorAll<HTMLElement>(".tg-callout a, .tg-danger-banner a")].flatMap((link) => {
    const grounds: string[] = [];
    for (let at: HTMLElement | null = link; at !== null; at = at.parentElement)
      grounds.unshift(getComputedStyle(at).backgroundColor);
    const [low = 0, high = 0] = [
      luminance(grounds),
      luminance([...grounds, getComputedStyle(link).color]),
    ].sort((a, b) => a - b);
    const contrast = (high + 0.05) / (low + 0.05);
    const isUnderlined = getComputedStyle(link).textDecorationLine.includes("underline");
    return contrast < least || !isUnderlined ? [`${link.textContent}: ${contrast.toFixed(2)}`] : [];
  });
}

describe("shows links that can be told and read", () => {
  it.each(["light", "dark"] as const)(
    "in %s",
    async (colorScheme) => {
      const { page, context } = await world.visit("root", DESK);
      await page.emulateMedia({ colorScheme });
      const pale: Record<string, string[]> = {};
      for (const path of [...adminPages, "/topup"]) {
        await openCold(page, path);
        const found = await page.evaluate(paleLinks, LEAST_CONTRAST);
        if (found.length > 0) pale[path] = found;
      }
      await context.close();
      expect(pale).toEqual({});
    },
    240_000,
  );
});
