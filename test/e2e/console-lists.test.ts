// Lists in a real browser: what a search asks for, and what they are on a phone: every column of the specification, numbers
// that are edited in place, and an order of the user's choice.
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { startHttpEmulator } from "#test/emulators/http-emulator.ts";
import { furnish } from "#test/worlds/console-pages.ts";
import { createConsoleWorld } from "#test/worlds/console-world.ts";

const PHONE = { width: 390, height: 844 };
const world = createConsoleWorld();

beforeAll(async () => {
  const upstream = await startHttpEmulator(() => ({ status: 500, json: {} }));
  await furnish(world, { url: upstream.url, key: "up-key" });
  await upstream.close();
}, 180_000);

/** Terms and orders that a page asks a list for from now on. */
function asksOf(page: Page, path: string): string[] {
  const asks: string[] = [];
  page.on("request", (request) => {
    const { pathname, search } = new URL(request.url());
    if (pathname.startsWith(path) && request.method() === "GET") asks.push(pathname + search);
  });
  return asks;
}

/** The card of a row. */
function card(page: Page, text: string) {
  return page.getByRole("listitem").filter({ hasText: text });
}

describe("a search (requirements B5)", () => {
  it("asks the server each time, also for the same and for nothing", async () => {
    const { page, context } = await world.visit("lihua");
    await page.goto("/token");
    await page.getByText("生产环境").waitFor();
    const asks = asksOf(page, "/api/token/");
    const box = page.getByLabel("搜索令牌的名称");
    const search = async (text: string, count: number) => {
      await box.fill(text);
      await box.press("Enter");
      await expect.poll(() => asks.length).toBe(count);
      // The box keeps the keyboard.
      expect(await box.evaluate((input) => input === document.activeElement)).toBe(true);
    };
    await search("", 1);
    await search("  ", 2);
    await search("测试", 3);
    await search("测试", 4);
    await search("", 5);
    expect(asks.map((ask) => ask.includes("/search"))).toEqual([false, false, true, true, false]);
    await context.close();
  });
});

describe("tokens (requirements B3)", () => {
  it("tell the date of their end, and how far away it is on hover", async () => {
    const { page, context } = await world.visit("lihua");
    const day = 86_400;
    for (const [name, days, words] of [
      ["很久", 400, "1 年后"],
      ["快了", 2, /^(1|2) 天后过期$/],
      ["过了", -5, "5 天前已过期"],
    ] as const) {
      const at = Math.floor(Date.now() / 1000) + days * day;
      const data = { name, remain_quota: 1, expired_time: at, unlimited_quota: false };
      await context.request.post("/api/token/", { data });
      await page.goto("/token");
      const [date = ""] = new Date((at - new Date().getTimezoneOffset() * 60) * 1000)
        .toISOString()
        .split("T");
      const end = page.getByRole("row", { name }).getByText(date);
      await end.hover();
      await page.getByText(words).waitFor();
    }
    await context.close();
  });
});

describe("on a phone (requirements B2)", () => {
  it("cards of channels tell all their columns, and take priority and weight in place", async () => {
    const { page, context } = await world.visit("root", PHONE);
    await page.goto("/channel");
    const first = card(page, "上游一号");
    for (const fact of ["#1", "分组", "类型", "响应时间", "余额", "优先级", "权重"])
      await first.getByText(fact, { exact: true }).waitFor();
    const sent = page.waitForRequest((request) => request.method() === "PUT");
    const priority = first.getByLabel("渠道 上游一号 的优先级");
    await priority.fill("9");
    await priority.press("Enter");
    expect((await sent).postDataJSON()).toMatchObject({ priority: 9 });
    await context.close();
  });

  it.each([
    ["/token", "生产环境", ["已用额度", "剩余额度", "创建时间", "过期时间"]],
    ["/redemption", "十月活动", ["ID", "额度", "创建时间", "兑换时间"]],
    ["/user", "lihua", ["ID", "分组", "统计信息"]],
  ] as const)("cards of %s tell all their columns", async (path, row, facts) => {
    const { page, context } = await world.visit(path === "/token" ? "lihua" : "root", PHONE);
    await page.goto(path);
    for (const fact of facts) await card(page, row).first().getByText(fact, { exact: true }).waitFor();
    await context.close();
  });

  it.each([
    ["/token", "按创建时间排序", "created_time"],
    ["/channel", "按优先级排序", "priority"],
    ["/redemption", "按额度排序", "quota"],
    ["/user", "按请求次数排序", "request_count"],
    ["/user", "按用户名排序", "username"],
  ] as const)("%s can be put %s, both ways", async (path, choice, order) => {
    const { page, context } = await world.visit("root", PHONE);
    await page.goto(path);
    const asks = asksOf(page, `/api${path}/`);
    await page.getByRole("combobox", { name: "排序" }).press("Enter");
    await page.getByTitle(choice, { exact: true }).click();
    await expect.poll(() => asks.at(-1)).toMatch(new RegExp(`order=${order}&desc=true`));
    await page.getByRole("button", { name: "改为升序" }).click();
    await expect.poll(() => asks.at(-1)).toMatch(new RegExp(`order=${order}(?!.*desc=true)`));
    await page.getByRole("button", { name: "改为降序" }).waitFor();
    await context.close();
  });
});

describe("the filters of the log", () => {
  it("stay unfolded and half filled in while one of them is chosen", async () => {
    const { page, context } = await world.visit("root", PHONE);
    await page.goto("/log");
    await page.getByRole("button", { name: "筛选", exact: true }).click();
    await page.getByRole("textbox", { name: "渠道 ID" }).fill("7");
    await page.getByRole("combobox", { name: "选择明细分类" }).click();
    await page.locator(".ant-select-item-option", { hasText: "消费" }).click();
    await page.getByText("类型：消费").waitFor();
    expect(await page.getByRole("textbox", { name: "渠道 ID" }).inputValue()).toBe("7");
    // What is taken away outside of the fields is gone from them, too.
    await page.getByRole("button", { name: "清除全部" }).click();
    await expect.poll(() => page.getByRole("textbox", { name: "渠道 ID" }).inputValue()).toBe("");
    await context.close();
  });
});
