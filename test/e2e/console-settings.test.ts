// Settings and playground in a real browser against the real server, with the rights of each role.
import type { LLMock } from "@copilotkit/aimock";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { poem, startAimock, upstreamKey } from "#test/emulators/aimock.ts";
import { launchBrowser, openContext, screenshot } from "#test/worlds/browser.ts";
import { buildConsole } from "#test/worlds/build.ts";
import { manage, rootKey, type ServerProcess, startServer, temporaryDir } from "#test/worlds/process.ts";

const PASSWORDS: Readonly<Record<string, string>> = {
  root: "123456",
  wangfang: "quiet-lantern-7",
  lihua: "river-stone-42",
};
const dir = temporaryDir();
let server: ServerProcess;
let browser: Browser;
let mock: LLMock;

interface Visitor {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Addresses of everything the page asked for. */
  readonly asked: string[];
}

async function visit(username: string, size = { width: 1440, height: 900 }): Promise<Visitor> {
  const context = await openContext(browser, server.url, { viewport: size });
  const page = await context.newPage();
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  const data = { username, password: PASSWORDS[username] };
  const answer: { data: unknown } = await (await context.request.post("/api/user/login", { data })).json();
  const user = JSON.stringify(answer.data);
  await page.addInitScript((text) => {
    if (localStorage.getItem("user") === null) localStorage.setItem("user", text);
  }, user);
  return { context, page, asked };
}

async function optionOf(key: string): Promise<string | undefined> {
  // The contract: rows of key and value.
  const rows = (await manage(server.url, "GET", "/api/option/")) as { key: string; value: string }[];
  return rows.find((row) => row.key === key)?.value;
}

/** Options in the order in which the page saves them. */
function saves(page: Page): { key: string; value: string }[] {
  const saved: { key: string; value: string }[] = [];
  page.on("request", (request) => {
    if (request.method() === "PUT" && request.url().includes("/api/option"))
      saved.push(request.postDataJSON());
  });
  return saved;
}

beforeAll(async () => {
  buildConsole();
  mock = await startAimock();
  server = await startServer(dir.path);
  browser = await launchBrowser();
  for (const username of ["wangfang", "lihua"]) {
    await manage(server.url, "POST", "/api/user/", { username, password: PASSWORDS[username] });
  }
  await manage(server.url, "POST", "/api/user/manage", { username: "wangfang", action: "promote" });
  await manage(server.url, "POST", "/api/channel/", {
    type: 1,
    name: "上游",
    key: upstreamKey,
    base_url: mock.url,
    models: "gpt-4o-mini",
    group: "default",
  });
}, 180_000);

afterAll(async () => {
  await browser?.close();
  await server?.kill();
  await mock?.stop();
  dir.remove();
});

