// Lines of the specification that no other test proves: what states, thresholds and units look like, what forms refuse, how long
// things take, which role sees which links. Rows of states that a server reaches rarely are put into its answers.
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { createConsoleWorld } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

const world = createConsoleWorld();

/** Answers a list with these rows, whatever the server holds. */
async function answer(page: Page, path: string, rows: readonly object[]): Promise<void> {
  await page.route(
    (url) => url.pathname === path,
    (route) =>
      route.request().method() === "GET"
        ? route.fulfill({ json: { success: true, message: "", data: rows, total: rows.length } })
        : route.continue(),
  );
}

const channel = (id: number, change: object) => ({
  id,
  type: 1,
  key: "",
  status: 1,
  name: `渠道${id}`,
  weight: 0,
  created_time: 1,
  test_time: 0,
  response_time: 0,
  base_url: "",
  other: "",
  balance: 0,
  balance_updated_time: 0,
  models: "gpt-4o",
  group: "default",
  used_quota: 0,
  model_mapping: "",
  priority: 0,
  config: "",
  ...change,
});

/** The ground of a tag, as its colour shows. */
async function groundOf(page: Page, row: RegExp, text: string): Promise<string> {
  const tag = page.getByRole("row", { name: row }).getByText(text, { exact: true });
  return tag.evaluate((element) => getComputedStyle(element).backgroundColor);
}

const GREEN = "rgb(227, 245, 234)";
const OLIVE = "rgb(240, 244, 214)";
const YELLOW = "rgb(252, 241, 199)";
const RED = "rgb(253, 231, 230)";
const BLACK = "rgb(230, 234, 237)";

describe("ways (requirements B1, B2)", () => {
  const MENUS = {
    guest: ["推广计划", "聊天", "文档", "价格", "模型广场"],
    lihua: [
      "总览",
      "令牌",
      "团队",
      "限额",
      "日志",
      "任务",
      "充值",
      "订阅",
      "账单",
      "推广计划",
      "操练场",
      "聊天",
      "文档",
      "价格",
      "模型广场",
      "设置",
    ],
    wangfang: [
      ..."总览 令牌 团队 限额 日志 任务 充值 订阅 账单 推广计划 操练场 聊天 文档 价格 模型广场".split(" "),
      ..."渠道 兑换 支付 套餐 模型与价格 毛利 对账 审计 用户 设置".split(" "),
    ],
  } as const;

  it.each(["guest", "lihua", "wangfang"] as const)("of %s are those of the role", async (who) => {
    const { page, context } = await world.visit(who === "guest" ? undefined : who);
    await page.goto("/partnerplan");
    const items = page.getByRole("menuitem");
    await items.first().waitFor();
    expect(await items.allTextContents()).toEqual([...MENUS[who]]);
    const buttons = page.getByRole("banner").getByRole("link", { name: /^(登录|注册)$/ });
    expect(await buttons.count()).toBe(who === "guest" ? 2 : 0);
    await context.close();
  });

  it("fold into a drawer on a phone, with the logout in the user menu", async () => {
    const { page, context } = await world.visit("lihua", { width: 390, height: 844 });
    await page.goto("/token");
    expect(await page.getByRole("menuitem").count()).toBe(0);
    await page.getByRole("button", { name: "打开菜单" }).click();
    await page.getByRole("menuitem", { name: "充值" }).click();
    await page.waitForURL("**/topup");
    await page.getByRole("button", { name: /用户菜单/ }).click();
    await page.getByRole("menuitem", { name: "个人设置" }).click();
    await page.waitForURL("**/setting");
    await page.getByRole("button", { name: /用户菜单/ }).click();
    await page.getByRole("menuitem", { name: "注销" }).click();
    await page.waitForURL("**/login");
    await context.close();
  });

  it("lead into the log of today, from where all of it is one press away; its bare address shows all of it", async () => {
    const { page, context } = await world.visit("lihua");
    await page.goto("/token");
    await page.getByRole("menuitem", { name: "日志" }).click();
    const midnight = await page.evaluate(() => new Date().setHours(0, 0, 0, 0) / 1000);
    await page.waitForURL(`**/log?start=${midnight}`);
    await page.getByRole("button", { name: "清除全部" }).click();
    await page.waitForURL("**/log");
    const asked = page.waitForRequest((request) => request.url().includes("/api/log/self/?"));
    await page.goto("/log");
    expect(new URL((await asked).url()).searchParams.get("start_timestamp")).toBe("0");
    await context.close();
  });

  it("lead back to where the guard stopped the user, and nowhere else from a page that is none", async () => {
    const { page, context } = await world.visit();
    await page.goto("/log?type=2");
    await page.waitForURL("**/login");
    await page.getByRole("textbox", { name: "用户名" }).fill("lihua");
    await page.getByRole("textbox", { name: "密码" }).fill("river-stone-42");
    await page.getByRole("button", { name: "登录", exact: true }).click();
    await page.waitForURL("**/log?type=2");
    await page.getByText("登录成功").waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "使用明细" }).waitFor();
    await page.goto("/no/such/page");
    await page.getByText("页面不存在").first().waitFor();
    await page.getByText("请检查你的浏览器地址是否正确").waitFor();
    await context.close();
  });

  it("tell of another version, and of a server that does not answer", async () => {
    const { page, context } = await world.visit();
    await page.route("**/api/status", async (route) => {
      const response = await route.fetch();
      const body = await response.json();
      await route.fulfill({ json: { ...body, data: { ...body.data, version: "v99.0.0" } } });
    });
    await page.goto("/about");
    await page.getByText("新版本可用：v99.0.0").waitFor();
    // What is still on its way has no answer once the page is left.
    await page.unrouteAll({ behavior: "wait" });
    await page.route("**/api/status", (route) => route.abort());
    await page.goto("/terms");
    await page.getByText("无法正常连接至服务器").first().waitFor();
    await context.close();
  });
});

