// Every way into the console in a real browser against the real server: registration with mail code and human check, password
// reset, GitHub (login, binding, failure with retries) and WeChat. The other services are emulators on loopback.
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type GithubEmulator, type GithubUser, startGithub } from "#test/emulators/github-emulator.ts";
import {
  startTurnstile,
  startWeChat,
  type TurnstileEmulator,
  type WeChatEmulator,
} from "#test/emulators/service-emulators.ts";
import { type SmtpEmulator, startSmtp } from "#test/emulators/smtp-emulator.ts";
import { launchBrowser, openContext, screenshot } from "#test/worlds/browser.ts";
import { buildConsole } from "#test/worlds/build.ts";
import { manage, type ServerProcess, startServer, temporaryDir } from "#test/worlds/process.ts";

const dir = temporaryDir();
let server: ServerProcess;
let browser: Browser;
let github: GithubEmulator;
let wechat: WeChatEmulator;
let turnstile: TurnstileEmulator;
let smtp: SmtpEmulator;

function setOption(key: string, value: string): Promise<unknown> {
  return manage(server.url, "PUT", "/api/option/", { key, value });
}

/** Cloudflare's script as the page sees it: a box that gives a proof by itself after a moment, or never. */
const turnstileScript = (isSolved: boolean) => `
window.turnstile = {
  render(box, options) {
    const line = document.createElement("p");
    line.textContent = "human check " + options.sitekey;
    box.append(line);
    if (${isSolved}) setTimeout(async () => {
      const proof = await (await fetch("/__proof")).text();
      options.callback(proof);
      line.textContent = "human check solved";
    }, 50);
    return "widget";
  },
  reset() {},
  remove() {},
};`;

async function visit(isSolved = true): Promise<{ context: BrowserContext; page: Page }> {
  const context = await openContext(browser, server.url);
  const page = await context.newPage();
  await page.route("https://challenges.cloudflare.com/**", (route) =>
    route.fulfill({ contentType: "text/javascript", body: turnstileScript(isSolved) }),
  );
  await page.route("**/__proof", (route) =>
    route.fulfill({ body: turnstile.solve({ hostname: "127.0.0.1" }) }),
  );
  return { context, page };
}

/** GitHub's own page: the user agrees at once and is sent back. */
async function agreeAt(page: Page, user: GithubUser): Promise<void> {
  await page.route(`${github.url}/login/oauth/authorize**`, async (route) => {
    const { code, state } = github.agree(route.request().url(), user);
    await route.fulfill({
      status: 302,
      headers: { location: `${server.url}/oauth/github?code=${code}&state=${state}` },
    });
  });
}

async function logIn(page: Page, username: string, password: string): Promise<void> {
  await page.goto("/login");
  await page.getByRole("textbox", { name: "用户名" }).fill(username);
  await page.getByRole("textbox", { name: "密码" }).fill(password);
  await page.getByRole("button", { name: "登录", exact: true }).click();
}

beforeAll(async () => {
  buildConsole();
  [github, wechat, turnstile, smtp] = await Promise.all([
    startGithub(),
    startWeChat(() => Date.now()),
    startTurnstile(),
    startSmtp(),
  ]);
  server = await startServer(dir.path, {
    GITHUB_URL: github.url,
    GITHUB_API_URL: github.url,
    TURNSTILE_URL: turnstile.url,
  });
  browser = await launchBrowser();
  const options = {
    ServerAddress: server.url,
    SMTPServer: "127.0.0.1",
    SMTPPort: String(smtp.port),
    SMTPFrom: "gate@example.com",
    GitHubClientId: github.clientId,
    GitHubClientSecret: github.clientSecret,
    WeChatServerAddress: wechat.url,
    WeChatServerToken: wechat.token,
    WeChatAccountQRCodeImageURL: "/mark.svg",
    TurnstileSiteKey: "site-key",
    TurnstileSecretKey: turnstile.secret,
    GitHubOAuthEnabled: "true",
    WeChatAuthEnabled: "true",
  };
  for (const [key, value] of Object.entries(options)) await setOption(key, value);
}, 180_000);

afterAll(async () => {
  await browser?.close();
  await server?.kill();
  await Promise.all([github?.close(), wechat?.close(), turnstile?.close(), smtp?.close()]);
  dir.remove();
});

