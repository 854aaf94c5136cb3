// Permission sets in the console (requirements Z15, Z17): made and given by a super administrator; administrators who are bound see the
// pages and buttons that the set opens, and no others. Service accounts (requirements Z18) are made, shown once and ended.
import { expect, it } from "vitest";
import { screenshot, screenshots } from "#test/worlds/browser.ts";
import { createConsoleWorld } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

const world = createConsoleWorld();

it("a set is copied, narrowed and given; menu, buttons and pages follow it", async () => {
  await manage(world.server.url, "POST", "/api/channel/", {
    type: 1,
    name: "上游一号",
    key: "sk-x",
    models: "gpt-4o",
    group: "default",
  });
  const root = await world.visit("root");
  await root.page.goto("/user");
  await root.page.getByRole("link", { name: "权限集" }).click();
  await root.page.waitForURL("**/staff");
  const row = root.page.getByRole("row", { name: /渠道运维/ });
  await row.waitFor();
  expect(await row.getByRole("button", { name: "编辑" }).isDisabled()).toBe(true);
  await screenshot(root.page, "staff-list");
  await row.getByRole("button", { name: "复制" }).click();
  await root.page.getByLabel("名称", { exact: true }).fill("值班");
  await root.page.getByRole("checkbox", { name: "添加和编辑渠道" }).uncheck();
  await root.page.getByRole("checkbox", { name: "删除渠道" }).uncheck();
  await screenshot(root.page, "staff-form");
  await root.page.getByRole("button", { name: "提交" }).click();
  await root.page.getByRole("row", { name: /值班/ }).waitFor();
  await root.page.goto("/user/edit/3");
  await root.page.getByRole("combobox", { name: "权限集" }).click();
  await root.page.getByTitle("值班").click();
  await root.page.getByRole("button", { name: "更改权限集" }).click();
  await root.page.getByText("权限集已更新").waitFor();
  await screenshot(root.page, "staff-choice");
  await root.context.close();

  const { page, context } = await world.visit("wangfang");
  await page.goto("/channel");
  await page.getByText("上游一号").first().waitFor();
  const menu = await page.getByRole("menuitem").allTextContents();
  expect(menu).toContain("渠道");
  for (const label of ["兑换", "支付", "对账", "审计", "用户"]) expect(menu).not.toContain(label);
  expect(await page.getByRole("button", { name: "测试所有渠道" }).count()).toBe(1);
  for (const name of ["编辑", "删除", "禁用", "删除禁用渠道"])
    expect(await page.getByRole("button", { name, exact: true }).count(), name).toBe(0);
  expect(await page.getByRole("link", { name: "添加新的渠道" }).count()).toBe(0);
  await screenshot(page, "staff-bound");
  await page.goto("/user");
  await page.getByText("没有访问权限").waitFor();
  await context.close();
});

it("finance adds quota, support ends sessions and resets factors, and neither is offered the account's form", async () => {
  const { url } = world.server;
  const sets = (await manage(url, "GET", "/api/staff/set")) as { id: number; name: string }[];
  const give = (name: string) =>
    manage(url, "PUT", "/api/staff/user/3", { staff_set_id: sets.find((set) => set.name === name)?.id });
  const open = async () => {
    const window = await world.visit("wangfang");
    await window.page.goto("/user");
    await window.page.getByRole("row", { name: /lihua/ }).getByRole("button", { name: "编辑" }).click();
    await window.page.getByText("您的权限集不能修改该用户的资料").waitFor();
    expect(await window.page.getByRole("button", { name: /^提\s?交$/ }).count()).toBe(0);
    return window;
  };
  const quota = async () => ((await manage(url, "GET", "/api/user/2")) as { quota: number }).quota;
  await give("财务");
  const before = await quota();
  const finance = await open();
  await finance.page.getByRole("button", { name: "增加额度" }).click();
  await finance.page.getByText("请填写此项").waitFor();
  await finance.page.getByRole("button", { name: "+$1", exact: true }).click();
  await finance.page.getByLabel("备注").fill("对公转账");
  await finance.page.getByRole("button", { name: "增加额度" }).click();
  await finance.page.getByText("额度已增加").waitFor();
  expect(await quota()).toBe(before + 500_000);
  for (const name of ["结束所有会话", "清除两步验证"])
    expect(await finance.page.getByRole("button", { name }).count(), name).toBe(0);
  await screenshots(finance.page, "staff-finance");
  await finance.context.close();

  await give("客服");
  const customer = await world.visit("lihua");
  const support = await open();
  expect(await support.page.getByRole("button", { name: "增加额度" }).count()).toBe(0);
  await support.page.getByRole("button", { name: "清除两步验证" }).waitFor();
  await support.page.getByRole("button", { name: "结束所有会话" }).click();
  await support.page.getByRole("button", { name: "确认结束" }).click();
  await support.page.getByText(/已结束 \d+ 个登录会话/).waitFor();
  await screenshots(support.page, "staff-support");
  await customer.page.goto("/token");
  await customer.page.waitForURL(/\/login/);
  await customer.context.close();
  await support.context.close();
});

it("a service account is made with some of the permissions, its token is shown once, and it is ended", async () => {
  const { page, context } = await world.visit("root");
  await page.goto("/user");
  await page.getByRole("link", { name: "服务账户" }).click();
  await page.waitForURL("**/service-account");
  await page.getByText("还没有服务账户").waitFor();
  await page.getByRole("link", { name: "添加新的服务账户" }).first().click();
  await page.getByLabel("名称", { exact: true }).fill("nightly-report");
  await page.getByLabel("IP 限制（可不填）").fill("127.0.0.0/8, ::1");
  await page.getByRole("checkbox", { name: "查看用户" }).check();
  await page.getByRole("checkbox", { name: "查看日志" }).check();
  expect(await page.getByRole("checkbox", { name: "管理服务账户" }).count()).toBe(0);
  await screenshots(page, "service-account-form");
  await page.getByRole("button", { name: "创建令牌" }).click();
  const token = await page.getByLabel("生成的服务账户令牌").inputValue();
  await screenshot(page, "service-account-token");
  await page.getByRole("button", { name: "完成" }).click();
  const read = () =>
    fetch(`${world.server.url}/api/user/`, { headers: { authorization: `Bearer ${token}` } }).then(
      (answer) => answer.json() as Promise<{ success: boolean }>,
    );
  expect(await read()).toMatchObject({ success: true });
  await page.reload();
  const row = page.getByRole("row", { name: /nightly-report/ });
  await row.getByText("127.0.0.1", { exact: true }).waitFor();
  expect(await page.content()).not.toContain(token);
  await screenshots(page, "service-account-list");
  await row.getByRole("button", { name: "停用" }).click();
  await page.getByRole("button", { name: "确认停用" }).click();
  await row.getByText("已停用").waitFor();
  expect(await read()).toMatchObject({ success: false });
  await context.close();
});
