// The console against a server that answers as plain One API does, in a real browser: every task works without our additions
// (no total, no size, nulls, missing data, redirects of trailing slashes).
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type OneApiServer, startOneApi } from "#test/emulators/one-api-server.ts";
import { launchBrowser, openContext, screenshot } from "#test/worlds/browser.ts";
import { buildConsole } from "#test/worlds/build.ts";

let server: OneApiServer;
let browser: Browser;
let context: BrowserContext;
let page: Page;
const complaints: string[] = [];

async function logIn(username: string, password: string): Promise<void> {
  await page.goto("/login");
  await page.getByRole("textbox", { name: "用户名" }).fill(username);
  await page.getByRole("textbox", { name: "密码" }).fill(password);
  await page.getByRole("button", { name: "登录", exact: true }).click();
}

/** The row of a table that shows this text. */
function row(text: string | RegExp) {
  return page.locator("tbody tr.ant-table-row", { hasText: text });
}

/** What a card of the log shows. */
async function figure(name = ""): Promise<string | null> {
  return page
    .locator(".tg-figure", { has: page.getByText(name, { exact: true }) })
    .locator("strong")
    .textContent();
}

async function submit(): Promise<void> {
  await page.getByRole("button", { name: "提交", exact: true }).click();
}

async function signIn(username = "root"): Promise<void> {
  await logIn(username, username === "root" ? "123456" : "river-stone-42");
  await page.waitForURL(username === "root" ? "**/user/edit" : "**/token");
}

beforeAll(async () => {
  buildConsole();
  browser = await launchBrowser();
}, 180_000);

beforeEach(async () => {
  server = await startOneApi();
  context = await openContext(browser, server.url);
  page = await context.newPage();
  complaints.length = 0;
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().includes("status of 40"))
      complaints.push(message.text());
  });
  return async () => {
    await context.close();
    await server.close();
    expect(complaints).toEqual([]);
  };
});

afterAll(() => browser?.close());

