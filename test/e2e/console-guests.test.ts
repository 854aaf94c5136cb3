// The top menu of the pages outside the shell (requirements B2): links to every public page, login and logout, at 1440 px and
// on a phone.
import { describe, expect, it } from "vitest";
import { createConsoleWorld } from "#test/worlds/console-world.ts";

const PAGES = ["/", "/login", "/register", "/reset", "/about", "/terms", "/no/such/page"] as const;
const PUBLIC = ["推广计划", "聊天", "文档", "价格", "模型广场"] as const;
const world = createConsoleWorld();

describe("the menu of guest pages", () => {
  it.each(PAGES)("%s leads to the public pages and to the login", async (path) => {
    const { page, context } = await world.visit();
    await page.goto(path);
    const menu = page.getByRole("navigation", { name: "主导航" });
    await menu.waitFor();
    expect(await menu.getByRole("link").allTextContents()).toEqual([...PUBLIC]);
    const ways = await page
      .getByRole("banner")
      .getByRole("link", { name: /^(登录|注册)$/ })
      .allTextContents();
    expect(ways).toEqual(
      ["注册", "登录"].filter(
        (name) => !(path === "/login" && name === "登录") && !(path === "/register" && name === "注册"),
      ),
    );
    await menu.getByRole("link", { name: "推广计划" }).click();
    await page.waitForURL("**/partnerplan");
    await context.close();
  });

  it("lets a user log in and out", async () => {
    const { page, context } = await world.visit("lihua");
    await page.goto("/about");
    const head = page.getByRole("banner");
    await head.getByRole("link", { name: "进入控制台" }).waitFor();
    await head.getByRole("button", { name: "注销" }).click();
    await page.getByText("注销成功！").waitFor();
    await head.getByRole("link", { name: "登录" }).waitFor();
    expect(await page.evaluate(() => localStorage.getItem("user"))).toBe(null);
    expect(new URL(page.url()).pathname).toBe("/about");
    expect((await context.request.get("/api/user/self")).status()).toBe(401);
    await context.close();
  });

  it("folds on a phone, and closes by Escape and by a choice", async () => {
    const { page, context } = await world.visit("lihua", { width: 390, height: 844 });
    await page.goto("/terms");
    const menu = page.getByRole("navigation", { name: "主导航" });
    const open = page.getByRole("button", { name: "打开菜单" });
    await open.click();
    await menu.getByRole("link", { name: "价格" }).waitFor();
    await page.keyboard.press("Escape");
    await menu.waitFor({ state: "hidden" });
    await open.click();
    await page.getByRole("button", { name: "注销" }).waitFor();
    await menu.getByRole("link", { name: "价格" }).click();
    await page.waitForURL("**/pricing");
    const wide = () => document.documentElement.scrollWidth > window.innerWidth;
    for (const path of PAGES) {
      await page.goto(path);
      await open.waitFor();
      expect(await page.evaluate(wide), path).toBe(false);
    }
    await context.close();
  });
});
