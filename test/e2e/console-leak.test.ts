// A leaked key leads to its owner and is disabled, in the palette, by an administrator in a real browser.
import { expect, it } from "vitest";
import { screenshot } from "#test/worlds/browser.ts";
import { createConsoleWorld } from "#test/worlds/console-world.ts";

const world = createConsoleWorld();

it.each([1440, 390])(
  "a leaked key leads to its owner and is ended, and stands in no address (%i px)",
  async (width) => {
    const owner = await world.visit("lihua");
    await owner.page.goto("/token/add");
    await owner.page.locator("#name").fill(`泄露 ${width}`);
    await owner.page.getByRole("button", { name: "提交", exact: true }).click();
    await owner.page.waitForURL(/\/token$/);
    const created = await owner.page.evaluate(async () => {
      const answer: { data: { name: string; key: string }[] } = await (
        await fetch("/api/token/?p=0&size=50")
      ).json();
      return answer.data;
    });
    const key = created.find(({ name }) => name === `泄露 ${width}`)?.key ?? "";
    expect(key).toHaveLength(48);
    await owner.context.close();

    const { page, context } = await world.visit("root", { width, height: 844 });
    const addresses: string[] = [];
    page.on("request", (request) => addresses.push(request.url()));
    await page.goto("/user");
    await page.getByRole("heading", { name: "管理用户" }).waitFor();
    await page.keyboard.press("ControlOrMeta+K");
    await page.getByRole("combobox", { name: "跳转或搜索" }).fill(`sk-${key}`);
    await page.getByText("lihua（ID").waitFor();
    await screenshot(page, `leak-${width}`);
    await page.getByRole("button", { name: "禁用令牌" }).click();
    await page.getByRole("button", { name: "确认禁用" }).click();
    await page.getByText("令牌已禁用").waitFor();
    const headers = { authorization: `Bearer sk-${key}` };
    expect((await fetch(`${world.server.url}/v1/models`, { headers })).status).toBe(401);
    await page.getByRole("button", { name: "打开用户" }).click();
    await page.waitForURL(/\/user\/edit\/\d+$/);
    expect(addresses.filter((address) => address.includes(key.slice(0, 12)))).toEqual([]);
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
    expect(kept).not.toContain(key);
    await context.close();
  },
);
