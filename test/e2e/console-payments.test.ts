// Quota bought online, from the plan to the balance, the way back from the provider, and what administrators see (requirements Y02, Y22, Y34).
import { afterAll, beforeAll, expect, it } from "vitest";
import { type EpayEmulator, startEpay } from "#test/emulators/epay-emulator.ts";
import { type ConsoleWorld, openConsoleWorld } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

let world: ConsoleWorld;
let epay: EpayEmulator;

beforeAll(async () => {
  world = await openConsoleWorld();
  epay = await startEpay(() => Date.now());
}, 180_000);

afterAll(async () => {
  await world?.close();
  await epay?.desk.close();
});

/** Sells through the emulated 易支付 site. */
async function openShop(): Promise<void> {
  await world.setOption("ServerAddress", world.server.url);
  await manage(world.server.url, "POST", "/api/payment/instance", {
    provider: "epay-v1",
    name: "主商户",
    merchant_id: "1001",
    is_enabled: true,
    methods: ["alipay", "wxpay"],
    fields: { base_url: epay.desk.url, key: epay.key },
  });
}

/** The provider's notice that the order was paid, as it sends it. */
async function notify(orderNo: string, change: Readonly<Record<string, string>> = {}): Promise<string> {
  const order = epay.desk.pay(orderNo);
  return (await fetch(`${order.notifyUrl}?${epay.noticeV1(order, change)}`)).text();
}

it("is ordered by a user and credited; what does not fit waits for an administrator", async () => {
  const { page, context } = await world.visit("lihua");
  const before = page.locator(".tg-balance-figure");
  await page.goto("/topup");
  await page.getByText("管理员尚未设置充值链接").waitFor();
  expect(await page.getByRole("button", { name: "立即支付" }).count()).toBe(0);

  await openShop();
  await page.reload();
  const had = Number((await before.textContent())?.replace("$", ""));
  const buy = async (plan: string, way: string): Promise<string> => {
    await page.getByRole("radio", { name: plan }).check();
    await page.getByText(way, { exact: true }).click();
    await page.getByRole("button", { name: "立即支付" }).click();
    await page.waitForURL("**/topup/order/TG*");
    await page.getByText(`请使用${way}扫码付款`).waitFor();
    return page.url().split("/").at(-1) ?? "";
  };
  const paid = await buy("$50 6折 30 元", "支付宝");
  expect(await page.getByRole("link", { name: "前往支付宝付款" }).getAttribute("href")).toBe(
    `${epay.desk.url}/pay/${epay.desk.order(paid).tradeNo}`,
  );
  expect(await notify(paid)).toBe("success");
  await page.getByText("已到账", { exact: true }).waitFor();
  expect(await page.getByText("扫码付款").count()).toBe(0);
  await page.getByRole("link", { name: "返回充值页" }).click();
  await before.filter({ hasText: `$${(had + 50).toFixed(2)}` }).waitFor();

  const short = await buy("$120 5折 60 元", "微信支付");
  expect(await notify(short, { money: "6.00" })).toBe("success");
  await page.getByText("处理中", { exact: true }).waitFor();
  await context.close();

  const admin = await world.visit("root");
  await admin.page.goto("/payment");
  await admin.page.getByRole("row", { name: new RegExp(`${paid}.*已到账`) }).waitFor();
  await admin.page.getByRole("tab", { name: "待处理" }).click();
  const row = admin.page.getByRole("row", { name: new RegExp(short) });
  await row.getByRole("button", { name: "详情" }).click();
  await admin.page.getByText("待处理：实付金额与订单不符").waitFor();
  await admin.page.getByRole("button", { name: "按实付金额入账" }).click();
  // What is missing is told at its field.
  await admin.page.getByRole("button", { name: "确认" }).click();
  await admin.page.getByRole("dialog").getByText("请填写原因").waitFor();
  await admin.page.getByLabel("原因").fill("已核实");
  await admin.page.getByRole("button", { name: "确认" }).click();
  await admin.page.getByText("已到账", { exact: true }).waitFor();
  await admin.context.close();
});

it("a payer who comes back from the provider is credited nothing by that, and no signature stays in addresses or history", async () => {
  const { page, context, asked } = await world.visit("lihua");
  await page.goto("/topup");
  const balance = await page.locator(".tg-balance-figure").textContent();
  await page.getByRole("radio", { name: "$50 6折 30 元" }).check();
  await page.getByRole("radiogroup", { name: "支付方式" }).getByText("支付宝").click();
  await page.getByRole("button", { name: "立即支付" }).click();
  await page.waitForURL("**/topup/order/TG*");
  const orderNo = page.url().split("/").at(-1) ?? "";
  const genuine = epay.noticeV1(epay.desk.order(orderNo));
  const forged = genuine.replace(/sign=[0-9a-f]+/, `sign=${"0".repeat(32)}`);
  for (const query of [genuine, forged]) {
    expect(query).toContain("trade_status=TRADE_SUCCESS");
    // As the provider's page sends the payer's browser.
    await page.goto(`/api/payment/return/${orderNo}?${query}`);
    await page.getByText("请使用支付宝扫码付款").waitFor();
    expect(new URL(page.url()).pathname).toBe(`/topup/order/${orderNo}`);
  }
  const visited = await page.evaluate(() => {
    // The Navigation API knows every entry of this tab.
    const entries: { url: string | null }[] = Reflect.get(window, "navigation").entries();
    return [location.href, document.referrer, ...entries.map(({ url }) => url ?? "")];
  });
  expect(visited.length).toBeGreaterThan(4);
  expect(visited.filter((address) => /sign|trade_status|\?/.test(address))).toEqual([]);
  const sent = asked.filter((address) => address.includes("sign="));
  expect(sent.map((address) => new URL(address).pathname)).toEqual([
    `/api/payment/return/${orderNo}`,
    `/api/payment/return/${orderNo}`,
  ]);
  const order = await manage(world.server.url, "GET", `/api/payment/manage/${orderNo}`);
  expect(order).toMatchObject({ order: { status: "pending" } });
  await page.goto("/topup");
  await page
    .locator(".tg-balance-figure")
    .filter({ hasText: balance ?? "none" })
    .waitFor();
  await context.close();
});

it("an administrator goes from the orders to the merchant accounts and back by the tabs", async () => {
  const { page, context, complaints } = await world.visit("root");
  const account = page.getByRole("row", { name: /主商户.*已启用/ });
  const order = page.getByRole("row", { name: /TG.*已到账/ });
  const goTo = (tab: string) => page.getByRole("tab", { name: tab, exact: true }).click();
  await page.goto("/payment");
  await order.first().waitFor();
  await goTo("支付渠道");
  await account.waitFor();
  await goTo("订单");
  await order.first().waitFor();
  await page.goto("/payment?tab=instances");
  await account.waitFor();
  await goTo("订单");
  await order.first().waitFor();
  expect(complaints).toEqual([]);
  await context.close();
});
