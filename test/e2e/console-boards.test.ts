// What administrators look at and decide: the dashboard, withdrawals, edits of users that call meanwhile, the colour of the console and
// where releases come from. A real browser against the real server.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { type HttpEmulator, startHttpEmulator } from "#test/emulators/http-emulator.ts";
import { screenshot } from "#test/worlds/browser.ts";
import { createConsoleWorld } from "#test/worlds/console-world.ts";
import { manage, rootKey } from "#test/worlds/process.ts";

const MODEL = "gpt-4o-mini";
const world = createConsoleWorld();
let upstream: HttpEmulator;

/** Calls the relay; the upstream fails when it is told to. */
async function ask(content: string, key = rootKey): Promise<number> {
  const response = await fetch(`${world.server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer sk-${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: MODEL, messages: [{ role: "user", content }] }),
  });
  await response.text();
  return response.status;
}

beforeAll(async () => {
  upstream = await startHttpEmulator(({ body }) =>
    body.includes("please fail")
      ? { status: 500, json: { error: { message: "down" } } }
      : {
          json: {
            id: "c",
            object: "chat.completion",
            created: 1,
            model: MODEL,
            choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
            usage: { prompt_tokens: 1000, completion_tokens: 500, total_tokens: 1500 },
          },
        },
  );
  await manage(world.server.url, "POST", "/api/channel/", {
    type: 8,
    name: "主线路",
    key: "upstream-key",
    base_url: upstream.url,
    models: MODEL,
    group: "default",
  });
}, 180_000);

afterAll(() => upstream?.close());

describe("the dashboard", () => {
  it("of a new user says what to do first, and shows no site", async () => {
    const { page, context } = await world.visit("lihua");
    await page.goto("/dashboard?view=site&days=30");
    await page.getByText("近 30 天没有调用").waitFor();
    await page.getByText("历史消费 $0.00").waitFor();
    expect(await page.getByText("全站").count()).toBe(0);
    await page.getByRole("link", { name: "去操练场试试" }).waitFor();
    await context.close();
  });

  it("shows administrators spend, users, channels and failures, each leading to its part of the log", async () => {
    for (let index = 0; index < 3; index += 1) expect(await ask("hello")).toBe(200);
    expect(await ask("please fail")).toBeGreaterThanOrEqual(500);
    const { page, context } = await world.visit("root");
    await page.goto("/dashboard");
    const figures = page.locator(".tg-board-figure");
    await figures.filter({ hasText: "失败率" }).getByText("25.0%").waitFor();
    await figures.filter({ hasText: "失败率" }).getByText("4 次中失败 1 次").waitFor();
    await figures.filter({ hasText: "近 7 天 Tokens" }).getByText("4.5K").waitFor();
    await page.locator(".tg-chart-canvas canvas").first().waitFor();
    await page.getByText("近期没有流式调用，所以没有首字时间").waitFor();
    const users = page.locator("section", { has: page.getByRole("heading", { name: "用户排行" }) });
    await users.getByRole("row", { name: /root.*100\.0%.*3/ }).waitFor();
    const heat = page.locator("section", { has: page.getByRole("heading", { name: "使用时段" }) });
    const cells = (await heat.locator("tbody td").allInnerTexts()).map(Number);
    expect(cells).toHaveLength(168);
    expect(Math.max(...cells)).toBe(3);
    await heat.locator('td[data-level="5"]').hover();
    await heat.getByText(/周. \d\d:00–\d\d:00：3 次请求/).waitFor();
    await screenshot(page, "dashboard-site");
    await page.getByRole("link", { name: "主线路" }).click();
    // The log is that of the dashboard's days.
    await page.waitForURL(/\/log\?channel=1&start=\d+$/);
    await context.close();
  });

  it("leads to the calls that failed, which tell why; on a phone too", async () => {
    const { page, context } = await world.visit("root");
    await page.goto("/dashboard");
    await page.getByRole("link", { name: "4 次中失败 1 次" }).click();
    await page.waitForURL(/\/log\?type=6&start=\d+$/);
    const row = page.getByRole("row", { name: /错误/ });
    await row.getByText("上游服务出错，请稍后再试（500 upstream_error）").waitFor();
    expect(await page.getByRole("row", { name: /gpt-4o-mini/ }).count()).toBe(1);
    // There are neither tokens nor charges to speak of.
    expect(await page.getByRole("columnheader", { name: /提示|补全|额度/ }).count()).toBe(0);
    await screenshot(page, "log-errors");
    await row.getByText("gpt-4o-mini").click();
    const details = page.getByRole("dialog", { name: "明细" });
    await details.getByText("upstream_error", { exact: true }).waitFor();
    await details.getByText("上游返回 500").waitFor();
    await details.getByText("上游服务出错，请稍后再试", { exact: true }).waitFor();
    expect(await details.getByText("补全").count()).toBe(0);
    expect(await details.getByText("完成请求").count()).toBe(0);
    await screenshot(page, "log-error-details");
    // Among calls that were charged: dashes, no zeros.
    await page.goto("/log");
    await row.waitFor();
    expect((await row.getByRole("cell").allInnerTexts()).filter((text) => text === "—")).toHaveLength(3);
    await context.close();
    const phone = await world.visit("root", { width: 390, height: 844 });
    await phone.page.goto("/log?type=6");
    await phone.page.getByText("上游服务出错，请稍后再试").waitFor();
    expect(await phone.page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    await screenshot(phone.page, "log-errors-phone");
    await phone.context.close();
  });

  it("tells which users, tokens and channels spent most today alone, without charts over days", async () => {
    const { page, context } = await world.visit("root");
    await page.goto("/dashboard");
    await page.getByText("今天", { exact: true }).click();
    await page.waitForURL(/days=1$/);
    const figures = page.locator(".tg-board-figure");
    await figures.filter({ hasText: "今日花费" }).getByText("昨日同期没有调用").waitFor();
    expect(await figures.filter({ hasText: "今日花费" }).count()).toBe(1);
    const models = page.locator("section", { has: page.getByRole("heading", { name: "模型占比" }) });
    await models.getByRole("row", { name: /gpt-4o-mini.*100\.0%.*3/ }).waitFor();
    expect(await page.locator(".tg-chart-canvas, .tg-heat").count()).toBe(0);
    await context.close();
  });

  it("has every number as a table too, and remembers period and view in the address", async () => {
    const { page, context } = await world.visit("root");
    await page.goto("/dashboard");
    await page.getByText("我的", { exact: true }).click();
    await page.waitForURL(/view=own/);
    await page.getByText("30 天", { exact: true }).click();
    await page.waitForURL(/view=own&days=30|days=30&view=own/);
    await page.getByRole("heading", { name: "令牌排行" }).waitFor();
    const daily = page.locator("section", { has: page.getByRole("heading", { name: "每日请求" }) });
    await daily.getByText("以表格查看").click();
    // The days of before stay until the others have come.
    await expect.poll(() => daily.getByRole("row").count()).toBe(31);
    expect(await daily.getByRole("row").last().textContent()).toMatch(/^\d\d-\d\d3$/);
    // An administrator's own figures do not lead to other users' calls.
    const links = page.getByRole("main").locator('a[href^="/log?"]');
    const addresses = await links.evaluateAll((all) => all.map((link) => link.getAttribute("href")));
    expect(addresses).not.toEqual([]);
    expect(addresses.filter((address) => !address?.endsWith("&username=root"))).toEqual([]);
    await context.close();
  });

  it("tells what went wrong when it cannot be had, and tries again", async () => {
    const { page, context } = await world.visit("lihua");
    await page.route("**/api/user/usage**", (route) => route.fulfill({ status: 500, body: "{}" }));
    await page.route("**/api/log/self/history", (route) => route.abort());
    await page.goto("/dashboard");
    await page.getByRole("button", { name: "重试" }).waitFor();
    await page.unroute("**/api/user/usage**");
    await page.getByRole("button", { name: "重试" }).click();
    await page.getByText("近 7 天没有调用").waitFor();
    await page.getByText("加载历史消费失败").waitFor();
    await context.close();
  });

  it("fits a phone in both themes", async () => {
    const { page, context } = await world.visit("root", { width: 390, height: 844 });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.goto("/dashboard");
      await page.locator(".tg-heat").waitFor();
      await page.waitForLoadState("networkidle");
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
      await screenshot(page, `dashboard-phone-${colorScheme}`);
    }
    await context.close();
  });
});

describe("withdrawals", () => {
  it("are noted once the balance is large enough: at least 100 yuan, at most what is owed", async () => {
    const { page, context } = await world.visit("wangfang");
    const row = page.getByRole("row", { name: /lihua/ });
    await page.goto("/user");
    await row.waitFor();
    expect(await row.getByRole("button", { name: "提现" }).count()).toBe(0);
    await manage(world.server.url, "PUT", "/api/user/", { id: 2, invite_commission_balance: "250.5" });
    await page.reload();
    await row.getByRole("button", { name: "提现" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("¥250.5").waitFor();
    const amount = dialog.getByLabel("提现金额");
    expect(await amount.inputValue()).toBe("250.5");
    const confirm = dialog.getByRole("button", { name: "确认已支付" });
    await amount.fill("99.99");
    await confirm.click();
    await dialog.getByText("提现金额不能少于 100 元").waitFor();
    await amount.fill("300");
    await confirm.click();
    await dialog.getByText("返现余额不足").waitFor();
    await amount.fill("200.25");
    await dialog.getByLabel("备注").fill("支付宝 2026-11");
    await screenshot(page, "withdrawal");
    await confirm.click();
    await page.getByText("提现已登记，剩余返现余额 ¥50.25").waitFor();
    await expect.poll(() => row.getByRole("button", { name: "提现" }).count()).toBe(0);
    await page.goto("/log?type=3");
    await page
      .getByText(/提现 ¥?200\.25.*支付宝 2026-11/)
      .first()
      .waitFor();
    await context.close();
  });
});

describe("a form of a user that calls meanwhile", () => {
  it("adds what was typed to what is left then, and undoes no usage", async () => {
    const { page, context } = await world.visit("root");
    await manage(world.server.url, "PUT", "/api/user/", { id: 2, quota: 1_000_000 });
    await page.goto("/user/edit/2");
    await page.locator("#quota").fill("3000000");
    // Calls spend 400,000 while the form is open.
    await manage(world.server.url, "PUT", "/api/user/", { id: 2, quota: 600_000 });
    await page.locator("#remark").fill("线下充值");
    await page.getByRole("button", { name: "提交" }).click();
    await page.waitForURL("**/user");
    const user = await manage(world.server.url, "GET", "/api/user/2");
    expect(user).toMatchObject({ quota: 2_600_000, invite_commission_balance: "50.25" });
    await context.close();
  });
});

describe("other settings", () => {
  it("colour the whole console by the option Theme, at once and for guests too", async () => {
    const { page, context } = await world.visit("root");
    const brand = () =>
      page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--tg-brand"));
    await page.goto("/setting?tab=other");
    await page.locator("#Theme").waitFor();
    const before = await brand();
    await page.locator("#Theme").click();
    await page.getByTitle("莓红（berry）").click();
    await page.getByRole("button", { name: "保存个性化设置" }).click();
    await expect.poll(brand).not.toBe(before);
    const berry = await brand();
    const guest = await world.visit();
    await guest.page.goto("/login");
    await expect
      .poll(() =>
        guest.page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--tg-brand")),
      )
      .toBe(berry);
    await world.setOption("Theme", "default");
    await guest.context.close();
    await context.close();
  });

  it("ask no other site about releases until a repository is named, and then only GitHub", async () => {
    const { page, context, asked } = await world.visit("root");
    await page.route("https://api.github.com/**", (route) =>
      route.fulfill({
        headers: { "access-control-allow-origin": "*" },
        json: { tag_name: "v9.9.9", body: "<img src=x onerror=alert(1)> 更快" },
      }),
    );
    await page.goto("/setting?tab=other");
    await page.getByRole("button", { name: "检查更新" }).click();
    await page.getByText("还没有设置更新来源").waitFor();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /关闭|Close/ })
      .click();
    await page.getByLabel("发布仓库").fill("not a repository");
    await page.getByRole("button", { name: "保存更新来源" }).click();
    await page.getByText("须为 owner/name 形式的 GitHub 仓库").waitFor();
    await page.getByLabel("发布仓库").fill("owner/name");
    await page.getByRole("button", { name: "保存更新来源" }).click();
    await page.getByText("操作成功").first().waitFor();
    const own = new URL(world.server.url).origin;
    expect(asked.filter((address) => new URL(address).origin !== own)).toEqual([]);
    // ReleaseRepository opens the content policy of the next page.
    await page.reload();
    await page.getByRole("button", { name: "检查更新" }).click();
    await page.getByText("新版本 v9.9.9 已发布").waitFor();
    await page.getByText("<img src=x onerror=alert(1)> 更快").waitFor();
    await page.unroute("https://api.github.com/**");
    const { version } = z
      .object({ version: z.string() })
      .parse(await manage(world.server.url, "GET", "/api/status"));
    await page.route("https://api.github.com/**", (route) =>
      route.fulfill({ headers: { "access-control-allow-origin": "*" }, json: { tag_name: `v${version}` } }),
    );
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /关闭|Close/ })
      .click();
    await page.getByRole("button", { name: "检查更新" }).click();
    await page.getByText(`已是最新版本：v${version}`).waitFor();
    const outside = new Set(asked.filter((address) => new URL(address).origin !== own));
    expect([...outside]).toEqual(["https://api.github.com/repos/owner/name/releases/latest"]);
    await context.close();
  });
});
