// Whose things the console shows (requirements O12): chosen in the header, kept in the address, narrowed by the role.
import { expect, it } from "vitest";
import { screenshots } from "#test/worlds/browser.ts";
import { createConsoleWorld } from "#test/worlds/console-world.ts";

const world = createConsoleWorld();

it("a switch in the header leads to the same page of a team and back, and two tabs do not mix", async () => {
  const { page, context, complaints } = await world.visit("lihua");
  await page.goto("/team");
  const choice = page.getByRole("combobox", { name: "个人或团队" });
  await page.getByRole("heading", { name: "团队", exact: true }).waitFor();
  // Without a team there is nothing to choose.
  expect(await choice.count()).toBe(0);
  const ask = (method: string, path: string, body: object) =>
    page.evaluate(
      async ([how, where, what]) => {
        const headers = { "content-type": "application/json" };
        const answer = await fetch(where, { method: how, headers, body: JSON.stringify(what) });
        return (await answer.json()) as { data: { id: number; code: string } };
      },
      [method, path, body] as const,
    );
  const { data: team } = await ask("POST", "/api/team/", { name: "增长与数据分析组" });
  await ask("POST", "/api/token/", { name: "个人", unlimited_quota: true });
  await ask("POST", "/api/token/", { name: "共用", unlimited_quota: true, team_id: team.id });
  const pick = async (name: string) => {
    await choice.click();
    await page.locator(".ant-select-item-option").filter({ hasText: name }).click();
  };
  await page.goto("/token");
  await page.getByRole("row", { name: /个人/ }).waitFor();
  await pick("增长");
  await page.waitForURL(`**/t/${team.id}/token`);
  await page.getByRole("heading", { name: "团队令牌" }).waitFor();
  await page.getByRole("row", { name: /共用/ }).waitFor();
  expect(await page.getByRole("row", { name: /个人/ }).count()).toBe(0);
  expect(await page.title()).toContain("团队令牌");
  await screenshots(page, "team-context-token");
  // Another tab of the same browser stays where it is.
  const other = await context.newPage();
  await other.goto("/token");
  await other.getByRole("heading", { name: "我的令牌" }).waitFor();
  expect(await other.getByRole("row", { name: /共用/ }).count()).toBe(0);
  await other.close();
  const menu = page.getByRole("navigation", { name: "主导航" });
  for (const [entry, path, heading] of [
    ["日志", "/log", "团队明细"],
    ["总览", "/dashboard", "团队总览"],
    ["账单", "/statement", "团队账单"],
    ["充值", "/topup", "团队充值"],
  ] as const) {
    await menu.getByRole("link", { name: entry, exact: true }).click();
    await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/t/${team.id}${path}`);
    await screenshots(page, `team-context-${path.slice(1)}`);
  }
  // A page of no team is one's own.
  await menu.getByRole("link", { name: "任务", exact: true }).click();
  await page.waitForURL("**/task");
  await page.locator(".tg-context").getByText("个人", { exact: true }).waitFor();
  await page.goto(`/t/${team.id}/statement`);
  await pick("个人");
  await page.waitForURL("**/statement");
  await page.getByRole("heading", { name: "月度账单" }).waitFor();
  // Back from a form to the list of the team.
  await page.goto(`/t/${team.id}/token`);
  await page.getByRole("row", { name: /共用/ }).getByRole("button", { name: "编辑" }).click();
  await page.waitForURL(`**/t/${team.id}/token/edit/*`);
  await page.getByText("实际使用受团队钱包剩余额度限制").waitFor();
  await page.getByRole("button", { name: /^取\s?消$/ }).click();
  await page.waitForURL(`**/t/${team.id}/token`);

  // A viewer sees the log, his own part of it, and is told of the rest.
  const { data } = await ask("POST", `/api/team/${team.id}/invitation`, { role: "viewer" });
  const guest = await world.visit("wangfang");
  await guest.page.goto(`/team/join#${data.code}`);
  await guest.page.getByRole("button", { name: "加入团队" }).click();
  await guest.page.waitForURL(`**/team/${team.id}`);
  const entries = guest.page.getByRole("navigation", { name: "主导航" });
  // The address changes before the menu is drawn again.
  await entries.locator(`a[href^="/t/${team.id}/log"]`).click();
  await guest.page.getByRole("heading", { name: "团队明细" }).waitFor();
  for (const entry of ["令牌", "总览", "账单", "充值"])
    expect(await entries.getByRole("link", { name: entry, exact: true }).count()).toBe(0);
  await guest.page.goto(`/t/${team.id}/statement`);
  await guest.page.getByRole("heading", { name: "您的角色看不到这一页" }).waitFor();
  await screenshots(guest.page, "team-context-refused");
  await guest.page.goto("/t/987654/token");
  await guest.page.getByRole("heading", { name: "找不到该团队" }).waitFor();
  await guest.page.setViewportSize({ width: 390, height: 844 });
  await guest.page.goto(`/t/${team.id}/log`);
  await guest.page.getByRole("combobox", { name: "个人或团队" }).click();
  await guest.page.locator(".ant-select-item-option").filter({ hasText: "个人" }).click();
  await guest.page.waitForURL("**/log");
  expect(await guest.page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  expect([...complaints, ...guest.complaints]).toEqual([]);
  await guest.context.close();
  await context.close();
}, 120_000);
