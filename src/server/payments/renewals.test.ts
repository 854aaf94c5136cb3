// Plans that Stripe renews by itself, end to end on both databases: bought, renewed, refused, cancelled, changed, paid back (requirements Z21,
// Z22). The vendor's own package checks the emulator.
import Stripe from "stripe";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findRenewalByFirst, type RenewalRow } from "#server/store/plan-renewals.ts";
import { type EpayEmulator, startEpay } from "#test/emulators/epay-emulator.ts";
import type { EmulatedInvoice, EmulatedSubscription } from "#test/emulators/stripe-billing-emulator.ts";
import { type StripeEmulator, startStripe } from "#test/emulators/stripe-emulator.ts";
import type { SeededUser } from "#test/seeds/seed.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { type Account, PaymentWorld } from "#test/worlds/payment-world.ts";
import { nextLook } from "./renewal-looks.ts";

const HOUR_SEC = 3_600;
const DAY_SEC = 86_400;
const DRAFT = {
  is_enabled: true,
  price: "30",
  unit: "month",
  count: 1,
  quota: 1_000_000,
  windows: [{ kind: "month", quota: 1_000_000 }],
  overflow: true,
};

interface Plan {
  readonly id: number;
  readonly version_id: number;
}

test("a subscription is asked about around the end of its period, and every day", () => {
  const next = { next_at: 30 * DAY_SEC };
  expect(nextLook(next, 0)).toBe(DAY_SEC);
  expect(nextLook(next, 29 * DAY_SEC)).toBe(30 * DAY_SEC - HOUR_SEC);
  expect(nextLook(next, 30 * DAY_SEC)).toBe(30 * DAY_SEC + 600);
  expect(nextLook(next, 30 * DAY_SEC + 600)).toBe(30 * DAY_SEC + 4_500);
  expect(nextLook(next, 40 * DAY_SEC)).toBe(41 * DAY_SEC);
});

