// Plans that are bought, continued, changed and paid back, on both databases; every test ends with a check of all balances.
import { describe, expect, test } from "vitest";
import { DAY_SEC } from "#server/clock.ts";
import type { OrderRow } from "#server/store/orders.ts";
import { getUser } from "#server/store/users.ts";
import { bill, order, useLedgerWorld } from "#test/worlds/ledger-world.ts";
import { orderChange, orderOf, proofOf } from "#test/worlds/order-rows.ts";
import { buyPlan, orderPlan, periodOf, terms } from "#test/worlds/plans.ts";
import { engines, seedUser } from "#test/worlds/stores.ts";
import { checkLedger } from "./ledger-check.ts";
import type { OrderAct } from "./order-operations.ts";
import { upgradeQuote, windowStates } from "./plan-quote.ts";
import { monthsAfter } from "./plan-times.ts";

describe.each(engines)("orders of plans on %s", (engine) => {
  const world = useLedgerWorld(engine);
  const buy = (bought: Parameters<typeof buyPlan>[2]) => buyPlan(world.db, world.ledger, bought);
  const act = async (row: OrderRow, what: OrderAct) => world.ledger.changeOrder(orderChange(row, what));
  const pay = (row: OrderRow, change = {}) => act(row, proofOf(row, change));
  const period = (row: OrderRow) => periodOf(world.db, row);
  const days = (count: number) => world.clock.advance(count * DAY_SEC * 1_000);
  const hold = (row: OrderRow, refundNo: string, amountMinor: number | null = null) =>
    act(row, { verb: "hold", refundNo, amountMinor, actorId: 1, reason: "asked" });
  const spend = async (userId: number, periodId: number, amount: bigint) => {
    const call = { ...order({ userId, tokenId: 0 }, amount), plans: [periodId] };
    expect(await world.ledger.reserve(call)).toBe("reserved");
    await world.ledger.settle(bill(call, amount));
  };

  test("open one period, however often the payment is told, and bring the wallet nothing", async () => {
    const userId = await seedUser(world.db);
    const row = await orderPlan(world.db, { userId });
    const answers = await Promise.all(Array.from({ length: 20 }, () => pay(row)));
    expect(answers.filter(({ outcome }) => outcome === "credited")).toHaveLength(1);
    const now = world.clock.seconds();
    expect(await period(row)).toMatchObject({
      n: 1,
      starts_at: now,
      ends_at: monthsAfter(now, 1),
      quota: 1_000,
    });
    expect((await getUser(world.db, userId)).quota).toBe(0);
    expect(await orderOf(world.db, row.order_no)).toMatchObject({ status: "credited", credited_quota: 0 });
    const [log] = await world.logsOf({ userId });
    expect(log?.content).toBe(`购买套餐“基础版”，支付 ¥30.00（订单 ${row.order_no}）`);
  });

  test("bought again early, go on where they end; after the end, begin at once", async () => {
    const userId = await seedUser(world.db);
    const first = await period(await buy({ userId }));
    days(3);
    const [second, third] = [await period(await buy({ userId })), await period(await buy({ userId }))];
    expect([second.n, second.starts_at, third.n, third.starts_at]).toEqual([
      2,
      first.ends_at,
      3,
      second.ends_at,
    ]);
    expect(third.ends_at).toBe(monthsAfter(first.starts_at, 3));
    days(120);
    expect(await period(await buy({ userId }))).toMatchObject({ n: 4, starts_at: world.clock.seconds() });
    // Another plan is another matter.
    const other = await period(await buy({ userId, planId: 2, terms: terms({ unit: "day", count: 30 }) }));
    expect(other).toMatchObject({ n: 1, starts_at: world.clock.seconds() });
    const renewed = await period(await buy({ userId, planId: 2, terms: terms({ unit: "day", count: 30 }) }));
    expect(renewed).toMatchObject({ n: 2, starts_at: other.ends_at });
  });

  test("begun at once, the running period ends for the new one; one that waits for its end already is left alone", async () => {
    const userId = await seedUser(world.db);
    const paid = await buy({ userId });
    const running = await period(paid);
    await spend(userId, running.id, 200n);
    days(3);
    const now = world.clock.seconds();
    const row = await buy({ userId, beginsNow: true });
    const ended = await period(paid);
    expect(ended).toMatchObject({ ended_at: now, ended_by: row.order_no, spent: 200 });
    expect(await period(row)).toMatchObject({
      n: 2,
      starts_at: now,
      ends_at: monthsAfter(now, 1),
      quota: 1_000,
      spent: 0,
    });
    // Another plan's period is another matter.
    const other = await period(await buy({ userId, planId: 2, beginsNow: true }));
    expect(other).toMatchObject({ n: 1, starts_at: now });
    expect((await period(row)).ended_at).toBe(0);
    // Both were paid for at once: the second finds one that waits, and no time is lost and none sold twice.
    const [waits, late] = [
      await orderPlan(world.db, { userId }),
      await orderPlan(world.db, { userId, beginsNow: true }),
    ];
    await pay(waits);
    await pay(late);
    const [second, third, fourth] = [await period(row), await period(waits), await period(late)];
    expect([second.ended_at, third.starts_at, fourth.starts_at]).toEqual([0, second.ends_at, third.ends_at]);
    // What was ended on purpose stays so, whatever becomes of the money.
    await hold(row, "r-now");
    expect(await period(paid)).toEqual(ended);
  });

  test("two payments for one plan at the same moment open two periods, one after the other", async () => {
    const userId = await seedUser(world.db);
    const rows = [await orderPlan(world.db, { userId }), await orderPlan(world.db, { userId })];
    await Promise.all(rows.map((row) => pay(row)));
    const periods = (await Promise.all(rows.map(period))).sort((a, b) => a.n - b.n);
    expect(periods.map(({ n }) => n)).toEqual([1, 2]);
    expect(periods[1]?.starts_at).toBe(periods[0]?.ends_at);
  });

  test("beyond what one user may buy wait for a person: of an order that was closed, too", async () => {
    const userId = await seedUser(world.db);
    const rows = [];
    for (let made = 0; made < 4; made += 1) rows.push(await orderPlan(world.db, { userId, most: 2 }));
    const told = await Promise.all(rows.map((row) => pay(row)));
    expect(told.map(({ outcome }) => outcome).sort()).toEqual(["credited", "credited", "review", "review"]);
    expect(new Set(told.map(({ review }) => review))).toEqual(new Set(["", "plan_limit"]));
    // Another plan is another matter.
    expect((await pay(await orderPlan(world.db, { userId, planId: 2, most: 1 }))).outcome).toBe("credited");
  });

  test("of a wrong amount wait for a person, who opens the period or sends the money back", async () => {
    const row = await orderPlan(world.db, { userId: await seedUser(world.db) });
    expect(await pay(row, { amountMinor: 100 })).toMatchObject({ outcome: "review", review: "amount" });
    const decide = (as: "paid" | "ordered") => act(row, { verb: "decide", as, actorId: 1, reason: "looked" });
    // Part of a plan is none.
    expect((await decide("paid")).outcome).toBe("wrong_state");
    expect((await decide("ordered")).outcome).toBe("credited");
    expect(await period(row)).toMatchObject({ quota: 1_000 });
    const other = await orderPlan(world.db, { userId: await seedUser(world.db) });
    await pay(other, { amountMinor: 100 });
    expect(await hold(other, "r-wrong")).toMatchObject({ outcome: "done", amountMinor: 100 });
    const gone = await orderPlan(world.db, { userId: await seedUser(world.db, { status: 3 }) });
    expect(await pay(gone)).toMatchObject({ outcome: "review", review: "user_gone" });
    expect((await act(gone, { verb: "decide", as: "paid", actorId: 1, reason: "" })).outcome).toBe(
      "wrong_state",
    );
  });

  test("are completed by hand for the whole price only", async () => {
    const row = await orderPlan(world.db, { userId: await seedUser(world.db) });
    const manual = (amountMinor: number) =>
      act(row, { ...proofOf(row, { amountMinor }), verb: "manual", actorId: 1, reason: "seen" });
    expect((await manual(1_500)).outcome).toBe("wrong_state");
    expect((await manual(3_000)).outcome).toBe("credited");
    expect(await period(row)).toMatchObject({ n: 1 });
  });

  test("change a running period: pay and get the difference for the days that are left", async () => {
    const userId = await seedUser(world.db);
    const small = terms({ unit: "day", count: 31, quota: 200, price_minor: 4_000 });
    const paid = await buy({ userId, terms: small });
    const before = await period(paid);
    await spend(userId, before.id, 200n);
    days(16);
    const large = terms({ ...small, quota: 1_000, price_minor: 20_000, name: "专业版" });
    const quote = upgradeQuote(await period(paid), large, world.clock.seconds());
    expect(quote).toEqual({ priceMinor: 7_742, quota: 387 });
    const upgrade = { period: await period(paid), quota: 387, priceMinor: 7_742 };
    const bought = { userId, planId: 2, terms: large, upgrade };
    const twice = await orderPlan(world.db, bought);
    await buy(bought);
    // What was used stays used: the upgrade brings its own part and no more.
    expect(await period(paid)).toMatchObject({
      plan_id: 2,
      version_id: 2,
      n: 1,
      ends_at: before.ends_at,
      quota: 587,
      spent: 200,
    });
    // Priced for the plan there was, a second one would pay for the same.
    expect(await pay(twice)).toMatchObject({ outcome: "review", review: "plan_gone" });
    // The next period of the dearer plan follows.
    expect(await period(await buy({ userId, planId: 2, terms: large }))).toMatchObject({
      n: 2,
      starts_at: before.ends_at,
    });
    const [log] = await world.logsOf({ userId });
    expect(log?.content).toContain("购买套餐“专业版”");
  });

  test("can change only a period that runs, to a dearer plan of the same length", async () => {
    const userId = await seedUser(world.db);
    const paid = await buy({ userId });
    const row = await period(paid);
    const now = world.clock.seconds();
    const dearer = terms({ price_minor: 6_000, quota: 500 });
    // Less quota for more money is the buyer's choice; nothing is taken away.
    expect(upgradeQuote(row, dearer, now)).toEqual({ priceMinor: 3_000, quota: 0 });
    expect(upgradeQuote(row, terms(), now)).toBeUndefined();
    expect(upgradeQuote(row, terms({ price_minor: 9_000, count: 2 }), now)).toBeUndefined();
    expect(upgradeQuote(row, terms({ price_minor: 9_000, unit: "day" }), now)).toBeUndefined();
    expect(upgradeQuote(row, dearer, row.ends_at)).toBeUndefined();
    const last = upgradeQuote(row, dearer, row.ends_at - 1);
    expect(last?.priceMinor).toBe(Math.ceil(3_000 / ((row.ends_at - row.starts_at) / DAY_SEC)));
    const late = await orderPlan(world.db, {
      userId,
      planId: 2,
      terms: dearer,
      upgrade: { period: row, quota: 0, priceMinor: 3_000 },
    });
    days(40);
    expect(await pay(late)).toMatchObject({ outcome: "review", review: "plan_gone" });
    const next = await period(await buy({ userId }));
    const version = terms({ price_minor: 4_000, quota: 1_500 });
    const upgrade = { period: next, quota: 500, priceMinor: 1_000 };
    await buy({ userId, versionId: 7, terms: version, upgrade });
    const changed = await world.db.selectFrom("plan_periods").selectAll().where("id", "=", next.id).execute();
    expect(changed[0]).toMatchObject({ plan_id: 1, version_id: 7, n: next.n, quota: 1_500 });
  });

  test("keep what windows have counted when the plan changes, by the bounds of the new one", async () => {
    const userId = await seedUser(world.db);
    const paid = await buy({
      userId,
      terms: terms({ windows: [{ kind: "day", quota: 100 }], overflow: false }),
    });
    const row = await period(paid);
    const call = { ...order({ userId, tokenId: 0 }, 80n), plans: [row.id] };
    expect(await world.ledger.reserve(call)).toBe("reserved");
    const large = terms({
      price_minor: 6_000,
      quota: 2_000,
      overflow: false,
      windows: [
        { kind: "week", quota: 300 },
        { kind: "day", quota: 200 },
      ],
    });
    await buy({ userId, planId: 2, terms: large, upgrade: { period: row, quota: 1_000, priceMinor: 3_000 } });
    // The week was opened by no call yet: this one is not counted in it.
    expect(await world.ledger.settle(bill(call, 150n))).toEqual({ charged: 150n, shortfall: 0n });
    const states = windowStates(await period(paid), world.clock.seconds());
    expect(states).toEqual([
      { kind: "week", quota: 300, used: 0, resetsAt: 0 },
      { kind: "day", quota: 200, used: 150, resetsAt: row.starts_at + DAY_SEC },
    ]);
    await spend(userId, row.id, 50n);
    const more = { ...order({ userId, tokenId: 0 }, 1n), plans: [row.id] };
    expect(await world.ledger.reserve(more)).toMatchObject({ canFit: true });
    // A plan without windows: what they have counted is kept, and bounds nothing any more.
    const open = terms({ price_minor: 9_000, quota: 3_000 });
    const last = { period: await period(paid), quota: 1_000, priceMinor: 3_000 };
    await buy({ userId, planId: 3, terms: open, upgrade: last });
    expect(await world.ledger.reserve(more)).toBe("reserved");
    await world.ledger.release(more.requestId);
  });

  test("are paid back by what is left of days and quota, and end at that moment", async () => {
    const userId = await seedUser(world.db);
    const monthly = terms({ unit: "day", count: 30 });
    const paid = await buy({ userId, terms: monthly });
    const row = await period(paid);
    await spend(userId, row.id, 100n);
    days(10.5);
    const running = { ...order({ userId, tokenId: 0 }, 50n), plans: [row.id] };
    expect(await world.ledger.reserve(running)).toBe("reserved");
    // 19 of 30 days and 850 of 1,000 are left.
    expect((await hold(paid, "r-1", 1_901)).outcome).toBe("too_much");
    expect(await hold(paid, "r-1")).toMatchObject({ outcome: "done", amountMinor: 1_900 });
    expect(await period(paid)).toMatchObject({ ended_at: world.clock.seconds(), ended_by: paid.order_no });
    // Calls that run finish; no new one begins, and no more than was set aside is taken.
    expect(await world.ledger.reserve({ ...order({ userId, tokenId: 0 }, 1n), plans: [row.id] })).toBe(
      "user_quota",
    );
    expect(await world.ledger.settle(bill(running, 60n))).toEqual({ charged: 50n, shortfall: 10n });
    // The provider refuses: the plan goes on, and what is left now can be paid back.
    const finish = (refundNo: string, isDone: boolean) =>
      act(paid, { verb: "finish", refundNo, isDone, providerId: "" });
    expect((await finish("r-1", false)).outcome).toBe("done");
    expect(await period(paid)).toMatchObject({ ended_at: 0, ended_by: "" });
    expect(await hold(paid, "r-2", 1_000)).toMatchObject({ outcome: "done" });
    await finish("r-2", true);
    days(5);
    // By the moment it ended, not by today.
    expect(await hold(paid, "r-3")).toMatchObject({ outcome: "done", amountMinor: 900 });
    // A failure of the second leaves the plan ended: the first was paid back.
    await finish("r-3", false);
    expect((await period(paid)).ended_at).not.toBe(0);
  });

  test("that have not begun are paid back whole, those that are used up not at all", async () => {
    const userId = await seedUser(world.db);
    const first = await buy({ userId });
    const second = await buy({ userId });
    expect(await hold(second, "r-a")).toMatchObject({ outcome: "done", amountMinor: 3_000 });
    await spend(userId, (await period(first)).id, 1_000n);
    expect((await hold(first, "r-b")).outcome).toBe("short");
    // The next one begins where the last that still counts ends.
    expect(await period(await buy({ userId }))).toMatchObject({
      n: 3,
      starts_at: (await period(first)).ends_at,
    });
  });

  test("a period that was changed beside the ledger is named, with what it should be", async () => {
    const userId = await seedUser(world.db);
    const row = await period(await buy({ userId }));
    await spend(userId, row.id, 30n);
    const set = (spent: number) =>
      world.db.updateTable("plan_periods").set({ spent }).where("id", "=", row.id).execute();
    await set(29);
    expect(await checkLedger(world.db)).toEqual([
      { table: "plan_periods", id: row.id, column: "spent", stored: 29, expected: 30 },
    ]);
    await set(30);
  });

  test("that are disputed end, and go on when the dispute is won", async () => {
    const userId = await seedUser(world.db);
    const paid = await buy({ userId });
    const claw = {
      verb: "claw",
      refundNo: "d-1",
      providerId: "dp",
      tradeNo: "",
      amountMinor: 3_000,
    } as const;
    expect((await act(paid, { ...claw, source: "dispute" })).outcome).toBe("done");
    expect((await period(paid)).ended_at).toBe(world.clock.seconds());
    expect((await act(paid, { verb: "restore", refundNo: "d-1" })).outcome).toBe("done");
    expect((await period(paid)).ended_at).toBe(0);
    // A refund in the provider's own console ends it too; another order of the same plan stays.
    const next = await buy({ userId });
    expect((await act(paid, { ...claw, refundNo: "e-1", source: "elsewhere" })).outcome).toBe("done");
    expect((await period(paid)).ended_at).not.toBe(0);
    expect((await period(next)).ended_at).toBe(0);
  });

  test("of an upgrade end the period that they changed", async () => {
    const userId = await seedUser(world.db);
    const paid = await buy({ userId });
    const upgrade = { period: await period(paid), quota: 1_000, priceMinor: 3_000 };
    const more = await buy({
      userId,
      planId: 2,
      terms: terms({ price_minor: 6_000, quota: 2_000 }),
      upgrade,
    });
    expect(await hold(more, "u-1")).toMatchObject({ outcome: "done", amountMinor: 3_000 });
    expect(await period(paid)).toMatchObject({ ended_by: more.order_no });
    // Nothing of the first order makes it run again.
    expect(await hold(paid, "u-2")).toMatchObject({ outcome: "done", amountMinor: 3_000 });
    await act(paid, { verb: "finish", refundNo: "u-2", isDone: false, providerId: "" });
    expect((await period(paid)).ended_by).toBe(more.order_no);
  });
});
