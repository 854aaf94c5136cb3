// Quota bought online, from the plan to the balance, the way back from the provider, and what administrators see (requirements Y02, Y22, Y34).
import { afterAll, beforeAll, expect, it } from "vitest";
import { type EpayEmulator, startEpay } from "#test/emulators/epay-emulator.ts";
import { screenshots } from "#test/worlds/browser.ts";
import { createConsoleWorld } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

const world = createConsoleWorld();
let epay: EpayEmulator;

beforeAll(async () => {
  epay = await startEpay(() => Date.now());
}, 180_000);

afterAll(() => epay?.desk.close());

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

it("is ordered by a user and credited; what does not fit waits for an administrator", {
  timeout: 240_000,
}, async () => {
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
  expect(await page.getByRole("link", { name: "用支付宝付款" }).getAttribute("href")).toBe(
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
  await admin.page.getByRole("tab", { name: "异常通知" }).click();
  await admin.page.getByRole("cell", { name: "实付金额与订单不符" }).first().waitFor();
  await screenshots(admin.page, "payments-notices");
  await admin.page.getByRole("tab", { name: "待处理" }).click();
  const row = admin.page.getByRole("row", { name: new RegExp(short) });
  await row.getByRole("button", { name: "详情" }).click();
  await admin.page.getByText("待处理：实付金额与订单不符").waitFor();
  await screenshots(admin.page, "payments-review");
  await admin.page.getByRole("button", { name: "按实付金额入账" }).click();
  // What is missing is told at its field.
  await admin.page.getByRole("button", { name: "确认" }).click();
  await admin.page.getByRole("dialog").getByText("请填写原因").waitFor();
  await screenshots(admin.page, "payments-credit-as-paid");
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

it("a payment without an order is given to a user, who has it then", async () => {
  const accounts = await manage(world.server.url, "GET", "/api/payment/instance");
  // As the contract has it.
  const [account] = accounts as { notify_url: string }[];
  const orderNo = "SHOP-2026-17";
  await epay.desk.take({ orderNo, amount: 3_000, currency: "CNY", notifyUrl: account?.notify_url ?? "" });
  expect(await notify(orderNo)).toBe("success");
  const { page, context } = await world.visit("root");
  await page.goto("/payment?tab=events");
  const row = page.getByRole("row", { name: new RegExp(orderNo) });
  await row.getByRole("button", { name: "入账给用户" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "确认" }).click();
  await dialog.getByText("请填写原因").waitFor();
  await screenshots(page, "payments-orphan");
  await dialog.getByLabel("用户 ID").fill("1");
  await dialog.getByLabel("原因").fill("付款人提供了凭证");
  await dialog.getByRole("button", { name: "确认" }).click();
  await page.getByText("已入账", { exact: true }).waitFor();
  await row.waitFor({ state: "detached" });
  const [order] = (await manage(world.server.url, "GET", "/api/payment/manage")) as unknown[];
  expect(order).toMatchObject({ status: "credited", user_id: 1, amount_minor: 3_000 });
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
  await screenshots(page, "payments-accounts");
  const add = page.getByRole("link", { name: "添加支付渠道" });
  const colour = () => add.evaluate((link) => getComputedStyle(link).color);
  const before = await colour();
  await add.hover();
  expect(await colour()).toBe(before);
  await goTo("订单");
  await order.first().waitFor();
  expect(complaints).toEqual([]);
  await context.close();
});

it("saving a merchant account tests it: what is wrong stands in the form until it is put right", async () => {
  const { page, context, complaints } = await world.visit("root");
  await page.goto("/payment/add");
  await page.getByLabel("名称").fill("副商户");
  await page.getByLabel("商户 ID").fill("1001");
  await page.getByLabel("接口地址").fill(epay.desk.url);
  await page.getByLabel("商户密钥").fill("another-key");
  await page.getByRole("button", { name: "提交" }).click();
  await page.waitForURL("**/payment/edit/*");
  await page.getByText("已保存，但平台不接受该商户号或密钥（code -3）").waitFor();
  await screenshots(page, "payments-account-refused");
  const address = page.getByRole("link", { name: "打开通知地址" });
  expect(await address.getAttribute("href")).toMatch(/\/api\/payment\/notify\/[0-9a-f]{32}$/);
  epay.desk.mode = "html";
  await page.getByRole("button", { name: "重新测试" }).click();
  await page.getByText("平台没有给出可用的应答").waitFor();
  epay.desk.mode = "ok";
  await page.getByLabel("商户密钥").fill(epay.key);
  await page.getByRole("button", { name: "提交" }).click();
  await page.getByRole("row", { name: /副商户.*已启用/ }).waitFor();
  expect(complaints).toEqual([]);
  await context.close();
});

it("a merchant account begins with a way to pay of the provider that was chosen, and with none of another", async () => {
  const { page, context, complaints } = await world.visit("root");
  await page.goto("/payment/add");
  const chosen = page.getByRole("checkbox", { checked: true });
  for (const [provider, way] of [
    ["支付宝", "支付宝扫码"],
    ["Stripe", "银行卡"],
    ["微信支付", "微信扫码"],
  ] as const) {
    await page.getByLabel("支付平台").click();
    await page.getByTitle(provider, { exact: true }).last().click();
    await page.getByRole("checkbox", { name: way, exact: true, checked: true }).waitFor();
    expect(await chosen.count()).toBe(1);
  }
  expect(complaints).toEqual([]);
  await context.close();
});

it("an order that is not paid is closed by an administrator, and its payer sees that; one that was paid meanwhile is credited", async () => {
  const { page: mine, context: payer } = await world.visit("lihua");
  const order = async () => {
    await mine.goto("/topup");
    await mine.getByRole("radio", { name: "$50 6折 30 元" }).check();
    await mine.getByRole("radiogroup", { name: "支付方式" }).getByText("微信支付").first().click();
    await mine.getByRole("button", { name: "立即支付" }).click();
    await mine.waitForURL("**/topup/order/TG*");
    await mine.getByText("请使用微信支付扫码付款").waitFor();
    return mine.url().split("/").at(-1) ?? "";
  };
  const { page, context, complaints } = await world.visit("root");
  /** Up to the last button. */
  const askToClose = async (orderNo: string) => {
    await page.goto(`/payment/order/${orderNo}`);
    await page.getByRole("button", { name: "关闭订单" }).click();
    const dialog = page.getByRole("dialog", { name: "关闭订单" });
    await dialog.getByRole("button", { name: "确认" }).click();
    await dialog.getByText("请填写原因").waitFor();
    await screenshots(page, "payments-close");
    await dialog.getByLabel("原因").fill("客户不再需要");
    return dialog;
  };
  const unpaid = await order();
  const first = await askToClose(unpaid);
  await first.getByRole("button", { name: "确认" }).click();
  await first.waitFor({ state: "detached" });
  await page.getByText("已关闭", { exact: true }).first().waitFor();
  await page.getByText("操作人 #1，原因 客户不再需要").waitFor();
  expect(await page.getByRole("button", { name: "关闭订单" }).count()).toBe(0);
  await screenshots(page, "payments-closed");
  await mine.getByText("订单已关闭。如果您已经付款，到账后会自动入账。").waitFor();
  expect(await mine.getByText("扫码付款").count()).toBe(0);

  const paid = await order();
  // The page of an order asks its provider, and would credit it before it is closed; so may the job, at times of its own.
  await mine.goto("/topup");
  const second = await askToClose(paid);
  epay.desk.pay(paid);
  await second.getByRole("button", { name: "确认" }).click();
  await page
    .getByText(/平台已收到付款，订单没有关闭|该订单已经结束/)
    .first()
    .waitFor();
  await page.getByText("已到账", { exact: true }).waitFor();
  expect(complaints).toEqual([]);
  await payer.close();
  await context.close();
});

it("an order that was credited by hand is paid back by hand; a payment of which money went back is not credited", async () => {
  const accounts = await manage(world.server.url, "GET", "/api/payment/instance");
  // As the contract has it.
  const [account] = accounts as { id: number }[];
  const order = async () => {
    const body = { dollars: 50, instance_id: account?.id, method: "alipay" };
    const made = await manage(world.server.url, "POST", "/api/payment/order", body);
    return (made as { order_no: string }).order_no;
  };
  const { page, context } = await world.visit("root");
  const byHand = await order();
  await page.goto(`/payment/order/${byHand}`);
  await page.getByRole("button", { name: "人工补单" }).click();
  await page.getByLabel("平台交易号").fill("bank-2026-17");
  await page.getByLabel("原因").fill("银行流水");
  await page.getByRole("button", { name: "确认" }).click();
  await page.getByText("已到账", { exact: true }).waitFor();
  const askedAbout = () =>
    epay.desk.heard.filter(({ query, body }) => `${query} ${body}`.includes(byHand)).length;
  const asked = askedAbout();
  await page.getByRole("button", { name: /^退\s*款$/ }).click();
  await page.getByLabel("原因").fill("客户要求");
  await page.getByRole("button", { name: "确认" }).click();
  await page.getByRole("button", { name: "登记 ¥30.00 的退款结果" }).click();
  await page.getByText("人工补单的订单，平台无法退款").waitFor();
  await screenshots(page, "payments-by-hand-refund");
  await page.getByLabel("已退 ¥30.00").check();
  await page.getByLabel("原因").fill("已转账");
  await page.getByRole("button", { name: "确认" }).click();
  await page.getByText("已退款", { exact: true }).first().waitFor();
  expect(askedAbout()).toBe(asked);

  const dear = await order();
  expect(await notify(dear, { money: "55.00" })).toBe("success");
  await page.goto(`/payment/order/${dear}`);
  await page.getByRole("button", { name: "按订单金额入账" }).waitFor();
  await page.getByRole("button", { name: /^退\s*款$/ }).click();
  await page.getByLabel("退款金额").fill("5.00");
  await page.getByLabel("原因").fill("多付");
  // It pays, and its answer is not understood.
  epay.desk.mode = "html";
  await page.getByRole("button", { name: "确认" }).click();
  await page.getByText("退款已提交，等待支付平台给出结果").waitFor();
  epay.desk.mode = "ok";
  await page.reload();
  await page.getByRole("button", { name: /^退\s*款$/ }).waitFor();
  expect(await page.getByRole("button", { name: /入账$/ }).allTextContents()).toEqual(["查单入账"]);
  await screenshots(page, "payments-review-refunded");
  await context.close();
});
