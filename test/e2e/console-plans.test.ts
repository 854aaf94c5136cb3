// A plan from the administrator's form to its buyer: made, bought, used, told by the receipt (requirements Y44, Y49).
import { afterAll, beforeAll, expect, it } from "vitest";
import { type EpayEmulator, startEpay } from "#test/emulators/epay-emulator.ts";
import { screenshot, screenshots } from "#test/worlds/browser.ts";
import { createConsoleWorld } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

const world = createConsoleWorld();
let epay: EpayEmulator;

beforeAll(async () => {
  epay = await startEpay(() => Date.now());
}, 180_000);

afterAll(() => epay?.desk.close());

async function pay(orderNo: string): Promise<string> {
  const order = epay.desk.pay(orderNo);
  return (await fetch(`${order.notifyUrl}?${epay.noticeV1(order)}`)).text();
}

it("is made, bought, renewed and shown with what is left", { timeout: 120_000 }, async () => {
  const admin = await world.visit("root");
  await admin.page.goto("/plan");
  await admin.page.getByText("还没有套餐").waitFor();
  await admin.page.getByRole("link", { name: "添加新的套餐" }).first().click();
  await admin.page.getByLabel("名称").fill("编程套餐");
  await admin.page.getByLabel("价格（元）").fill("30");
  await admin.page.getByLabel("每周期额度").fill("25000000");
  await admin.page.getByLabel("每 5 小时最多").fill("500000");
  await screenshots(admin.page, "plan-form");
  await admin.page.getByRole("button", { name: "提交" }).click();
  await admin.page.getByRole("row", { name: /编程套餐.*在售.*¥30\.00 \/ 1 个月/ }).waitFor();
  await admin.context.close();

  const { page, context } = await world.visit("lihua");
  await page.goto("/subscription");
  await page.getByText("管理员尚未开通在线支付").waitFor();
  await world.setOption("ServerAddress", world.server.url);
  await manage(world.server.url, "POST", "/api/payment/instance", {
    provider: "epay-v1",
    name: "主商户",
    merchant_id: "1001",
    is_enabled: true,
    methods: ["alipay"],
    fields: { base_url: epay.desk.url, key: epay.key },
  });
  const buy = async (name: string) => {
    await page.goto("/subscription");
    await page.getByRole("button", { name, exact: true }).click();
    await page.waitForURL("**/topup/order/TG*");
    await page.getByText("请使用支付宝扫码付款").waitFor();
    expect(await pay(page.url().split("/").at(-1) ?? "")).toBe("success");
    await page.getByText("已到账", { exact: true }).waitFor();
    await page.getByRole("link", { name: "返回订阅页" }).click();
  };
  await page.getByText("您还没有生效的套餐").waitFor();
  await buy("购买");
  const card = page.getByRole("region", { name: "套餐 编程套餐" });
  await card.getByText("生效中").waitFor();
  await card.getByText("剩余 $50.00 / $50.00").waitFor();
  await card.getByText("首次调用后计时").waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole("button", { name: "立即开始下一周期" }).click();
  const question = page.getByRole("tooltip").filter({ hasText: "付款后当前周期立即结束" });
  await question.waitFor();
  const inWidth = () =>
    expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await inWidth();
  await screenshot(page, "plan-begin-now-390");
  await question.getByRole("button", { name: "去付款" }).click();
  await page.waitForURL("**/topup/order/TG*");
  await page.getByRole("heading", { name: "套餐订单" }).waitFor();
  expect(await pay(page.url().split("/").at(-1) ?? "")).toBe("success");
  await page.getByText("已到账", { exact: true }).waitFor();
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto("/subscription");
  await page.getByText("往期套餐").waitFor();
  await card.getByText("生效中").waitFor();
  expect(await card.count()).toBe(1);
  await buy("续费");
  await card.filter({ hasText: "待生效" }).waitFor();
  expect(await card.count()).toBe(2);
  await page.setViewportSize({ width: 390, height: 844 });
  await inWidth();
  // One that waits for the end already is left alone.
  expect(await page.getByRole("button", { name: "立即开始下一周期" }).count()).toBe(0);
  await context.close();
});
