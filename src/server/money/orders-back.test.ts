// Payments of which money went back before an administrator decided about them, and refunds that are told as totals, on both databases.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { listEvents, type OrderRow } from "#server/store/orders.ts";
import { orderOf } from "#test/worlds/order-rows.ts";
import { useOrderWorld } from "#test/worlds/order-world.ts";
import { engines } from "#test/worlds/stores.ts";

describe.each(engines)("money that went back on %s", (engine) => {
  const { world, act, quotaOf, prove, fresh, hold, finish, claw } = useOrderWorld(engine);
  const decide = async (order: OrderRow, as: "paid" | "ordered" = "paid") =>
    (await act(order, { verb: "decide", as, actorId: 1, reason: "looked" })).outcome;
  const total = (order: OrderRow, amountMinor: number) =>
    act(order, {
      ...{ verb: "claw", source: "elsewhere", refundNo: `${order.order_no}/total-${amountMinor}` },
      ...{ providerId: `total-${amountMinor}`, tradeNo: "", amountMinor, isTotal: true },
    });

  /** A payment of 10 yuan for an order of 30, which waits for a person. */
  async function waiting(): Promise<OrderRow> {
    const order = await fresh();
    expect((await prove(order, { amountMinor: 1_000 })).outcome).toBe("review");
    return order;
  }

  test("a payment whose refund is under way, or is done in part, is not credited as well; one that failed can be", async () => {
    const order = await waiting();
    const refundNo = `${order.order_no}/1`;
    await hold(order, refundNo, 1_000);
    for (const as of ["paid", "ordered"] as const) expect(await decide(order, as)).toBe("wrong_state");
    await finish(order, refundNo, false);
    await hold(order, `${order.order_no}/2`, 1);
    await finish(order, `${order.order_no}/2`, true);
    for (const as of ["paid", "ordered"] as const) expect(await decide(order, as)).toBe("wrong_state");
    expect(await quotaOf(order.user_id)).toBe(0);
    expect(await orderOf(world.db, order.order_no)).toMatchObject({ status: "paid", review: "amount" });
    const other = await waiting();
    await hold(other, `${other.order_no}/1`, 1_000);
    await finish(other, `${other.order_no}/1`, false);
    expect(await decide(other)).toBe("credited");
    expect(await quotaOf(other.user_id)).toBe(1_666_666);
  });

  test("a payment that its bank took back is not credited, but is once the dispute is won, and waits for that", async () => {
    const order = await waiting();
    const refundNo = `dispute/${order.order_no}`;
    await claw(order, "dispute", refundNo, 1_000);
    expect(await decide(order)).toBe("wrong_state");
    // An administrator was done with it.
    await world.db.updateTable("orders").set({ review: "" }).where("id", "=", order.id).execute();
    await act(order, { verb: "restore", refundNo });
    expect(await orderOf(world.db, order.order_no)).toMatchObject({ status: "paid", review: "dispute_won" });
    expect(await decide(order)).toBe("credited");
    expect(await quotaOf(order.user_id)).toBe(1_666_666);
  });

  test("what went back of an order whose user is in no row counts at the order, and nobody is told", async () => {
    const order = await fresh({ user_id: 9_999_999 });
    expect((await prove(order)).review).toBe("user_gone");
    const refundNo = `dispute/${order.order_no}`;
    expect((await claw(order, "dispute", refundNo, 3_000)).outcome).toBe("done");
    expect(await orderOf(world.db, order.order_no)).toMatchObject({ disputed_minor: 3_000 });
    expect((await act(order, { verb: "restore", refundNo })).outcome).toBe("done");
    expect(await orderOf(world.db, order.order_no)).toMatchObject({ disputed_minor: 0, review: "user_gone" });
    expect(await world.logsOf({ userId: order.user_id })).toEqual([]);
  });

  test("a second payment is not credited over a first one of which money went back: a person decides", async () => {
    const order = await waiting();
    await hold(order, `${order.order_no}/1`, 1_000);
    await finish(order, `${order.order_no}/1`, true);
    expect(await prove(order, { tradeNo: "second" })).toMatchObject({
      outcome: "paid_twice",
      review: "paid_twice",
    });
    expect(await orderOf(world.db, order.order_no)).toMatchObject({
      ...{ status: "paid", review: "paid_twice", trade_no: `trade-${order.order_no}` },
      ...{ paid_minor: 1_000, refunded_minor: 1_000, credited_quota: 0 },
    });
    expect(await quotaOf(order.user_id)).toBe(0);
  });

  test("totals take back what the largest says, in whatever order and however often they are told", async () => {
    const step = fc.integer({ min: 1, max: 1_000 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 4 }).chain((totals) =>
          // Each twice, shuffled.
          fc.shuffledSubarray([...totals, ...totals], { minLength: totals.length * 2 }),
        ),
        fc.boolean(),
        async (told, isAtOnce) => {
          const order = await fresh();
          await prove(order);
          if (isAtOnce) await Promise.all(told.map((amount) => total(order, amount)));
          else for (const amount of told) await total(order, amount);
          const most = Math.max(...told);
          expect((await orderOf(world.db, order.order_no)).refunded_minor).toBe(most);
          expect(await quotaOf(order.user_id)).toBe(5_000_000 - Math.floor((5_000_000 * most) / 3_000));
        },
      ),
      { numRuns: 8 },
    );
  });

  test("what went back of another payment than the order's own takes nothing, and is no line of its history", async () => {
    const order = await fresh();
    await prove(order, { amountMinor: 1_000, tradeNo: "wrong amount" });
    await prove(order, { tradeNo: "right" });
    const back = (tradeNo: string) =>
      act(order, {
        ...{ verb: "claw", source: "elsewhere", refundNo: `${order.order_no}/${tradeNo}` },
        ...{ providerId: "re", tradeNo, amountMinor: 1_000 },
      });
    const history = async () => (await listEvents(world.db, order.order_no)).length;
    const before = await history();
    expect((await back("wrong amount")).outcome).toBe("other_trade");
    expect([await quotaOf(order.user_id), await history()]).toEqual([5_000_000, before]);
    expect((await back("right")).outcome).toBe("done");
    expect(await quotaOf(order.user_id)).toBe(5_000_000 - 1_666_666);
  });

  test("a total counts refunds of ours, and says nothing new where it is no more than they are", async () => {
    const order = await fresh();
    await prove(order);
    await hold(order, `${order.order_no}/1`, 1_200);
    expect((await total(order, 1_200)).outcome).toBe("duplicate");
    expect(await total(order, 1_500)).toMatchObject({ outcome: "done", amountMinor: 300 });
    // More than was paid counts as what is left.
    expect(await total(order, 9_000)).toMatchObject({ outcome: "done", amountMinor: 1_500 });
    expect((await total(order, 9_001)).outcome).toBe("too_much");
    expect(await quotaOf(order.user_id)).toBe(0);
  });
});
