// The audit log in the console (requirements Z14, P05): found by filters that the address keeps, each field before and after, the chain
// judged, and the same rows as a file.
import { expect, it } from "vitest";
import { screenshot } from "#test/worlds/browser.ts";
import { contentOf, createConsoleWorld } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

const world = createConsoleWorld();

it("tells who changed what, from what to what; its address opens the same view again", async () => {
  await world.setOption("SystemName", "审计站");
  await manage(world.server.url, "PUT", "/api/user/", { id: 2, display_name: "李华", group: "vip" });
  const { page, context, complaints } = await world.visit("wangfang");
  await page.goto("/token");
  await page.getByRole("menuitem", { name: "审计" }).click();
  await page.waitForURL("**/audit");
  await page.getByText(/^审计链完整：\d+ 条记录与写入时一致/).waitFor();
  await page.getByLabel("选择操作").click();
  await page.keyboard.type("编辑用户");
  await page.keyboard.press("Enter");
  await page.waitForURL(/action=user\.update/);
  await page.getByLabel("操作者").fill("root");
  await page.getByLabel("对象").fill("2");
  await page.getByRole("button", { name: "查询" }).click();
  await page.waitForURL(/username=root.*target=2|target=2.*username=root/);
  const rows = page.locator("tbody tr.ant-table-row");
  await expect.poll(() => rows.count()).toBe(1);
  await screenshot(page, "audit");
  await rows.first().click();
  const drawer = page.getByRole("dialog");
  await drawer.getByText("编辑用户").waitFor();
  const cells = await drawer
    .getByRole("row", { name: /^group/ })
    .getByRole("cell")
    .allTextContents();
  expect(cells).toEqual(["group", "default", "vip"]);
  await screenshot(page, "audit-entry");
  await page.keyboard.press("Escape");
  await page.reload();
  await expect.poll(() => rows.count()).toBe(1);
  const downloaded = page.waitForEvent("download");
  await page.getByRole("button", { name: "导出 CSV" }).click();
  const download = await downloaded;
  expect(download.suggestedFilename()).toMatch(/^审计记录-\d{4}-\d\d-\d\d\.csv$/);
  const [head, ...lines] = (await contentOf(download)).trim().split("\r\n");
  expect(head).toContain("操作者,操作,操作代码,对象,内容");
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(',root,编辑用户,user.update,2,"{""display_name"":""李华""');
  await page.getByRole("button", { name: "清除全部" }).click();
  await expect.poll(() => rows.count()).toBeGreaterThan(1);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole("button", { name: "筛选" }).waitFor();
  await screenshot(page, "audit-phone");
  expect(complaints).toEqual([]);
  await context.close();
});