describe("options", () => {
  it("normalise addresses, go before their secrets, and never show a secret (requirements B5, S06)", async () => {
    const { page, context } = await visit("root");
    const saved = saves(page);
    await page.goto("/setting?tab=system");
    await page.getByLabel("WeChat Server 访问凭证").fill("wx-secret-canary");
    await page.getByLabel("WeChat Server 服务器地址").fill("https://wx.example.com/");
    await page.getByRole("button", { name: "保存 WeChat Server 设置" }).click();
    await page.getByText("操作成功完成").waitFor();
    expect(saved).toEqual([
      { key: "WeChatServerAddress", value: "https://wx.example.com" },
      { key: "WeChatServerToken", value: "wx-secret-canary" },
    ]);
    const state = page.locator("#wechat").getByText("已设置");
    await state.waitFor();
    expect(await page.getByLabel("WeChat Server 访问凭证").inputValue()).toBe("");
    expect(await page.content()).not.toContain("wx-secret-canary");
    expect(await optionOf("WeChatServerTokenConfigured")).toBe("true");
    await screenshot(page, "setting-system");
    await context.close();
  });

  it("are checked before anything is sent", async () => {
    const { page, context } = await visit("root");
    const saved = saves(page);
    await page.goto("/setting?tab=system");
    await page.getByLabel("服务器地址", { exact: true }).fill("ftp://nowhere");
    await page.getByRole("button", { name: "更新服务器地址" }).click();
    await page.getByText("地址须以 http:// 或 https:// 开头").waitFor();
    expect(saved).toEqual([]);
    await context.close();
  });

  it("ask first when password login is turned off (requirements B4)", async () => {
    const { page, context } = await visit("root");
    await page.goto("/setting?tab=system");
    const control = page.getByRole("switch", { name: "允许通过密码进行登录" });
    await control.click();
    await page.getByRole("dialog", { name: "关闭密码登录？" }).waitFor();
    await page.getByRole("button", { name: "取消" }).click();
    expect(await control.getAttribute("aria-checked")).toBe("true");
    await control.click();
    await page.getByRole("button", { name: "确认关闭" }).click();
    await page.getByRole("button", { name: "保存登录注册设置" }).click();
    // The server keeps the last way to log in.
    await page.getByText("至少要保留一种登录方式").waitFor();
    expect(await optionOf("PasswordLoginEnabled")).toBe("true");
    await context.close();
  });

  it("that were typed stay, whatever else is refused or stored meanwhile", async () => {
    const { page, context } = await visit("root");
    const saved = saves(page);
    await page.route("**/api/option/", (route) =>
      route.request().postDataJSON()?.key === "DocsLink"
        ? route.fulfill({ json: { success: false, message: "这个地址不行", data: null } })
        : route.continue(),
    );
    await page.goto("/setting?tab=operation");
    const [chat, docs] = [page.getByLabel("聊天页面链接"), page.getByLabel("文档页面链接")];
    const save = page.getByRole("button", { name: "保存通用设置" });
    await chat.fill("https://chat.example");
    await docs.fill("https://docs.example");
    const told = page.waitForResponse(
      (answer) => answer.url().endsWith("/api/option/") && answer.request().method() === "GET",
    );
    await save.click();
    await page.getByText("这个地址不行").first().waitFor();
    await told;
    expect(await optionOf("ChatLink")).toBe("https://chat.example");
    await expect.poll(() => chat.inputValue()).toBe("https://chat.example");
    expect(await docs.inputValue()).toBe("https://docs.example");
    // Another administrator changes a field of the same section; the save of another section tells this page.
    await manage(server.url, "PUT", "/api/option/", { key: "CheapLink", value: "https://cheap.example" });
    await page.getByLabel("最长响应时间").fill("77");
    await page.getByRole("button", { name: "保存监控设置" }).click();
    await expect.poll(() => page.getByLabel("特惠套餐页面链接").inputValue()).toBe("https://cheap.example");
    expect(await docs.inputValue()).toBe("https://docs.example");
    await page.unroute("**/api/option/");
    saved.length = 0;
    await save.click();
    await expect.poll(() => optionOf("DocsLink")).toBe("https://docs.example");
    expect(saved).toEqual([{ key: "DocsLink", value: "https://docs.example" }]);
    for (const key of ["ChatLink", "DocsLink", "CheapLink"])
      await manage(server.url, "PUT", "/api/option/", { key, value: "" });
    await context.close();
  });

  it("take no domain twice and none that is empty, and say so (requirements B5)", async () => {
    const { page, context } = await visit("root");
    const saved = saves(page);
    await manage(server.url, "PUT", "/api/option/", { key: "EmailDomainWhitelist", value: "a.com" });
    await page.goto("/setting?tab=system");
    const box = page.getByLabel("邮箱域名白名单", { exact: true });
    const section = page.locator("#domains");
    for (const typed of ["a.com", "B.com", "b.com"]) {
      await box.fill(typed);
      await box.press("Enter");
      if (typed !== "B.com") await section.getByText(`${typed} 已在白名单中`).waitFor();
      else await section.getByText("已在白名单中").waitFor({ state: "detached" });
    }
    await box.fill("c.com,,a.com, d.com,");
    await section.getByText("域名不能为空；a.com 已在白名单中").waitFor();
    await section.getByRole("button", { name: "保存邮箱域名白名单设置" }).click();
    await page.getByText("操作成功完成").waitFor();
    expect(saved).toEqual([{ key: "EmailDomainWhitelist", value: "a.com,b.com,c.com,d.com" }]);
    await context.close();
  });

  it("of the super administrator are read-only for others", async () => {
    const { page, context } = await visit("wangfang");
    await page.goto("/setting?tab=system");
    const smtp = page.getByLabel("SMTP 服务器地址");
    await smtp.waitFor();
    expect(await smtp.isDisabled()).toBe(true);
    expect(await page.getByRole("button", { name: "保存 SMTP 设置" }).count()).toBe(0);
    expect(await page.getByLabel("微信公众号二维码图片链接").isDisabled()).toBe(false);
    await context.close();
  });

  it("show prices as money beside the ratio, and where broken JSON is broken", async () => {
    const { page, context } = await visit("root");
    await page.goto("/price/ratio");
    const section = page.locator("#model-ratio");
    await section.getByLabel("搜索模型").fill("gpt-4o-mini");
    const price = section.getByRole("spinbutton", { name: "gpt-4o-mini 的价格", exact: true });
    expect(await price.inputValue()).toBe("0.15");
    await price.fill("0.3");
    expect(
      await section.getByRole("spinbutton", { name: "gpt-4o-mini 的倍率", exact: true }).inputValue(),
    ).toBe("0.15");
    await section.getByRole("button", { name: "保存模型倍率" }).click();
    await page.getByText("操作成功完成").waitFor();
    expect(JSON.parse((await optionOf("ModelRatio")) ?? "{}")["gpt-4o-mini"]).toBe(0.15);
    await section.getByLabel("搜索模型").fill("gpt-4o-mini");
    await section.getByRole("button", { name: /恢复 gpt-4o-mini 的内置倍率/ }).click();
    await section.getByRole("button", { name: "保存模型倍率" }).click();
    await expect
      .poll(async () => JSON.parse((await optionOf("ModelRatio")) ?? "{}")["gpt-4o-mini"])
      .toBe(0.075);
    await section.getByText("JSON", { exact: true }).click();
    await section.getByLabel("模型倍率的 JSON").fill('{\n  "a": 1,\n  "b"\n}');
    await section.getByText("JSON 格式有误：第 4 行第 1 列").waitFor();
    await section.getByRole("button", { name: "保存模型倍率" }).click();
    await section.getByText("模型倍率不是合法的 JSON 字符串").waitFor();
    await screenshot(page, "setting-ratio");
    await context.close();
  });

  it("name every price table, also where several stand in one section", async () => {
    const { page, context } = await visit("root");
    await page.goto("/price/ratio");
    for (const [section, labels] of [
      ["cache-ratio", ["缓存倍率", "缓存写入倍率"]],
      ["media-ratio", ["音频倍率", "音频补全倍率", "图片倍率", "图片补全倍率"]],
    ] as const) {
      const titles = page.locator(`#${section} .tg-option-label`);
      await titles.first().waitFor();
      expect(await titles.allInnerTexts()).toEqual(labels);
    }
    // One alone stands under a title that says the same.
    expect(await page.locator("#completion-ratio .tg-option-label").count()).toBe(0);
    await context.close();
  });

  it("show a new system name at once; the update check tells what it can", async () => {
    const { page, context } = await visit("root");
    await page.goto("/setting?tab=other");
    await page.getByLabel("系统名称").fill("收费站");
    await page.getByRole("button", { name: "保存个性化设置" }).click();
    await page.getByRole("link", { name: "收费站 首页" }).waitFor();
    await page.getByLabel("系统名称").fill("Tollgate");
    await page.getByRole("button", { name: "保存个性化设置" }).click();
    await page.getByRole("link", { name: "Tollgate 首页" }).waitFor();
    await page.getByRole("button", { name: "检查更新" }).click();
    await page.getByRole("dialog", { name: "检查更新" }).getByText("当前版本的更新内容").waitFor();
    await context.close();
  });

  it("clear the log up to a moment, and say why they could not", async () => {
    const { page, context } = await visit("root");
    await page.goto("/setting?tab=operation");
    const before = await page.getByLabel("清理截止时间").inputValue();
    const days = (Date.now() - new Date(before.replace(" ", "T")).getTime()) / 86_400_000;
    expect(Math.round(days)).toBe(30);
    const clear = async () => {
      await page.getByRole("button", { name: "清理历史日志" }).click();
      const confirm = page.getByRole("button", { name: "确认清理" });
      await confirm.click();
      await confirm.waitFor({ state: "hidden" });
    };
    await clear();
    await page.getByText("0 条日志已清理！").waitFor();
    await page.route("**/api/log/?target_timestamp=*", (route) =>
      route.fulfill({ json: { success: false, message: "已有清理任务在执行", data: null } }),
    );
    await clear();
    await page.getByText("日志清理失败：已有清理任务在执行").waitFor();
    await context.close();
  });
});

