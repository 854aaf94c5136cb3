// Clients are set up from the console (requirements K17): the key is in the page nowhere before it is asked for, links carry it where no server
// sees it, and a trial says whether key, model and format work together.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type HttpEmulator, startHttpEmulator } from "#test/emulators/http-emulator.ts";
import { screenshots } from "#test/worlds/browser.ts";
import { furnish } from "#test/worlds/console-pages.ts";
import { createConsoleWorld } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

const world = createConsoleWorld();
let upstream: HttpEmulator;

const REPLY = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "gpt-4o-mini",
  choices: [{ index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

beforeAll(async () => {
  upstream = await startHttpEmulator(() => ({ json: REPLY }));
  await furnish(world, { url: upstream.url, key: "up-key" });
}, 180_000);
afterAll(() => upstream?.close());

/** Opens the dialog for the token 生产环境. */
async function openDialog(page: Page, name: string) {
  await page.getByRole("button", { name: `复制令牌 ${name} 的其他形式` }).click();
  await page.getByRole("menuitem", { name: "客户端配置…" }).click();
  return page.getByRole("dialog", { name: `客户端配置：${name}` });
}

async function choose(page: Page, client: string): Promise<void> {
  await page.getByRole("combobox", { name: "客户端" }).click();
  await page.keyboard.type(client);
  await page.locator(".ant-select-item-option").getByText(client, { exact: true }).click();
}

it("copies and opens with the key, which the page does not have before", async () => {
  const { page, context, asked, complaints } = await world.visit("lihua");
  // What would be opened; no application answers here.
  await page.addInitScript(() => {
    const opened: string[] = [];
    Object.assign(window, { opened });
    HTMLAnchorElement.prototype.click = function click(this: HTMLAnchorElement) {
      opened.push(`${this.rel} ${this.isConnected} ${this.href}`);
    };
  });
  await page.goto("/token");
  const dialog = await openDialog(page, "生产环境");
  await dialog.getByText("写入 ~/.claude/settings.json").waitFor();
  await dialog.getByRole("button", { name: "复制", exact: true }).click();
  await page.getByText("已复制到剪贴板！").waitFor();
  const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
  const key: string = copied.env.ANTHROPIC_AUTH_TOKEN;
  expect(key).toMatch(/^sk-\w{48}$/);
  await screenshots(page, "client");
  for (const [client, scheme] of [
    ["Cherry Studio", "cherrystudio:"],
    ["CC Switch：Codex", "ccswitch:"],
    ["OpenCat", "opencat:"],
  ] as const) {
    await choose(page, client);
    await dialog.getByRole("button", { name: `打开 ${client}` }).click();
    const [rel, isConnected, address = ""] = (
      await page.evaluate(() => (window as unknown as { opened: string[] }).opened.at(-1) ?? "")
    ).split(" ");
    expect([rel, isConnected, new URL(address).protocol]).toEqual(["noreferrer", "false", scheme]);
    expect(address.includes(key)).toBe(client === "OpenCat");
  }
  await choose(page, "LobeChat");
  expect(await dialog.getByRole("button", { name: /^打开/ }).count()).toBe(0);
  expect(await page.content()).not.toContain(key);
  expect(asked.some((address) => address.includes(key))).toBe(false);
  expect(complaints).toEqual([]);
  await context.close();
});

it("tries the format of the client with this key, and says what the server says", async () => {
  const { page, context } = await world.visit("lihua");
  await page.goto("/token");
  const dialog = await openDialog(page, "生产环境");
  await dialog.getByRole("button", { name: "检测" }).click();
  await dialog.getByText(/^不可用：.*额度/).waitFor();
  await manage(world.server.url, "PUT", "/api/user/", { id: 2, quota: 5_000_000 });
  for (const [client, path] of [
    ["Claude Code", "/v1/messages"],
    ["Gemini CLI", "/v1beta/models/gpt-4o:generateContent"],
    ["Cursor", "/v1/chat/completions"],
  ] as const) {
    await choose(page, client);
    const call = page.waitForRequest((request) => new URL(request.url()).pathname === path);
    await dialog.getByRole("button", { name: "检测" }).click();
    await call;
    const outcome = dialog.getByRole("status").last();
    await expect
      .poll(() => outcome.textContent(), { timeout: 20_000 })
      .toMatch(/^可用：模型 gpt-4o 用 \d+\.\d 秒作了应答/);
  }
  await screenshots(page, "client-tried");
  await context.close();
});

it("offers the models that the patterns of a token let in, here and in the playground", async () => {
  const { page, context } = await world.visit("lihua");
  const data = { name: "通配", unlimited_quota: true, expired_time: -1, models: "gpt-4o*,!gpt-4o-mini" };
  await context.request.post("/api/token/", { data });
  await page.goto("/token");
  const dialog = await openDialog(page, "通配");
  await dialog.getByRole("combobox", { name: "模型" }).click();
  const offered = page.locator(".ant-select-item-option");
  await expect.poll(() => offered.allTextContents()).toEqual(["gpt-4o"]);
  await page.goto("/playground");
  await page.locator(".tg-play-main header").getByText("gpt-4o", { exact: true }).waitFor();
  await page.getByLabel("消息").fill("你好");
  await page.getByRole("button", { name: "发送" }).click();
  await page.getByRole("article", { name: "gpt-4o 的回答" }).waitFor();
  await context.close();
});

it("a key that is shown once is in it at that moment only", async () => {
  const { page, context } = await world.visit("lihua");
  await page.goto("/token/add");
  await page.getByLabel("名称", { exact: true }).fill("一次");
  await page.getByText("标签、备注与密钥的显示").click();
  await page.getByLabel(/只显示一次/).check();
  await page.getByRole("button", { name: "提交" }).click();
  const key = await page.getByLabel("生成的令牌").inputValue();
  await page.getByRole("button", { name: "客户端配置" }).click();
  const first = page.getByRole("dialog", { name: "客户端配置：一次" });
  await first.getByRole("button", { name: "复制", exact: true }).click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toContain(key);
  await first
    .getByRole("button", { name: "关 闭" })
    .or(first.getByRole("button", { name: "关闭", exact: true }))
    .last()
    .click();
  await page.getByRole("button", { name: "完成" }).click();
  await page.waitForURL("**/token");
  const dialog = await openDialog(page, "一次");
  await dialog.getByText("只在创建或轮换时显示一次").waitFor();
  expect(await dialog.getByRole("button", { name: "检测" }).count()).toBe(0);
  await dialog.getByRole("button", { name: "复制", exact: true }).click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toContain("sk-你的令牌");
  await screenshots(page, "client-gone");
  await context.close();
});
