// Acts on orders that the books refuse, and orders whose user, inviter or giver is gone, on both databases.
import { describe, expect, test } from "vitest";
import type { OrderRow } from "#server/store/orders.ts";
import { getUser } from "#server/store/users.ts";
import { orderChange, orderOf, proofOf, seedOrder } from "#test/worlds/order-rows.ts";
import { useOrderWorld } from "#test/worlds/order-world.ts";
import { engines, seedUser } from "#test/worlds/stores.ts";

const ALMOST_ALL = Number.MAX_SAFE_INTEGER - 1_000;

describe.each(engines)("refused acts on orders on %s", (engine) => {
  const { world, act, quotaOf, prove, fresh, hold, finish, claw, drain } = useOrderWorld(engine);
  const manual = (order: OrderRow, change: Parameters<typeof proofOf>[1] = {}) =>
    act(order, { verb: "manual", proof: proofOf(order, change).proof, actorId: 1, reason: "statement" });
  const giveAway = (order: OrderRow, parts: object) =>
    world.db.updateTable("orders").set(parts).where("id", "=", order.id).execute();

  test("a second payment of a wrong amount beside one that waits is one to send back", async () => {
    const order = await fresh();
    expect(await prove(order, { amountMinor: 1_000 })).toMatchObject({ outcome: "review", review: "amount" });
    const second = await prove(order, { tradeNo: "second", amountMinor: 2_000 });
    expect(second).toMatchObject({ outcome: "paid_twice", review: "paid_twice" });
    expect(await orderOf(world.db, order.order_no)).toMatchObject({ status: "paid", paid_minor: 1_000 });
    expect(await quotaOf(order.user_id)).toBe(0);
  });

  test("an administrator neither decides what is still too large, nor vouches for what is paid, worth nothing or too large", async () => {
    const rich = await fresh();
    await drain(rich.user_id, BigInt(ALMOST_ALL));
    await prove(rich);
    const decided = await act(rich, { verb: "decide", as: "ordered", actorId: 1, reason: "try" });
    expect(decided).toMatchObject({ outcome: "wrong_state", review: "too_large" });
    const other = await seedOrder(world.db, { user_id: rich.user_id, instance_id: rich.instance_id });
    expect(await manual(other)).toMatchObject({ outcome: "wrong_state", review: "too_large" });
    expect(await quotaOf(rich.user_id)).toBe(ALMOST_ALL);
    const order = await fresh();
    expect((await manual(order, { amountMinor: 0 })).outcome).toBe("wrong_state");
    await prove(order);
    expect((await manual(order, { tradeNo: "another" })).outcome).toBe("wrong_state");
    expect(await quotaOf(order.user_id)).toBe(5_000_000);
  });

  test("a user earns nothing by an own order, and no commission beyond what can be counted", async () => {
    const order = await fresh({ commission_micro: 250_000 });
    await giveAway(order, { inviter_id: order.user_id });
    await prove(await orderOf(world.db, order.order_no));
    expect((await getUser(world.db, order.user_id)).invite_commission_micro).toBe(0);
    const inviter_id = await seedUser(world.db);
    const first = await fresh({ inviter_id, commission_micro: ALMOST_ALL });
    await prove(first);
    const next = await fresh({ inviter_id, commission_micro: 250_000 });
    expect((await prove(next)).outcome).toBe("credited");
    expect((await getUser(world.db, inviter_id)).invite_commission_micro).toBe(ALMOST_ALL);
  });

  test("nothing goes back of an order that brought nothing, and no refund is ended by another order", async () => {
    const order = await fresh();
    expect((await claw(order, "dispute", `dispute/${order.order_no}`, 3_000)).outcome).toBe("wrong_state");
    expect((await act(order, { verb: "restore", refundNo: "none" })).outcome).toBe("not_found");
    await prove(order);
    expect((await hold(order, `${order.order_no}/1`, 1_000)).outcome).toBe("done");
    const other = await seedOrder(world.db, { user_id: order.user_id, instance_id: order.instance_id });
    expect((await finish(other, `${order.order_no}/1`, true)).outcome).toBe("not_found");
    expect((await finish(order, `${order.order_no}/1`, true)).outcome).toBe("done");
  });

  test("a payment that brought no quota goes back whole when no amount is named, and by a dispute", async () => {
    const order = await fresh();
    await prove(order, { amountMinor: 1_000 });
    expect(await hold(order, `${order.order_no}/1`, null)).toMatchObject({
      outcome: "done",
      amountMinor: 1_000,
    });
    expect((await finish(order, `${order.order_no}/1`, false)).outcome).toBe("done");
    expect((await claw(order, "dispute", `dispute/${order.order_no}`, 1_000)).outcome).toBe("done");
    expect((await act(order, { verb: "restore", refundNo: `dispute/${order.order_no}` })).outcome).toBe(
      "done",
    );
    expect(await quotaOf(order.user_id)).toBe(0);
  });

  test("a dispute won gives the commission back to the inviter", async () => {
    const inviter_id = await seedUser(world.db);
    const giver_id = await seedUser(world.db);
    const order = await fresh({ inviter_id, giver_id, gift_quota: 500, commission_micro: 250_000 });
    await prove(order);
    const commission = async () => (await getUser(world.db, inviter_id)).invite_commission_micro;
    await claw(order, "dispute", `dispute/${order.order_no}`, 3_000);
    expect([await commission(), await quotaOf(giver_id)]).toEqual([0, 0]);
    await act(order, { verb: "restore", refundNo: `dispute/${order.order_no}` });
    expect([await commission(), await quotaOf(giver_id)]).toEqual([250_000, 500]);
    const micro = { delta: -200_000n };
    const by = { userId: inviter_id, actorId: 1, operationId: `op-${order.order_no}`, reason: "spent" };
    await world.ledger.changeCommission({ ...by, kind: "commission-adjust", micro });
    await claw(order, "dispute", `dispute/${order.order_no}/2`, 3_000);
    expect([await commission(), await quotaOf(giver_id)]).toEqual([0, 0]);
  });

  test("an order whose user, giver and inviter are not in the books any more is refunded without them", async () => {
    const order = await fresh({ inviter_id: await seedUser(world.db), commission_micro: 250_000 });
    await prove(order);
    await hold(order, `${order.order_no}/0`, 1_000);
    const gone = { user_id: 9_999_991, giver_id: 9_999_992, inviter_id: 9_999_993 };
    await giveAway(order, gone);
    const orphan = { ...(await orderOf(world.db, order.order_no)), ...gone };
    const change = (what: Parameters<typeof act>[1]) => world.ledger.changeOrder(orderChange(orphan, what));
    const asked = { verb: "hold", refundNo: `${order.order_no}/1`, actorId: 1, reason: "asked" } as const;
    expect((await change({ ...asked, amountMinor: null })).outcome).toBe("short");
    expect((await change({ ...asked, amountMinor: 1_000 })).outcome).toBe("short");
    const done = { verb: "finish", refundNo: `${order.order_no}/0`, isDone: true, providerId: "" } as const;
    expect((await change(done)).outcome).toBe("done");
    const { user_id, giver_id, inviter_id } = order;
    await giveAway(order, { user_id, giver_id, inviter_id });
  });
});
