// For readers of English: every page of the console says in English what it says, its names, titles and hints among it, and fits; the
// server's refusals and letters follow; who chooses a language keeps it, in this browser and, with an account, in every other.
import type { LLMock } from "@copilotkit/aimock";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startAimock, upstreamKey } from "#test/emulators/aimock.ts";
import { screenshot } from "#test/worlds/browser.ts";
import { adminPages, furnish, guestPages, userPages } from "#test/worlds/console-pages.ts";
import { type ConsoleWorld, openConsoleWorld, type Person } from "#test/worlds/console-world.ts";

const DESK = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
let world: ConsoleWorld;
let mock: LLMock;

beforeAll(async () => {
  world = await openConsoleWorld();
  mock = await startAimock();
  await furnish(world, { url: mock.url, key: upstreamKey });
}, 180_000);

afterAll(async () => {
  await world?.close();
  await mock?.stop();
});

/** What users and operators of the furnished installation wrote, the names that permission sets begin with, and Chinese by its own name. */
const WRITTEN =
  /上游[一二三]号|账号[甲乙]|十月活动|今晚|维护|生产环境|测试|研发一组|(中 )?简体中文|^中$|审计员|财务|客服|渠道运维/g;

async function settled(page: Page): Promise<void> {
  await page.waitForLoadState("networkidle");
  await page.locator("main").first().waitFor();
  await page.waitForFunction(() => document.querySelector(".tg-bone, .ant-spin-spinning") === null);
}

/** Every text of the page that is seen, read out or shown as a hint. */
function textsOf(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const texts = [document.title];
    const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = nodes.nextNode(); node; node = nodes.nextNode())
      if (node.parentElement?.closest("script, style, noscript") === null) texts.push(node.textContent ?? "");
    for (const element of document.querySelectorAll("[aria-label], [title], [placeholder], [alt]"))
      for (const name of ["aria-label", "title", "placeholder", "alt"])
        texts.push(element.getAttribute(name) ?? "");
    return texts;
  });
}

/** Chinese words and punctuation among what the page says itself. */
async function chineseOn(page: Page): Promise<string[]> {
  const own = (await textsOf(page)).map((text) => text.replace(WRITTEN, ""));
  return [...new Set(own.filter((text) => /[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]/.test(text)))];
}

interface Finding {
  readonly path: string;
  readonly found: readonly string[];
}

async function judge(page: Page, path: string): Promise<Finding[]> {
  await page.setViewportSize(DESK);
  await page.goto(path);
  await settled(page);
  const found = await chineseOn(page);
  for (const size of [DESK, PHONE]) {
    await page.setViewportSize(size);
    await settled(page);
    // The page follows its window a moment later.
    const fits = await page
      .waitForFunction((width) => document.documentElement.scrollWidth <= width, size.width, {
        timeout: 5_000,
      })
      .catch(() => undefined);
    if (fits === undefined) found.push(`scrolls sideways at ${size.width}`);
    if (process.env["SCREENSHOTS"] !== undefined)
      await screenshot(page, `english-${path.replace(/\W+/g, "-")}-${size.width}`);
  }
  return found.length === 0 ? [] : [{ path, found }];
}

async function judgeAll(person: Person | undefined, paths: readonly string[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  const left = [...paths];
  const walk = async () => {
    const { page, context, complaints } = await world.visit(person, DESK, { locale: "en-US" });
    for (let path = left.shift(); path !== undefined; path = left.shift())
      findings.push(...(await judge(page, path)));
    expect(complaints).toEqual([]);
    await context.close();
  };
  await Promise.all([walk(), walk()]);
  return findings;
}

describe("every page in English, 1440 and 390 px: no Chinese, no sideways scroll", () => {
  it("of guests", async () => {
    expect(await judgeAll(undefined, guestPages)).toEqual([]);
  }, 480_000);

  it("of users", async () => {
    expect(await judgeAll("lihua", userPages)).toEqual([]);
  }, 480_000);

  it("of administrators", async () => {
    expect(await judgeAll("root", adminPages)).toEqual([]);
  }, 600_000);
});

describe("the choice of a language", () => {
  it("of a guest stays in the browser, and the server's refusals follow it", async () => {
    const { page, context } = await world.visit(undefined, DESK, { locale: "en-US" });
    await page.goto("/login");
    await expect.poll(() => page.evaluate(() => document.documentElement.lang)).toBe("en");
    const refusal = async () => {
      const data = { username: "lihua", password: "not-the-password" };
      const answer: { message: string } = await (
        await context.request.post("/api/user/login", { data })
      ).json();
      return answer.message;
    };
    // The request of a test names no language of its own: the choice is in the cookie.
    await page.getByRole("button", { name: "简体中文" }).click();
    await page.getByRole("button", { name: "English" }).waitFor();
    expect(await page.evaluate(() => document.documentElement.lang)).toBe("zh-CN");
    expect(await refusal()).toMatch(/[\u3400-\u9fff]/);
    await page.getByRole("button", { name: "English" }).click();
    await page.getByRole("button", { name: "简体中文" }).waitFor();
    expect(await refusal()).toMatch(/^[ -~]+$/);
    await context.close();
  });

  it("of a user goes along to another browser", async () => {
    const first = await world.visit("wangfang");
    await first.page.goto("/token");
    await first.page.getByRole("button", { name: /用户菜单/ }).click();
    await first.page.getByRole("menuitem", { name: "English" }).click();
    await first.page.getByRole("heading", { level: 1, name: "Tokens" }).waitFor();
    await first.context.close();
    const second = await world.visit("wangfang");
    await second.page.goto("/token");
    await second.page.getByRole("heading", { level: 1, name: "Tokens" }).waitFor();
    await second.context.close();
  });
});
