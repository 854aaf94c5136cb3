// A plan that Stripe renews, from its purchase to its cancellation, and commission that is owed: as the user and administrators see them
// (requirements Z21–Z23).
import { afterAll, beforeAll, expect, it } from "vitest";
import { type StripeEmulator, startStripe } from "#test/emulators/stripe-emulator.ts";
import { screenshots } from "#test/worlds/browser.ts";
import { createConsoleWorld } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

const world = createConsoleWorld();
let stripe: StripeEmulator;
let notifyUrl = "";

beforeAll(async () => {
  stripe = await startStripe(() => Date.now());
  await world.setOption("ServerAddress", world.server.url);
  const made = await manage(world.server.url, "POST", "/api/payment/instance", {
    provider: "stripe",
    name: "Stripe",
    merchant_id: "acct_1",
    is_enabled: true,
    methods: ["card"],
    fields: { base_url: stripe.desk.url, secret_key: "sk_test_1", webhook_secret: stripe.webhookSecret },
  });
  notifyUrl = (made as { notify_url: string }).notify_url;
  for (const [name, price, quota] of [
    ["专业版", "90", 75_000_000],
    ["基础版", "30", 25_000_000],
  ] as const)
    await manage(world.server.url, "POST", "/api/plan/", {
      name,
      price,
      quota,
      is_enabled: true,
      unit: "month",
      count: 1,
      windows: [{ kind: "session", quota: 5_000_000 }],
      overflow: true,
    });
}, 180_000);

afterAll(() => stripe?.desk.close());

async function tell(type: string, id: string): Promise<number> {
  const { body, header } = stripe.event(type, id);
  const headers = { "stripe-signature": header };
  return (await fetch(notifyUrl, { method: "POST", headers, body })).status;
}

it("a plan is bought to be renewed, changed, cancelled and resumed; administrators see it with its orders", async () => {
  const { page, context } = await world.visit("lihua");
  await page.goto("/subscription");
  const offer = page.getByRole("region", { name: "专业版", exact: true });
  await offer.getByRole("button", { name: "购买", exact: true }).waitFor();
  await page.getByRole("checkbox", { name: /到期自动续费/ }).check();
  await offer.getByRole("button", { name: "购买并自动续费" }).click();
  await page.waitForURL("**/topup/order/TG*");
  const orderNo = page.url().split("/").at(-1) ?? "";
  await page.getByText("待支付").first().waitFor();
  const session = stripe.sessionOf(stripe.desk.pay(orderNo)).id;
  expect(await tell("checkout.session.completed", session)).toBe(200);
  await page.getByText("已到账", { exact: true }).waitFor();
  await page.goto("/subscription");
  await page.getByText("取消自动续费").first().waitFor();
  await screenshots(page, "renewal");
  const renewal = page.getByRole("listitem").filter({ hasText: "取消自动续费" });
  await renewal.getByText("90.00").waitFor();
  const subscription = stripe.billing.of(orderNo);

  await page
    .getByRole("region", { name: "基础版", exact: true })
    .getByRole("button", { name: "到期后改用" })
    .click();
  await page.getByText("到期后改用“基础版”，¥30.00。").waitFor();
  await renewal.getByText("30.00").waitFor();
  expect(subscription.amount).toBe(3_000);
  await page.getByRole("button", { name: "撤回", exact: true }).click();
  await renewal.getByText("90.00").waitFor();
  expect(subscription.amount).toBe(9_000);

  await renewal.getByRole("button", { name: "取消自动续费" }).click();
  await page.getByRole("tooltip").getByRole("button", { name: "取消自动续费" }).click();
  await page.getByText("之后不再扣款").first().waitFor();
  const resume = page.getByRole("button", { name: "恢复自动续费" });
  await resume.waitFor();
  expect(subscription.cancelAtPeriodEnd).toBe(true);
  await resume.click();
  await renewal.getByText("已开启").waitFor();
  expect(subscription.cancelAtPeriodEnd).toBe(false);
  await page.setViewportSize({ width: 390, height: 844 });
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await page.route("https://billing.stripe.com/**", (route) => route.fulfill({ body: "Stripe" }));
  await renewal.getByRole("button", { name: "更换银行卡" }).click();
  await page.waitForURL(`https://billing.stripe.com/p/session/${subscription.customer}?*`);
  await context.close();

  expect(await tell("invoice.paid", stripe.billing.renew(subscription).id)).toBe(200);
  const admin = await world.visit("root");
  await admin.page.goto(`/payment/order/${orderNo}`);
  const facts = admin.page.locator(".tg-section").filter({ hasText: "平台订阅号" });
  await facts.getByText(subscription.id).waitFor();
  await facts.getByRole("link", { name: /^TG/ }).last().click();
  await admin.page.waitForURL((url) => !url.pathname.endsWith(orderNo));
  await facts.getByText("已开启").waitFor();
  await admin.page.goto("/plan");
  await admin.page.getByRole("row", { name: /专业版.*在售/ }).waitFor();
  await admin.context.close();
});
