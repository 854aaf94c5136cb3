// What users do with their own account: password, e-mail, WeChat, tokens and links to pass on, and its end behind a human
// check. A real browser against the real server; the other services are emulators on loopback.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  startTurnstile,
  startWeChat,
  type TurnstileEmulator,
  type WeChatEmulator,
} from "#test/emulators/service-emulators.ts";
import { type SmtpEmulator, startSmtp } from "#test/emulators/smtp-emulator.ts";
import { type ConsoleWorld, openConsoleWorld } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

let world: ConsoleWorld;
let wechat: WeChatEmulator;
let turnstile: TurnstileEmulator;
let smtp: SmtpEmulator;

beforeAll(async () => {
  [wechat, turnstile, smtp] = await Promise.all([
    startWeChat(() => Date.now()),
    startTurnstile(),
    startSmtp(),
  ]);
  world = await openConsoleWorld({ TURNSTILE_URL: turnstile.url });
  const options = {
    ServerAddress: world.server.url,
    SMTPServer: "127.0.0.1",
    SMTPPort: String(smtp.port),
    SMTPFrom: "gate@example.com",
    WeChatServerAddress: wechat.url,
    WeChatServerToken: wechat.token,
    WeChatAuthEnabled: "true",
    TurnstileSiteKey: "site-key",
    TurnstileSecretKey: turnstile.secret,
  };
  for (const [key, value] of Object.entries(options)) await world.setOption(key, value);
}, 180_000);

afterAll(async () => {
  await world?.close();
  await Promise.all([wechat?.close(), turnstile?.close(), smtp?.close()]);
});

describe("the own account", () => {
  it("gets another password: the current one, and the new one twice", async () => {
    const { page, context } = await world.visit("lihua");
    await page.goto("/setting");
    const submit = page.getByRole("button", { name: "修改密码" });
    const current = page.getByLabel("当前密码");
    const first = page.getByLabel("新密码", { exact: true });
    const second = page.getByLabel("再次输入新密码");
    await submit.click();
    await page.getByText("请输入当前密码").waitFor();
    await first.fill("short");
    await submit.click();
    await page.getByText("密码长度不得小于 8 位").waitFor();
    await current.fill("not-the-current-1");
    await first.fill("another-river-7");
    await second.fill("another-river-8");
    await submit.click();
    await page.getByText("两次输入的密码不一致").waitFor();
    await second.fill("another-river-7");
    await submit.click();
    await page.locator(".tg-toast").getByText(/密码/).waitFor();
    await current.fill("river-stone-42");
    await submit.click();
    await page.getByText("密码已修改！").waitFor();
    const tried = await fetch(`${world.server.url}/api/user/login`, {
      method: "POST",
      body: JSON.stringify({ username: "lihua", password: "another-river-7" }),
    });
    expect(await tried.json()).toMatchObject({ success: true });
    await manage(world.server.url, "PUT", "/api/user/", { id: 2, password: "river-stone-42" });
    await context.close();
  });

  it("is bound to an address by the code that was sent there, again after a while", async () => {
    const { page, context } = await world.visit("lihua");
    await page.goto("/setting");
    await page.getByRole("button", { name: "绑定邮箱地址" }).click();
    const dialog = page.getByRole("dialog", { name: "绑定邮箱地址" });
    expect(await dialog.getByRole("button", { name: "获取验证码" }).isDisabled()).toBe(true);
    await dialog.getByRole("textbox", { name: "邮箱地址" }).fill("lihua@example.com");
    await dialog.getByRole("button", { name: "获取验证码" }).click();
    await dialog.getByRole("button", { name: /重新发送 \((30|29)\)/ }).waitFor();
    const letter = await smtp.take("lihua@example.com");
    const [code = ""] = /\b[0-9a-f]{6}\b/.exec(letter.html.replace(/<[^>]+>/g, " ")) ?? [];
    await dialog.getByRole("textbox", { name: "验证码" }).fill("000000");
    await dialog.getByRole("button", { name: "确认绑定" }).click();
    await dialog.getByText("验证码不正确或已失效").waitFor();
    await dialog.getByRole("textbox", { name: "验证码" }).fill(code);
    await dialog.getByRole("button", { name: "确认绑定" }).click();
    await page.getByText("邮箱账户绑定成功！").waitFor();
    expect(await page.getByText("验证码不正确或已失效").count()).toBe(0);
    await page.getByText("lihua@example.com").first().waitFor();
    await context.close();
  });

  it("is bound to WeChat by a code of the last three minutes", async () => {
    const { page, context } = await world.visit("lihua");
    await page.goto("/setting");
    await page.getByRole("button", { name: "绑定微信账号" }).click();
    const dialog = page.getByRole("dialog", { name: "绑定微信账号" });
    await dialog.getByText("3 分钟内有效").waitFor();
    await dialog.getByRole("textbox", { name: "验证码" }).fill(wechat.tell("wx-lihua"));
    await dialog.getByRole("button", { name: "绑定", exact: true }).click();
    await page.getByText("微信账户绑定成功！").waitFor();
    await page.getByRole("button", { name: "换绑微信账号" }).waitFor();
    await context.close();
  });

  it("shows a system token and an invite link, both copied and told so", async () => {
    const { page, context } = await world.visit("lihua");
    const copied = () => page.evaluate(() => navigator.clipboard.readText());
    await page.goto("/setting");
    await page.getByRole("button", { name: "生成系统访问令牌" }).click();
    await page.getByRole("button", { name: "确认生成" }).click();
    await page.getByText("系统令牌已复制到剪切板！").waitFor();
    expect(await copied()).toMatch(/^[0-9a-f]{32}$/);
    await page.getByRole("button", { name: "复制邀请链接", exact: true }).click();
    await page.getByText("邀请链接已复制到剪切板！").waitFor();
    expect(await copied()).toMatch(new RegExp(`^${world.server.url}/register\\?aff=[2-9A-HJ-NP-Z]{5}$`));
    await context.close();
  });

  it("does not end before the human check is solved", async () => {
    await world.setOption("TurnstileCheckEnabled", "true");
    const { page, context } = await world.visit("lihua");
    const sent: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "DELETE") sent.push(request.url());
    });
    // Cloudflare's box, which stays unsolved.
    await page.route("https://challenges.cloudflare.com/**", (route) =>
      route.fulfill({
        contentType: "text/javascript",
        body: 'window.turnstile = { render: () => "widget", reset() {}, remove() {} };',
      }),
    );
    await page.goto("/setting");
    await page.getByRole("button", { name: "删除个人账户" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox").fill("lihua");
    await dialog.getByRole("button", { name: "确认删除" }).click();
    await page.getByText("请稍后几秒重试，Turnstile 正在检查用户环境！").waitFor();
    expect(sent).toEqual([]);
    await world.setOption("TurnstileCheckEnabled", "false");
    await context.close();
  });
});
