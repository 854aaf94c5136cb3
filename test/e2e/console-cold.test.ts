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

interface Shift {
  readonly value: number;
  /** The classes of what moved. */
  readonly moved: string;
}

/** Notes what moves without the user's doing, from the first moment of a document on. */
function watchShifts(): void {
  const shifts: Shift[] = [];
  Object.assign(globalThis, { shifts });
  // The types of the DOM do not know this entry yet.
  interface LayoutShift extends PerformanceEntry {
    readonly value: number;
    readonly sources: readonly { readonly node: Node | null }[];
  }
  const classOf = ({ node }: LayoutShift["sources"][number]) =>
    node instanceof Element ? node.className : (node?.textContent ?? "");
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as LayoutShift[])
      shifts.push({ value: entry.value, moved: entry.sources.map(classOf).join(" | ") });
  }).observe({ type: "layout-shift", buffered: true });
}

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

interface Seen {
  readonly path: string;
  readonly files: number;
  readonly shifts: readonly Shift[];
  /** Links that cannot be told or read, by colour scheme. */
  readonly pale: readonly string[];
}

async function look(person: Person | undefined, path: string, size: typeof DESK): Promise<Seen> {
  const { page, context, asked } = await world.visit(person, size);
  await page.addInitScript(watchShifts);
  await openCold(page, path);
  const files = filesIn(asked).length;
  const shifts: Shift[] = await page.evaluate("shifts");
  const pale: string[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    pale.push(...(await page.evaluate(paleLinks, LEAST_CONTRAST)));
  }
  await context.close();
  return { path, files, shifts, pale };
}

describe.each([DESK, PHONE])("each page, cold, at $width px", (size) => {
  const seen: Seen[] = [];

  beforeAll(async () => {
    const all = PAGES.flatMap(([person, paths]) => paths.map((path) => [person, path] as const));
    // Most of a cold load is waiting.
    const walk = async () => {
      for (let next = all.shift(); next !== undefined; next = all.shift())
        seen.push(await look(...next, size));
    };
    await Promise.all([walk(), walk(), walk()]);
  }, 240_000);

  it("asks for few files", () => {
    const counts = seen.map(({ files }) => files);
    process.stdout.write(`files of a page: ${Math.max(...counts)} at most\n`);
    // The page itself, its script and its style at least.
    expect(Math.min(...counts)).toBeGreaterThan(2);
    expect(seen.filter(({ files }) => files > MOST_FILES)).toEqual([]);
  });

  it("stands still", () => {
    const sum = (shifts: readonly Shift[]) => shifts.reduce((total, { value }) => total + value, 0);
    expect(seen.filter(({ shifts }) => sum(shifts) > MOST_SHIFT)).toEqual([]);
  });

  it("shows links that can be told and read, light and dark", () => {
    expect(seen.filter(({ pale }) => pale.length > 0)).toEqual([]);
  });
});
