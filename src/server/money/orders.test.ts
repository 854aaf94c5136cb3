// What payments, refunds and disputes do to the books, on both databases; every test ends with a check of all balances.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { OrderRow } from "#server/store/orders.ts";
import { listEvents } from "#server/store/orders.ts";
import { debtOf, getUser } from "#server/store/users.ts";
import { orderChange, orderOf, proofOf, seedOrder } from "#test/worlds/order-rows.ts";
import { useOrderWorld } from "#test/worlds/order-world.ts";
import { engines, seedUser } from "#test/worlds/stores.ts";

describe.each(engines)("orders on %s", (engine) => {
  const { world, act, quotaOf, prove, fresh, hold, finish, claw, drain } = useOrderWorld(engine);

  test("a payment credits its order once, whatever comes again", async () => {
    const order = await fresh();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => prove(order, {}, `e${index % 3}`)),
    );
    expect(answers.filter(({ outcome }) => outcome === "credited")).toHaveLength(1);
    expect(answers.filter(({ outcome }) => outcome === "duplicate")).toHaveLength(49);
    expect(await quotaOf(order.user_id)).toBe(5_000_000);
    expect(await orderOf(world.db, order.order_no)).toMatchObject({
      status: "credited",
      review: "",
      trade_no: `trade-${order.order_no}`,
      credited_quota: 5_000_000,
      paid_minor: 3_000,
      next_check: 0,
    });
    const [log] = await world.logsOf({ userId: order.user_id });
    expect(log).toMatchObject({ type: 1, quota: 5_000_000 });
    expect(log?.content).toContain(`支付 ¥30.00（订单 ${order.order_no}）`);
    expect(await listEvents(world.db, order.order_no)).toHaveLength(3);
  });

  test("two processes on one database credit an order once", async () => {
    const order = await fresh();
    if (engine === "sqlite") return expect((await prove(order)).outcome).toBe("credited");
    const { ledger } = world.boot();
    const both = [world.ledger, ledger].flatMap((one) =>
      Array.from({ length: 25 }, () => one.changeOrder(orderChange(order, proofOf(order)))),
    );
    const outcomes = (await Promise.all(both)).map(({ outcome }) => outcome);
    await ledger.close();
    expect(outcomes.filter((outcome) => outcome === "credited")).toHaveLength(1);
    expect(await quotaOf(order.user_id)).toBe(5_000_000);
  });

  test.each([
    ["a fen less", { amountMinor: 2_999 }, "amount"],
    ["a fen more", { amountMinor: 3_001 }, "amount"],
    ["nothing", { amountMinor: 0 }, "amount"],
    ["another currency", { currency: "USD" }, "currency"],
  ])("%s is kept for a person and credits nothing", async (_, change, review) => {
    const order = await fresh();
    expect(await prove(order, change)).toMatchObject({ outcome: "review", review });
    expect(await quotaOf(order.user_id)).toBe(0);
    expect(await orderOf(world.db, order.order_no)).toMatchObject({
      status: "paid",
      review,
      credited_quota: 0,
    });
    // The same again changes nothing; the right amount by another payment is credited, and the first has to go back.
    expect((await prove(order, change)).outcome).toBe("duplicate");
    expect(await prove(order, { tradeNo: "second" })).toMatchObject({
      outcome: "credited",
      review: "paid_twice",
    });
    expect(await quotaOf(order.user_id)).toBe(5_000_000);
  });

  test("one payment completes one order, and a second payment of an order is shown", async () => {
    const order = await fresh();
    const other = await seedOrder(world.db, { user_id: order.user_id, instance_id: order.instance_id });
    await prove(order, { tradeNo: "T1" });
    expect((await prove(other, { tradeNo: "T1" })).outcome).toBe("trade_used");
    expect(await orderOf(world.db, other.order_no)).toMatchObject({ status: "pending", trade_no: "" });
    expect((await prove(order, { tradeNo: "T2" })).outcome).toBe("paid_twice");
    expect(await orderOf(world.db, order.order_no)).toMatchObject({ trade_no: "T1", review: "paid_twice" });
    expect(await quotaOf(order.user_id)).toBe(5_000_000);
    // The same number at another merchant account is another payment.
    const elsewhere = await fresh();
    expect((await prove(elsewhere, { tradeNo: "T1" })).outcome).toBe("credited");
  });

  test("two orders of one payment at once: one is credited", async () => {
    const order = await fresh();
    const other = await seedOrder(world.db, {
      user_id: await seedUser(world.db),
      instance_id: order.instance_id,
    });
    const { ledger } = engine === "postgres" ? world.boot() : { ledger: world.ledger };
    const [a, b] = await Promise.all([
      prove(order, { tradeNo: "same" }),
      ledger.changeOrder(orderChange(other, proofOf(other, { tradeNo: "same" }))),
    ]);
    if (engine === "postgres") await ledger.close();
    expect([a.outcome, b.outcome].sort()).toEqual(["credited", "trade_used"]);
  });

  test("a closed order that was paid after all is credited; a proof of another account is refused", async () => {
    const order = await fresh({ status: "closed" });
    const change = orderChange(order, proofOf(order));
    const foreign = { ...change, event: { ...change.event, instanceId: order.instance_id + 1_000 } };
    expect((await world.ledger.changeOrder(foreign)).outcome).toBe("wrong_state");
    expect(await quotaOf(order.user_id)).toBe(0);
    expect((await prove(order)).outcome).toBe("credited");
    expect((await world.ledger.changeOrder({ ...change, orderNo: "TGNONE" })).outcome).toBe("not_found");
  });

  test("a banned user's payment is credited; a deleted user's and one too large wait", async () => {
    const banned = await fresh({ user_id: await seedUser(world.db, { status: 2 }) });
    expect((await prove(banned)).outcome).toBe("credited");
    const gone = await fresh({ user_id: await seedUser(world.db, { status: 3 }) });
    expect(await prove(gone)).toMatchObject({ outcome: "review", review: "user_gone" });
    const rich = await fresh();
    await drain(rich.user_id, BigInt(Number.MAX_SAFE_INTEGER) - 1_000n);
    expect(await prove(rich)).toMatchObject({ outcome: "review", review: "too_large" });
    await drain(rich.user_id, 0n);
    expect((await act(rich, { verb: "decide", as: "ordered", actorId: 1, reason: "fits now" })).outcome).toBe(
      "credited",
    );
  });

  test("gift and commission come with the payment; a gift code that became invalid is skipped", async () => {
    const people = async () => {
      const [inviter_id, giver_id] = [await seedUser(world.db), await seedUser(world.db)];
      return fresh({ giver_id, inviter_id, gift_quota: 250_000, commission_micro: 250_000 });
    };
    const order = await people();
    await prove(order);
    expect(await quotaOf(order.user_id)).toBe(5_250_000);
    expect(await quotaOf(order.giver_id)).toBe(250_000);
    expect((await getUser(world.db, order.inviter_id)).invite_commission_micro).toBe(250_000);
    // Banned, or deleted, after the order was made.
    for (const status of [2, 3]) {
      const invalid = await people();
      const partners = [invalid.giver_id, invalid.inviter_id];
      await world.db.updateTable("users").set({ status }).where("id", "in", partners).execute();
      expect((await prove(invalid)).outcome).toBe("credited");
      expect(await quotaOf(invalid.user_id)).toBe(5_000_000);
      expect(await quotaOf(invalid.giver_id)).toBe(0);
      expect((await getUser(world.db, invalid.inviter_id)).invite_commission_micro).toBe(0);
    }
    const own = await fresh({ gift_quota: 250_000 });
    await world.db.updateTable("orders").set({ giver_id: own.user_id }).where("id", "=", own.id).execute();
    await prove(await orderOf(world.db, own.order_no));
    expect(await quotaOf(own.user_id)).toBe(5_000_000);
  });

  test("a person credits what was paid, or what was ordered, once", async () => {
    const asPaid = await fresh();
    await prove(asPaid, { amountMinor: 1_000 });
    const decide = { verb: "decide", as: "paid", actorId: 1, reason: "r" } as const;
    expect((await act(asPaid, decide)).outcome).toBe("credited");
    expect((await act(asPaid, decide)).outcome).toBe("duplicate");
    expect(await quotaOf(asPaid.user_id)).toBe(1_666_666);
    const asOrdered = await fresh();
    await prove(asOrdered, { amountMinor: 1_000 });
    await act(asOrdered, { ...decide, as: "ordered" });
    expect(await quotaOf(asOrdered.user_id)).toBe(5_000_000);
    // An administrator cannot say what another currency is worth; nothing was paid for what waits.
    const dollars = await fresh();
    await prove(dollars, { currency: "USD" });
    expect((await act(dollars, decide)).outcome).toBe("wrong_state");
    expect((await act(await fresh(), decide)).outcome).toBe("wrong_state");
  });

  test("a payment that a person vouches for blocks the same one that comes later", async () => {
    const order = await fresh();
    const { proof } = proofOf(order, { tradeNo: "byhand" });
    const manual = { verb: "manual", proof, actorId: 1, reason: "bank statement" } as const;
    expect((await act(order, manual)).outcome).toBe("credited");
    expect((await act(order, manual)).outcome).toBe("duplicate");
    expect((await prove(order, { tradeNo: "byhand" })).outcome).toBe("duplicate");
    const other = await seedOrder(world.db, { user_id: order.user_id, instance_id: order.instance_id });
    expect((await act(other, manual)).outcome).toBe("trade_used");
    expect(await quotaOf(order.user_id)).toBe(5_000_000);
  });

  test("a payment that a person vouches for brings no commission", async () => {
    const inviter_id = await seedUser(world.db);
    const order = await fresh({ inviter_id, commission_micro: 250_000 });
    const { proof } = proofOf(order, { tradeNo: "vouched" });
    expect((await act(order, { verb: "manual", proof, actorId: 1, reason: "bank" })).outcome).toBe(
      "credited",
    );
    expect(await quotaOf(order.user_id)).toBe(5_000_000);
    expect((await getUser(world.db, inviter_id)).invite_commission_micro).toBe(0);
  });

  test("a refund takes the quota first, and gives it back when the provider says no", async () => {
    const order = await fresh();
    await prove(order);
    expect(await hold(order, "R1", 1_000)).toMatchObject({ outcome: "done", amountMinor: 1_000 });
    expect((await hold(order, "R1", 1_000)).outcome).toBe("duplicate");
    expect(await quotaOf(order.user_id)).toBe(5_000_000 - 1_666_666);
    expect((await finish(order, "R1", false)).outcome).toBe("done");
    expect((await finish(order, "R1", true)).outcome).toBe("duplicate");
    expect(await quotaOf(order.user_id)).toBe(5_000_000);
    expect(await orderOf(world.db, order.order_no)).toMatchObject({ refunded_minor: 0, taken_quota: 0 });
    expect((await hold(order, "R2", 3_001)).outcome).toBe("too_much");
    expect((await hold(order, "R3", 0)).outcome).toBe("wrong_state");
    expect((await hold(await fresh(), "R4", 1)).outcome).toBe("wrong_state");
    await hold(order, "R5", 3_000);
    expect((await finish(order, "R5", true)).outcome).toBe("done");
    expect(await quotaOf(order.user_id)).toBe(0);
    expect((await hold(order, "R6", 1)).outcome).toBe("too_much");
  });

  test("what was spent is not refunded, but what is left is", async () => {
    const order = await fresh();
    await prove(order);
    await drain(order.user_id, 2_000_000n);
    expect((await hold(order, "S1", 3_000)).outcome).toBe("short");
    expect(await hold(order, "S2", null)).toMatchObject({ outcome: "done", amountMinor: 1_200 });
    await finish(order, "S2", true);
    expect(await quotaOf(order.user_id)).toBe(0);
    expect((await hold(order, "S3", null)).outcome).toBe("short");
  });

  test("a refund takes its share from the giver and the inviter too", async () => {
    const inviter_id = await seedUser(world.db);
    const giver_id = await seedUser(world.db);
    const order = await fresh({ giver_id, inviter_id, gift_quota: 250_000, commission_micro: 250_000 });
    await prove(order);
    await drain(giver_id, 100_000n);
    await hold(order, "G1", 3_000);
    await finish(order, "G1", true);
    expect(await quotaOf(order.user_id)).toBe(0);
    expect([await quotaOf(giver_id), await debtOf(world.db, giver_id)]).toEqual([0, 150_000]);
    expect((await getUser(world.db, inviter_id)).invite_commission_micro).toBe(0);
  });

  test("a payment that was never credited goes back without touching quota", async () => {
    const order = await fresh();
    await prove(order, { amountMinor: 5_500 });
    expect((await hold(order, "N1", 5_500)).outcome).toBe("done");
    await finish(order, "N1", true);
    expect(await orderOf(world.db, order.order_no)).toMatchObject({
      status: "paid",
      review: "",
      refunded_minor: 5_500,
    });
    expect(await quotaOf(order.user_id)).toBe(0);
  });

  test("a dispute takes what there is, the rest is debt that the next payment pays; a dispute won gives back", async () => {
    const order = await fresh();
    await prove(order);
    await drain(order.user_id, 1_000_000n);
    expect((await claw(order, "dispute", "dispute/D1", 3_000)).outcome).toBe("done");
    expect((await claw(order, "dispute", "dispute/D1", 3_000)).outcome).toBe("duplicate");
    expect([await quotaOf(order.user_id), await debtOf(world.db, order.user_id)]).toEqual([0, 4_000_000]);
    const next = await seedOrder(world.db, { user_id: order.user_id, instance_id: order.instance_id });
    await prove(next);
    expect([await quotaOf(order.user_id), await debtOf(world.db, order.user_id)]).toEqual([1_000_000, 0]);
    expect((await act(order, { verb: "restore", refundNo: "dispute/D1" })).outcome).toBe("done");
    expect((await act(order, { verb: "restore", refundNo: "dispute/D1" })).outcome).toBe("duplicate");
    expect(await quotaOf(order.user_id)).toBe(6_000_000);
    // Won, then lost again under a name of its own.
    expect((await claw(order, "dispute", "dispute/D1/2", 3_000)).outcome).toBe("done");
    expect(await quotaOf(order.user_id)).toBe(1_000_000);
  });

  test("a dispute won while it was not paid yet only takes the debt away", async () => {
    const order = await fresh();
    await prove(order);
    await drain(order.user_id, 0n);
    await claw(order, "dispute", "dispute/D2", 3_000);
    await act(order, { verb: "restore", refundNo: "dispute/D2" });
    expect([await quotaOf(order.user_id), await debtOf(world.db, order.user_id)]).toEqual([0, 0]);
  });

  test("refunds made at the provider are booked once each, three steps of one payment", async () => {
    const order = await fresh({ amount_minor: 601 });
    await prove(order);
    const step = (refundNo: string, amountMinor: number) => claw(order, "elsewhere", refundNo, amountMinor);
    const left = [];
    for (const [name, amount] of [
      ["re_1", 200],
      ["re_2", 200],
      ["re_2", 200],
      ["re_3", 201],
    ] as const) {
      await step(`${order.order_no}/${name}`, amount);
      left.push(await quotaOf(order.user_id));
    }
    expect(left).toEqual([5_000_000 - 1_663_893, 1_672_213, 1_672_213, 0]);
    expect((await step("re_4", 1)).outcome).toBe("too_much");
  });

  type Step =
    | { kind: "hold"; amount: number }
    | { kind: "finish"; isDone: boolean }
    | { kind: "claw"; amount: number; isDispute: boolean }
    | { kind: "restore" }
    | { kind: "spend"; left: number };
  interface Taken {
    readonly one: Step;
    readonly name: string;
    readonly open: string[];
    readonly disputes: string[];
  }
  const clawStep = async (
    order: OrderRow,
    { name, amount, isDispute, disputes }: Taken & { amount: number; isDispute: boolean },
  ) => {
    await claw(order, isDispute ? "dispute" : "elsewhere", name, amount);
    if (isDispute) disputes.push(name);
  };
  const spend = async (order: OrderRow, left: number) => {
    if (left < (await quotaOf(order.user_id))) await drain(order.user_id, BigInt(left));
  };
  const holdStep = async (order: OrderRow, { name, open }: Taken, amount: number) => {
    if ((await hold(order, name, amount)).outcome === "done") open.push(name);
  };
  const take = async (order: OrderRow, taken: Taken): Promise<unknown> => {
    const { one, open, disputes } = taken;
    if (one.kind === "hold") return holdStep(order, taken, one.amount);
    if (one.kind === "claw") return clawStep(order, { ...taken, ...one });
    if (one.kind === "spend") return spend(order, one.left);
    const refundNo = one.kind === "finish" ? open.shift() : disputes.shift();
    if (refundNo === undefined) return undefined;
    return one.kind === "finish"
      ? finish(order, refundNo, one.isDone)
      : act(order, { verb: "restore", refundNo });
  };

  test("any mixture of payments, refunds and disputes keeps the books", async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("hold" as const), amount: fc.integer({ min: 1, max: 1_500 }) }),
      fc.record({ kind: fc.constant("finish" as const), isDone: fc.boolean() }),
      fc.record({
        kind: fc.constant("claw" as const),
        amount: fc.integer({ min: 1, max: 1_500 }),
        isDispute: fc.boolean(),
      }),
      fc.record({ kind: fc.constant("restore" as const) }),
      fc.record({ kind: fc.constant("spend" as const), left: fc.integer({ min: 0, max: 3_000_000 }) }),
    );
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
        run += 1;
        const giver_id = await seedUser(world.db);
        const order = await fresh({
          giver_id,
          inviter_id: giver_id,
          gift_quota: 333_333,
          commission_micro: 7_777,
        });
        await prove(order);
        const open: string[] = [];
        const disputes: string[] = [];
        for (const [index, one] of steps.entries()) {
          await take(order, { one, name: `p${run}-${index}`, open, disputes });
          const row = await orderOf(world.db, order.order_no);
          expect(row.refunded_minor + row.disputed_minor).toBeLessThanOrEqual(row.paid_minor);
          expect(row.taken_quota).toBeLessThanOrEqual(row.credited_quota);
          expect(await quotaOf(order.user_id)).toBeGreaterThanOrEqual(0);
        }
      }),
      { numRuns: 6 },
    );
  });
});
