// Stripe's events in any order, and the key of a step that was used before (requirements Y24–Y27). On both databases.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asRoot, databases } from "#test/worlds/app.ts";
import { RenewalWorld } from "#test/worlds/renewal-world.ts";
import { depsOf, factsOf, instanceOf } from "./orders.ts";
import { stripe } from "./providers/stripe.ts";
import { STRIPE_VERSION } from "./providers/stripe-call.ts";

/** All orders of some things. */
function ordersOf(things: readonly string[]): string[][] {
  if (things.length === 0) return [[]];
  return things.flatMap((one) =>
    ordersOf(things.filter((other) => other !== one)).map((rest) => [one, ...rest]),
  );
}

describe.each(databases)("Stripe's events on $name", (database) => {
  const world = new RenewalWorld();
  beforeAll(() => world.start(database));
  afterAll(() => world.stop());
  const sessionOf = (orderNo: string) => world.stripe.sessionOf(world.stripe.desk.order(orderNo)).id;

  test("four events in each of their 24 orders credit once", async () => {
    const sequences = ordersOf(["completed", "async_payment_succeeded", "async_payment_failed", "expired"]);
    expect(sequences).toHaveLength(24);
    for (const [index, sequence] of sequences.entries()) {
      const { user, order } = await world.ordered(world.cards, { method: "card" });
      const id = sessionOf(order.order_no);
      // The bank pays before the first, or between the second and the third.
      const paidAt = index % 2 === 0 ? 0 : 2;
      for (const [at, type] of sequence.entries()) {
        if (at === paidAt) world.stripe.desk.pay(order.order_no);
        expect(await world.tell(`checkout.session.${type}`, id)).toBe(200);
      }
      expect([sequence, await world.gained(user)]).toEqual([sequence, 25_000_000]);
    }
  });

  test("nothing of an event counts but what it is about, whatever version wrote it", async () => {
    const { user, order } = await world.ordered(world.cards, { method: "card" });
    const id = sessionOf(order.order_no);
    const more = { object: "charge", paid: true, payment_status: "paid", amount_total: 1, currency: "usd" };
    const told = () => {
      const { body, header } = world.stripe.event("checkout.session.completed", id, { more });
      return world.notify(world.cards, { body, headers: { "stripe-signature": header } });
    };
    expect([(await told()).status, await world.gained(user)]).toEqual([200, 0]);
    world.stripe.desk.pay(order.order_no);
    expect([(await told()).status, await world.gained(user)]).toEqual([200, 25_000_000]);
  });

  test("the key of a step is not used for another amount: Stripe refuses, and there is one session", async () => {
    const { order } = await world.ordered(world.cards, { method: "card" });
    const instance = await instanceOf(world.app.ctx, world.cards.id);
    if (!instance) throw new Error("the account is complete");
    const facts = factsOf(await world.row(order.order_no));
    const deps = depsOf(world.app.ctx, instance, order.order_no);
    const { desk } = world.stripe;
    const before = desk.orders.size;
    expect(await stripe.create(instance, facts, deps)).toMatchObject({
      kind: "ready",
      session: facts.session,
    });
    const dearer = { ...facts, amountMinor: facts.amountMinor + 1 };
    expect(await stripe.create(instance, dearer, deps)).toMatchObject({ kind: "refused" });
    expect([desk.orders.size, desk.order(order.order_no).amount]).toEqual([before, facts.amountMinor]);
  });

  test("a session that Stripe could not make at first has its end far enough ahead whenever it is made", async () => {
    for (const late of [16, 1_790]) {
      world.stripe.desk.mode = "500";
      const { user, order } = await world.ordered(world.cards, { method: "card" });
      world.stripe.desk.mode = "ok";
      expect(world.stripe.desk.orders.has(order.order_no)).toBe(false);
      await world.pass(late);
      world.stripe.desk.pay(order.order_no);
      await world.pass(60);
      expect([late, await world.gained(user)]).toEqual([late, 25_000_000]);
      const ends = world.stripe.desk.heard
        .map(({ body }) => new URLSearchParams(body))
        .filter((form) => form.get("client_reference_id") === order.order_no)
        .map((form) => form.get("expires_at"));
      expect(ends.length).toBeGreaterThan(1);
      // The key of a step allows no other parameters.
      expect(new Set(ends)).toEqual(new Set([String(order.created_at + 65 * 60)]));
    }
  });

  test("an order whose session Stripe makes no more is closed; the session of one that is cancelled ends with it", async () => {
    world.stripe.desk.mode = "500";
    const { order } = await world.ordered(world.cards, { method: "card" });
    await world.pass(1_801);
    expect(await world.row(order.order_no)).toMatchObject({ status: "created" });
    world.clock.advance(3_600_000);
    world.stripe.desk.mode = "ok";
    await world.pass(60);
    expect(await world.row(order.order_no)).toMatchObject({ status: "closed" });
    expect(world.stripe.desk.orders.has(order.order_no)).toBe(false);
    const other = await world.ordered(world.cards, { method: "card" });
    const no = other.order.order_no;
    await world.app.call(other.user.who, "POST", `/api/payment/order/${no}/cancel`, {});
    expect([world.stripe.desk.order(no).state, (await world.row(no)).status]).toEqual(["closed", "closed"]);
  });

  test("the emulator takes an end as Stripe does: half an hour to a day ahead", async () => {
    const { order } = await world.ordered(world.cards, { method: "card" });
    const instance = await instanceOf(world.app.ctx, world.cards.id);
    if (!instance) throw new Error("the account is complete");
    const facts = factsOf(await world.row(order.order_no));
    const deps = depsOf(world.app.ctx, instance, "");
    const kindOf = async (orderNo: string, aheadSec: number) => {
      const expiresSec = world.clock.seconds() + aheadSec - 35 * 60;
      return (await stripe.create(instance, { ...facts, orderNo, expiresSec }, deps)).kind;
    };
    expect([await kindOf("TG-1", 1_799), await kindOf("TG-2", 1_800)]).toEqual(["refused", "ready"]);
    expect([await kindOf("TG-3", 86_400), await kindOf("TG-4", 86_401)]).toEqual(["ready", "refused"]);
  });

  test("every call of ours asks for the version that is pinned, and an event of an old one is fetched anew", async () => {
    const { user, order } = await world.ordered(world.cards, { method: "card" });
    const id = sessionOf(order.order_no);
    world.stripe.desk.pay(order.order_no);
    // As it was written before sessions had a payment_status.
    const more = { object: "checkout.session", display_items: [{ amount: 1, currency: "usd" }] };
    const { body, header } = world.stripe.event("checkout.session.completed", id, {
      more,
      version: "2019-05-16",
    });
    await world.notify(world.cards, { body, headers: { "stripe-signature": header } });
    expect(await world.gained(user)).toBe(25_000_000);
    const refund = { amount: "30.00", reason: "测试" };
    await world.app.call(asRoot, "POST", `/api/payment/manage/${order.order_no}/refund`, refund);
    const versions = world.stripe.desk.heard.map(({ headers }) => headers["stripe-version"]);
    expect(versions.length).toBeGreaterThan(3);
    expect(new Set(versions)).toEqual(new Set([STRIPE_VERSION]));
  });

  test("a test event, or a test session, counts for nothing at a live account, where a live one does", async () => {
    const { desk, webhookSecret, told } = world.stripe;
    const live = await world.account({
      provider: "stripe",
      merchant_id: "acct_live",
      methods: ["card"],
      fields: { base_url: desk.url, secret_key: "sk_live_0001", webhook_secret: webhookSecret },
    });
    const { user, order } = await world.ordered(live, { method: "card" });
    desk.pay(order.order_no);
    const tell = async (livemode: boolean) => {
      const type = "checkout.session.completed";
      const { body, header } = world.stripe.event(type, sessionOf(order.order_no), { livemode });
      return (await world.notify(live, { body, headers: { "stripe-signature": header } })).status;
    };
    const open = async () => {
      const events: { verdict: string; instance_id: number }[] = await world.openEvents();
      return events.filter(({ instance_id }) => instance_id === live.id).map(({ verdict }) => verdict);
    };
    expect([await tell(false), await world.gained(user), await open()]).toEqual([200, 0, ["wrong_merchant"]]);
    // The event says live, the object that it names is a test's.
    expect([await tell(true), await world.gained(user)]).toEqual([200, 0]);
    await world.pass(16);
    expect(await world.row(order.order_no)).toMatchObject({ status: "pending", review: "" });
    told.session = { livemode: true };
    expect(await tell(true)).toBe(200);
    told.session = {};
    expect(await world.gained(user)).toBe(25_000_000);
  });
});