describe("channels (requirements B4, B9)", () => {
  it("show state, time of answer and balance in their words, colours and units", async () => {
    const { page, context } = await world.visit("root");
    await answer(page, "/api/channel/", [
      channel(1, { response_time: 1000, balance: 12.345 }),
      channel(2, { response_time: 1001, status: 2, type: 8, balance: 3 }),
      channel(3, { response_time: 3001, status: 3, type: 4, balance: 7, status_reason: "上游返回 401" }),
      channel(4, { response_time: 5001, status: 9, type: 12, balance: 8 }),
      channel(5, { type: 5, balance: 125_000 }),
      channel(6, { type: 10, balance: 1_000_000, group: "vip,pro,x" }),
      channel(7, { type: 13, balance: 500_000, group: "svip,premium" }),
      channel(8, { type: 14 }),
    ]);
    await page.goto("/channel");
    await page.getByRole("row", { name: /渠道8/ }).waitFor();
    expect(await groundOf(page, /渠道1/, "1.00 秒")).toBe(GREEN);
    expect(await groundOf(page, /渠道2/, "1.00 秒")).toBe(OLIVE);
    expect(await groundOf(page, /渠道3/, "3.00 秒")).toBe(YELLOW);
    expect(await groundOf(page, /渠道4/, "5.00 秒")).toBe(RED);
    expect(await groundOf(page, /渠道5/, "未测试")).toBe(BLACK);
    const texts: readonly [RegExp, string][] = [
      [/渠道1.*已启用.*\$12\.3[45]/, "已启用"],
      [/渠道2.*已禁用.*\$3\.00/, "已禁用"],
      [/渠道3.*自动禁用.*¥7\.00/, "自动禁用"],
      [/渠道4.*未知状态.*¥8\.00/, "未知状态"],
      [/渠道5.*¥12\.50/, "已启用"],
      [/渠道6.*\$2\.00/, "已启用"],
      [/渠道7.*\$1\.00/, "已启用"],
      [/渠道8.*不支持/, "已启用"],
    ];
    for (const [name, state] of texts) await page.getByRole("row", { name }).getByText(state).waitFor();
    await page.getByRole("row", { name: /渠道3/ }).getByText("自动禁用").hover();
    await page.getByText(/本渠道被程序自动禁用.*上游返回 401/).waitFor();
    expect(await groundOf(page, /渠道6/, "vip")).toBe(YELLOW);
    expect(await groundOf(page, /渠道6/, "pro")).toBe(YELLOW);
    expect(await groundOf(page, /渠道7/, "svip")).toBe(RED);
    expect(await groundOf(page, /渠道7/, "premium")).toBe(RED);
    await context.close();
  });

  it("keep the notice about balances away once it was dismissed", async () => {
    const { page, context } = await world.visit("root");
    await page.goto("/channel");
    await page.getByText("OpenAI 渠道已不再支持通过 key 获取余额").waitFor();
    await page.getByRole("button", { name: "不再显示" }).click();
    await page.reload();
    await page.getByRole("heading", { name: "管理渠道" }).waitFor();
    expect(await page.getByText("OpenAI 渠道已不再支持").count()).toBe(0);
    expect(await page.evaluate(() => localStorage.getItem("seen_channel_balance"))).toBe("true");
    await context.close();
  });
});

