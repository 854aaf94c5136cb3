// Money in, in a browser: a new user buys at each provider, subscribes, calls, reads the receipt and takes the statement home; an administrator
// sees what was earned and sends money back (requirements Y02, Y44, Y59, Y63, X10, Y34). Price lists are in console-prices.test.ts.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { chatReply, createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { screenshots } from "#test/worlds/browser.ts";
import { type ConsoleWorld, openConsoleWorld } from "#test/worlds/console-world.ts";
import { type Desk, type Desks, startDesks } from "#test/worlds/pay-desks.ts";
import { manage } from "#test/worlds/process.ts";

const WAYS = {
  "epay-v1": "支付宝",
  "epay-v2": "微信支付",
  stripe: "银行卡",
  alipay: "支付宝扫码",
  wechat: "微信扫码",
} as const;

let world: ConsoleWorld;
let upstream: FakeUpstream;
let all: Desks;
const paths = new Map<Desk, string>();

beforeAll(async () => {
  upstream = await createFakeUpstream();
  world = await openConsoleWorld();
  all = await startDesks(Date.now);
  const { url } = world.server;
  await world.setOption("ServerAddress", url);
  for (const desk of all.desks) {
    const draft = { name: desk.provider, is_enabled: true, cost_bp: 60, ...desk.draft };
    const made = (await manage(url, "POST", "/api/payment/instance", draft)) as { notify_url: string };
    paths.set(desk, new URL(made.notify_url).pathname);
  }
  await manage(url, "POST", "/api/channel/", {
    type: 8,
    name: "上游",
    key: "sk-1",
    base_url: upstream.url,
    models: "gpt-4o",
    group: "default",
    cost_ratio: 0.5,
  });
  await manage(url, "POST", "/api/plan/", {
    name: "月付",
    is_enabled: true,
    price: "20",
    unit: "month",
    count: 1,
    quota: 5_000_000,
    overflow: true,
  });
}, 240_000);

afterAll(async () => {
  await world?.close();
  await upstream?.close();
  await all?.close();
});

/** From the provider's notice until the payer sees the credit. */
const SHOWN_MS = 3_000;

/** The order that the page shows is paid, and the provider tells so. Returns how long until its page said that it is credited, ms. */
async function pay(page: Page, desk: Desk): Promise<{ no: string; ms: number }> {
  await page.waitForURL("**/topup/order/TG*");
  if (desk.provider === "wechat") {
    await page.locator("canvas, svg[role=img], img").first().waitFor();
    await screenshots(page, "journey-order");
  }
  const no = page.url().split("/").at(-1) ?? "";
  desk.desk.pay(no);
  const { query, body, headers = {} } = desk.notice(no);
  const path = `${world.server.url}${paths.get(desk)}${query === undefined ? "" : `?${query}`}`;
  const began = performance.now();
  const shown = page
    .getByText(/^(额度已到账，可以使用了|套餐已购买，按有效期使用)。$/)
    .waitFor()
    .then(() => performance.now());
  const answer = await fetch(path, body === undefined ? {} : { method: "POST", body, headers });
  expect(answer.ok).toBe(true);
  // Once the provider is told that its notice was taken, the order is credited.
  const order = await manage(world.server.url, "GET", `/api/payment/manage/${no}`);
  expect(order).toMatchObject({ order: { status: "credited" } });
  const ms = (await shown) - began;
  expect(ms, `${desk.provider}: shown after the notice, ms`).toBeLessThanOrEqual(SHOWN_MS);
  return { no, ms };
}

