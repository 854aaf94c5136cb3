// A team in a real browser (requirements O04–O07): made, filled by a link, capped, and seen by who may only look.
import { expect, it } from "vitest";
import { screenshot, screenshots } from "#test/worlds/browser.ts";
import { createConsoleWorld } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";
import { inviteLink } from "#test/worlds/team-console.ts";

const world = createConsoleWorld();

it("an owner makes a team, pays in, invites by a link and sets a cap; a viewer can change nothing", async () => {
  const { server, visit } = world;
  await manage(server.url, "POST", "/api/topup", { user_id: 2, quota: 5_000_000, remark: "test" });
  const { page, context, complaints } = await visit("lihua");
  await page.goto("/team");
  await page.getByRole("button", { name: "创建团队" }).first().click();
  await page.getByLabel("团队名称").fill("研发一组");
  await page
    .getByRole("button", { name: "创 建" })
    .or(page.getByRole("button", { name: "创建", exact: true }))
    .click();
  await page.waitForURL(/\/team\/\d+$/);
  await page.getByRole("heading", { name: "研发一组" }).waitFor();
  await page.getByRole("button", { name: /^转\s?入$/ }).click();
  await page.getByRole("button", { name: "$5", exact: true }).click();
  await page
    .getByRole("dialog")
    .getByRole("button", { name: /^转\s?入$/ })
    .click();
  await page.getByText("$5.00").first().waitFor();

  const link = await inviteLink(page, /^成员/);
  const guest = await visit("wangfang");
  await guest.page.goto(link);
  await guest.page.getByText(/邀请您以“成员”/).waitFor();
  await screenshot(guest.page, "team-join");
  await guest.page.getByRole("button", { name: "加入团队" }).click();
  await guest.page.waitForURL(/\/team\/\d+$/);
  // No such button for a member, and what is in the wallet is not told.
  await guest.page.getByText("我的角色").waitFor();
  expect(await guest.page.getByText("钱包余额").count()).toBe(0);
  expect(await guest.page.getByRole("button", { name: "邀请成员" }).count()).toBe(0);

  await page.reload();
  const row = page.getByRole("row", { name: /wangfang/ });
  await row.getByRole("button", { name: "上限" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "$1", exact: true }).click();
  await page
    .getByRole("dialog")
    .getByRole("button", { name: /^保\s?存$/ })
    .click();
  await row.getByText(/\$0\.00 \/ \$1\.00/).waitFor();
  await screenshot(page, "team-owner");

  // The member's token says who pays.
  await guest.page.getByRole("link", { name: "团队令牌" }).click();
  await guest.page.getByRole("heading", { name: "团队令牌" }).waitFor();
  await guest.page.getByRole("link", { name: "添加新的令牌" }).first().click();
  await guest.page.waitForURL(/\/token\/add/);
  await guest.page.getByText("实际使用受团队钱包剩余额度限制").waitFor();
  await guest.page.getByRole("textbox", { name: "名称" }).fill("评测");
  await guest.page.getByRole("button", { name: /^提\s?交$/ }).click();
  await guest.page.waitForURL(/\/t\/\d+\/token$/);
  await guest.page.getByRole("row", { name: /评测.*wangfang/ }).waitFor();
  await screenshot(guest.page, "team-tokens");
  await page.goto(page.url().replace(/\/team\/(\d+).*/, "/t/$1/token"));
  const others = page.getByRole("row", { name: /评测/ });
  await others.waitFor();
  expect(await others.getByRole("button", { name: /复制/ }).count()).toBe(0);

  await page.goto(`/team/1`);
  await row.getByRole("button", { name: "角色" }).click();
  await page.getByRole("dialog").getByLabel("角色").click();
  await page.locator(".ant-select-item-option").filter({ hasText: /^只读/ }).click();
  await page
    .getByRole("dialog")
    .getByRole("button", { name: /^保\s?存$/ })
    .click();
  await row.getByText("只读").waitFor();
  await guest.page.goto("/team/1");
  await guest.page.getByText("只读").first().waitFor();
  for (const name of [/^转\s?入$/, /^转\s?出$/, "邀请成员", "上限", "角色", "移出", "解散团队"])
    expect(await guest.page.getByRole("button", { name }).count()).toBe(0);
  expect(await guest.page.getByRole("link", { name: "团队令牌" }).count()).toBe(0);
  // A link that no user has used yet is listed, and taken back.
  await page.goto("/team/1?tab=invitation");
  await page.getByText("没有可用的邀请").waitFor();
  await inviteLink(page, /^只读/);
  await page.getByText("0 / 1").waitFor();
  await screenshot(page, "team-invitations");
  await page.getByRole("button", { name: "撤回" }).click();
  await page.getByRole("button", { name: "确认撤回" }).click();
  await page.getByText("没有可用的邀请").waitFor();
  await page.getByRole("button", { name: /^改\s?名$/ }).click();
  await page.getByRole("textbox", { name: "团队名称" }).fill("研发二组");
  await page
    .getByRole("dialog")
    .getByRole("button", { name: /^保\s?存$/ })
    .click();
  await page.getByRole("heading", { name: "研发二组" }).waitFor();
  // What cannot be undone stands last.
  expect(await page.locator(".tg-team-buttons > *").last().textContent()).toBe("解散团队");
  await page.getByRole("tab", { name: "操作记录" }).click();
  await page.getByRole("row", { name: /团队改名/ }).waitFor();
  await screenshots(page, "team-acts");
  await page.getByRole("row", { name: /团队改名/ }).click();
  await page.getByRole("dialog").getByText("研发二组").waitFor();
  await screenshot(page, "team-act");
  await page.keyboard.press("Escape");
  for (const [who, name] of [
    [page, "team-owner-390"],
    [guest.page, "team-viewer-390"],
  ] as const) {
    await who.setViewportSize({ width: 390, height: 844 });
    await who.goto("/team/1");
    await who.getByText("我的角色").waitFor();
    await screenshot(who, name);
    expect(await who.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  }
  expect(complaints).toEqual([]);
  await guest.context.close();
  await context.close();
}, 120_000);

it("an owner makes a project, caps it and gives it a token (requirements O09)", async () => {
  const { page, context, complaints } = await world.visit("lihua");
  await page.goto("/team/1?tab=project");
  await page.getByText("还没有项目").first().waitFor();
  await page.getByRole("button", { name: "添加新的项目" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("项目名称").fill("官网改版");
  await dialog.getByRole("button", { name: /^保\s?存$/ }).click();
  const row = page.getByRole("row", { name: /官网改版/ });
  await row.waitFor();
  await dialog.waitFor({ state: "hidden" });
  await row.getByRole("button", { name: "上限" }).click();
  await dialog.getByRole("button", { name: "$1", exact: true }).click();
  await dialog.getByRole("button", { name: /^保\s?存$/ }).click();
  await row.getByText(/\$0\.00 \/ \$1\.00/).waitFor();
  await dialog.waitFor({ state: "hidden" });
  await screenshots(page, "team-projects");
  await page.goto("/t/1/token/add");
  await page.getByLabel("名称", { exact: true }).fill("官网");
  await page.getByRole("combobox", { name: "项目" }).click();
  await page.getByTitle("官网改版").click();
  await screenshots(page, "team-project-token");
  await page.getByRole("button", { name: "提交" }).click();
  await page.waitForURL("**/t/1/token");
  await page.goto("/team/1?tab=project");
  await row.waitFor();
  expect(await row.getByRole("button", { name: "删除" }).isDisabled()).toBe(true);
  expect(complaints).toEqual([]);
  await context.close();
});

it("an owner tops up the wallet with a code (requirements O10)", async () => {
  const code = { name: "团队充值", quota: 1_000_000, count: 1 };
  const [key] = (await manage(world.server.url, "POST", "/api/redemption/", code)) as readonly string[];
  const { page, context, complaints } = await world.visit("lihua");
  await page.goto("/team/1");
  await page.locator(".tg-team-buttons").getByRole("link", { name: "充值" }).click();
  await page.waitForURL("**/t/1/topup");
  await page.getByRole("heading", { name: "团队钱包" }).waitFor();
  expect(await page.getByLabel("礼品码（可选）").count()).toBe(0);
  await page.getByText("$5.00").last().waitFor();
  await page.getByLabel("兑换码", { exact: true }).fill(key ?? "");
  await page.getByRole("button", { name: /^兑\s?换$/ }).click();
  await page.getByText("$7.00").waitFor();
  // An owner who tops up a team reads nothing of gift codes of his own.
  await page.getByText("额度进入团队钱包").waitFor();
  expect(await page.getByText("双方各得 5%").count()).toBe(0);
  await screenshots(page, "team-topup");
  expect(complaints).toEqual([]);
  await context.close();
});
