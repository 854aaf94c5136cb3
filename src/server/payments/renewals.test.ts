// Plans that Stripe renews by itself, end to end on both databases: what their invoices open, once each (requirements Z21). The vendor's own
// package checks the emulator.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DAY_SEC } from "#server/clock.ts";
import { stripeAt } from "#test/emulators/stripe-vendor.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { RenewalWorld } from "#test/worlds/renewal-world.ts";
import { compareSpan } from "./compare.ts";
import { instanceOf } from "./orders.ts";
import { nextLook } from "./renewal-looks.ts";

const HOUR_SEC = 3_600;

test("a subscription is asked about around the end of its period, and every day", () => {
  const next = { next_at: 30 * DAY_SEC };
  expect(nextLook(next, 0)).toBe(DAY_SEC);
  expect(nextLook(next, 29 * DAY_SEC)).toBe(30 * DAY_SEC - HOUR_SEC);
  expect(nextLook(next, 30 * DAY_SEC)).toBe(30 * DAY_SEC + 600);
  expect(nextLook(next, 30 * DAY_SEC + 600)).toBe(30 * DAY_SEC + 4_500);
  expect(nextLook(next, 40 * DAY_SEC)).toBe(41 * DAY_SEC);
});

describe.each(databases)("renewed by Stripe on $name", (database) => {
  const world = new RenewalWorld();
  beforeAll(() => world.start(database));
  afterAll(() => world.stop());

  test("the vendor's package reads the emulated subscription and its invoices, and changes its price", async () => {
    const { subscription } = await world.subscribed(await world.plan());
    const vendor = stripeAt(world.stripe.desk.url);
    const session = await vendor.checkout.sessions.create({
      mode: "subscription",
      client_reference_id: "TGVENDOR",
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
    const { items, customer } = await vendor.subscriptions.retrieve(subscription.id);
    const portal = await vendor.billingPortal.sessions.create({
      customer: String(customer),
      return_url: "https://gate.example/",
      flow_data: {
        type: "payment_method_update",
        after_completion: { type: "redirect", redirect: { return_url: "https://gate.example/" } },
      },
    });
    expect(portal.url).toContain(subscription.customer);
    const item = items.data[0];
    expect(item?.current_period_end).toBe(world.stripe.billing.endOf(subscription));
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
    const one = await world.subscribed(await world.plan());
    const asked = new URLSearchParams(
      world.stripe.desk.heard.findLast(({ body }) => body.includes(one.orderNo))?.body ?? "",
    );
    expect(Object.fromEntries(asked)).toMatchObject({
      mode: "subscription",
      "line_items[0][price_data][unit_amount]": "3000",
      "line_items[0][price_data][recurring][interval]": "month",
      "line_items[0][price_data][recurring][interval_count]": "1",
      "subscription_data[metadata][order_no]": one.orderNo,
      "subscription_data[metadata][user]": String(one.user.id),
    });
    const { periods, renewals } = await world.shop(one.user);
    const end = world.stripe.billing.endOf(one.subscription);
    expect(periods).toMatchObject([{ state: "running", ends_at: end }]);
    expect(renewals).toMatchObject([
      { state: "active", renews: true, is_told: true, next_at: end, amount_minor: 3_000, currency: "CNY" },
    ]);
    // The same subscription by each of its notices.
    for (const type of ["customer.subscription.created", "customer.subscription.updated"])
      expect(await world.tell(type, one.subscription.id)).toBe(200);
    const [first] = world.stripe.billing.invoices.values();
    if (first) await world.paid(first);
    expect((await world.periodsOf(one.user)).length).toBe(1);
  });

  test("each paid invoice opens its period once: repeats, out of order, two at once", async () => {
    const one = await world.subscribed(await world.plan());
    const [first] = await world.periodsOf(one.user);
    await world.until(world.stripe.billing.endOf(one.subscription) + HOUR_SEC);
    const second = world.stripe.billing.renew(one.subscription);
    for (let turn = 0; turn < 3; turn += 1) await world.paid(second);
    await Promise.all([world.paid(second), world.paid(second)]);
    expect((await world.periodsOf(one.user)).map(({ state }: { state: string }) => state)).toEqual([
      "over",
      "running",
    ]);
    // Two periods went by unheard; the later one is told of first.
    await world.clock.advance(1_000 * (second.endSec + HOUR_SEC - world.clock.seconds()));
    const third = world.stripe.billing.renew(one.subscription);
    await world.clock.advance(1_000 * (third.endSec + HOUR_SEC - world.clock.seconds()));
    const fourth = world.stripe.billing.renew(one.subscription);
    await world.paid(fourth);
    await world.paid(third);
    await world.paid(second);
    const periods = await world.periodsOf(one.user);
    expect(periods.length).toBe(4);
    expect(periods[0]).toMatchObject({ id: first.id, starts_at: first.starts_at });
    const named = [second, third, fourth].map(({ startSec, endSec }) => [startSec, endSec]);
    expect(
      periods
        .slice(1)
        .map(({ starts_at, ends_at }: { starts_at: number; ends_at: number }) => [starts_at, ends_at]),
    ).toEqual(named);
    expect(await world.renewalOf(one.orderNo)).toMatchObject({ next_at: fourth.endSec, status: "active" });
    expect((await world.ordersOf(one.user)).map(({ status }: { status: string }) => status)).toEqual(
      Array.from({ length: 4 }, () => "credited"),
    );
  });

  test("a renewal whose notices are all lost is found by asking", async () => {
    const one = await world.subscribed(await world.plan());
    const end = world.stripe.billing.endOf(one.subscription);
    await world.until(end + 1);
    world.stripe.billing.renew(one.subscription);
    await world.until(end + 700);
    expect((await world.periodsOf(one.user)).length).toBe(2);
    // The first payment too.
    const user = await world.buyer();
    const { data } = await world.orderPlan(user, await world.plan());
    world.stripe.desk.pay(data.order_no);
    await world.pass(16);
    expect((await world.periodsOf(user)).length).toBe(1);
    expect(await world.renewalOf(data.order_no)).toMatchObject({ renews: 1, status: "active" });
  });

  test("what Stripe does not answer is told again, and nothing is lost", async () => {
    const one = await world.subscribed(await world.plan());
    const end = world.stripe.billing.endOf(one.subscription);
    await world.until(end + HOUR_SEC);
    const invoice = world.stripe.billing.renew(one.subscription);
    for (const mode of ["500", "html", "truncated", "lost"] as const) {
      world.stripe.desk.mode = mode;
      expect(await world.tell("invoice.paid", invoice.id)).toBe(503);
      expect(await world.tell("customer.subscription.updated", one.subscription.id)).toBe(503);
    }
    world.stripe.desk.mode = "ok";
    expect((await world.periodsOf(one.user)).length).toBe(1);
    await world.until(end + 4_500);
    expect((await world.periodsOf(one.user)).length).toBe(2);
  });

  test("an invoice of another amount waits for a person, who gives the period or the money back", async () => {
    const one = await world.subscribed(await world.plan());
    await world.until(world.stripe.billing.endOf(one.subscription) + HOUR_SEC);
    // The operator changed the price in Stripe's dashboard.
    one.subscription.amount = 2_900;
    const invoice = world.stripe.billing.renew(one.subscription);
    await world.paid(invoice);
    expect((await world.periodsOf(one.user)).length).toBe(1);
    const [waiting] = await world.ordersOf(one.user);
    expect(waiting).toMatchObject({ status: "paid", review: "amount", paid_minor: 2_900 });
    const detail = await world.app.call(asRoot, "GET", `/api/payment/manage/${waiting.order_no}`);
    expect(detail.data.renewal).toMatchObject({ order_no: one.orderNo, provider_id: one.subscription.id });
    const path = `/api/payment/manage/${waiting.order_no}/decide`;
    const decided = await world.app.call(asRoot, "POST", path, { as: "ordered", reason: "按约定" });
    expect(decided.message).toBe("");
    expect((await world.periodsOf(one.user)).length).toBe(2);
    await world.paid(invoice);
    expect((await world.periodsOf(one.user)).length).toBe(2);
  });

  test("an invoice that is paid after the subscription was over waits for a person, one from before opens its period", async () => {
    const one = await world.subscribed(await world.plan());
    await world.until(world.stripe.billing.endOf(one.subscription) + HOUR_SEC);
    const refused = world.stripe.billing.renew(one.subscription, false);
    expect(await world.tell("invoice.payment_failed", refused.id)).toBe(200);
    expect(await world.renewalOf(one.orderNo)).toMatchObject({ status: "failed" });
    world.clock.advance(DAY_SEC * 1_000);
    world.stripe.billing.end(one.subscription);
    expect(await world.tell("customer.subscription.deleted", one.subscription.id)).toBe(200);
    expect(await world.renewalOf(one.orderNo)).toMatchObject({ status: "ended", renews: 0, next_check: 0 });
    world.clock.advance(DAY_SEC * 1_000);
    world.stripe.billing.pay(refused);
    await world.paid(refused);
    const [waiting] = await world.ordersOf(one.user);
    expect(waiting).toMatchObject({ status: "paid", review: "renewal_over", paid_minor: 3_000 });
    expect((await world.periodsOf(one.user)).length).toBe(1);
    const path = `/api/payment/manage/${waiting.order_no}/refund`;
    const refund = await world.app.call(asRoot, "POST", path, { amount: "30.00", reason: "已取消" });
    expect(refund.data.refunds).toMatchObject([{ amount_minor: 3_000, state: "done" }]);
    // Paid in time, heard of after the end.
    const late = await world.subscribed(await world.plan());
    await world.until(world.stripe.billing.endOf(late.subscription) + HOUR_SEC);
    const paid = world.stripe.billing.renew(late.subscription);
    world.clock.advance(HOUR_SEC * 1_000);
    world.stripe.billing.end(late.subscription);
    await world.tell("customer.subscription.deleted", late.subscription.id);
    await world.paid(paid);
    expect((await world.periodsOf(late.user)).map(({ state }: { state: string }) => state)).toEqual([
      "over",
      "running",
    ]);
  });

  test("a subscription of another shop is nothing here, one whose order is lost waits for a person", async () => {
    const one = await world.subscribed(await world.plan());
    const before = (await world.openEvents()).length;
    const foreign = world.stripe.billing.of("not-ours", 700);
    expect(await world.tell("customer.subscription.updated", foreign.id)).toBe(200);
    expect((await world.openEvents()).length).toBe(before);
    // Restored from a backup that is older than the order.
    const gone = "TG20260101ABCDEFGHJKMNPQRS";
    one.subscription.metadata["order_no"] = gone;
    const invoice = world.stripe.billing.renew(one.subscription);
    for (let turn = 0; turn < 2; turn += 1) await world.paid(invoice);
    const open = (await world.openEvents()).filter(
      ({ verdict }: { verdict: string }) => verdict === "unknown_order",
    );
    expect(open.length).toBe(1);
  });

  test("the day's comparison finds renewals in Stripe's list, and misses none of ours", async () => {
    const one = await world.subscribed(await world.plan());
    await world.until(world.stripe.billing.endOf(one.subscription) + HOUR_SEC);
    world.stripe.billing.renew(one.subscription);
    const instance = await instanceOf(world.app.ctx, world.cards.id);
    if (!instance) throw new Error("the account is complete");
    const span = { fromSec: world.clock.seconds() - DAY_SEC, beforeSec: world.clock.seconds() + 1 };
    expect(await compareSpan(world.app.ctx, instance, span)).toMatchObject({ brought: 1, missing: 0 });
    expect((await world.periodsOf(one.user)).length).toBe(2);
    expect(await compareSpan(world.app.ctx, instance, span)).toMatchObject({ brought: 0, missing: 0 });
  });
});
