// What users decide about plans that go on: cancelled, taken back, changed to a cheaper one or upgraded; and what ends a renewal by itself
// (requirements Z21, Z22). On both databases.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DAY_SEC } from "#server/clock.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { PLAN_DRAFT, RenewalWorld } from "#test/worlds/renewal-world.ts";

const HOUR_SEC = 3_600;

describe.each(databases)("choices about plans on $name", (database) => {
  const world = new RenewalWorld();
  beforeAll(() => world.start(database));
  afterAll(() => world.stop());

  test("a user cancels at the end of the period, takes that back, and is told what is so when Stripe is silent", async () => {
    const one = await world.subscribed(await world.plan());
    const cancelled = await world.decide(one, false);
    expect(cancelled.data.renewals).toMatchObject([{ renews: false, is_told: true }]);
    expect(one.subscription.cancelAtPeriodEnd).toBe(true);
    expect((await world.decide(one, true)).data.renewals).toMatchObject([{ renews: true, is_told: true }]);
    expect(one.subscription.cancelAtPeriodEnd).toBe(false);
    world.stripe.desk.mode = "500";
    expect((await world.decide(one, false)).data.renewals).toMatchObject([{ renews: false, is_told: false }]);
    world.stripe.desk.mode = "ok";
    // What Stripe still has does not undo the wish.
    await world.tell("customer.subscription.updated", one.subscription.id);
    expect(await world.renewalOf(one.orderNo)).toMatchObject({ renews: 0 });
    await world.pass(61);
    expect(one.subscription.cancelAtPeriodEnd).toBe(true);
    expect((await world.shop(one.user)).renewals).toMatchObject([{ renews: false, is_told: true }]);
    // Cancelled in Stripe's dashboard, or there taken back.
    one.subscription.cancelAtPeriodEnd = false;
    await world.tell("customer.subscription.updated", one.subscription.id);
    expect((await world.shop(one.user)).renewals).toMatchObject([{ renews: true }]);
    const stranger = await world.buyer();
    const path = `/api/plan/renewal/${(await world.renewalOf(one.orderNo)).id}`;
    expect((await world.app.call(stranger.who, "POST", path, { renews: false })).message).toBe(
      "找不到该自动续费",
    );
    world.stripe.billing.end(one.subscription);
    await world.tell("customer.subscription.deleted", one.subscription.id);
    expect((await world.decide(one, true)).message).toContain("已经结束");
    // The period that was paid for goes on.
    expect(await world.periodsOf(one.user)).toMatchObject([{ state: "running" }]);
    expect((await world.shop(one.user)).renewals).toEqual([]);
  });

  test("money that goes back ends the period and the renewal; so does leaving", async () => {
    const one = await world.subscribed(await world.plan());
    await world.until(world.stripe.billing.endOf(one.subscription) + HOUR_SEC);
    await world.paid(world.stripe.billing.renew(one.subscription));
    const [renewed] = await world.ordersOf(one.user);
    const path = `/api/payment/manage/${renewed.order_no}/refund`;
    const refund = await world.app.call(asRoot, "POST", path, { amount: null, reason: "退款" });
    expect(refund.data.refunds).toMatchObject([{ state: "done" }]);
    expect((await world.periodsOf(one.user)).at(-1)).toMatchObject({ state: "stopped" });
    await world.pass(1);
    expect(one.subscription.cancelAtPeriodEnd).toBe(true);
    const other = await world.subscribed(await world.plan());
    await world.app.call(asRoot, "DELETE", `/api/user/${other.user.id}`);
    await world.pass(DAY_SEC);
    expect(other.subscription.cancelAtPeriodEnd).toBe(true);
  });

  test("a changed price is for new buyers: what runs is charged as agreed", async () => {
    const plan = await world.plan();
    const one = await world.subscribed(plan);
    await world.app.call(asRoot, "PUT", `/api/plan/${plan.id}`, { ...PLAN_DRAFT, name: "涨价", price: "50" });
    await world.until(world.stripe.billing.endOf(one.subscription) + HOUR_SEC);
    expect(one.subscription.amount).toBe(3_000);
    await world.paid(world.stripe.billing.renew(one.subscription));
    expect((await world.periodsOf(one.user)).at(-1)).toMatchObject({ state: "running", name: plan.name });
    expect((await world.shop(one.user)).renewals).toMatchObject([{ amount_minor: 3_000 }]);
    const listed = (await world.app.call(asRoot, "GET", "/api/plan/")).data;
    expect(listed.find(({ id }: { id: number }) => id === plan.id)).toMatchObject({
      subscribers: 1,
      renewing: 1,
    });
  });

  test("a cheaper plan begins when the period ends, at its own price; until then it can be taken back", async () => {
    const [large, small] = [
      await world.plan({ price: "90" }),
      await world.plan({ price: "30", quota: 300_000 }),
    ];
    const one = await world.subscribed(large);
    const [running] = await world.periodsOf(one.user);
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
    expect([one.subscription.amount, (await world.periodsOf(one.user))[0].quota]).toEqual([3_000, 1_000_000]);
    const back = (await choose({ plan_id: 0 })).data;
    expect([back.downgrades.find(isSmall).is_chosen, one.subscription.amount]).toEqual([false, 9_000]);
    // Chosen while Stripe is silent: told later, and the invoice of either price is understood.
    world.stripe.desk.mode = "lost";
    expect((await choose(wish)).data.renewals).toMatchObject([{ is_told: false, amount_minor: 3_000 }]);
    expect(one.subscription.amount).toBe(9_000);
    world.stripe.desk.mode = "ok";
    await world.pass(61);
    expect(one.subscription.amount).toBe(3_000);
    await world.until(running.ends_at + HOUR_SEC);
    await world.paid(world.stripe.billing.renew(one.subscription));
    expect((await world.periodsOf(one.user)).at(-1)).toMatchObject({
      plan_id: small.id,
      state: "running",
      quota: 300_000,
      starts_at: running.ends_at,
    });
    expect(await world.renewalOf(one.orderNo)).toMatchObject({
      version_id: small.version_id,
      amount_minor: 3_000,
    });
  });

  test("an upgrade undoes the choice and is charged from then on", async () => {
    const [small, middle, large] = [
      await world.plan({ price: "10" }),
      await world.plan({ price: "30" }),
      await world.plan({ price: "90" }),
    ];
    const one = await world.subscribed(middle);
    const [running] = await world.periodsOf(one.user);
    const wish = { plan_id: small.id, version_id: small.version_id };
    await world.app.call(one.user.who, "POST", `/api/plan/period/${running.id}/change`, wish);
    expect(one.subscription.amount).toBe(1_000);
    const upgrade = { upgrade_of: running.id, renews: false };
    const { data } = await world.orderPlan(one.user, large, upgrade);
    await world.tell(
      "checkout.session.completed",
      world.stripe.sessionOf(world.stripe.desk.pay(data.order_no)).id,
    );
    await world.pass(1);
    expect(one.subscription.amount).toBe(9_000);
    const { renewals, downgrades } = await world.shop(one.user);
    expect(renewals).toMatchObject([{ plan_id: large.id, amount_minor: 9_000, is_told: true }]);
    expect(downgrades.some(({ is_chosen }: { is_chosen: boolean }) => is_chosen)).toBe(false);
    await world.until(running.ends_at + HOUR_SEC);
    await world.paid(world.stripe.billing.renew(one.subscription));
    expect((await world.periodsOf(one.user)).at(-1)).toMatchObject({ plan_id: large.id, state: "running" });
  });

  test("a plan that is paid for by hand begins after the period that it was chosen to follow", async () => {
    const [large, small] = [await world.plan({ price: "90" }), await world.plan({ price: "30" })];
    const user = await world.buyer();
    await world.payByHand(user, large);
    const [running] = await world.periodsOf(user);
    const path = `/api/plan/period/${running.id}/change`;
    const wish = { plan_id: small.id, version_id: small.version_id };
    expect((await world.app.call(user.who, "POST", path, wish)).message).toBe("");
    await world.payByHand(user, small);
    expect(await world.periodsOf(user)).toMatchObject([
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
    const plan = await world.plan();
    expect((await world.orderPlan(user, plan, { method: "alipay" })).message).toBe(
      "该支付方式不支持自动续费",
    );
    const limited = await world.plan({ purchase_limit: 2 });
    expect((await world.orderPlan(user, limited)).message).toBe("该套餐不支持自动续费");
    expect((await world.orderPlan(user, await world.plan({ count: 37 }))).message).toBe(
      "该套餐不支持自动续费",
    );
    const one = await world.subscribed(plan);
    expect((await world.orderPlan(one.user, plan)).message).toBe("该套餐已开启自动续费");
    const methods = (await world.shop(user)).methods.map(
      ({ method, renews }: { method: string; renews: boolean }) => [method, renews],
    );
    expect(methods).toEqual(
      expect.arrayContaining([
        ["card", true],
        ["alipay", false],
      ]),
    );
  });

  test("orders, and decisions about plans, are made twenty times in ten minutes (requirements Y42)", async () => {
    const [user, plan] = [await world.buyer(), await world.plan()];
    const tries = Array.from({ length: 25 }, () => world.orderPlan(user, plan, { method: "alipay" }));
    const answers = await Promise.all(tries);
    const limited = answers.filter(({ message }) => message.startsWith("下单过于频繁"));
    expect([answers.length, limited.length]).toEqual([25, 5]);
    const change = await world.app.call(user.who, "POST", "/api/plan/period/1/change", { plan_id: 0 });
    expect(change.message).toContain("下单过于频繁");
  });
});