describe("registration", () => {
  it("checks names and passwords before anything is sent (requirements B5), and keeps the affiliate code", async () => {
    const { page, context } = await visit();
    const sent: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "POST") sent.push(request.url());
    });
    await page.goto("/register?aff=AB12C");
    const submit = page.getByRole("main").getByRole("button", { name: "注册", exact: true });
    await submit.click();
    await page.getByText("请输入用户名").waitFor();
    await page.getByRole("textbox", { name: "用户名" }).fill("newbie");
    await page.getByRole("textbox", { name: "密码", exact: true }).fill("short");
    await page.getByRole("textbox", { name: "再次输入密码" }).fill("other");
    await submit.click();
    await page.getByText("密码长度不得小于 8 位").waitFor();
    expect(await page.getByText("两次输入的密码不一致").count()).toBe(0);
    await page.getByRole("textbox", { name: "密码", exact: true }).fill("river-stone-42");
    await submit.click();
    await page.getByText("两次输入的密码不一致").waitFor();
    expect(sent).toEqual([]);
    expect(await page.evaluate(() => localStorage.getItem("aff"))).toBe("AB12C");
    await page.getByRole("textbox", { name: "再次输入密码" }).fill("river-stone-42");
    const call = page.waitForRequest((request) => request.url().includes("/api/user/register"));
    await submit.click();
    expect((await call).postDataJSON()).toMatchObject({ username: "newbie", aff_code: "AB12C" });
    await page.waitForURL("**/login");
    await page.getByText("注册成功").waitFor();
    await logIn(page, "newbie", "river-stone-42");
    await page.waitForURL("**/token");
    await context.close();
  });

  it("asks for a mail code and a human check where the operator wants them", async () => {
    await setOption("EmailVerificationEnabled", "true");
    await setOption("TurnstileCheckEnabled", "true");
    const { page, context } = await visit();
    await page.goto("/register");
    await page.getByText("human check solved").waitFor();
    await page.getByRole("textbox", { name: "用户名" }).fill("mailed");
    await page.getByRole("textbox", { name: "密码", exact: true }).fill("river-stone-42");
    await page.getByRole("textbox", { name: "再次输入密码" }).fill("river-stone-42");
    expect(await page.getByRole("button", { name: "获取验证码" }).isDisabled()).toBe(true);
    await page.getByRole("textbox", { name: "邮箱地址" }).fill("mailed@example.com");
    await page.getByRole("button", { name: "获取验证码" }).click();
    await page.getByRole("button", { name: /重新发送 \((30|29)\)/ }).waitFor();
    const letter = await smtp.take("mailed@example.com");
    const [code = ""] = /\b[0-9a-f]{6}\b/.exec(letter.html.replace(/<[^>]+>/g, " ")) ?? [];
    await page.getByRole("textbox", { name: "验证码" }).fill(code);
    await page.getByText("human check solved").waitFor();
    await screenshot(page, "entry-register");
    await page.getByRole("main").getByRole("button", { name: "注册", exact: true }).click();
    await page.waitForURL("**/login");
    await context.close();
  });

  it("warns and sends nothing while the check is not solved (requirements B5)", async () => {
    const { page, context } = await visit(false);
    const script = "https://challenges.cloudflare.com/**";
    const { promise: goOn, resolve: letGo } = Promise.withResolvers<void>();
    await page.route(script, async (route) => {
      await goOn;
      await route.fallback();
    });
    await page.goto("/reset");
    const wait = page.getByText("正在加载人机验证…");
    await wait.waitFor();
    letGo();
    await page.getByText("human check site-key").waitFor();
    await wait.waitFor({ state: "detached" });
    const calls: string[] = [];
    page.on("request", (request) => calls.push(request.url()));
    await page.getByRole("textbox", { name: "邮箱地址" }).fill("mailed@example.com");
    await page.getByRole("button", { name: "提交" }).click();
    await page.getByText("请稍后几秒重试").waitFor();
    expect(calls.filter((url) => url.includes("/api/reset_password"))).toEqual([]);
    await context.close();
    await setOption("TurnstileCheckEnabled", "false");
    await setOption("EmailVerificationEnabled", "false");
  });
});

describe("GitHub", () => {
  it("lets a newcomer in with state and PKCE", async () => {
    const { page, context } = await visit();
    await agreeAt(page, { id: 7, login: "octo", name: "Octo", email: "octo@example.com" });
    await page.goto("/login");
    await page.getByRole("button", { name: "GitHub" }).click();
    await page.waitForURL("**/token");
    await page.getByText("登录成功").waitFor();
    await context.close();
  });

  it("is bound to an account from the settings", async () => {
    const { page, context } = await visit();
    await logIn(page, "newbie", "river-stone-42");
    await page.waitForURL("**/token");
    await agreeAt(page, { id: 8, login: "second" });
    await page.goto("/setting");
    await page.getByRole("button", { name: "绑定 GitHub 账号" }).click();
    await page.getByText("绑定成功！").waitFor();
    await page.waitForURL("**/setting");
    await page.getByRole("button", { name: "换绑 GitHub 账号" }).waitFor();
    await context.close();
  });

  it("brings a user whose session ran out back to the form, with what they had typed", async () => {
    const { page, context } = await visit();
    await logIn(page, "newbie", "river-stone-42");
    await page.waitForURL("**/token");
    await page.goto("/token/add");
    await page.locator("#name").fill("太迟");
    await context.clearCookies();
    await page.getByRole("button", { name: "提交", exact: true }).click();
    await page.waitForURL("**/login?expired=true");
    await agreeAt(page, { id: 8, login: "second" });
    await page.getByRole("button", { name: "GitHub" }).click();
    await page.waitForURL("**/token/add");
    await page.getByText("已恢复登录过期前填写的内容").waitFor();
    expect(await page.locator("#name").inputValue()).toBe("太迟");
    // The router may have noted there how far pages were scrolled.
    const kept = await page.evaluate(() => Object.keys(sessionStorage));
    expect(kept.filter((key) => key !== "react-router-scroll-positions")).toEqual([]);
    await context.close();
  });

  it("tries again after 2 s and 4 s, tells why, and ends at the settings (requirements B4)", async () => {
    const { page, context } = await visit();
    const at: number[] = [];
    page.on("request", (request) => {
      if (request.url().includes("/api/oauth/github")) at.push(Date.now());
    });
    await page.goto("/oauth/github?code=none&state=none");
    await page.getByText("操作失败，重定向中").waitFor();
    await page.getByRole("alert").first().waitFor();
    // No user is signed in, so the guard of the settings leads on to the login page.
    await page.waitForURL("**/login");
    const [first = 0, second = 0, ...more] = at.slice(1).map((time, index) => time - (at[index] ?? 0));
    expect(more).toEqual([]);
    // A busy machine adds to both, and takes from neither.
    expect(first).toBeGreaterThan(1_900);
    expect(first).toBeLessThan(3_900);
    expect(second).toBeGreaterThan(3_900);
    await context.close();
  });
});

