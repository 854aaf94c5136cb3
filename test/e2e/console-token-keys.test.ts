// Keys in the console: shown once, rotated, found by tag; made and limited by an administrator for another user (requirements K11–K14).
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { createConsoleWorld } from "#test/worlds/console-world.ts";

const world = createConsoleWorld();

/** The status of a call with this key. */
async function use(key: string): Promise<number> {
  const answer = await fetch(`${world.server.url}/v1/models`, {
    headers: { authorization: `Bearer ${key}` },
  });
  await answer.text();
  return answer.status;
}

/** The key that a dialog shows; closes it. */
async function shownKey(page: Page, called: "令牌" | "新密钥"): Promise<string> {
  await page.getByText(`已生成 1 个${called}`).waitFor();
  const key = await page.getByLabel(`生成的${called}`).inputValue();
  expect(key).toMatch(/^sk-\w{48}$/);
  await page.getByRole("button", { name: /完\s*成/ }).click();
  return key;
}

it("a key that is shown once is shown once, rotated with an overlap, and found by its tag", async () => {
  const { page, context } = await world.visit("lihua");
  await page.goto("/token/add");
  await page.locator("#name").fill("流水线");
  await page.getByRole("button", { name: "标签、备注与密钥的显示" }).click();
  await page.getByLabel("标签").fill("ci,生产,");
  await page.getByLabel("备注").fill("负责人=小李");
  await page.getByRole("switch", { name: "密钥只显示一次" }).click();
  await page.getByRole("button", { name: /提\s*交/ }).click();
  await page.getByText("密钥只显示这一次").waitFor();
  const first = await shownKey(page, "令牌");
  await page.waitForURL("**/token");
  const row = page.getByRole("row", { name: /流水线/ });
  await row.getByText(`${first.slice(0, 7)}••••••${first.slice(-4)}`).waitFor();
  expect(await page.getByRole("button", { name: "复制令牌 流水线 的密钥" }).isDisabled()).toBe(true);
  expect(await page.content()).not.toContain(first);
  await page.getByRole("button", { name: "复制令牌 流水线 的其他形式" }).click();
  await page.getByRole("menuitem", { name: "轮换密钥…" }).click();
  await page.getByRole("button", { name: "生成新密钥" }).click();
  await page.getByText(/旧密钥在 .* 之前仍可使用/).waitFor();
  const second = await shownKey(page, "新密钥");
  await row.getByText(/旧密钥.*失效/).waitFor();
  expect([await use(first), await use(second)]).toEqual([200, 200]);
  await page.getByRole("button", { name: "生产" }).click();
  await page.getByText("标签：生产").waitFor();
  expect(new URL(page.url()).searchParams.get("tag")).toBe("生产");
  await page.reload();
  await row.waitFor();
  await page
    .getByRole("img", { name: "移除筛选 标签：生产" })
    .or(page.getByLabel("移除筛选 标签：生产"))
    .click();
  await page.waitForURL((url) => url.searchParams.get("tag") === null);
  await context.close();
});

it("an administrator makes and limits a token for a user, who finds it and is told", async () => {
  const { page, context } = await world.visit("root");
  await page.goto("/user");
  await page.getByRole("row", { name: /lihua/ }).getByRole("button", { name: "令牌" }).click();
  await page.getByRole("heading", { name: "lihua 的令牌" }).waitFor();
  await page.getByRole("link", { name: "为该用户添加令牌" }).first().click();
  await page.locator("#name").fill("公司发放");
  await page.getByRole("button", { name: /提\s*交/ }).click();
  const key = await shownKey(page, "令牌");
  const row = page.getByRole("row", { name: /公司发放/ });
  await row.waitFor();
  expect(await page.content()).not.toContain(key);
  expect(await use(key)).toBe(200);
  await row.getByRole("button", { name: "限额" }).click();
  await page.getByText("这个令牌还没有限额。").waitFor();
  await page.getByRole("link", { name: "添加新的限额" }).first().click();
  await page.getByLabel("限额", { exact: true }).fill("1000000");
  await page.getByRole("button", { name: /提\s*交/ }).click();
  await page.getByText("每月 · 额度").waitFor();
  await context.close();
  const owner = await world.visit("lihua");
  await owner.page.goto("/token");
  await owner.page.getByRole("row", { name: /公司发放/ }).waitFor();
  await owner.page.goto("/log?type=3");
  await owner.page.getByText("管理员为您创建了令牌“公司发放”").waitFor();
  await owner.context.close();
});

it("groups are chosen in an order that can be changed, and withdrawn ones are named as such", async () => {
  await world.setOption("UserUsableGroups", '{"vip":"更稳定","svip":""}');
  const { page, context } = await world.visit("lihua");
  await page.goto("/token/add");
  await page.locator("#name").fill("按序");
  await page.getByRole("button", { name: /高级/ }).click();
  for (const name of ["svip", "vip"]) {
    await page.getByRole("combobox", { name: "分组" }).click();
    await page.getByTitle(new RegExp(`^${name}（`)).click();
  }
  const order = page.getByRole("list", { name: "分组的顺序" }).getByRole("listitem");
  await order.nth(1).getByText("更稳定").waitFor();
  await page.getByRole("button", { name: "分组 vip 上移" }).click();
  expect(await order.allInnerTexts()).toEqual([
    expect.stringMatching(/^vip/),
    expect.stringMatching(/^svip/),
  ]);
  await page.getByRole("button", { name: /提\s*交/ }).click();
  await page.waitForURL("**/token");
  await world.setOption("UserUsableGroups", '{"vip":"更稳定"}');
  // The page keeps for a moment what it was told of the groups.
  await page.reload();
  const row = page.getByRole("row", { name: /按序/ });
  await row.getByRole("button", { name: /编\s*辑/ }).click();
  await order.nth(1).getByText("已不可用，调用时跳过").waitFor();
  await page.getByRole("button", { name: "去掉分组 svip" }).click();
  await page.getByRole("button", { name: /提\s*交/ }).click();
  await page.waitForURL("**/token");
  await context.close();
});
