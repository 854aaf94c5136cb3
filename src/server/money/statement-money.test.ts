// The money of a statement is what was received and what went back of it, by which way and whatever it bought (requirements Y59), on
// both databases.
import { describe, expect, test } from "vitest";
import type { OrderRow } from "#server/store/orders.ts";
import { findLastEntryId, sumMoney } from "#server/store/statements.ts";
import { useOrderWorld } from "#test/worlds/order-world.ts";
import { orderPlan } from "#test/worlds/plans.ts";
import { engines, seedUser } from "#test/worlds/stores.ts";

describe.each(engines)("the money of a month on %s", (engine) => {
  const { world, act, prove, fresh, hold, finish, claw } = useOrderWorld(engine);
  const restore = (order: OrderRow, refundNo: string) => act(order, { verb: "restore", refundNo });
  const lastOf = ({ user_id }: OrderRow) => findLastEntryId(world.db, user_id);
  /** What the entries after one come to: received, gone back. */
  const moneyAfter = async (order: OrderRow, after: number) => {
    const entries = { userId: order.user_id, after, upTo: await lastOf(order) };
    return (await sumMoney(world.db, entries)).map(({ paid_minor, refunded_minor }) => [
      paid_minor,
      refunded_minor,
    ]);
  };
  const lastNoteOf = async ({ user_id }: OrderRow) => (await world.logsOf({ userId: user_id }))[0]?.content;

  async function plan(): Promise<OrderRow> {
    const order = await orderPlan(world.db, { userId: await seedUser(world.db) });
    expect((await prove(order)).outcome).toBe("credited");
    return order;
  }

  test("counts a plan's payment that went back at the provider, and its user is told", async () => {
    const order = await plan();
    const bought = await lastOf(order);
    await claw(order, "elsewhere", `${order.order_no}/re`, 3_000);
    expect(await moneyAfter(order, bought)).toEqual([[0, 3_000]]);
    expect(await moneyAfter(order, 0)).toEqual([[3_000, 3_000]]);
    expect(await lastNoteOf(order)).toBe(`订单 ${order.order_no} 已退款 ¥30.00`);
  });

  test("counts a disputed plan as gone back, and no more once the dispute is won", async () => {
    const order = await plan();
    const refundNo = `dispute/${order.order_no}`;
    await claw(order, "dispute", refundNo, 3_000);
    expect(await moneyAfter(order, 0)).toEqual([[3_000, 3_000]]);
    expect(await lastNoteOf(order)).toBe(`订单 ${order.order_no} 被拒付 ¥30.00`);
    const lost = await lastOf(order);
    await restore(order, refundNo);
    expect(await moneyAfter(order, lost)).toEqual([[0, -3_000]]);
    expect(await moneyAfter(order, 0)).toEqual([[3_000, 0]]);
    expect(await lastNoteOf(order)).toBe(`订单 ${order.order_no} 的拒付已撤销`);
  });

  test("counts what we sent back of a plan, without quota that was never in the wallet", async () => {
    const order = await plan();
    await hold(order, `${order.order_no}/1`, 3_000);
    await finish(order, `${order.order_no}/1`, true);
    expect(await moneyAfter(order, 0)).toEqual([[3_000, 3_000]]);
    expect(await lastNoteOf(order)).toBe(`订单 ${order.order_no} 退款 ¥30.00`);
  });

  test("has neither side of a payment that was sent back before it was credited", async () => {
    for (const back of ["admin", "elsewhere"] as const) {
      const order = await fresh();
      expect((await prove(order, { amountMinor: 1_000 })).outcome).toBe("review");
      const refundNo = `${order.order_no}/1`;
      if (back === "elsewhere") await claw(order, back, refundNo, 1_000);
      else {
        await hold(order, refundNo, 1_000);
        await finish(order, refundNo, true);
      }
      // The user is told, but the account received nothing of it.
      expect(await lastNoteOf(order)).toContain("¥10.00");
      expect(await moneyAfter(order, 0)).toEqual([]);
    }
  });

  test("has a payment once that was disputed, won and then credited", async () => {
    const order = await fresh();
    await prove(order, { amountMinor: 1_000 });
    const refundNo = `dispute/${order.order_no}`;
    await claw(order, "dispute", refundNo, 1_000);
    const lost = await lastOf(order);
    await restore(order, refundNo);
    await act(order, { verb: "decide", as: "paid", actorId: 1, reason: "looked" });
    expect(await moneyAfter(order, lost)).toEqual([[1_000, 0]]);
    expect(await moneyAfter(order, 0)).toEqual([[1_000, 0]]);
  });
});
