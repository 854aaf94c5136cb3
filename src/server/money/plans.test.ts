// Plans in front of the wallet, on both databases; every test ends with a check of all balances, periods and windows.
import { describe, expect, test } from "vitest";
import { bill, order, useLedgerWorld } from "#test/worlds/ledger-world.ts";
import { buyPlan, periodOf, terms } from "#test/worlds/plans.ts";
import { rounds } from "#test/worlds/soak.ts";
import { engines, seedAccount } from "#test/worlds/stores.ts";

const HOUR = 3_600_000;

describe.each(engines)("plans on %s", (engine) => {
  const world = useLedgerWorld(engine);

  /** An account with a plan. */
  async function subscriber(change: Parameters<typeof terms>[0] = {}, wallet = 500n, remain?: bigint) {
    const account = await seedAccount(world.db, world.ledger, {
      quota: wallet,
      ...(remain === undefined ? {} : { remain }),
    });
    const paid = await buyPlan(world.db, world.ledger, { userId: account.userId, terms: terms(change) });
    const { id } = await periodOf(world.db, paid);
    return { account, paid, plans: [id], period: () => periodOf(world.db, paid) };
  }

  async function reserved(of: Awaited<ReturnType<typeof subscriber>>, amount: bigint) {
    const call = { ...order(of.account, amount), plans: of.plans };
    return { call, verdict: await world.ledger.reserve(call) };
  }

  test("pay first; the wallet pays what they have no quota for, in one booking", async () => {
    const of = await subscriber();
    const { call, verdict } = await reserved(of, 1_200n);
    expect(verdict).toBe("reserved");
    expect(await of.period()).toMatchObject({ spent: 0, held: 1_000 });
    expect(await world.balances(of.account)).toMatchObject({ quota: 300 });
    expect(await world.ledger.settle(bill(call, 1_100n))).toEqual({ charged: 1_100n, shortfall: 0n });
    expect(await of.period()).toMatchObject({ spent: 1_000, held: 0 });
    expect(await world.balances(of.account)).toMatchObject({ quota: 400, used: 1_100 });
    // The same again gets the answer of the first time.
    expect(await world.ledger.settle(bill(call, 5n))).toEqual({ charged: 1_100n, shortfall: 0n });
    const entries = await world.db
      .selectFrom("ledger")
      .select(["kind", "amount", "plan_amount", "period_id"])
      .where("request_id", "like", `${call.requestId}%`)
      .orderBy("id")
      .execute();
    expect(entries).toEqual([
      { kind: "consume", amount: -100, plan_amount: 1_000, period_id: 0 },
      { kind: "plan-consume", amount: 0, plan_amount: 1_000, period_id: of.plans[0] },
    ]);
  });

  test("a charge above what was set aside takes the plan's rest, then the wallet, then falls short", async () => {
    const of = await subscriber({ quota: 100 }, 40n);
    const { call } = await reserved(of, 60n);
    expect(await world.ledger.settle(bill(call, 160n))).toEqual({ charged: 140n, shortfall: 20n });
    expect(await of.period()).toMatchObject({ spent: 100, held: 0 });
    expect(await world.balances(of.account)).toMatchObject({ quota: 0, used: 140 });
  });

  test("without overflow the wallet is left alone: refused before the call, short after it", async () => {
    const of = await subscriber({ quota: 100, overflow: false });
    const { verdict } = await reserved(of, 101n);
    const { ends_at } = await of.period();
    expect(verdict).toEqual({ periodIds: of.plans, resetsAt: ends_at, canFit: false });
    const { call } = await reserved(of, 60n);
    expect(await world.ledger.extend(call.requestId, 50n)).toBe(false);
    expect(await world.ledger.extend(call.requestId, 20n)).toBe(true);
    expect(await world.ledger.settle(bill(call, 130n))).toEqual({ charged: 100n, shortfall: 30n });
    expect(await world.balances(of.account)).toMatchObject({ quota: 500 });
    // Nothing is left to a call of any size, and waiting would help this one.
    expect((await reserved(of, 1n)).verdict).toMatchObject({ resetsAt: ends_at, canFit: true });
  });

  test("several pay in their order; one that is over, another's, or unknown pays nothing", async () => {
    const of = await subscriber({ quota: 30 }, 0n);
    const second = await buyPlan(world.db, world.ledger, {
      userId: of.account.userId,
      planId: 2,
      terms: terms({ quota: 50 }),
    });
    const other = await subscriber();
    const plans = [...of.plans, (await periodOf(world.db, second)).id, ...other.plans, 999_999];
    const call = { ...order(of.account, 60n), plans };
    expect(await world.ledger.reserve(call)).toBe("reserved");
    expect(await world.ledger.settle(bill(call, 45n))).toEqual({ charged: 45n, shortfall: 0n });
    expect(await of.period()).toMatchObject({ spent: 30, held: 0 });
    expect(await periodOf(world.db, second)).toMatchObject({ spent: 15, held: 0 });
    world.clock.advance(40 * 24 * HOUR);
    expect(await world.ledger.reserve({ ...order(of.account, 1n), plans })).toBe("user_quota");
  });

  test("a call that ends without an answer gives everything back", async () => {
    const of = await subscriber({ windows: [{ kind: "session", quota: 800 }] });
    const { call } = await reserved(of, 900n);
    expect(await world.balances(of.account)).toMatchObject({ quota: 400 });
    expect(await world.ledger.extend(call.requestId, 50n)).toBe(true);
    await world.ledger.release(call.requestId);
    expect(await of.period()).toMatchObject({ spent: 0, held: 0 });
    expect(await world.balances(of.account)).toMatchObject({ quota: 500 });
  });

  test("windows bound what a plan pays, open with the first call and begin anew", async () => {
    const of = await subscriber({
      quota: 1_000,
      overflow: false,
      windows: [
        { kind: "session", quota: 100 },
        { kind: "day", quota: 150 },
      ],
    });
    const { starts_at } = await of.period();
    world.clock.advance(HOUR);
    const opened = world.clock.seconds();
    const { call } = await reserved(of, 100n);
    expect((await reserved(of, 1n)).verdict).toMatchObject({ resetsAt: opened + 5 * 3_600, canFit: true });
    expect((await reserved(of, 101n)).verdict).toMatchObject({ canFit: false });
    await world.ledger.settle(bill(call, 90n));
    // The session is over, the day is not.
    world.clock.advance(5 * HOUR);
    expect((await reserved(of, 61n)).verdict).toMatchObject({ resetsAt: starts_at + 86_400 });
    const { call: next } = await reserved(of, 60n);
    await world.ledger.settle(bill(next, 60n));
    world.clock.advance(18 * HOUR);
    const { call: tomorrow } = await reserved(of, 100n);
    await world.ledger.settle(bill(tomorrow, 100n));
    expect(await of.period()).toMatchObject({ spent: 250, held: 0 });
    // A clock that was set back opens nothing again.
    world.clock.advance(-20 * HOUR);
    expect((await reserved(of, 1n)).verdict).toMatchObject({ canFit: true });
  });

  test("a call counts where it was reserved, also when it ends in the next window or after the period", async () => {
    const of = await subscriber({ quota: 300, windows: [{ kind: "session", quota: 100 }] }, 0n);
    const { call: early } = await reserved(of, 80n);
    world.clock.advance(6 * HOUR);
    const { call: late } = await reserved(of, 100n);
    // 20 more of its own session, though that is over; the running one is full.
    expect(await world.ledger.settle(bill(early, 110n))).toEqual({ charged: 100n, shortfall: 10n });
    world.clock.advance(40 * 24 * HOUR);
    expect(await world.ledger.settle(bill(late, 40n))).toEqual({ charged: 40n, shortfall: 0n });
    expect(await of.period()).toMatchObject({ spent: 140, held: 0 });
  });

  test("what came free elsewhere meanwhile pays before the wallet does", async () => {
    const of = await subscriber({ quota: 100, windows: [{ kind: "day", quota: 100 }] }, 200n);
    const { call: first } = await reserved(of, 100n);
    const { call: second } = await reserved(of, 50n);
    expect(await world.balances(of.account)).toMatchObject({ quota: 150 });
    await world.ledger.release(first.requestId);
    expect(await world.ledger.settle(bill(second, 130n))).toEqual({ charged: 130n, shortfall: 0n });
    expect(await of.period()).toMatchObject({ spent: 80 });
    expect(await world.balances(of.account)).toMatchObject({ quota: 150 });
    // Of a plan that had nothing when the call began and is over when it ends nothing is taken.
    const { call: full } = await reserved(of, 20n);
    const { call: poor } = await reserved(of, 10n);
    await world.ledger.release(full.requestId);
    world.clock.advance(40 * 24 * HOUR);
    expect(await world.ledger.settle(bill(poor, 12n))).toEqual({ charged: 12n, shortfall: 0n });
    expect(await world.balances(of.account)).toMatchObject({ quota: 138 });
  });

  test("a token's quota bounds the whole charge, whichever plan or wallet pays", async () => {
    const of = await subscriber({}, 500n, 50n);
    expect((await reserved(of, 51n)).verdict).toBe("token_quota");
    const { call } = await reserved(of, 40n);
    expect(await world.balances(of.account)).toMatchObject({ remain: 10, quota: 500 });
    expect(await world.ledger.settle(bill(call, 70n))).toEqual({ charged: 50n, shortfall: 20n });
    expect(await world.balances(of.account)).toMatchObject({ remain: 0, quota: 500 });
    expect(await of.period()).toMatchObject({ spent: 50 });
  });

  test("a process that dies leaves plan and wallet as the published rule says", async () => {
    const of = await subscriber({ quota: 100 }, 100n);
    const { ledger, node } = world.boot();
    const call = { ...order(of.account, 150n), plans: of.plans };
    expect(await ledger.reserve(call)).toBe("reserved");
    ledger.checkpoint(call.requestId, { charge: 120n, promptTokens: 1, completionTokens: 2, channelId: 0 });
    await expect
      .poll(async () => (await world.db.selectFrom("reservations").select("seen_charge").execute())[0])
      .toEqual({ seen_charge: 120 });
    await world.db.updateTable("nodes").set({ lease_until: 0 }).where("node", "=", node).execute();
    await world.ledger.recover();
    expect(await of.period()).toMatchObject({ spent: 100, held: 0 });
    expect(await world.balances(of.account)).toMatchObject({ quota: 80, used: 120 });
    await ledger.close();
  });

  test.each([true, false])(
    "1,000 calls at once on quota for 300, overflow %s: exactly 300 pass",
    async (overflow) => {
      const windows = [{ kind: "session", quota: 3_000 } as const];
      const of = await subscriber({ quota: 100_000, windows, overflow }, 0n);
      const calls = Array.from({ length: rounds(1_000, 4_000) }, () => order(of.account, 10n));
      const verdicts = await Promise.all(
        calls.map((call) => world.ledger.reserve({ ...call, plans: of.plans })),
      );
      const passed = calls.filter((_, at) => verdicts[at] === "reserved");
      expect(passed).toHaveLength(300);
      expect(await of.period()).toMatchObject({ held: 3_000 });
      await Promise.all(passed.map((call, at) => world.ledger.settle(bill(call, at % 2 === 0 ? 10n : 4n))));
      expect(await of.period()).toMatchObject({ spent: 2_100, held: 0 });
    },
  );
});