describe("a forgotten password", () => {
  it("is reset through the mailed link; the new one is shown and copied, and works", async () => {
    const { page, context } = await visit();
    await page.goto("/reset");
    await page.getByRole("button", { name: "提交" }).click();
    await page.getByText("请输入邮箱地址").waitFor();
    await page.getByRole("textbox", { name: "邮箱地址" }).fill("octo@example.com");
    await page.getByRole("button", { name: "提交" }).click();
    await page.getByRole("button", { name: /重试 \((30|29)\)/ }).waitFor();
    const letter = await smtp.take("octo@example.com");
    const link = /\/user\/reset\?[^"<\s]+/.exec(letter.html.replaceAll("&amp;", "&"))?.[0] ?? "";
    await page.goto(link);
    await page.getByText("账户邮箱：octo@example.com").waitFor();
    await page.getByRole("button", { name: "提交" }).click();
    const password = await page.getByLabel("新密码", { exact: true }).inputValue();
    expect(password.length).toBeGreaterThanOrEqual(12);
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(password);
    expect(page.url()).not.toContain("token=");
    await screenshot(page, "entry-reset");
    await logIn(page, "octo@example.com", password);
    await page.waitForURL("**/token");
    await context.close();
  });

  it("needs a whole link", async () => {
    const { page, context } = await visit();
    await page.goto("/user/reset?email=a%40b.com");
    await page.getByText("重置链接无效或不完整").waitFor();
    expect(await page.getByRole("button", { name: "提交" }).isDisabled()).toBe(true);
    await context.close();
  });
});

describe("WeChat", () => {
  it("wants a code, tells once why one is refused, and lets its owner in to the home page", async () => {
    const { page, context } = await visit();
    await page.goto("/login");
    await page.getByRole("button", { name: "微信" }).click();
    const dialog = page.getByRole("dialog", { name: "微信登录" });
    await dialog.getByText("3 分钟内有效").waitFor();
    await dialog.getByRole("img", { name: "微信公众号二维码" }).waitFor();
    await dialog.getByRole("button", { name: "登录" }).click();
    await dialog.getByText("请输入验证码").waitFor();
    await dialog.getByRole("textbox", { name: "验证码" }).fill("000000");
    await dialog.getByRole("button", { name: "登录" }).click();
    await dialog.getByText("验证码无效或已过期").waitFor();
    await dialog.getByRole("textbox", { name: "验证码" }).fill(wechat.tell("wx-1"));
    await dialog.getByRole("button", { name: "登录" }).click();
    await page.waitForURL(`${server.url}/`);
    // No toast beside the dialog's own words: it would still be there.
    expect(await page.getByText("验证码无效或已过期").count()).toBe(0);
    await context.close();
  });

  it("says so where the picture with the code does not come", async () => {
    const { page, context } = await visit();
    await page.route("**/mark.svg", (route) => route.abort());
    await page.goto("/login");
    await page.getByRole("button", { name: "微信" }).click();
    await page.getByRole("dialog").getByText("二维码加载失败，请检查网络后重新打开").waitFor();
    await context.close();
  });
});

describe("guest pages", () => {
  it("load at most 200 KB of compressed script, none of it antd", async () => {
    for (const path of ["/login", "/register", "/reset", "/models", "/user/reset?email=a%40b.c&token=1"]) {
      const { page, context } = await visit();
      const client = await context.newCDPSession(page);
      await client.send("Network.enable");
      const scripts = new Set<string>();
      let bytes = 0;
      client.on("Network.responseReceived", ({ requestId, type }) => {
        if (type === "Script") scripts.add(requestId);
      });
      client.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
        if (scripts.has(requestId)) bytes += encodedDataLength;
      });
      await page.goto(path, { waitUntil: "networkidle" });
      expect(bytes, path).toBeGreaterThan(0);
      expect(bytes, path).toBeLessThanOrEqual(200 * 1024);
      expect(await page.locator("[class^='ant-'], [class*=' ant-']").count()).toBe(0);
      process.stdout.write(`${path} ${Math.round(bytes / 1024)} KB\n`);
      await context.close();
    }
  });
});
