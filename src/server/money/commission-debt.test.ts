// Commission that is taken back beyond the balance (requirements Z23): owed, filled by later commission, never by the wallet; and the sums over
// any sequence of earning, holding, release, claw-back, payout and correction, on both databases.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DAY_SEC } from "#server/clock.ts";
import { sumHeldCommission } from "#server/store/payouts.ts";
import { commissionDebtOf, getUser } from "#server/store/users.ts";
import { codeTerms } from "#test/worlds/ledger-world.ts";
import { useOrderWorld } from "#test/worlds/order-world.ts";
import { rounds } from "#test/worlds/soak.ts";
import { engines, seedRedemption, seedUser } from "#test/worlds/stores.ts";
import { checkLedger } from "./ledger-check.ts";

const HOLD_DAYS = 7;
const display = { quotaPerUnit: 500_000, inCurrency: true };
/** 1,000 dollars of quota bring 25 yuan. */
const CODE_QUOTA = 500_000_000;

describe.each(engines)("commission that is owed on %s", (engine) => {
  const { world, prove, fresh, claw, hold, finish, act, drain, quotaOf } = useOrderWorld(engine);
  const stateOf = async (id: number) => ({
    micro: (await getUser(world.db, id)).invite_commission_micro,
    owed: await commissionDebtOf(world.db, id),
  });
  const adjust = (userId: number, micro: bigint) =>
    world.ledger.changeCommission({
      userId,
      actorId: 1,
      reason: "test",
      kind: "commission-adjust",
      micro: { target: micro },
    });
  const withdraw = (userId: number, micro: bigint, keepMicro = 0n) =>
    world.ledger.changeCommission({
      userId,
      actorId: 1,
      reason: "paid",
      kind: "withdraw",
      micro: { delta: -micro },
      keepMicro,
      leastMicro: 100_000_000n,
    });
  const redeem = async (inviterId: number) => {
    const userId = await seedUser(world.db, { inviter_id: inviterId });
    const redemptionId = await seedRedemption(world.db, { quota: CODE_QUOTA });
    const operationId = `code-${redemptionId}`;
    const whose = { userId, redemptionId, giverId: null, inviterId };
    await world.ledger.redeem({ ...whose, operationId, terms: codeTerms, display });
  };
  const earned = async (inviter_id: number, commission_micro: number) => {
    const order = await fresh({ inviter_id, commission_micro });
    await prove(order);
    return order;
  };

  test("what was paid out is owed after a refund, and the next commission fills it first; the wallet is left alone", async () => {
    const inviter = await seedUser(world.db);
    await drain(inviter, 7n);
    const order = await earned(inviter, 150_000_000);
    expect((await withdraw(inviter, 120_000_000n)).outcome).toBe("done");
    await claw(order, "elsewhere", `re-${order.order_no}`, 3_000);
    expect(await stateOf(inviter)).toEqual({ micro: 0, owed: 120_000_000 });
    expect(await quotaOf(inviter)).toBe(7);
    await earned(inviter, 20_000_000);
    await redeem(inviter);
    expect(await stateOf(inviter)).toEqual({ micro: 0, owed: 75_000_000 });
    await earned(inviter, 80_000_000);
    expect(await stateOf(inviter)).toEqual({ micro: 5_000_000, owed: 0 });
    expect(await quotaOf(inviter)).toBe(7);
    const told = (await world.logsOf({ userId: inviter })).map(({ content }) => content);
    expect(told).toContain("邀请的用户退款，收回返现 150 元，余额不足的 120 元从以后的返现中抵扣");
    expect(told).toContain("邀请的用户充值，获得返现 80 元，其中 75 元抵扣此前退款欠下的返现");
  });

  test("a part is taken from the balance and only the rest is owed; each part of a refund counts once", async () => {
    const inviter = await seedUser(world.db);
    const order = await earned(inviter, 3_000_000);
    await adjust(inviter, 1_500_000n);
    const name = `re-${order.order_no}`;
    for (const part of [1, 2, 2, 3]) await claw(order, "elsewhere", `${name}/${part}`, 1_000);
    expect(await stateOf(inviter)).toEqual({ micro: 0, owed: 1_500_000 });
  });

  test("a dispute that is won takes the debt away, or gives back what filled it", async () => {
    const inviter = await seedUser(world.db);
    const [first, second] = [await earned(inviter, 4_000_000), await earned(inviter, 0)];
    await adjust(inviter, 0n);
    const lose = (order: typeof first) => claw(order, "dispute", `dispute/${order.order_no}`, 3_000);
    const win = (order: typeof first) =>
      act(order, { verb: "restore", refundNo: `dispute/${order.order_no}` });
    await lose(first);
    await win(first);
    expect(await stateOf(inviter)).toEqual({ micro: 0, owed: 0 });
    const third = await earned(inviter, 0);
    expect(third.inviter_id).toBe(inviter);
    await lose(second);
    expect(await stateOf(inviter)).toEqual({ micro: 0, owed: 0 });
    const fourth = await earned(inviter, 6_000_000);
    await adjust(inviter, 0n);
    await lose(fourth);
    await earned(inviter, 10_000_000);
    expect(await stateOf(inviter)).toEqual({ micro: 4_000_000, owed: 0 });
    await win(fourth);
    expect(await stateOf(inviter)).toEqual({ micro: 10_000_000, owed: 0 });
  });

  test("a refund that the provider refuses takes nothing, and who owes is paid out nothing", async () => {
    const inviter = await seedUser(world.db);
    const order = await earned(inviter, 200_000_000);
    await hold(order, `RF-${order.order_no}`, 3_000);
    await finish(order, `RF-${order.order_no}`, false);
    expect(await stateOf(inviter)).toEqual({ micro: 200_000_000, owed: 0 });
    await withdraw(inviter, 200_000_000n);
    await claw(order, "elsewhere", `re-${order.order_no}`, 3_000);
    // A correction of the balance is no commission: the debt stays beside it, and with it so much of the balance.
    await adjust(inviter, 250_000_000n);
    expect(await stateOf(inviter)).toEqual({ micro: 250_000_000, owed: 200_000_000 });
    expect((await withdraw(inviter, 100_000_000n)).outcome).toBe("held");
    await adjust(inviter, 300_000_000n);
    expect((await withdraw(inviter, 100_000_000n)).outcome).toBe("done");
  });

  test("the checker names a debt that no entry explains", async () => {
    const inviter = await seedUser(world.db);
    await world.db.updateTable("users").set({ commission_debt_micro: 5 }).where("id", "=", inviter).execute();
    expect(await checkLedger(world.db)).toMatchObject([
      { table: "users", column: "commission_debt_micro", id: inviter, stored: 5, expected: 0 },
    ]);
    await world.db.updateTable("users").set({ commission_debt_micro: 0 }).where("id", "=", inviter).execute();
  });

  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("earn" as const), micro: fc.nat(180_000_000) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("code" as const) }) },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant("claw" as const),
        which: fc.nat(20),
        minor: fc.integer({ min: 1, max: 3_000 }),
        isDispute: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("win" as const), which: fc.nat(20) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant("refund" as const),
        which: fc.nat(20),
        minor: fc.integer({ min: 1, max: 3_000 }),
        isDone: fc.boolean(),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("payout" as const),
        micro: fc.integer({ min: 1, max: 400_000_000 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant("wait" as const), days: fc.integer({ min: 1, max: 9 }) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("correct" as const), micro: fc.nat(90_000_000) }) },
  );
  type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

  interface Model {
    readonly inviter: number;
    readonly orders: Awaited<ReturnType<typeof earned>>[];
    readonly disputes: { readonly order: Awaited<ReturnType<typeof earned>>; readonly name: string }[];
    /** Balance less debt: what every operation changes by a number that is known. */
    net: number;
    serial: number;
  }
  const takenOf = async ({ order_no }: { readonly order_no: string }) =>
    await world.db
      .selectFrom("orders")
      .select(["taken_micro", "credited_micro", "credited_at"])
      .where("order_no", "=", order_no)
      .executeTakeFirstOrThrow();
  const payOut = async ({ inviter }: Model, micro: number): Promise<number> => {
    const held = await sumHeldCommission(world.db, inviter, world.clock.seconds() - HOLD_DAYS * DAY_SEC);
    const before = await stateOf(inviter);
    const { outcome } = await withdraw(inviter, BigInt(micro), BigInt(held));
    const isAllowed = micro >= 100_000_000 && before.micro - micro >= held + before.owed;
    expect(outcome === "done").toBe(isAllowed);
    return isAllowed ? -micro : 0;
  };
  type About = Extract<Step, { which: number }>;
  type Order = Model["orders"][number];
  const lose = async ({ disputes }: Model, order: Order, { one, name }: { one: About; name: string }) => {
    if (one.kind === "refund" && (await hold(order, name, one.minor)).outcome === "done")
      await finish(order, name, one.isDone);
    if (one.kind !== "claw") return;
    const { outcome } = await claw(order, one.isDispute ? "dispute" : "elsewhere", name, one.minor);
    if (one.isDispute && outcome === "done") disputes.push({ order, name });
  };
  /** Carries out a step about one order; what it took of the commission is what the order says. */
  const goBack = async (model: Model, one: About, name: string) => {
    const { orders, disputes } = model;
    const some = one.kind === "win" ? disputes.map(({ order }) => order) : orders;
    const index = one.which % Math.max(1, some.length);
    const order = some[index];
    if (!order) return 0;
    const before = await takenOf(order);
    const [won] = one.kind === "win" ? disputes.splice(index, 1) : [];
    if (won) await act(order, { verb: "restore", refundNo: won.name });
    else await lose(model, order, { one, name });
    return before.taken_micro - (await takenOf(order)).taken_micro;
  };

  /** Carries out one step. Returns by how much balance less debt has to change: by what orders say, never by what the balance says. */
  async function take(model: Model, one: Step): Promise<number> {
    const { inviter, orders } = model;
    model.serial += 1;
    switch (one.kind) {
      case "earn":
        orders.push(await earned(inviter, one.micro));
        return one.micro;
      case "code":
        await redeem(inviter);
        return 25_000_000;
      case "wait":
        world.clock.advance(one.days * DAY_SEC * 1_000);
        return 0;
      case "correct": {
        const { micro } = await stateOf(inviter);
        await adjust(inviter, BigInt(one.micro));
        return one.micro - micro;
      }
      case "payout":
        return payOut(model, one.micro);
      default:
        return goBack(model, one, `m${inviter}-${model.serial}`);
    }
  }

  test("over any sequence nothing is lost: balance less debt is what came in less what went out", async () => {
    const sequence = fc.array(step, { minLength: 5, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(sequence, async (steps) => {
        const inviter = await seedUser(world.db);
        await drain(inviter, 11n);
        const model: Model = { inviter, orders: [], disputes: [], net: 0, serial: 0 };
        for (const one of steps) {
          model.net += await take(model, one);
          const { micro, owed } = await stateOf(inviter);
          expect(micro - owed).toBe(model.net);
          expect(Math.min(micro, owed)).toBeGreaterThanOrEqual(0);
        }
        // Of every order no more was taken than it had brought.
        for (const order of model.orders) {
          const { taken_micro, credited_micro } = await takenOf(order);
          expect(taken_micro).toBeGreaterThanOrEqual(0);
          expect(taken_micro).toBeLessThanOrEqual(credited_micro);
        }
        expect(await quotaOf(inviter)).toBe(11);
        expect(await checkLedger(world.db)).toEqual([]);
      }),
      { numRuns: rounds(8, 300) },
    );
  });
});