describe("personal settings", () => {
  it("are all that an ordinary user sees; system token and invite link are copied", async () => {
    const { page, context } = await visit("lihua");
    await page.goto("/setting?tab=system");
    await page.getByRole("heading", { name: "账号绑定" }).waitFor();
    expect(await page.getByRole("tab").allTextContents()).toEqual(["个人设置", "安全"]);
    await page.getByRole("button", { name: "生成系统访问令牌" }).click();
    await page.getByRole("button", { name: "确认生成" }).click();
    const token = await page.getByLabel("新的系统访问令牌").inputValue();
    expect(token).toMatch(/^[0-9a-f]{32}$/);
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(token);
    await page.getByRole("button", { name: "复制邀请链接", exact: true }).click();
    const link = await page.getByLabel("邀请链接", { exact: true }).inputValue();
    expect(link).toMatch(/\/register\?aff=[0-9A-Za-z]{4,8}$/);
    await screenshot(page, "setting-personal");
    await context.close();
  });

  it("end the account only when its name was typed (requirements B5)", async () => {
    await manage(server.url, "POST", "/api/user/", { username: "leaving", password: "river-stone-42" });
    Object.assign(PASSWORDS, { leaving: "river-stone-42" });
    const { page, context } = await visit("leaving");
    const deletions: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "DELETE") deletions.push(request.url());
    });
    await page.goto("/setting");
    await page.getByRole("button", { name: "删除个人账户" }).click();
    const dialog = page.getByRole("dialog", { name: "删除个人账户" });
    await dialog.getByRole("textbox").fill("somebody");
    await dialog.getByRole("button", { name: "确认删除" }).click();
    await dialog.getByText("请输入你的账户名以确认删除").waitFor();
    expect(deletions).toEqual([]);
    await dialog.getByRole("textbox").fill("leaving");
    await dialog.getByRole("button", { name: "确认删除" }).click();
    await page.waitForURL("**/login");
    expect(deletions).toHaveLength(1);
    await context.close();
  });
});

