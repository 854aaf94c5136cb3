// A cold load of each page in a real browser: how many files it asks for.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startHttpEmulator } from "#test/emulators/http-emulator.ts";
import { adminPages, furnish, guestPages, userPages } from "#test/worlds/console-pages.ts";
import { type ConsoleWorld, openConsoleWorld, type Person } from "#test/worlds/console-world.ts";

const DESK = { width: 1440, height: 900 };
/** Over HTTP/1.1 each six files cost a round trip. */
const MOST_FILES = 25;

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
