// Invitations in a real browser: an administrator makes a link, a visitor registers with it while no other visitor may, and it is
// taken back (requirements I38).
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { screenshot } from "#test/worlds/browser.ts";
import { type ConsoleWorld, openConsoleWorld } from "#test/worlds/console-world.ts";

describe("invitations", () => {
  let world: ConsoleWorld;
  let page: Page;
  let link = "";

  beforeAll(async () => {
    world = await openConsoleWorld();
    await world.setOption("InvitationRequiredEnabled", "true");
    ({ page } = await world.visit("wangfang"));
  });
  afterAll(() => world.close());

  async function picture(name: string): Promise<void> {
    await screenshot(page, name);
    await page.setViewportSize({ width: 390, height: 844 });
    await screenshot(page, `${name}-390`);
    await page.setViewportSize({ width: 1440, height: 900 });
  }

  it("an administrator makes a link, which is shown once", async () => {
    await page.goto("/user");
    await page.getByRole("link", { name: "邀请" }).click();
    await page.getByRole("link", { name: "添加新的邀请" }).first().click();
    await page.getByLabel("赠送额度").fill("250000");
    await picture("invitation-form");
    await page.getByRole("button", { name: "创建链接" }).click();
    const dialog = page.getByRole("dialog");
    link = await dialog.getByRole("textbox").inputValue();
    expect(link).toMatch(new RegExp(`^${world.server.url}/register#invite=[\\w-]{20,}$`));
    await picture("invitation-link");
    await dialog.getByRole("button", { name: "完成" }).click();
    await page.getByText("0 / 1").waitFor();
  });

  it("a visitor who has the link registers, and no other", async () => {
    const guest = await world.visit();
    await guest.page.goto("/register");
    await guest.page.getByText("当前仅限受邀注册").waitFor();
    await guest.page.goto("about:blank");
    await guest.page.goto(link);
    await guest.page.getByText("wangfang 邀请您注册").waitFor();
    await screenshot(guest.page, "invitation-register");
    await guest.page.getByLabel("用户名").fill("newcomer");
    await guest.page.getByLabel("密码", { exact: true }).fill("harbour-lamp-81");
    await guest.page.getByLabel("再次输入密码").fill("harbour-lamp-81");
    await guest.page.getByRole("button", { name: "注册", exact: true }).click();
    await guest.page.waitForURL("**/login");
    await guest.page.goto("about:blank");
    await guest.page.goto(link);
    await guest.page.getByText("邀请链接无效或已失效").waitFor();
    expect(world.asked.filter((address) => address.includes(link.split("=")[1] ?? "?"))).toEqual([]);
    await guest.context.close();
  });

  it("the list says what became of it, and takes back what is left", async () => {
    await page.goto("/user/invitation/add");
    await page.getByLabel("受邀邮箱").fill("mei@example.com");
    await page.getByRole("button", { name: "创建链接" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "完成" }).click();
    await page.getByText("1 / 1").waitFor();
    await page.getByText("已用完").waitFor();
    await picture("invitation-list");
    const row = page.getByRole("row", { name: /mei@example\.com/ });
    await row.getByRole("button", { name: "撤回" }).click();
    await page.getByRole("button", { name: "确认撤回" }).click();
    await page.getByText("已撤回").first().waitFor();
  });
});