describe("the playground", () => {
  it("wants a token first", async () => {
    const { page, context } = await visit("lihua");
    await page.goto("/playground");
    await page.getByText("还没有可用的令牌").waitFor();
    await context.close();
  });

  it("streams an answer through my own token and tells what it used and cost; no key stands in any address", async () => {
    const { page, context, asked } = await visit("root");
    await page.goto("/playground");
    await page.getByLabel("消息").fill("write a poem");
    // The models of the token come a moment later.
    await page.locator("button:enabled", { hasText: "发送" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByText(/Tollgate counts every token/).waitFor();
    const facts = page.locator(".tg-play-facts", { hasText: /花费 \$/ });
    await facts.waitFor();
    expect(await facts.textContent()).toMatch(
      /gpt-4o-mini · 提示 \d+ · 补全 \d+ · 首字 .* · 用时 .* · 花费 \$0\.0000\d+/,
    );
    expect(asked.filter((url) => /\bsk-/.test(url) || url.includes(rootKey))).toEqual([]);
    await screenshot(page, "playground");
    await context.close();
  });

  it("speaks to a Claude and to a Gemini channel as to any other, and tells what they cost", async () => {
    for (const [type, model] of [
      [14, "claude-sonnet-4-5"],
      [24, "gemini-2.5-flash"],
    ] as const) {
      await manage(server.url, "POST", "/api/channel/", {
        type,
        name: model,
        key: upstreamKey,
        base_url: mock.url,
        models: model,
        group: "default",
      });
    }
    const { page, context } = await visit("root");
    await page.goto("/playground");
    for (const model of ["claude-sonnet-4-5", "gemini-2.5-flash"]) {
      await page.getByLabel("模型").fill(model);
      await page.keyboard.press("Enter");
      await page.getByLabel("消息").fill("write a poem");
      await page.locator("button:enabled", { hasText: "发送" }).waitFor();
      await page.keyboard.press("Enter");
      const facts = page.getByText(new RegExp(`${model} · .* · 花费 \\$`));
      await facts.waitFor();
      expect(await facts.textContent()).toMatch(/提示 [1-9]\d* · 补全 [1-9]\d* · 首字 .* · 花费 \$0\.000/);
    }
    expect(await page.getByText(poem).count()).toBe(2);
    await screenshot(page, "playground-translated");
    await context.close();
  });

  it("shows the relay's own refusal", async () => {
    const { page, context } = await visit("root");
    await page.route("**/v1/chat/completions", (route) =>
      route.fulfill({ status: 403, json: { error: { message: "令牌额度已用完" } } }),
    );
    await page.goto("/playground");
    await page.getByLabel("消息").fill("hello");
    await page.getByRole("button", { name: "发送" }).click();
    await page.getByText("令牌额度已用完").waitFor();
    await context.close();
  });
});
