// A login through a provider that we did not write, in a browser: set up in the console, used on the login page, seen in the settings.
import { afterAll, beforeAll, expect, it } from "vitest";
import { APP, type ChatLogins, startChatLogins } from "#test/emulators/chat-logins.ts";
import { startOidcWorld } from "#test/emulators/oidc-world.ts";
import { screenshot, screenshots } from "#test/worlds/browser.ts";
import { type ConsoleWorld, openConsoleWorld } from "#test/worlds/console-world.ts";

let world: ConsoleWorld;
let chats: ChatLogins;
let provider: Awaited<ReturnType<typeof startOidcWorld>>;

beforeAll(async () => {
  chats = await startChatLogins();
  world = await openConsoleWorld({ CHAT_VENDOR_URL: chats.url, EGRESS_ALLOW: "127.0.0.0/8" });
  await world.setOption("ServerAddress", world.server.url);
  provider = await startOidcWorld({ redirectUrl: `${world.server.url}/oauth/company`, isInToken: false });
  provider.people.set("somebody", { name: "李华", email: "lihua@corp.example", email_verified: true });
}, 180_000);

afterAll(async () => {
  await chats?.close();
  await provider?.close();
  await world?.close();
});

it("is set up by the super administrator, lets a new user into the group of the mail domain, and is bound in the settings", async () => {
  const admin = await world.visit("root");
  await admin.page.goto("/mail-domain");
  await admin.page.getByRole("link", { name: "添加邮箱域名" }).first().click();
  await admin.page.waitForURL("**/mail-domain/add");
  await admin.page.getByRole("textbox", { name: "邮箱域名" }).fill("corp.example");
  await admin.page.getByLabel("分组").click();
  await admin.page.getByTitle("vip", { exact: true }).click();
  await screenshots(admin.page, "mail-domain-form");
  await admin.page.getByRole("button", { name: "提交" }).click();
  await admin.page.getByRole("cell", { name: "corp.example" }).waitFor();
  await screenshots(admin.page, "mail-domain-list");

  await admin.page.goto(`${world.server.url}/login-provider/add`);
  await admin.page.getByLabel("名称", { exact: true }).fill("公司账号");
  await admin.page.getByLabel("标识", { exact: true }).fill("company");
  await admin.page.getByLabel("签发者地址").fill(provider.issuer);
  await admin.page.getByLabel("客户端 ID").fill(provider.clientId);
  await admin.page.getByLabel("客户端密钥").fill(provider.clientSecret);
  await admin.page.getByLabel("单位的邮箱域名").fill("corp.example");
  await admin.page.keyboard.press("Enter");
  for (const width of [1440, 390]) {
    await admin.page.setViewportSize({ width, height: 900 });
    await screenshot(admin.page, `sign-on-form-${width}`);
  }
  await admin.page.setViewportSize({ width: 1440, height: 900 });
  await admin.page.getByRole("button", { name: "提交" }).click();
  await admin.page.getByText("公司账号").first().waitFor();
  for (const width of [1440, 390]) {
    await admin.page.setViewportSize({ width, height: 900 });
    await screenshot(admin.page, `sign-on-list-${width}`);
  }

  const guest = await world.visit();
  await guest.page.goto(`${world.server.url}/login`);
  const button = guest.page.getByRole("button", { name: "公司账号" });
  await button.waitFor();
  for (const width of [1440, 390]) {
    await guest.page.setViewportSize({ width, height: 900 });
    await screenshot(guest.page, `sign-on-login-${width}`);
  }
  await button.click();
  await guest.page.waitForURL(/\/token$/);
  const self = await (await guest.context.request.get("/api/user/self")).json();
  expect(self.data).toMatchObject({ group: "vip", email: "lihua@corp.example" });
  await guest.page.goto(`${world.server.url}/setting`);
  await guest.page.getByRole("button", { name: "解除绑定" }).waitFor();
  for (const width of [1440, 390]) {
    await guest.page.setViewportSize({ width, height: 900 });
    await screenshot(guest.page, `sign-on-bindings-${width}`);
  }
  expect(guest.complaints).toEqual([]);
}, 120_000);

it("钉钉 is set up with its company, and a colleague logs in by its page", async () => {
  const admin = await world.visit("root");
  const { page } = admin;
  await page.goto(`${world.server.url}/login-provider/add`);
  await page.getByLabel("协议").click();
  await page.getByTitle("钉钉").click();
  await page.getByLabel("名称", { exact: true }).fill("钉钉");
  await page.getByLabel("标识", { exact: true }).fill("dingtalk");
  await page.getByLabel("Client ID（AppKey）").fill(APP.id);
  await page.getByLabel("Client Secret（AppSecret）").fill(APP.secret);
  await page.getByLabel("允许的企业").fill("corp-1");
  await page.keyboard.press("Enter");
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 1_400 });
    await screenshot(page, `sign-on-chat-form-${width}`);
  }
  await page.getByRole("button", { name: "提交" }).click();
  await page.getByText("corp-1").or(page.getByText(APP.id)).first().waitFor();

  const guest = await world.visit();
  // The page of the vendor: the person agrees at once.
  await guest.page.route(`${chats.url}/oauth2/auth?*`, (route) => {
    const back = chats.agree(route.request().url(), { id: "union-1", name: "王芳", tenant: "corp-1" });
    const location = `${world.server.url}/oauth/dingtalk?${new URLSearchParams(back)}`;
    return route.fulfill({ status: 302, headers: { location } });
  });
  await guest.page.goto(`${world.server.url}/login`);
  await guest.page.getByRole("button", { name: "钉钉" }).click();
  await guest.page.waitForURL(/\/token$/);
  await guest.page.getByText("王芳").first().waitFor();
  expect(guest.complaints).toEqual([]);
}, 120_000);