it("goes from the payment to the call, the receipt, the statement, the margin and back", {
  timeout: 360_000,
}, async () => {
  const { page, context, complaints } = await world.visit();
  await page.goto("/register");
  await page.getByLabel("用户名").fill("newcomer");
  await page.getByLabel("密码", { exact: true }).fill("river-stone-42");
  await page.getByLabel("再次输入密码").fill("river-stone-42");
  await page.getByRole("button", { name: /^注\s*册$/ }).click();
  await page.waitForURL("**/login");
  await page.getByLabel("用户名").fill("newcomer");
  await page.getByRole("textbox", { name: "密码" }).fill("river-stone-42");
  await page.getByRole("button", { name: /^登\s*录$/ }).click();
  await page.waitForURL((url) => url.pathname !== "/login");

  const orders: string[] = [];
  for (const desk of all.desks) {
    await page.goto("/topup");
    await page.getByRole("radio", { name: /^\$10 / }).check();
    await page
      .getByRole("radiogroup", { name: "支付方式" })
      .getByText(WAYS[desk.provider], { exact: true })
      .click();
    await page.getByRole("button", { name: "立即支付" }).click();
    const { no, ms } = await pay(page, desk);
    orders.push(no);
    process.stdout.write(`${desk.provider}: shown as credited ${Math.round(ms)} ms after the notice\n`);
  }
  await page.goto("/topup");
  await page.locator(".tg-balance-figure").filter({ hasText: "$50.00" }).waitFor();
  await screenshots(page, "journey-topup");

  await page.goto("/subscription");
  await page.getByRole("button", { name: "购买", exact: true }).click();
  const [first] = all.desks;
  if (!first) throw new Error("no provider");
  await pay(page, first);
  await page.goto("/subscription");
  await page.getByRole("region", { name: "套餐 月付" }).getByText("生效中").waitFor();
  await screenshots(page, "journey-subscription");

  const token = await page.evaluate(async () => {
    const plain = { unlimited_quota: true, remain_quota: 0, expired_time: -1 };
    const body = { ...plain, name: "客服机器人", tags: "正式,客服" };
    const made = await fetch("/api/token/", { method: "POST", body: JSON.stringify(body) });
    return (await made.json()).data.key as string;
  });
  upstream.script(
    json(chatReply("hi", { prompt_tokens: 1_000, completion_tokens: 300, total_tokens: 1_300 })),
  );
  const answer = await fetch(`${world.server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer sk-${token}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "gpt-4o", messages: [{ role: "user", content: "hi" }], max_tokens: 1_000 }),
  });
  expect(answer.status).toBe(200);
  await answer.text();

  await page.goto("/log");
  await page.getByRole("row").filter({ hasText: "gpt-4o" }).first().click();
  await page.getByRole("link", { name: "账单小票" }).click();
  await page.waitForURL("**/receipt/*");
  await page.getByText("gpt-4o", { exact: true }).first().waitFor();
  await screenshots(page, "journey-receipt");
  const month = new Date(Date.now() + 8 * 3_600_000).toISOString().slice(0, 7);
  await page.goto(`/statement/${month}`);
  await page.getByRole("heading", { name: "额度", exact: true }).waitFor();
  await screenshots(page, "journey-statement");
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "导出 CSV" }).click(),
  ]);
  expect(file.suggestedFilename()).toContain(month);
  expect(complaints).toEqual([]);
  await context.close();

  const admin = await world.visit("root");
  await admin.page.goto("/log");
  await admin.page.getByRole("row").filter({ hasText: "gpt-4o" }).first().click();
  // $0.0055 at list prices, half of it as cost.
  await admin.page.getByText("$0.00275", { exact: true }).waitFor();
  await screenshots(admin.page, "journey-call-margin");
  await admin.page.goto("/margin");
  await admin.page.getByText("支付手续费").waitFor();
  await screenshots(admin.page, "journey-net-margin");
  await admin.page.goto(`/payment/order/${orders[0]}`);
  await admin.page.getByRole("button", { name: /^退\s*款$/ }).click();
  await admin.page.getByLabel("原因").fill("客户要求");
  await screenshots(admin.page, "journey-refund");
  await admin.page.getByRole("button", { name: "确认" }).click();
  await admin.page.getByText("已退款").first().waitFor();
  expect(all.epay.desk.order(orders[0] ?? "").refunded).toBe(600);
  await screenshots(admin.page, "journey-order-refunded");
  for (const name of ["payment", "reconciliation", "plan", "price", "models"]) {
    await admin.page.goto(`/${name}`);
    await admin.page.locator("main h1").waitFor();
    await admin.page.waitForFunction(() => document.querySelector(".tg-bone") === null);
    await screenshots(admin.page, `journey-${name}`);
  }
  await admin.context.close();
});
