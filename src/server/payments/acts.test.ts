// An act on a payment stands in the audit log before it happens: where the log takes nothing, nothing happens, and no provider is asked
// (requirements Y40). On both databases.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { verifyAudit } from "#server/store/audit.ts";
import { listRefunds } from "#server/store/order-refunds.ts";
import { insertEvent } from "#server/store/orders.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { PLAN_DRAFT, RenewalWorld } from "#test/worlds/renewal-world.ts";

describe.each(databases)("acts on payments on $name", (database) => {
  const world = new RenewalWorld();
  beforeAll(() => world.start(database));
  afterAll(() => world.stop());

  test("that cannot be logged do not happen", async () => {
    const paid = await world.ordered(world.cards, { method: "card" });
    await world.checkOut(paid.order.order_no);
    const open = await world.ordered(world.cards, { method: "card" });
    const odd = await world.ordered(world.cards, { method: "card" });
    world.stripe.told.session = { amount_total: 1 };
    await world.checkOut(odd.order.order_no);
    world.stripe.told.session = {};
    expect(await world.row(odd.order.order_no)).toMatchObject({ status: "paid", review: "amount" });
    const { db } = world.app.ctx;
    await insertEvent(db, {
      ...{
        instance_id: world.cards.id,
        kind: "notify",
        event_key: "o",
        order_no: "",
        verdict: "unknown_order",
      },
      ...{ is_open: 1, body_sealed: "", created_at: world.clock.seconds() },
      facts: JSON.stringify({ trade_no: "pi_o", amount_minor: 3_000, currency: "CNY" }),
    });
    const event = (await world.openEvents()).find((one: { is_orphan: boolean }) => one.is_orphan);
    const acts = [
      [paid, "refund", { amount: "30.00", reason: "退款" }],
      [open, "manual", { trade_no: "bank-1", amount: "30.00", reason: "流水" }],
      [open, "ask", {}],
      [odd, "decide", { as: "ordered", reason: "核实" }],
      [open, "close", { reason: "用户要求" }],
    ] as const;
    const states = async () =>
      Promise.all(
        acts.map(async ([{ user, order }]) => {
          const { status, review, refunded_minor } = await world.row(order.order_no);
          return { status, review, refunded_minor, gained: await world.gained(user) };
        }),
      );
    const [before, heard] = [await states(), world.stripe.desk.heard.length];
    const head = await db.selectFrom("audit_head").selectAll().executeTakeFirstOrThrow();
    await db.deleteFrom("audit_head").execute();
    for (const [{ order }, act, body] of acts) {
      const path = `/api/payment/manage/${order.order_no}/${act}`;
      expect([act, (await world.app.call(asRoot, "POST", path, body)).status]).toEqual([act, 500]);
    }
    const orphan = `/api/payment/event/${event?.id}/credit`;
    const given = { user_id: open.user.id, reason: "凭证" };
    expect((await world.app.call(asRoot, "POST", orphan, given)).status).toBe(500);
    await db.insertInto("audit_head").values(head).execute();
    expect([await states(), world.stripe.desk.heard.length]).toEqual([before, heard]);
    expect(await listRefunds(db, paid.order.order_no)).toEqual([]);
    for (const [{ order }, act, body] of acts.slice(0, 2)) {
      const path = `/api/payment/manage/${order.order_no}/${act}`;
      expect((await world.app.call(asRoot, "POST", path, body)).message).toBe("");
    }
    expect([await world.gained(paid.user), await world.gained(open.user)]).toEqual([0, 25_000_000]);
  });

  test("nor do those on merchant accounts, plans, notices and unclear refunds; the trail stays whole", async () => {
    const { db } = world.app.ctx;
    const paid = await world.ordered(world.cards, { method: "card" });
    await world.checkOut(paid.order.order_no);
    world.stripe.desk.mode = "lost";
    const refund = { amount: "30.00", reason: "退款" };
    await world.app.call(asRoot, "POST", `/api/payment/manage/${paid.order.order_no}/refund`, refund);
    world.stripe.desk.mode = "ok";
    const [unclear] = await listRefunds(db, paid.order.order_no);
    expect(unclear?.state).toBe("unknown");
    const hook = world.stripe.event("checkout.session.completed", "cs_test_1", { livemode: true });
    await world.notify(world.cards, { body: hook.body, headers: { "stripe-signature": hook.header } });
    const [notice] = await world.openEvents();
    const draft = { name: "改", is_enabled: false, methods: ["card"], fields: {} };
    const made = { ...draft, provider: "stripe", merchant_id: "acct_9" };
    const settle = { refund_no: unclear?.refund_no, is_done: true, reason: "已核实" };
    const acts = [
      ["POST", "/api/payment/instance", made],
      ["PUT", `/api/payment/instance/${world.cards.id}`, draft],
      ["POST", `/api/payment/event/${notice.id}/settle`, { reason: "已看过" }],
      ["POST", `/api/payment/manage/${paid.order.order_no}/refund/settle`, settle],
      ["POST", "/api/plan/", { name: "套餐", ...PLAN_DRAFT }],
    ] as const;
    const tables = [
      "payment_instances",
      "payment_events",
      "order_refunds",
      "orders",
      "ledger",
      "plans",
    ] as const;
    const seen = async () =>
      JSON.stringify(await Promise.all(tables.map((table) => db.selectFrom(table).selectAll().execute())));
    const [before, heard] = [await seen(), world.stripe.desk.heard.length];
    const head = await db.selectFrom("audit_head").selectAll().executeTakeFirstOrThrow();
    await db.deleteFrom("audit_head").execute();
    for (const [method, path, body] of acts)
      expect([path, (await world.app.call(asRoot, method, path, body)).status]).toEqual([path, 500]);
    await db.insertInto("audit_head").values(head).execute();
    expect(await seen()).toBe(before);
    expect(world.stripe.desk.heard.length).toBe(heard);
    for (const [method, path, body] of acts)
      expect([path, (await world.app.call(asRoot, method, path, body)).message]).toEqual([path, ""]);
    expect((await verifyAudit(db)).brokenId).toBe(0);
  });
});
