// Second factors in a real browser with an authenticator of its own: adding a passkey, coming in with it, as the only proof and as the
// second one, and an authenticator app beside it (requirements I22).
import { setTimeout as sleep } from "node:timers/promises";
import type { CDPSession, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { codeOf, fromBase32, stepOf } from "#server/accounts/totp.ts";
import { type ConsoleWorld, openConsoleWorld } from "#test/worlds/console-world.ts";
import { connectAuthenticator } from "#test/worlds/virtual-authenticator.ts";

const PASSWORD = "river-stone-42";
/** How long an app shows a code. */
const STEP_MS = 30_000;

describe("second factors in the browser", () => {
  let world: ConsoleWorld;
  let page: Page;
  let device: CDPSession;
  let authenticatorId = "";
  /** Of the step that comes after the one that is used. */
  let laterCode = "";
  /** Passkeys belong to a name. */
  let site = "";

  beforeAll(async () => {
    world = await openConsoleWorld();
    site = world.server.url.replace("127.0.0.1", "localhost");
    await world.setOption("ServerAddress", site);
    const context = await world.browser.newContext({ baseURL: site, viewport: { width: 1440, height: 900 } });
    page = await context.newPage();
    ({ device, authenticatorId } = await connectAuthenticator(page));
  });
  afterAll(() => world.close());

  async function password(): Promise<void> {
    await page.goto("/login");
    await page.getByLabel("用户名").fill("lihua");
    await page.getByLabel("密码", { exact: true }).fill(PASSWORD);
    await page.getByRole("button", { name: "登录", exact: true }).click();
  }

  /** The code of the step before is taken until this one ends. */
  async function untilEarlyInStep(): Promise<void> {
    const leftMs = STEP_MS - (Date.now() % STEP_MS);
    if (leftMs < STEP_MS / 2) await sleep(leftMs);
  }

  async function leave(): Promise<void> {
    await page.context().clearCookies();
    await page.evaluate(() => localStorage.clear());
  }

  it("adds a passkey, and shows recovery codes once", async () => {
    await password();
    await page.waitForURL("**/token");
    await page.goto("/setting?tab=security");
    await page.getByRole("button", { name: "添加通行密钥" }).click();
    const dialog = page.getByRole("dialog", { name: "请保存恢复码" });
    await dialog.waitFor();
    expect(await dialog.getByRole("listitem").count()).toBe(10);
    await dialog.getByRole("button", { name: "我已保存" }).click();
    await page.getByRole("button", { name: /^移除通行密钥/ }).waitFor();
    expect(await page.getByText("还剩 10 个").count()).toBe(1);
  });

  it("comes in with the passkey alone", async () => {
    await leave();
    await page.goto("/login");
    await page.getByRole("button", { name: "通行密钥" }).click();
    await page.waitForURL("**/token");
  });

  it("comes in with password and passkey, and not while the device does not know its owner", async () => {
    await leave();
    await password();
    await page.getByRole("heading", { name: "两步验证" }).waitFor();
    await device.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: false });
    await page.getByRole("button", { name: "使用通行密钥" }).click();
    await page.getByText("没有完成通行密钥验证").waitFor();
    await device.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: true });
    await page.getByRole("button", { name: "使用通行密钥" }).click();
    await page.waitForURL("**/token");
  });

  it("adds an authenticator app after the owner proves to be there, and comes in with its code", async () => {
    await page.goto("/setting?tab=security");
    await page.getByRole("button", { name: "添加", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "添加认证器应用" });
    const secret = fromBase32(await dialog.getByLabel("无法扫描时手动输入密钥").inputValue());
    const code = (steps: number) => codeOf(secret, stepOf(Date.now() / 1000) + steps);
    await untilEarlyInStep();
    await dialog.getByLabel("应用显示的验证码").fill(code(-1));
    await dialog.getByRole("button", { name: "完成" }).click();
    await page.getByRole("button", { name: "移除认证器应用" }).waitFor();
    await leave();
    await password();
    await page.getByLabel("验证码").fill("000000");
    await page.getByRole("button", { name: "登录", exact: true }).click();
    await page.getByText("验证码不正确").waitFor();
    laterCode = code(1);
    await page.getByLabel("验证码").fill(code(0));
    await page.getByRole("button", { name: "登录", exact: true }).click();
    await page.waitForURL("**/token");
  });

  it("asks for a proof in a browser that is trusted, and goes on with what was asked for", async () => {
    await leave();
    await password();
    await page.getByLabel("验证码").waitFor();
    await page.getByRole("button", { name: "使用恢复码" }).click();
    await page.getByLabel("恢复码").fill("0000-00000");
    await page.getByRole("button", { name: "登录", exact: true }).click();
    await page.getByText("验证码不正确").waitFor();
    await page.getByRole("button", { name: "改用其他方式" }).click();
    await page.getByRole("checkbox", { name: "30 天内在此浏览器登录不再询问" }).check();
    await page.getByLabel("验证码").fill(laterCode);
    await page.getByRole("button", { name: "登录", exact: true }).click();
    await page.waitForURL("**/token");
    await page.evaluate(() => localStorage.clear());
    await password();
    await page.waitForURL("**/token");
    await page.goto("/setting");
    await page.getByRole("button", { name: "生成系统访问令牌" }).click();
    await page.getByRole("button", { name: "确认生成" }).click();
    const dialog = page.getByRole("dialog", { name: "确认是您本人" });
    await dialog.getByRole("button", { name: "使用通行密钥" }).click();
    expect(await page.getByLabel("新的系统访问令牌").inputValue()).toMatch(/^[0-9a-f]{32}$/);
    await page.goto("/setting?tab=security");
    await page.getByText("本次登录").waitFor();
  });
});
