// The first run where the address of the server has a name: its passkey step, with a device that has passkeys (requirements I22, I39).
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { launchBrowser, openContext, screenshots } from "#test/worlds/browser.ts";
import { buildConsole } from "#test/worlds/build.ts";
import { type ServerProcess, startServer, temporaryDir } from "#test/worlds/process.ts";
import { connectAuthenticator, type VirtualAuthenticator } from "#test/worlds/virtual-authenticator.ts";

const PASSWORD = "harbour-lamp-81";
const dir = temporaryDir();
let server: ServerProcess;
let browser: Browser;
let page: Page;
let authenticator: VirtualAuthenticator;
let site = "";

beforeAll(async () => {
  buildConsole();
  server = await startServer(dir.path);
  // Passkeys belong to a name.
  site = server.url.replace("127.0.0.1", "localhost");
  browser = await launchBrowser();
  page = await (await openContext(browser, site)).newPage();
  authenticator = await connectAuthenticator(page);
}, 180_000);

afterAll(async () => {
  await browser?.close();
  await server?.kill();
  dir.remove();
});

it("after the password a passkey is offered and added, recovery codes are shown, and a channel comes next", async () => {
  const key = /\/first-run#([\w-]{43})/.exec(server.output())?.[1] ?? "";
  await page.goto(`/first-run#${key}`);
  await page.getByLabel("新密码").fill(PASSWORD);
  await page.getByLabel("再次输入密码").fill(PASSWORD);
  await page.getByRole("radio", { name: "关闭注册" }).check();
  await page.getByRole("button", { name: "设置并登录" }).click();
  await page.getByRole("heading", { name: "添加通行密钥" }).waitFor();
  expect(page.url()).toBe(`${site}/first-run?step=passkey`);
  const steps = page.getByRole("list", { name: "步骤" });
  expect(await steps.locator('[aria-current="step"]').textContent()).toContain("通行密钥");
  expect(await steps.getByRole("listitem").count()).toBe(4);
  await screenshots(page, "first-run-passkey");
  await page.getByRole("button", { name: "添加通行密钥" }).click();
  await page.getByRole("heading", { name: "保存恢复码" }).waitFor();
  expect(await page.getByRole("list", { name: "恢复码" }).getByRole("listitem").count()).toBe(10);
  await screenshots(page, "first-run-codes");
  const { credentials } = await authenticator.device.send("WebAuthn.getCredentials", {
    authenticatorId: authenticator.authenticatorId,
  });
  expect(credentials).toMatchObject([{ rpId: "localhost", isResidentCredential: true }]);
  await page.getByRole("button", { name: "已保存，下一步" }).click();
  await page.getByRole("heading", { name: "接入第一个渠道" }).waitFor();
});

it("root comes in with that passkey alone, and no visitor registers where that was closed", async () => {
  await page.context().clearCookies();
  await page.evaluate(() => localStorage.clear());
  await page.goto("/register");
  await page.getByText("管理员关闭了新用户注册").waitFor();
  await page.goto("/login");
  await page.getByRole("button", { name: "通行密钥" }).click();
  await page.waitForURL((url) => url.pathname !== "/login");
  const self = await page.request.get("/api/user/self");
  expect(await self.json()).toMatchObject({ success: true, data: { username: "root" } });
});
