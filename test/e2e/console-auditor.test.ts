// An auditor, who may only read, sees everything and no button that the server would refuse (requirements Z20): an account bound by the
// auditor's set walks through the pages of administrators. And an administrator who makes a token for a user chooses among that
// user's groups.
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { startHttpEmulator } from "#test/emulators/http-emulator.ts";
import { screenshots } from "#test/worlds/browser.ts";
import { furnish } from "#test/worlds/console-pages.ts";
import { createConsoleWorld } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

const world = createConsoleWorld();

beforeAll(async () => {
  const { url } = world.server;
  const upstream = await startHttpEmulator(() => ({ status: 500, json: {} }));
  await furnish(world, { url: upstream.url, key: "up-key" });
  await upstream.close();
  // A row's buttons are there only with a row.
  const sets = (await manage(url, "GET", "/api/staff/set")) as { id: number; name: string }[];
  const auditor = sets.find(({ name }) => name === "审计员");
  await manage(url, "PUT", "/api/staff/user/3", { staff_set_id: auditor?.id });
}, 180_000);

/** Each page that the set opens, and something that stands on it once it is there. */
const PAGES = [
  ["/channel", "上游一号"],
  ["/channel/keys/2", "账号甲"],
  ["/redemption", "十月活动"],
  ["/user", "lihua"],
  ["/user/token/2", "生产环境"],
  ["/limit", "default"],
  ["/team?tab=all", "研发一组"],
  ["/payment", "还没有订单"],
  ["/payment?tab=payouts", "还没有提现申请"],
  ["/payment?tab=instances", "还没有支付渠道"],
  ["/plan", "还没有套餐"],
  ["/price", "所有厂商"],
  ["/price/update", "已发布的版本"],
  ["/audit", "审计链完整"],
  ["/setting?tab=operation", "清理日志|日志"],
] as const;

const WRITES =
  /^(添加|新建|编辑|删除|禁用|启用|复制$|测试|粘贴|撤销|发布|登记|驳回|已处理|查单|调整|临时提高|提现|清理|按原因|保存)/;

/** The names of all buttons and links in the part of the page that is its own. */
async function offered(page: Page): Promise<string[]> {
  const main = page.getByRole("main");
  const texts = [
    ...(await main.getByRole("button").allInnerTexts()),
    ...(await main.getByRole("link").allInnerTexts()),
  ];
  return texts.map((text) => text.trim()).filter((text) => text !== "");
}

describe("an auditor", () => {
  it.each(PAGES)("sees %s with %s, and nothing to press that changes anything", async (path, text) => {
    const { page, context, complaints } = await world.visit("wangfang");
    await page.goto(path);
    await page.getByRole("main").getByText(new RegExp(text)).first().waitFor();
    // The own row leads to the own account.
    const own = path === "/user" ? ["编辑"] : [];
    await expect.poll(async () => (await offered(page)).filter((name) => WRITES.test(name))).toEqual(own);
    expect(await page.getByRole("checkbox", { name: "选择本页全部" }).count()).toBe(0);
    if (path === "/channel/keys/2" || path === "/user")
      await screenshots(page, `auditor${path.replaceAll("/", "-")}`);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("is not the only one for whom the walk sees buttons", async () => {
    const { page, context } = await world.visit("root");
    await page.goto("/channel/keys/2");
    await page.getByText("账号甲").first().waitFor();
    const names = (await offered(page)).filter((name) => WRITES.test(name));
    expect(names).toEqual(expect.arrayContaining(["测试", "禁用", "编辑", "删除", "粘贴密钥", "按原因删除"]));
    await context.close();
  });
});

it("a token for another user offers the groups of its owner", async () => {
  const { url } = world.server;
  const ratios = { default: 1, vip: 0.8, root_only: 1 };
  await world.setOption("GroupRatio", JSON.stringify(ratios));
  await world.setOption("UserUsableGroups", JSON.stringify({ default: "默认" }));
  await manage(url, "PUT", "/api/user/", { id: 2, group: "vip" });
  const { page, context } = await world.visit("root");
  await page.goto("/user/token/2/add");
  await page.getByText("高级：分组、限定模型与来源 IP").click();
  await page.getByRole("combobox", { name: "分组" }).click();
  const options = page.locator(".ant-select-item-option");
  await expect.poll(() => options.allInnerTexts()).toEqual(["vip（倍率 0.8）", "default（倍率 1 · 默认）"]);
  await context.close();
});
