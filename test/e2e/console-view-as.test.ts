// Looking at the console as another user, in a real browser (requirements Z24): begun from the page of the user, told on every page, ended by a button.
import { expect, it } from "vitest";
import { screenshot, screenshots } from "#test/worlds/browser.ts";
import { createConsoleWorld } from "#test/worlds/console-world.ts";

const world = createConsoleWorld();

it("an administrator sees what the user sees, can change nothing, and goes back", async () => {
  const { page, context } = await world.visit("root");
  await page.goto("/user/edit/2");
  await page.getByRole("button", { name: "以其身份查看" }).click();
  await page.getByText(/所有窗口都会切换/).waitFor();
  await screenshot(page, "view-ask");
  await page.getByRole("button", { name: "开始查看" }).click();
  await page.waitForURL("**/dashboard");
  const banner = page.getByRole("region", { name: "以其他用户的身份查看" });
  await banner.getByText(/root 正在以 lihua 的身份查看/).waitFor();
  await screenshots(page, "view-dashboard");
  // Nothing is asked for that the user may not.
  expect(await page.getByText("权限不够").count()).toBe(0);
  // The menu is the user's, and so are the tokens, without keys.
  const menu = page.getByRole("navigation", { name: "主导航" });
  expect(await menu.getByRole("link", { name: "渠道", exact: true }).count()).toBe(0);
  await menu.getByRole("link", { name: "令牌", exact: true }).click();
  await page.getByRole("heading", { name: "我的令牌" }).waitFor();
  await page.emulateMedia({ colorScheme: "dark" });
  await screenshots(page, "view-token-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await page.getByRole("link", { name: "添加新的令牌" }).first().click();
  await page.getByRole("textbox", { name: "名称" }).fill("不会有");
  await page.getByRole("button", { name: /^提\s?交$/ }).click();
  await page.getByText("只能查看，不能操作").first().waitFor();
  // Another window of the browser is told, too.
  const other = await context.newPage();
  await other.goto("/log");
  await other.getByRole("region", { name: "以其他用户的身份查看" }).waitFor();
  await other.close();
  await page.goto("/log");
  await banner.getByRole("button", { name: "结束查看" }).click();
  await page.waitForURL("**/user");
  await page.getByRole("heading", { name: "管理用户" }).waitFor();
  await page.getByRole("row", { name: /lihua/ }).waitFor();
  expect(await banner.count()).toBe(0);
  await context.close();
}, 120_000);
