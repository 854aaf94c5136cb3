// Each page of the console in a real browser that has none of its files, in Chinese and in English, on a wide screen and on a telephone, light
// and dark: how many files it asks for, how far it shifts while it comes, whether its links can be read, what breaks the rules of
// accessibility (axe), whether it scrolls sideways, what it says in which language, and what it complains of.
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { screenshot } from "#test/worlds/browser.ts";
import { adminPages, furnishFirst, guestPages, userPages } from "#test/worlds/console-pages.ts";
import { createConsoleWorld, type Person } from "#test/worlds/console-world.ts";
import { DESK, fits, PHONE, settled, violations } from "#test/worlds/page-looks.ts";
import { chineseOn } from "#test/worlds/page-texts.ts";
import { IS_SOAK } from "#test/worlds/soak.ts";

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

interface Look {
  readonly size: typeof DESK;
  readonly colorScheme: "light" | "dark";
}

/** Beside each other stand two that have neither size nor colours in common. */
const LOOKS: readonly Look[] = [
  { size: DESK, colorScheme: "light" },
  { size: PHONE, colorScheme: "dark" },
  { size: PHONE, colorScheme: "light" },
  { size: DESK, colorScheme: "dark" },
];

/** One cold load: the page comes in the first look, and is looked at again in the second. */
interface Visit {
  readonly locale: "zh-CN" | "en-US";
  readonly looks: readonly [Look, Look];
}

/**
 * The cold loads of the page at this place in its list: in a soak four, so that each language is seen in each look. Else two, so that every page has each
 * language, size and colours, comes at each size, and is judged at each size and in both colours; which of them meet goes in turn.
 */
function visitsOf(place: number): readonly Visit[] {
  const visit = (locale: Visit["locale"], first: number): Visit => {
    const [look, opposite] = [LOOKS[first], LOOKS[first ^ 1]];
    if (!look || !opposite) throw new Error(`there is no look ${first}`);
    return { locale, looks: [look, opposite] };
  };
  if (IS_SOAK) return [visit("zh-CN", 0), visit("zh-CN", 2), visit("en-US", 1), visit("en-US", 3)];
  const first = place % LOOKS.length;
  return [visit("zh-CN", first), visit("en-US", first ^ 1)];
}

const world = createConsoleWorld();
furnishFirst(world);

/** Opens a page as a browser that has none of its files. */
async function openCold(page: Page, path: string): Promise<void> {
  const client = await page.context().newCDPSession(page);
  await client.send("Network.setCacheDisabled", { cacheDisabled: true });
  await page.goto(path);
  await settled(page);
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
  Object.assign(window, { shifts });
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
  readonly visit: string;
  readonly files: number;
  readonly shifts: readonly Shift[];
  /** Links that cannot be told or read, by look. */
  readonly pale: readonly string[];
  /** What axe finds, by look. */
  readonly violations: readonly string[];
  /** Looks in which it scrolls sideways. */
  readonly wide: readonly string[];
  /** In English. */
  readonly chinese: readonly string[];
  /** What was refused by the content policy, Trusted Types among it, and what failed. */
  readonly complaints: readonly string[];
}

const nameOf = ({ size, colorScheme }: Look) => `${colorScheme} ${size.width}`;

/** Opens a page and looks at it. The rules of accessibility are about its parts, whatever they say: in one language, but for a soak. */
async function see(person: Person | undefined, path: string, { locale, looks }: Visit): Promise<Seen> {
  const [first] = looks;
  const { page, context, asked, complaints } = await world.visit(person, first.size, { locale });
  await page.emulateMedia({ colorScheme: first.colorScheme });
  await page.addInitScript(watchShifts);
  await openCold(page, path);
  const files = filesIn(asked).length;
  const shifts: Shift[] = await page.evaluate("shifts");
  const chinese = locale === "en-US" ? await chineseOn(page) : [];
  const [pale, found, wide]: [string[], string[], string[]] = [[], [], []];
  for (const look of looks) {
    const name = nameOf(look);
    await page.setViewportSize(look.size);
    await page.emulateMedia({ colorScheme: look.colorScheme });
    await settled(page);
    if (!(await fits(page, look.size.width))) wide.push(name);
    await screenshot(page, `page-${locale}${path.replace(/\W+/g, "-")}-${name.replace(" ", "-")}`);
    if (locale === "en-US" && !IS_SOAK) continue;
    pale.push(...(await page.evaluate(paleLinks, LEAST_CONTRAST)).map((link) => `${name} ${link}`));
    found.push(...(await violations(page)).map((violation) => `${name} ${violation}`));
  }
  await context.close();
  const visit = `${locale} ${nameOf(first)}`;
  return { path, visit, files, shifts, pale, violations: found, wide, chinese, complaints };
}

describe("each page, cold", () => {
  const seen: Seen[] = [];

  beforeAll(
    async () => {
      const all = PAGES.flatMap(([person, paths]) =>
        paths.flatMap((path, place) => visitsOf(place).map((visit) => [person, path, visit] as const)),
      );
      const expected = all.length;
      // Half of a cold load is waiting.
      const walk = async () => {
        for (let next = all.shift(); next !== undefined; next = all.shift()) seen.push(await see(...next));
      };
      await Promise.all([walk(), walk(), walk()]);
      expect(seen.length).toBe(expected);
    },
    IS_SOAK ? 3_600_000 : 1_200_000,
  );

  it("asks for few files", () => {
    const counts = seen.map(({ files }) => files);
    process.stdout.write(`files of a page: ${Math.max(...counts)} at most\n`);
    // The page itself, its script and its style at least.
    expect(Math.min(...counts)).toBeGreaterThan(2);
    expect(seen.filter(({ files }) => files > MOST_FILES)).toEqual([]);
  });

  it("stands still", () => {
    const sums = seen
      .map(({ path, visit, shifts }) => {
        const sum = shifts.reduce((total, { value }) => total + value, 0);
        return { path, visit, sum, moved: shifts.map(({ moved }) => moved) };
      })
      .toSorted((one, other) => other.sum - one.sum);
    const [most] = sums;
    process.stdout.write(`pages move by ${most?.sum.toFixed(4)} at most: ${most?.visit} ${most?.path}\n`);
    expect(sums.filter(({ sum }) => sum > MOST_SHIFT)).toEqual([]);
  });

  it("shows links that can be told and read, light and dark", () => {
    expect(seen.filter(({ pale }) => pale.length > 0)).toEqual([]);
  });

  it("has no serious violation of accessibility, light and dark, 1440 and 390 px", () => {
    expect(seen.filter(({ violations: all }) => all.length > 0)).toEqual([]);
  });

  it("does not scroll sideways, in either language", () => {
    expect(seen.filter(({ wide }) => wide.length > 0)).toEqual([]);
  });

  it("says nothing in Chinese to readers of English", () => {
    expect(seen.filter(({ chinese }) => chinese.length > 0)).toEqual([]);
  });

  it("has nothing refused by the content policy, and nothing that fails", () => {
    expect(seen.filter(({ complaints }) => complaints.length > 0)).toEqual([]);
  });
});