describe("states of other rows (requirements B4)", () => {
  it("are told for tokens, codes and users, unknown ones too", async () => {
    const { page, context } = await world.visit("root");
    const token = { user_id: 1, key: "k", accessed_time: 1, created_time: 1, expired_time: -1, subnet: "" };
    const quota = { remain_quota: 1, used_quota: 1, unlimited_quota: false };
    await answer(
      page,
      "/api/token/",
      [1, 2, 3, 4, 7].map((status) => ({ ...token, ...quota, id: status, status, name: `令牌${status}` })),
    );
    await page.goto("/token");
    for (const [id, label] of Object.entries({
      1: "已启用",
      2: "已禁用",
      3: "已过期",
      4: "已耗尽",
      7: "未知状态",
    }))
      await page
        .getByRole("row", { name: new RegExp(`令牌${id}`) })
        .getByText(label)
        .waitFor();
    await page.getByText(`${world.server.url}/v1`).waitFor();
    const code = { user_id: 1, key: "", quota: 1, created_time: 1, redeemed_time: 0, used_user_id: 0 };
    await answer(
      page,
      "/api/redemption/",
      [1, 2, 3, 7].map((status) => ({ ...code, id: status, status, name: `码${status}`, count: 0 })),
    );
    await page.goto("/redemption");
    for (const [id, label] of Object.entries({ 1: "未使用", 2: "已禁用", 3: "已使用", 7: "未知状态" }))
      await page
        .getByRole("row", { name: new RegExp(`码${id}`) })
        .getByText(label)
        .waitFor();
    await page.getByText("尚未兑换").first().waitFor();
    await answer(page, "/api/user/", [
      { id: 11, username: "a-name-of-more-than-fifteen", display_name: "", role: 1, status: 1 },
      { id: 12, username: "admin12", display_name: "", role: 10, status: 2 },
      { id: 13, username: "root13", display_name: "", role: 100, status: 7 },
      { id: 14, username: "odd14", display_name: "", role: 7, status: 1 },
    ]);
    await page.goto("/user");
    await page.getByText("a-name-of-more-…", { exact: true }).waitFor();
    for (const name of [/普通用户.*已激活/, /管理员.*已封禁/, /超级管理员.*未知状态/, /odd14.*未知身份/])
      await page.getByRole("row", { name }).first().waitFor();
    await context.close();
  });

  it("of the log have a type each, and windows from the beginning to an hour ahead (requirements B9)", async () => {
    const { page, context, asked } = await world.visit("root");
    await page.goto("/log");
    await page.getByLabel("选择明细分类").or(page.locator(".tg-filter-choice")).first().click();
    for (const label of ["全部", "充值", "消费", "管理", "系统"])
      await page.getByTitle(label, { exact: true }).last().waitFor();
    const query = new URL(asked.find((address) => address.includes("/api/log/?")) ?? "http://none")
      .searchParams;
    const ahead = Number(query.get("end_timestamp")) - Date.now() / 1000;
    expect([query.get("start_timestamp"), ahead >= 3600, ahead <= 7200]).toEqual(["0", true, true]);
    await page.goto("/setting?tab=operation");
    const before = new Date(await page.getByLabel("清理截止时间").inputValue());
    expect(Math.round((Date.now() - before.getTime()) / 86_400_000)).toBe(30);
    await context.close();
    const own = await world.visit("lihua");
    await own.page.goto("/log");
    await own.page.getByPlaceholder("令牌名称").waitFor();
    expect(await own.page.getByPlaceholder("渠道 ID").count()).toBe(0);
    expect(await own.page.getByPlaceholder("用户名称").count()).toBe(0);
    expect(own.asked.some((address) => address.includes("/api/log/self/"))).toBe(true);
    await own.context.close();
  });
});

