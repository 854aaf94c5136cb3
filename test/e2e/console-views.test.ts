// Views of lists (requirements B10, Y60): filters are asked of the server and stand in the address, a copied link opens the same view in a
// browser that knows nothing of it, and a file has all rows that match, exactly and without formulas.
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { startHttpEmulator } from "#test/emulators/http-emulator.ts";
import { screenshots } from "#test/worlds/browser.ts";
import { furnish } from "#test/worlds/console-pages.ts";
import { contentOf, createConsoleWorld } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

const world = createConsoleWorld();

beforeAll(async () => {
  const upstream = await startHttpEmulator(() => ({ status: 500, json: {} }));
  await furnish(world, { url: upstream.url, key: "up-key" });
  await upstream.close();
  const { url } = world.server;
  await manage(url, "POST", "/api/redemption/", { name: "=1+1", quota: 7, count: 100 });
  await manage(url, "PUT", "/api/user/", { id: 2, group: "vip" });
}, 180_000);

const rowsOf = (page: Page) => page.locator("tbody tr.ant-table-row");

/** Chooses one of the options of a select. */
async function choose(page: Page, label: string, option: string): Promise<void> {
  await page.getByRole("combobox", { name: label }).click();
  await page.locator(".ant-select-item-option").getByText(option, { exact: true }).click();
  await page.getByText(`：${option}`).waitFor();
}

/** The lines of the file that the button of a list saves. */
async function fileOf(page: Page): Promise<string[]> {
  const downloaded = page.waitForEvent("download");
  await page.getByRole("button", { name: "导出 CSV" }).click();
  return (await contentOf(await downloaded)).trim().split("\r\n");
}

describe("a view", () => {
  it("is what the link to it says: filters, order, columns and page size", async () => {
    const { page, context } = await world.visit("root");
    await page.goto("/user");
    await expect.poll(() => rowsOf(page).count()).toBe(3);
    await choose(page, "选择角色", "普通用户");
    await page.getByLabel("分组名称").fill("vip");
    await page.getByRole("button", { name: "查询" }).click();
    await expect.poll(() => rowsOf(page).count()).toBe(1);
    await page.getByRole("columnheader", { name: "用户名" }).first().click();
    await page.waitForURL(/order=username/);
    await page.getByRole("button", { name: "选择显示的列" }).click();
    await page.getByLabel("注册时间").check();
    await page.getByRole("checkbox", { name: "分组" }).uncheck();
    await page.keyboard.press("Escape");
    await screenshots(page, "view-user");
    await page.getByRole("button", { name: "复制当前视图的链接" }).click();
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toContain("columns=");
    const link = await page.evaluate(() => navigator.clipboard.readText());
    await context.close();

    const other = await world.visit("wangfang");
    await other.page.goto(link.replace(/size=\d+/, "size=50"));
    await expect.poll(() => rowsOf(other.page).count()).toBe(1);
    await other.page.getByText("角色：普通用户").waitFor();
    await other.page.getByRole("columnheader", { name: "注册时间" }).first().waitFor();
    expect(await other.page.getByRole("columnheader", { name: "分组" }).count()).toBe(0);
    await other.page.getByText("50 条/页").waitFor();
    const asked = other.asked.filter((address) => address.includes("/api/user/?")).at(-1) ?? "";
    for (const part of ["role=1", "group=vip", "size=50", "order=username"]) expect(asked).toContain(part);
    await other.context.close();
  });

  it.each([
    ["/token", "选择状态", "已禁用", 0],
    ["/redemption", "选择状态", "未使用", 20],
    ["/channel", "选择状态", "自动禁用", 1],
    ["/channel", "选择类型", "OpenAI", 3],
    ["/payment", "选择状态", "已到账", 0],
  ] as const)("of %s is filtered by %s %s", async (path, label, option, count) => {
    const { page, context, complaints } = await world.visit("root");
    await page.goto(path);
    await page.getByRole("combobox", { name: label }).waitFor();
    await choose(page, label, option);
    if (count === 0) await page.getByText("没有符合筛选条件的记录。").waitFor();
    else await expect.poll(() => rowsOf(page).count()).toBe(count);
    if (count !== 3) await screenshots(page, `view${path.replace("/", "-")}`);
    expect(complaints).toEqual([]);
    await context.close();
  });
});

describe("a file", () => {
  it("has every row that matches, whatever the page shows, and no formula", async () => {
    const { page, context } = await world.visit("root");
    await page.goto("/redemption?status=1");
    await expect.poll(() => rowsOf(page).count()).toBe(20);
    const [head, ...lines] = await fileOf(page);
    expect(head).toBe("ID,名称,状态,额度（点）,售价（元）,创建用户 ID,创建时间,兑换用户 ID,兑换时间");
    expect(lines).toHaveLength(103);
    expect(lines.filter((line) => line.includes(",'=1+1,未使用,7,"))).toHaveLength(100);
    // The codes themselves are money.
    expect(lines.some((line) => /[0-9a-f]{32}/.test(line))).toBe(false);
    await context.close();
  });

  it("follows the search, and says what lists say", async () => {
    const { page, context } = await world.visit("lihua");
    await page.goto("/token?keyword=生产");
    await expect.poll(() => rowsOf(page).count()).toBe(1);
    const lines = await fileOf(page);
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/^\d+,生产环境,,已启用,\w{4}…\w{4},0,500000,/);
    await context.close();
  });
});

describe("what is done to many rows (requirements B11)", () => {
  it("tells of each that failed why, leaves it chosen, and is written down row by row", async () => {
    const { page, context, complaints } = await world.visit("root");
    await page.goto("/user");
    await expect.poll(() => rowsOf(page).count()).toBe(3);
    await page.getByRole("checkbox", { name: "选择本页全部" }).first().check();
    const bar = page.getByRole("toolbar", { name: "批量操作" });
    await bar.getByText("已选择 3 项").waitFor();
    await bar.getByRole("button", { name: "禁用", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "禁用成功 2 个，失败 1 个用户" });
    await dialog.getByText("root：不能对超级管理员执行该操作").waitFor();
    await screenshots(page, "bulk-failed");
    await dialog.getByRole("button", { name: "知道了" }).click();
    await bar.getByText("已选择 1 项").waitFor();
    await expect.poll(() => page.getByText("已封禁").count()).toBe(2);
    const trail = await manage(world.server.url, "GET", "/api/audit/?action=user.disable");
    expect(trail).toMatchObject([{ target: "2" }, { target: "3" }]);
    for (const username of ["lihua", "wangfang"])
      await manage(world.server.url, "POST", "/api/user/manage", { username, action: "enable" });
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("deletes after the word was typed", async () => {
    const { page, context } = await world.visit("root");
    await page.goto("/redemption?keyword=十月活动");
    await expect.poll(() => rowsOf(page).count()).toBe(3);
    for (const id of [1, 2]) await page.getByRole("checkbox", { name: `选择第 ${id} 号` }).check();
    const bar = page.getByRole("toolbar", { name: "批量操作" });
    await bar.getByRole("button", { name: "删除", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "删除 2 个兑换码？" });
    await dialog.getByText("十月活动 #2、十月活动 #1").waitFor();
    await dialog.getByRole("textbox").fill("删除");
    await dialog.getByRole("button", { name: "确认删除" }).click();
    await page.getByText("已删除 2 个兑换码").waitFor();
    await expect.poll(() => rowsOf(page).count()).toBe(1);
    await context.close();
  });
});
