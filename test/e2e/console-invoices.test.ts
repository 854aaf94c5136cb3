// Invoices in a real browser: asked for by who has paid, issued by an administrator, read by who asked (requirements Y62).
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

it("is asked for, issued, and read", { timeout: 240_000 }, async () => {
  const { url } = world.server;
  await world.setOption("ServerAddress", url);
  await manage(url, "POST", "/api/payment/instance", {
    provider: "epay-v1",
    name: "主商户",
    merchant_id: "1001",
    is_enabled: true,
    methods: ["alipay"],
    fields: { base_url: epay.desk.url, key: epay.key },
  });
  const { page, context, complaints } = await world.visit("lihua");
  await page.goto("/invoice");
  await page.getByText("还没有在线付款。").waitFor();
  expect(await page.getByRole("button", { name: "申请开票" }).isDisabled()).toBe(true);

  await page.goto("/topup");
  await page.getByRole("radio", { name: "$50 6折 30 元" }).check();
  await page.getByText("支付宝", { exact: true }).click();
  await page.getByRole("button", { name: "立即支付" }).click();
  await page.waitForURL("**/topup/order/TG*");
  const order = epay.desk.pay(page.url().split("/").at(-1) ?? "");
  expect(await (await fetch(`${order.notifyUrl}?${epay.noticeV1(order)}`)).text()).toBe("success");

  await page.goto("/statement");
  await page.getByRole("link", { name: "发票" }).click();
  await page.getByRole("button", { name: "申请开票" }).click();
  const dialog = page.getByRole("dialog", { name: "申请开票" });
  await dialog.getByText("现在最多 30.00。").waitFor();
  await dialog.getByLabel("抬头").fill("示例科技有限公司");
  await dialog.getByLabel("税号").fill("91350100M000100Y44");
  await dialog.getByText("最后一位校验不符").waitFor();
  await screenshots(page, "invoice-ask");
  await dialog.getByLabel("税号").fill("91350100M000100Y43");
  await dialog.getByRole("button", { name: "提交申请" }).click();
  await page.getByText("待开具").waitFor();

  const admin = await world.visit("root");
  await admin.page.goto("/payment?tab=invoices");
  const row = admin.page.getByRole("row", { name: /示例科技有限公司/ });
  await row.waitFor();
  await screenshots(admin.page, "invoice-queue");
  await row.getByRole("button", { name: "登记开具" }).click();
  const issue = admin.page.getByRole("dialog", { name: /登记已开具：FP1/ });
  await issue.getByText("91350100M000100Y43").waitFor();
  await issue.getByLabel("发票号码").fill("24912000000012345678");
  await issue.getByLabel("文件链接").fill("https://files.example/1.pdf");
  await screenshots(admin.page, "invoice-issue");
  await issue.getByRole("button", { name: "登记已开具" }).click();
  await row.getByText("已开具").waitFor();
  expect(admin.complaints).toEqual([]);
  await admin.context.close();

  await page.reload();
  await page.getByText("24912000000012345678").waitFor();
  const link = page.getByRole("link", { name: "下载发票" });
  expect(await link.getAttribute("href")).toBe("https://files.example/1.pdf");
  await screenshots(page, "invoice-page");
  expect(complaints).toEqual([]);
  await context.close();
});