describe("times (requirements B9)", () => {
  it("of toasts and of the wait before something is sent again", async () => {
    const { page, context } = await world.visit();
    await page.clock.install();
    await page.route("**/api/reset_password**", (route) =>
      route.fulfill({ json: { success: true, message: "", data: null } }),
    );
    await page.goto("/reset");
    await page.getByRole("textbox").fill("a@example.com");
    // Stopped: an installed clock still follows the real one, which a busy machine lets run ahead of this test.
    await page.clock.pauseAt(Date.now() + 60_000);
    /** Lets a little time pass, again and again, until this is there. */
    const comes = (text: string) =>
      expect
        .poll(async () => {
          await page.clock.runFor(10);
          return page.getByText(text).count();
        })
        .toBe(1);
    await page.getByRole("button", { name: "提交" }).click();
    await comes("重置邮件发送成功");
    await comes("重试 (30)");
    await page.clock.runFor(1_400);
    expect(await page.getByText("重置邮件发送成功").count()).toBe(1);
    await page.clock.runFor(1_000);
    await expect.poll(() => page.getByText("重置邮件发送成功").count()).toBe(0);
    await page.clock.runFor(28_000);
    await page.getByRole("button", { name: "提交" }).click();
    await comes("重试 (300)");
    await context.close();
  });

  it("of popups: they open 50 ms after the pointer came", async () => {
    const { page, context } = await world.visit("lihua");
    await page.goto("/token");
    await page.getByText("余额", { exact: true }).waitFor();
    // Stopped: an installed clock still follows the real one, which a busy machine lets run ahead of this test.
    await page.clock.install({ time: Date.now() });
    await page.clock.pauseAt(Date.now() + 60_000);
    await page.getByText("余额", { exact: true }).hover();
    await page.clock.runFor(40);
    expect(await page.getByRole("tooltip").count()).toBe(0);
    await page.clock.runFor(20);
    await page.getByRole("tooltip").waitFor({ state: "attached" });
    await context.close();
  });

  it("stand at the top right, and at the top centre of narrow windows", async () => {
    for (const [width, side] of [
      [1440, "right"],
      [390, "centre"],
    ] as const) {
      const { page, context } = await world.visit(undefined, { width, height: 844 });
      await page.goto("/login");
      await page.getByRole("textbox", { name: "用户名" }).fill("nobody");
      await page.getByRole("textbox", { name: "密码" }).fill("wrong-password");
      await page.getByRole("button", { name: "登录", exact: true }).click();
      const box = await page.locator(".tg-toast").first().boundingBox();
      const middle = (box?.x ?? 0) + (box?.width ?? 0) / 2;
      if (side === "right") expect(width - middle).toBeLessThan(260);
      else expect(Math.abs(middle - width / 2)).toBeLessThan(12);
      await context.close();
    }
  });
});

describe("quota (requirements B9)", () => {
  it("is shown in dollars, or abbreviated where the operator wants numbers", async () => {
    await manage(world.server.url, "PUT", "/api/user/", { id: 2, quota: 12_345_678 });
    const { page, context } = await world.visit("lihua");
    await page.goto("/topup");
    await page.locator(".tg-balance-figure", { hasText: "$24.69" }).waitFor();
    await world.setOption("DisplayInCurrencyEnabled", "false");
    await page.reload();
    await page.locator(".tg-balance-figure", { hasText: "12.3M" }).waitFor();
    await world.setOption("DisplayInCurrencyEnabled", "true");
    await context.close();
  });
});
