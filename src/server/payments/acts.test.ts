// An act on a payment stands in the audit log before it happens: where the log takes nothing, nothing happens, and no provider is asked
// (requirements Y40). On both databases.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listRefunds } from "#server/store/order-refunds.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { RenewalWorld } from "#test/worlds/renewal-world.ts";

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
    const acts = [
      [paid, "refund", { amount: "30.00", reason: "退款" }],
      [open, "manual", { trade_no: "bank-1", amount: "30.00", reason: "流水" }],
      [open, "ask", {}],
      [odd, "decide", { as: "ordered", reason: "核实" }],
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
    await db.insertInto("audit_head").values(head).execute();
    expect([await states(), world.stripe.desk.heard.length]).toEqual([before, heard]);
    expect(await listRefunds(db, paid.order.order_no)).toEqual([]);
    for (const [{ order }, act, body] of acts.slice(0, 2)) {
      const path = `/api/payment/manage/${order.order_no}/${act}`;
      expect((await world.app.call(asRoot, "POST", path, body)).message).toBe("");
    }
    expect([await world.gained(paid.user), await world.gained(open.user)]).toEqual([0, 25_000_000]);
  });
});