describe("against plain One API", () => {
  it("logs in, keeps the session over a reload, and logs out", async () => {
    server.state.status.version = "v0.6.5";
    await logIn("root", "wrong-password");
    await page.getByText("用户名或密码错误，或用户已被封禁").first().waitFor();
    await signIn();
    await page.getByText("新版本可用：v0.6.5").waitFor();
    await page.goto("/token");
    await row("令牌12").waitFor();
    await page.getByRole("button", { name: /root/ }).click();
    await page.getByText("注销", { exact: true }).click();
    await page.waitForURL(/\/(login)?$/);
  });

  it("pages, sorts, searches, copies, switches, edits and deletes tokens", async () => {
    await signIn();
    await page.goto("/token");
    await row("令牌12").waitFor();
    expect(await row("令牌").count()).toBe(10);
    await page.getByRole("button", { name: "复制令牌 令牌12 的密钥" }).click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/^sk-k{40}0{6}12$/);
    await page.getByRole("columnheader", { name: "创建时间" }).first().click();
    await page.waitForURL(/order=created_time/);
    await expect.poll(() => row("令牌").first().textContent()).toContain("令牌3");
    await page.goto("/token");
    await page.getByTitle("2", { exact: true }).click();
    await row(/令牌1(?!\d)/).waitFor();
    await expect.poll(() => row("令牌").count()).toBe(2);
    await page.getByLabel("搜索令牌的名称").fill("令牌2");
    await page.keyboard.press("Enter");
    // The row stands on this page already.
    await page.waitForURL(/keyword=/);
    await row("令牌2").waitFor();
    await row("令牌2").getByRole("button", { name: "禁用" }).click();
    await row("令牌2").getByText("已禁用").waitFor();
    await row("令牌2").getByRole("button", { name: "编辑" }).click();
    await page.locator("#name").fill("改名");
    await submit();
    // The list is as it was left.
    await page.waitForURL(/\/token\?keyword=/);
    await page.goto("/token/add");
    await page.locator("#name").fill("新令牌");
    await submit();
    await page.waitForURL("**/token");
    await row("新令牌").getByRole("button", { name: "删除" }).click();
    await page.getByRole("button", { name: "确认删除" }).click();
    await row("新令牌").waitFor({ state: "detached" });
    expect(server.state.tokens.map(({ name }) => name)).toContain("改名");
    // The row goes at once, before the server has answered.
    await expect.poll(() => server.state.tokens.length).toBe(12);
  });

  it("shows that a page behind a full one is empty, and leads back", async () => {
    server.state.tokens.splice(10);
    await signIn();
    await page.goto("/token");
    await row("令牌10").waitFor();
    await page.getByTitle("2", { exact: true }).click();
    await page.getByText("没有更多内容了").waitFor();
    await page.getByRole("button", { name: "回到第一页" }).click();
    await row("令牌10").waitFor();
  });

  it("lists, adds, edits, tests and deletes channels whose fields are null", async () => {
    await signIn();
    await page.goto("/channel");
    await row("老渠道").waitFor();
    await row("老渠道").getByRole("button", { name: "测试", exact: true }).click();
    await page.getByText("测试成功").first().waitFor();
    await row("老渠道").getByText("1.23 秒").waitFor();
    await row("老渠道").getByRole("button", { name: "编辑" }).click();
    await page.locator("#name").fill("旧渠道");
    await submit();
    await page.waitForURL("**/channel");
    await row("旧渠道").waitFor();
    expect(server.state.channels[0]).toMatchObject({
      name: "旧渠道",
      models: "gpt-3.5-turbo,gpt-4",
      // Fields that were not edited are not sent.
      priority: null,
    });
    await page.goto("/channel/add");
    await page.locator("#name").fill("新渠道");
    await page.locator("#key").fill("sk-upstream");
    await page.getByRole("button", { name: "填入相关模型" }).click();
    await screenshot(page, "plain-channel-form");
    await submit();
    await page.waitForURL("**/channel");
    await row("新渠道").getByRole("button", { name: "禁用" }).click();
    await row("新渠道").getByText("已禁用").waitFor();
    await row("新渠道").getByRole("button", { name: "测试", exact: true }).click();
    await page
      .getByText(/invalid api key/)
      .first()
      .waitFor();
    await screenshot(page, "plain-channels");
    await page.getByRole("button", { name: "测试所有渠道" }).click();
    await page.getByText("已开始测试所有渠道").waitFor();
    await page.getByRole("button", { name: "删除禁用渠道" }).click();
    await page.getByRole("button", { name: "确认删除" }).click();
    await page.getByText("共计 1 个").waitFor();
    await row("旧渠道").getByLabel("渠道 旧渠道 的优先级").fill("7");
    await page.keyboard.press("Enter");
    await expect.poll(() => server.state.channels[0]?.priority).toBe(7);
  });

  it("creates, bans, edits and deletes users", async () => {
    await signIn();
    await page.goto("/user/add");
    await page.getByLabel("用户名").fill("zhangwei");
    await page.locator("#password").fill("longlong-pass-9");
    await submit();
    await page.waitForURL("**/user");
    await row("zhangwei").getByRole("button", { name: "禁用" }).click();
    await row("zhangwei").getByText("已封禁").waitFor();
    await row("zhangwei").getByRole("button", { name: "编辑" }).click();
    await page.locator("#quota").fill("2500000");
    await submit();
    await page.waitForURL("**/user");
    await row("zhangwei").getByText("$5.00").waitFor();
    await row("zhangwei").getByRole("button", { name: "删除" }).click();
    await page.getByRole("textbox", { name: /请输入/ }).fill("zhangwei");
    await page.getByRole("button", { name: "确认删除" }).click();
    await row("zhangwei").waitFor({ state: "detached" });
    expect(server.state.users.map(({ username }) => username)).toEqual(["root", "lihua"]);
  });

  it("makes codes that top up, once", async () => {
    await signIn();
    await page.goto("/redemption/add");
    await page.locator("#name").fill("十月");
    await page.locator("#count").fill("2");
    const coming = page.waitForEvent("download");
    await submit();
    expect((await coming).suggestedFilename()).toBe("十月.txt");
    await page.getByText("已生成 2 个兑换码").waitFor();
    await page.getByRole("button", { name: "完成" }).click();
    await expect.poll(() => row("十月").count()).toBe(2);
    const code = server.state.redemptions[0]?.key ?? "";
    await page.goto("/topup");
    await page.locator("#key").fill(code);
    await page.getByRole("button", { name: "兑换" }).click();
    await page.getByText("充值成功！到账 $0.20").waitFor();
    await page.locator("#key").fill(code);
    await page.getByRole("button", { name: "兑换" }).click();
    await page.getByText("该兑换码已被使用").first().waitFor();
    await page.goto("/redemption");
    await row("已使用").waitFor();
  });

  it("shows the log with its sums, also one's own, whose entries have no number", async () => {
    await signIn();
    await page.goto("/log");
    await row("gpt-3.5-turbo").first().waitFor();
    expect(await row("gpt-3.5-turbo").count()).toBe(10);
    await page.getByText("18,000 点").waitFor();
    // The server gives no other sum: that is no 0.
    for (const [name, value] of [
      ["总消耗额度", "$0.04"],
      ["Tokens", "—"],
      ["调用次数", "—"],
    ])
      expect(await figure(name)).toBe(value);
    await context.clearCookies();
    await page.evaluate(() => localStorage.clear());
    await signIn("lihua");
    await page.goto("/log");
    await row("gpt-3.5-turbo").first().waitFor();
    expect(await row("gpt-3.5-turbo").count()).toBe(6);
    await row("gpt-3.5-turbo").nth(2).click();
    await page.getByRole("dialog").getByText("模型倍率 0.75").first().waitFor();
    await screenshot(page, "plain-log");
  });

  it("saves options, and an ordinary user sees their own settings", async () => {
    await signIn();
    await page.goto("/setting?tab=operation");
    await page.getByLabel("失败重试次数").fill("3");
    await page.getByLabel("失败重试次数").press("Enter");
    await expect.poll(() => server.state.options.get("RetryTimes")).toBe("3");
    await page.goto("/setting?tab=other");
    await page.getByLabel("系统名称").fill("收费站");
    await page.getByRole("button", { name: "保存个性化设置" }).click();
    await expect.poll(() => server.state.options.get("SystemName")).toBe("收费站");
    await context.clearCookies();
    await page.evaluate(() => localStorage.clear());
    await signIn("lihua");
    await page.goto("/setting");
    await page.getByRole("button", { name: "复制邀请链接", exact: true }).click();
    expect(await page.getByLabel("邀请链接", { exact: true }).inputValue()).toMatch(/register\?aff=A2bC$/);
  });

  it("stays usable on pages whose calls such a server does not know", async () => {
    await signIn();
    await page.goto("/partnerplan");
    await page.getByText("错误：服务器没有这项功能（HTTP 404）").first().waitFor();
    await page.getByText("最高返利 10%").first().waitFor();
    for (const path of ["/dashboard", "/playground", "/partnerplan", "/pricing", "/"]) {
      await page.goto(path);
      await page.waitForLoadState("networkidle");
      // The code of a page may come after the calls on a busy machine.
      await page.locator("main, h1").first().waitFor();
      await screenshot(page, `plain${path.replace("/", "-")}`);
    }
  });
});
