// What stands on a page stays where it is: while answers come in, and whatever length they have. A real browser against the real
// server.
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { createConsoleWorld } from "#test/worlds/console-world.ts";

const DESK = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
/** How long an answer takes: long enough that what waits for it has been drawn. */
const ANSWER_MS = 150;
/** What may move, as browsers count it (cumulative layout shift); pages are called good up to 0.1. */
const STILL = 0.005;

const logRow = (id: number) => ({
  id,
  user_id: 1,
  created_at: 1_780_000_000 + id,
  channel: 1,
  channel_name: "渠道一号",
  username: "root",
  token_name: "生产环境",
  type: 2,
  model_name: "claude-opus-5.5-20261101",
  prompt_tokens: 123_456_789,
  completion_tokens: 678,
  quota: 123_456,
  content: "模型倍率 2.5，补全倍率 5，分组倍率 1",
});

const world = createConsoleWorld();

/** Sums up what moves, from the first picture on. */
async function watchShifts(page: Page): Promise<void> {
  await page.addInitScript(() => {
    Object.assign(window, { shifted: 0 });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        // Put there by the line above; entries of this type have a value.
        const sum = window as unknown as { shifted: number };
        sum.shifted += (entry as PerformanceEntry & { value: number }).value;
      }
    }).observe({ type: "layout-shift", buffered: true });
  });
}

async function shiftsOf(page: Page, path: string): Promise<number> {
  await page.goto(path);
  await page.waitForLoadState("networkidle");
  await page.waitForFunction(() => document.querySelector(".tg-bone, .ant-skeleton-active") === null);
  // Put there by `watchShifts`.
  return page.evaluate(() => (window as unknown as { shifted: number }).shifted);
}

describe("nothing moves while a page loads", () => {
  it.each([DESK, PHONE])(
    "$width px",
    async (size) => {
      for (const [person, paths] of [
        [undefined, ["/", "/login", "/partnerplan"]],
        ["lihua", ["/dashboard", "/topup", "/partnerplan", "/playground"]],
      ] as const) {
        const { page, context } = await world.visit(person, size);
        await watchShifts(page);
        await page.route("**/api/**", async (route) => {
          await new Promise((resolve) => setTimeout(resolve, ANSWER_MS));
          await route.continue();
        });
        for (const path of paths) expect(await shiftsOf(page, path), `${person} ${path}`).toBeLessThan(STILL);
        await page.unrouteAll({ behavior: "ignoreErrors" });
        await context.close();
      }
    },
    60_000,
  );
});

it("no balance is told before it is known: the answer to a login says 0", async () => {
  const { page, context } = await world.visit("lihua");
  await page.route("**/api/user/self", (route) => route.fulfill({ status: 503, body: "" }));
  await page.goto("/topup");
  await page.getByRole("button", { name: "重试" }).waitFor();
  expect(await page.locator(".tg-balance").textContent()).toBe("余额—");
  expect(await page.getByText("$0.00").count()).toBe(0);
  await page.unroute("**/api/user/self");
  await page.getByRole("button", { name: "重试" }).click();
  await page.locator(".tg-balance", { hasText: "$0.00" }).waitFor();
  await context.close();
});

describe("names without end on a phone", () => {
  it("of friends do not make the page scroll sideways", async () => {
    const { page, context } = await world.visit("lihua", PHONE);
    const data = [{ invited_time: 1_700_000_000, username: `github_${"long-name-".repeat(6)}` }];
    await page.route("**/api/user/friends**", (route) =>
      route.fulfill({ json: { success: true, message: "", data, total: 1 } }),
    );
    await page.goto("/partnerplan");
    await page.getByText("共邀请了 1 位好友").waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(PHONE.width);
    await context.close();
  });

  it("that the log is filtered by stay within the page, with their button to remove them", async () => {
    const { page, context } = await world.visit("lihua", PHONE);
    await page.goto(`/log?model_name=${"accounts-and-models-".repeat(5)}`);
    const remove = page.getByLabel(/^移除筛选 模型/);
    await remove.waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(PHONE.width);
    const { x, width } = (await remove.boundingBox()) ?? { x: Number.NaN, width: 0 };
    expect(x + width).toBeLessThan(PHONE.width);
    await context.close();
  });

  it("of the system leave the menu its button to close, and the guest pages their links to login and registration", async () => {
    await world.setOption("SystemName", "某某科技有限公司大模型统一接口服务平台");
    const { page, context } = await world.visit(undefined, PHONE);
    await page.goto("/login");
    expect(await page.locator(".tg-guest-brand").evaluate((brand) => brand.clientHeight)).toBeLessThan(32);
    await page.goto("/docs");
    await page.getByRole("button", { name: "打开菜单" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "关闭" }).click();
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await context.close();
  });
});