describe.each(databases)("renewed by Stripe on $name", (database) => {
  const world = new PaymentWorld();
  let stripe: StripeEmulator;
  let epay: EpayEmulator;
  let account: Account;
  let byHand: Account;
  let serial = 0;

  beforeAll(async () => {
    await world.start(database);
    stripe = await startStripe(world.clock.now);
    epay = await startEpay(world.clock.now);
    account = await world.account({
      provider: "stripe",
      merchant_id: "acct_1",
      methods: ["card", "alipay"],
      fields: { base_url: stripe.desk.url, secret_key: "sk_test_1", webhook_secret: stripe.webhookSecret },
    });
    const fields = { base_url: epay.desk.url, key: epay.key };
    byHand = await world.account({ provider: "epay-v1", methods: ["alipay"], fields });
    await world.app.ctx.options.set("MfaRequiredFor", "none");
  });
  afterAll(async () => {
    await Promise.all([stripe.desk.close(), epay.desk.close()]);
    await world.stop();
  });

  const make = async (change: object = {}): Promise<Plan> => {
    serial += 1;
    const made = await world.app.call(asRoot, "POST", "/api/plan/", {
      ...DRAFT,
      name: `套餐${serial}`,
      ...change,
    });
    expect(made.message).toBe("");
    return made.data;
  };
  const shop = async ({ who }: SeededUser) => (await world.app.call(who, "GET", "/api/plan/shop")).data;
  const order = (user: SeededUser, { id: plan_id, version_id }: Plan, change: object = {}) =>
    world.app.call(user.who, "POST", "/api/plan/order", {
      plan_id,
      version_id,
      instance_id: account.id,
      method: "card",
      renews: true,
      ...change,
    });
  const tell = async (type: string, id: string) => {
    const { body, header } = stripe.event(type, id);
    return (await world.notify(account, { body, headers: { "stripe-signature": header } })).status;
  };
  const told = async (invoice: EmulatedInvoice) => expect(await tell("invoice.paid", invoice.id)).toBe(200);
  const rowOf = async (orderNo: string): Promise<RenewalRow> => {
    const row = await findRenewalByFirst(world.app.ctx.db, orderNo);
    if (!row) throw new Error(`no renewal of ${orderNo}`);
    return row;
  };
  const periodsOf = async (user: SeededUser) =>
    (await shop(user)).periods.toSorted((a: { starts_at: number }, b: { starts_at: number }) =>
      a.starts_at - b.starts_at,
    );
  const ordersOf = async (user: SeededUser) =>
    (await world.app.call(asRoot, "GET", `/api/payment/manage?user_id=${user.id}&size=50`)).data;
  /** Lets the clock come to a moment, and asks what is due then. */
  const until = (seconds: number) => world.pass(Math.max(0, seconds - world.clock.seconds()));

  interface Subscribed {
    readonly user: SeededUser;
    readonly orderNo: string;
    readonly subscription: EmulatedSubscription;
  }
  const subscribed = async (plan: Plan): Promise<Subscribed> => {
    const user = await world.buyer();
    const { data, message } = await order(user, plan);
    expect(message).toBe("");
    const orderNo = data.order_no;
    const session = stripe.sessionOf(stripe.desk.pay(orderNo)).id;
    expect(await tell("checkout.session.completed", session)).toBe(200);
    return { user, orderNo, subscription: stripe.billing.of(orderNo) };
  };
  const decide = async ({ user, orderNo }: Subscribed, renews: boolean) =>
    world.app.call(user.who, "POST", `/api/plan/renewal/${(await rowOf(orderNo)).id}`, { renews });

  test("the vendor's package reads the emulated subscription and its invoices, and changes its price", async () => {
    const { subscription } = await subscribed(await make());
    const { port } = new URL(stripe.desk.url);
    const vendor = new Stripe("sk_test_1", {
      host: "127.0.0.1",
      port: Number(port),
      protocol: "http",
      telemetry: false,
    });
    const session = await vendor.checkout.sessions.create({
      mode: "subscription",
      client_reference_id: `TGVENDOR${serial}`,
      line_items: [
        {
          quantity: 1,
          price_data: {
            currency: "cny",
            unit_amount: 3_000,
            product_data: { name: "x" },
            recurring: { interval: "month", interval_count: 1 },
          },
        },
      ],
    });
    expect(session).toMatchObject({ mode: "subscription", subscription: null });
    const { data } = await vendor.invoices.list({
      subscription: subscription.id,
      status: "paid",
      expand: ["data.payments"],
    });
    expect(data[0]?.payments?.data[0]?.payment.payment_intent).toBe(`pi_${data[0]?.id}`);
    const { items } = await vendor.subscriptions.retrieve(subscription.id);
    const item = items.data[0];
    expect(item?.current_period_end).toBe(stripe.billing.endOf(subscription));
    const changed = await vendor.subscriptions.update(subscription.id, {
      cancel_at_period_end: true,
      proration_behavior: "none",
      items: [
        {
          id: item?.id ?? "",
          price_data: {
            currency: "cny",
            unit_amount: 100,
            product: String(item?.price.product),
            recurring: { interval: "month", interval_count: 1 },
          },
        },
      ],
    });
    expect(changed).toMatchObject({ cancel_at_period_end: true });
  });

  test("a plan that is bought to be renewed is asked for as a subscription and opens the time its invoice names", async () => {
    const one = await subscribed(await make());
    const asked = new URLSearchParams(
      stripe.desk.heard.findLast(({ body }) => body.includes(one.orderNo))?.body ?? "",
    );
    expect(Object.fromEntries(asked)).toMatchObject({
      mode: "subscription",
      "line_items[0][price_data][unit_amount]": "3000",
      "line_items[0][price_data][recurring][interval]": "month",
      "line_items[0][price_data][recurring][interval_count]": "1",
      "subscription_data[metadata][order_no]": one.orderNo,
      "subscription_data[metadata][user]": String(one.user.id),
    });
    const { periods, renewals } = await shop(one.user);
    const end = stripe.billing.endOf(one.subscription);
    expect(periods).toMatchObject([{ state: "running", ends_at: end }]);
    expect(renewals).toMatchObject([
      { state: "active", renews: true, is_told: true, next_at: end, amount_minor: 3_000, currency: "CNY" },
    ]);
    // The same subscription by each of its notices.
    for (const type of ["customer.subscription.created", "customer.subscription.updated"])
      expect(await tell(type, one.subscription.id)).toBe(200);
    const [first] = stripe.billing.invoices.values();
    if (first) await told(first);
    expect((await periodsOf(one.user)).length).toBe(1);
  });

  test("each paid invoice opens its period once: repeats, out of order, two at once", async () => {
    const one = await subscribed(await make());
    const [first] = await periodsOf(one.user);
    await until(stripe.billing.endOf(one.subscription) + HOUR_SEC);
    const second = stripe.billing.renew(one.subscription);
    for (let turn = 0; turn < 3; turn += 1) await told(second);
    await Promise.all([told(second), told(second)]);
    expect((await periodsOf(one.user)).map(({ state }: { state: string }) => state)).toEqual([
      "over",
      "running",
    ]);
    // Two periods went by unheard; the later one is told of first.
    await world.clock.advance(1_000 * (second.endSec + HOUR_SEC - world.clock.seconds()));
    const third = stripe.billing.renew(one.subscription);
    await world.clock.advance(1_000 * (third.endSec + HOUR_SEC - world.clock.seconds()));
    const fourth = stripe.billing.renew(one.subscription);
    await told(fourth);
    await told(third);
    await told(second);
    const periods = await periodsOf(one.user);
    expect(periods.length).toBe(4);
    expect(periods[0]).toMatchObject({ id: first.id, starts_at: first.starts_at });
    const named = [second, third, fourth].map(({ startSec, endSec }) => [startSec, endSec]);
    expect(
      periods
        .slice(1)
        .map(({ starts_at, ends_at }: { starts_at: number; ends_at: number }) => [starts_at, ends_at]),
    ).toEqual(named);
    expect(await rowOf(one.orderNo)).toMatchObject({ next_at: fourth.endSec, status: "active" });
    expect((await ordersOf(one.user)).map(({ status }: { status: string }) => status)).toEqual(
      Array.from({ length: 4 }, () => "credited"),
    );
  });

  test("a renewal whose notices are all lost is found by asking", async () => {
    const one = await subscribed(await make());
    const end = stripe.billing.endOf(one.subscription);
    await until(end + 1);
    stripe.billing.renew(one.subscription);
    await until(end + 700);
    expect((await periodsOf(one.user)).length).toBe(2);
    // The first payment too.
    const user = await world.buyer();
    const { data } = await order(user, await make());
    stripe.desk.pay(data.order_no);
    await world.pass(16);
    expect((await periodsOf(user)).length).toBe(1);
    expect(await rowOf(data.order_no)).toMatchObject({ renews: 1, status: "active" });
  });

  test("what Stripe does not answer is told again, and nothing is lost", async () => {
    const one = await subscribed(await make());
    const end = stripe.billing.endOf(one.subscription);
    await until(end + HOUR_SEC);
    const invoice = stripe.billing.renew(one.subscription);
    for (const mode of ["500", "html", "truncated", "lost"] as const) {
      stripe.desk.mode = mode;
      expect(await tell("invoice.paid", invoice.id)).toBe(503);
      expect(await tell("customer.subscription.updated", one.subscription.id)).toBe(503);
    }
    stripe.desk.mode = "ok";
    expect((await periodsOf(one.user)).length).toBe(1);
    await until(end + 4_500);
    expect((await periodsOf(one.user)).length).toBe(2);
  });

  test("an invoice of another amount waits for a person, who gives the period or the money back", async () => {
    const one = await subscribed(await make());
    await until(stripe.billing.endOf(one.subscription) + HOUR_SEC);
    // Somebody changed the price in Stripe's dashboard.
    one.subscription.amount = 2_900;
    const invoice = stripe.billing.renew(one.subscription);
    await told(invoice);
    expect((await periodsOf(one.user)).length).toBe(1);
    const [waiting] = await ordersOf(one.user);
    expect(waiting).toMatchObject({ status: "paid", review: "amount", paid_minor: 2_900 });
    const detail = await world.app.call(asRoot, "GET", `/api/payment/manage/${waiting.order_no}`);
    expect(detail.data.renewal).toMatchObject({ order_no: one.orderNo, provider_id: one.subscription.id });
    const path = `/api/payment/manage/${waiting.order_no}/decide`;
    const decided = await world.app.call(asRoot, "POST", path, { as: "ordered", reason: "按约定" });
    expect(decided.message).toBe("");
    expect((await periodsOf(one.user)).length).toBe(2);
    await told(invoice);
    expect((await periodsOf(one.user)).length).toBe(2);
  });

  test("an invoice that is paid after the subscription was over waits for a person, one from before opens its period", async () => {
    const one = await subscribed(await make());
    await until(stripe.billing.endOf(one.subscription) + HOUR_SEC);
    const refused = stripe.billing.renew(one.subscription, false);
    expect(await tell("invoice.payment_failed", refused.id)).toBe(200);
    expect(await rowOf(one.orderNo)).toMatchObject({ status: "failed" });
    world.clock.advance(DAY_SEC * 1_000);
    stripe.billing.end(one.subscription);
    expect(await tell("customer.subscription.deleted", one.subscription.id)).toBe(200);
    expect(await rowOf(one.orderNo)).toMatchObject({ status: "ended", renews: 0, next_check: 0 });
    world.clock.advance(DAY_SEC * 1_000);
    stripe.billing.pay(refused);
    await told(refused);
    const [waiting] = await ordersOf(one.user);
    expect(waiting).toMatchObject({ status: "paid", review: "renewal_over", paid_minor: 3_000 });
    expect((await periodsOf(one.user)).length).toBe(1);
    const path = `/api/payment/manage/${waiting.order_no}/refund`;
    const refund = await world.app.call(asRoot, "POST", path, { amount: "30.00", reason: "已取消" });
    expect(refund.data.refunds).toMatchObject([{ amount_minor: 3_000, state: "done" }]);
    // Paid in time, heard of after the end.
    const late = await subscribed(await make());
    await until(stripe.billing.endOf(late.subscription) + HOUR_SEC);
    const paid = stripe.billing.renew(late.subscription);
    world.clock.advance(HOUR_SEC * 1_000);
    stripe.billing.end(late.subscription);
    await tell("customer.subscription.deleted", late.subscription.id);
    await told(paid);
    expect((await periodsOf(late.user)).map(({ state }: { state: string }) => state)).toEqual([
      "over",
      "running",
    ]);
  });

  test("a user cancels at the end of the period, takes that back, and is told what is so when Stripe is silent", async () => {
    const one = await subscribed(await make());
    const cancelled = await decide(one, false);
    expect(cancelled.data.renewals).toMatchObject([{ renews: false, is_told: true }]);
    expect(one.subscription.cancelAtPeriodEnd).toBe(true);
    expect((await decide(one, true)).data.renewals).toMatchObject([{ renews: true, is_told: true }]);
    expect(one.subscription.cancelAtPeriodEnd).toBe(false);
    stripe.desk.mode = "500";
    expect((await decide(one, false)).data.renewals).toMatchObject([{ renews: false, is_told: false }]);
    stripe.desk.mode = "ok";
    // What Stripe still has does not undo the wish.
    await tell("customer.subscription.updated", one.subscription.id);
    expect(await rowOf(one.orderNo)).toMatchObject({ renews: 0 });
    await world.pass(61);
    expect(one.subscription.cancelAtPeriodEnd).toBe(true);
    expect((await shop(one.user)).renewals).toMatchObject([{ renews: false, is_told: true }]);
    // Cancelled in Stripe's dashboard, or there taken back.
    one.subscription.cancelAtPeriodEnd = false;
    await tell("customer.subscription.updated", one.subscription.id);
    expect((await shop(one.user)).renewals).toMatchObject([{ renews: true }]);
    const stranger = await world.buyer();
    const path = `/api/plan/renewal/${(await rowOf(one.orderNo)).id}`;
    expect((await world.app.call(stranger.who, "POST", path, { renews: false })).message).toBe(
      "找不到该自动续费",
    );
    stripe.billing.end(one.subscription);
    await tell("customer.subscription.deleted", one.subscription.id);
    expect((await decide(one, true)).message).toContain("已经结束");
    // The period that was paid for goes on.
    expect(await periodsOf(one.user)).toMatchObject([{ state: "running" }]);
    expect((await shop(one.user)).renewals).toEqual([]);
  });

  test("money that goes back ends the period and the renewal; so does leaving", async () => {
    const one = await subscribed(await make());
    await until(stripe.billing.endOf(one.subscription) + HOUR_SEC);
    await told(stripe.billing.renew(one.subscription));
    const [renewed] = await ordersOf(one.user);
    const path = `/api/payment/manage/${renewed.order_no}/refund`;
    const refund = await world.app.call(asRoot, "POST", path, { amount: null, reason: "退款" });
    expect(refund.data.refunds).toMatchObject([{ state: "done" }]);
    expect((await periodsOf(one.user)).at(-1)).toMatchObject({ state: "stopped" });
    await world.pass(1);
    expect(one.subscription.cancelAtPeriodEnd).toBe(true);
    const other = await subscribed(await make());
    await world.app.call(asRoot, "DELETE", `/api/user/${other.user.id}`);
    await world.pass(DAY_SEC);
    expect(other.subscription.cancelAtPeriodEnd).toBe(true);
  });

  test("a changed price is for new buyers: what runs is charged as agreed", async () => {
    const plan = await make();
    const one = await subscribed(plan);
    await world.app.call(asRoot, "PUT", `/api/plan/${plan.id}`, { ...DRAFT, name: "涨价", price: "50" });
    await until(stripe.billing.endOf(one.subscription) + HOUR_SEC);
    expect(one.subscription.amount).toBe(3_000);
    await told(stripe.billing.renew(one.subscription));
    expect((await periodsOf(one.user)).at(-1)).toMatchObject({ state: "running", name: `套餐${serial}` });
    expect((await shop(one.user)).renewals).toMatchObject([{ amount_minor: 3_000 }]);
    const listed = (await world.app.call(asRoot, "GET", "/api/plan/")).data;
    expect(listed.find(({ id }: Plan) => id === plan.id)).toMatchObject({ subscribers: 1, renewing: 1 });
  });

  test("a cheaper plan begins when the period ends, at its own price; until then it can be taken back", async () => {
    const [large, small] = [await make({ price: "90" }), await make({ price: "30", quota: 300_000 })];
    const one = await subscribed(large);
    const [running] = await periodsOf(one.user);
    const path = `/api/plan/period/${running.id}/change`;
    const choose = (body: object) => world.app.call(one.user.who, "POST", path, body);
    expect((await choose({ plan_id: small.id, version_id: small.version_id + 999 })).message).toContain(
      "已更新",
    );
    const wish = { plan_id: small.id, version_id: small.version_id };
    const chosen = (await choose(wish)).data;
    const isSmall = ({ plan_id }: { plan_id: number }) => plan_id === small.id;
    expect(chosen.downgrades.find(isSmall)).toMatchObject({ is_chosen: true, price_minor: 3_000 });
    expect(chosen.renewals).toMatchObject([{ plan_id: small.id, amount_minor: 3_000, is_told: true }]);
    expect([one.subscription.amount, (await periodsOf(one.user))[0].quota]).toEqual([3_000, 1_000_000]);
    const back = (await choose({ plan_id: 0 })).data;
    expect([back.downgrades.find(isSmall).is_chosen, one.subscription.amount]).toEqual([false, 9_000]);
    // Chosen while Stripe is silent: told later, and the invoice of either price is understood.
    stripe.desk.mode = "lost";
    expect((await choose(wish)).data.renewals).toMatchObject([{ is_told: false, amount_minor: 3_000 }]);
    expect(one.subscription.amount).toBe(9_000);
    stripe.desk.mode = "ok";
    await world.pass(61);
    expect(one.subscription.amount).toBe(3_000);
    await until(running.ends_at + HOUR_SEC);
    await told(stripe.billing.renew(one.subscription));
    expect((await periodsOf(one.user)).at(-1)).toMatchObject({
      plan_id: small.id,
      state: "running",
      quota: 300_000,
      starts_at: running.ends_at,
    });
    expect(await rowOf(one.orderNo)).toMatchObject({ version_id: small.version_id, amount_minor: 3_000 });
  });

  test("an upgrade undoes the choice and is charged from then on", async () => {
    const [small, middle, large] = [
      await make({ price: "10" }),
      await make({ price: "30" }),
      await make({ price: "90" }),
    ];
    const one = await subscribed(middle);
    const [running] = await periodsOf(one.user);
    const wish = { plan_id: small.id, version_id: small.version_id };
    await world.app.call(one.user.who, "POST", `/api/plan/period/${running.id}/change`, wish);
    expect(one.subscription.amount).toBe(1_000);
    const upgrade = { upgrade_of: running.id, renews: false };
    const { data } = await order(one.user, large, upgrade);
    await tell("checkout.session.completed", stripe.sessionOf(stripe.desk.pay(data.order_no)).id);
    await world.pass(1);
    expect(one.subscription.amount).toBe(9_000);
    const { renewals, downgrades } = await shop(one.user);
    expect(renewals).toMatchObject([{ plan_id: large.id, amount_minor: 9_000, is_told: true }]);
    expect(downgrades.some(({ is_chosen }: { is_chosen: boolean }) => is_chosen)).toBe(false);
    await until(running.ends_at + HOUR_SEC);
    await told(stripe.billing.renew(one.subscription));
    expect((await periodsOf(one.user)).at(-1)).toMatchObject({ plan_id: large.id, state: "running" });
  });

  test("a plan that is paid for by hand begins after the period that it was chosen to follow", async () => {
    const [large, small] = [await make({ price: "90" }), await make({ price: "30" })];
    const user = await world.buyer();
    const pay = async (plan: Plan) => {
      const change = { instance_id: byHand.id, method: "alipay", renews: false };
      const { data, message } = await order(user, plan, change);
      expect(message).toBe("");
      await world.notify(byHand, { query: epay.noticeV1(epay.desk.pay(data.order_no)) });
    };
    await pay(large);
    const [running] = await periodsOf(user);
    const path = `/api/plan/period/${running.id}/change`;
    const wish = { plan_id: small.id, version_id: small.version_id };
    expect((await world.app.call(user.who, "POST", path, wish)).message).toBe("");
    await pay(small);
    expect(await periodsOf(user)).toMatchObject([
      { plan_id: large.id, state: "running" },
      { plan_id: small.id, state: "coming", starts_at: running.ends_at },
    ]);
    const dearer = { plan_id: large.id, version_id: large.version_id };
    expect((await world.app.call(user.who, "POST", path, dearer)).message).toContain("价格更低");
    const stranger = await world.buyer();
    expect((await world.app.call(stranger.who, "POST", path, wish)).message).toBe("找不到该周期");
  });

  test("only cards renew, no limited or very long plan, and none twice", async () => {
    const user = await world.buyer();
    const plan = await make();
    expect((await order(user, plan, { method: "alipay" })).message).toBe("该支付方式不支持自动续费");
    const limited = await make({ purchase_limit: 2 });
    expect((await order(user, limited)).message).toBe("该套餐不支持自动续费");
    expect((await order(user, await make({ count: 37 }))).message).toBe("该套餐不支持自动续费");
    const one = await subscribed(plan);
    expect((await order(one.user, plan)).message).toBe("该套餐已开启自动续费");
    const methods = (await shop(user)).methods.map(
      ({ method, renews }: { method: string; renews: boolean }) => [method, renews],
    );
    expect(methods).toEqual(
      expect.arrayContaining([
        ["card", true],
        ["alipay", false],
      ]),
    );
  });

  test("a subscription of another shop is nothing here, one whose order is lost waits for a person", async () => {
    const one = await subscribed(await make());
    const before = (await world.openEvents()).length;
    const foreign = stripe.billing.of("not-ours", 700);
    expect(await tell("customer.subscription.updated", foreign.id)).toBe(200);
    expect((await world.openEvents()).length).toBe(before);
    // Restored from a backup that is older than the order.
    const gone = "TG20260101ABCDEFGHJKMNPQRS";
    one.subscription.metadata["order_no"] = gone;
    const invoice = stripe.billing.renew(one.subscription);
    for (let turn = 0; turn < 2; turn += 1) await told(invoice);
    const open = (await world.openEvents()).filter(({ verdict }: { verdict: string }) => verdict === "unknown_order");
    expect(open.length).toBe(1);
  });

  test("the day's comparison finds renewals in Stripe's list, and misses none of ours", async () => {
    const { compareSpan } = await import("./compare.ts");
    const { instanceOf } = await import("./orders.ts");
    const one = await subscribed(await make());
    await until(stripe.billing.endOf(one.subscription) + HOUR_SEC);
    stripe.billing.renew(one.subscription);
    const instance = await instanceOf(world.app.ctx, account.id);
    if (!instance) throw new Error("the account is complete");
    const span = { fromSec: world.clock.seconds() - DAY_SEC, beforeSec: world.clock.seconds() + 1 };
    expect(await compareSpan(world.app.ctx, instance, span)).toEqual({ brought: 1, missing: 0 });
    expect((await periodsOf(one.user)).length).toBe(2);
    expect(await compareSpan(world.app.ctx, instance, span)).toEqual({ brought: 0, missing: 0 });
  });
});