describe("the place on a page", () => {
  const place = (page: Page) => page.evaluate(() => window.scrollY);
  const height = (page: Page) => page.evaluate(() => document.documentElement.scrollHeight);

  /** Scrolls as soon as the page is long enough for it. */
  async function scrollTo(page: Page, top: number): Promise<void> {
    await expect
      .poll(() =>
        page.evaluate((top) => {
          window.scrollTo(0, top);
          return window.scrollY;
        }, top),
      )
      .toBe(top);
  }

  /** A log of 20 calls, left at its end and loaded again, whose calls come once `arrive` is called. */
  async function reloadLate() {
    const { page, context } = await world.visit("root", { width: 390, height: 500 });
    const data = Array.from({ length: 20 }, (_, index) => logRow(index + 1));
    const late = Promise.withResolvers<void>();
    let isLate = false;
    await page.route("**/api/log/?**", async (route) => {
      if (isLate) await late.promise;
      await route.fulfill({ json: { success: true, message: "", data, total: 20 } });
    });
    await page.goto("/log");
    await page.getByText("claude-opus-5.5-20261101").nth(19).waitFor();
    const end = (await height(page)) - 500;
    await scrollTo(page, end);
    isLate = true;
    await page.reload();
    await page.getByRole("main").waitFor();
    expect(await place(page)).toBeLessThan(end);
    return { page, context, end, arrive: () => late.resolve() };
  }

  it("is kept over a reload, and is not another page's", async () => {
    const { page, context } = await world.visit("wangfang", { width: 390, height: 500 });
    await page.goto("/dashboard");
    await scrollTo(page, 60);
    await page.reload();
    await expect.poll(() => place(page)).toBe(60);
    await page.goto("/channel");
    await page.waitForLoadState("networkidle");
    expect(await place(page)).toBe(0);
    await context.close();
  });

  it("is kept when the content comes after the page", async () => {
    const { page, context, end, arrive } = await reloadLate();
    arrive();
    await expect.poll(() => place(page)).toBe(end);
    await context.close();
  });

  it("is the reader's who scrolls before the content comes", async () => {
    const { page, context, end, arrive } = await reloadLate();
    await page.mouse.move(200, 250);
    await page.mouse.wheel(0, -5_000);
    await expect.poll(() => place(page)).toBe(0);
    arrive();
    await expect.poll(() => height(page)).toBe(end + 500);
    expect(await place(page)).toBe(0);
    await context.close();
  });
});

describe("on paper", () => {
  it("the log is as wide as the sheet, dark on white, without menu and buttons", async () => {
    // As wide as A4 between its margins.
    const { page, context } = await world.visit("root", { width: 718, height: 1000 });
    const data = Array.from({ length: 20 }, (_, index) => logRow(index + 1));
    await page.route("**/api/log/?**", (route) =>
      route.fulfill({ json: { success: true, message: "", data, total: 20 } }),
    );
    await page.emulateMedia({ colorScheme: "dark" });
    await page.goto("/log");
    await page.getByText("claude-opus-5.5-20261101").first().waitFor();
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await page.getByRole("banner").waitFor({ state: "hidden" });
    expect(await page.getByRole("button").filter({ visible: true }).count()).toBe(0);
    const table = page.locator(".tg-resource .ant-table-tbody").first();
    expect((await table.boundingBox())?.width).toBeLessThanOrEqual(718);
    const amount = page.getByText("123,456,789").first();
    const { x, width } = (await amount.boundingBox()) ?? { x: 0, width: 0 };
    expect(x + width).toBeLessThan(718);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(718);
    expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe("light");
    await context.close();
  });
});
