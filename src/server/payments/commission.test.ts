// What inviters earn by payments and codes, and how far (requirements Y53).
import { describe, expect, test } from "vitest";
import { monthAfter, monthOf, monthStart } from "#contract/month.ts";
import type { OptionKey } from "#contract/option.ts";
import type { Options } from "#server/options.ts";
import { getUser } from "#server/store/users.ts";
import { codeTerms } from "#test/worlds/ledger-world.ts";
import { useOrderWorld } from "#test/worlds/order-world.ts";
import { engines, seedRedemption, seedUser } from "#test/worlds/stores.ts";
import { boundColumns, payCommission, planCommission } from "./commission.ts";

const DAY = 86_400;

function terms(values: Partial<Record<OptionKey, unknown>>, nowSec = 1_000) {
  const all: Partial<Record<OptionKey, unknown>> = {
    QuotaPerUnit: 500_000,
    PayCommissionPercent: 5,
    PayCommissionBase: "quota",
    PlanCommissionPercent: 0,
    CommissionFirstDays: 0,
    ...values,
  };
  // Options of tests: those that are read are among them.
  const options = { get: (key: OptionKey) => all[key] } as unknown as Options;
  return { options, clock: { seconds: () => nowSec, now: () => nowSec * 1_000 } };
}

test.each([
  [25_000_000, 5, 1_250_000],
  [25_000_000, 10, 2_500_000],
  [25_000_000, 0, 0],
  [7, 5, 0],
])("%s quota at %s %% bring the inviter %s millionths of a yuan", (quota, percent, micro) => {
  const tools = terms({ PayCommissionPercent: percent });
  expect(payCommission(tools, { created_at: 0 }, { quota, yuanMinor: 1 })).toBe(micro);
});

test.each([
  [3_000, 5, 1_500_000],
  [3_000, 0, 0],
  [1, 1, 100],
])(
  "%s fen at %s %% of the money bring %s millionths, whatever quota was sold for them",
  (yuanMinor, percent, micro) => {
    const tools = terms({
      PayCommissionPercent: percent,
      PayCommissionBase: "money",
      PlanCommissionPercent: percent,
    });
    expect(payCommission(tools, { created_at: 0 }, { quota: 99_000_000, yuanMinor })).toBe(micro);
    expect(planCommission(tools, { created_at: 0 }, yuanMinor)).toBe(micro);
  },
);

test("in the first days only, to the second", () => {
  const sold = { quota: 25_000_000, yuanMinor: 3_000 };
  const at = (nowSec: number) =>
    payCommission(terms({ CommissionFirstDays: 2 }, nowSec), { created_at: 500 }, sold);
  expect([at(500), at(500 + 2 * DAY - 1), at(500 + 2 * DAY)]).toEqual([1_250_000, 1_250_000, 0]);
});

test("an order keeps the bounds of its day", () => {
  const tools = terms({ CommissionFirstOrders: 2, CommissionMonthYuan: 30 });
  expect(boundColumns(tools)).toEqual({ commission_orders: 2, commission_month_micro: 30_000_000 });
});

describe.each(engines)("bounds of commission on %s", (engine) => {
  const { world, prove, fresh, claw } = useOrderWorld(engine);
  const earned = async (id: number) => (await getUser(world.db, id)).invite_commission_micro;
  const order = (inviter_id: number, parts: object) =>
    fresh({ inviter_id, commission_micro: 1_000_000, ...parts });

  test("the first orders of an invited user bring some, codes among them, and those of another are counted apart", async () => {
    const inviterId = await seedUser(world.db);
    const first = await order(inviterId, { commission_orders: 2 });
    const redeem = (operationId: string, redemptionId: number) =>
      world.ledger.redeem({
        ...{ operationId, redemptionId, userId: first.user_id, giverId: null, inviterId },
        terms: { ...codeTerms, firstOrders: 2 },
        display: { quotaPerUnit: 500_000, inCurrency: true },
      });
    await prove(first);
    await redeem(`first-${first.id}`, await seedRedemption(world.db, { quota: 500_000 }));
    expect(await earned(inviterId)).toBe(1_025_000);
    const third = await order(inviterId, { user_id: first.user_id, commission_orders: 2 });
    expect((await prove(third)).outcome).toBe("credited");
    const last = await redeem(`last-${first.id}`, await seedRedemption(world.db, { quota: 500_000 }));
    expect(last).toMatchObject({ outcome: "done", quota: 500_000n });
    expect(await earned(inviterId)).toBe(1_025_000);
    await prove(await order(inviterId, { commission_orders: 2 }));
    expect(await earned(inviterId)).toBe(2_025_000);
  });

  test("a month brings so much and no more, by Beijing time; the order keeps what it brought, and a refund opens nothing", async () => {
    const inviterId = await seedUser(world.db);
    const next = monthStart(monthAfter(monthOf(world.clock.seconds())));
    world.clock.advance((next - 10 - world.clock.seconds()) * 1_000);
    const capped = { commission_month_micro: 1_500_000 };
    const first = await order(inviterId, capped);
    await prove(first);
    const second = await order(inviterId, capped);
    await prove(second);
    expect(await earned(inviterId)).toBe(1_500_000);
    // Of the second payment half a yuan was let through: no more is taken back.
    await claw(second, "elsewhere", `back-${second.id}`, 3_000);
    expect(await earned(inviterId)).toBe(1_000_000);
    await prove(await order(inviterId, capped));
    expect(await earned(inviterId)).toBe(1_000_000);
    // Orders of another day keep the bounds of theirs.
    await prove(await order(inviterId, {}));
    expect(await earned(inviterId)).toBe(2_000_000);
    world.clock.advance(10_000);
    await prove(await order(inviterId, capped));
    expect(await earned(inviterId)).toBe(3_000_000);
  });

  test("at 0 % there is none, and nothing counts as an order that brought some", async () => {
    const inviterId = await seedUser(world.db);
    const order = await fresh({ inviter_id: inviterId, commission_micro: 0, commission_orders: 1 });
    await prove(order);
    const redemptionId = await seedRedemption(world.db, { quota: 500_000 });
    await world.ledger.redeem({
      ...{ operationId: `none-${order.id}`, redemptionId, userId: order.user_id, giverId: null, inviterId },
      terms: { ...codeTerms, commissionPercent: 0 },
      display: { quotaPerUnit: 500_000, inCurrency: true },
    });
    const commissions = await world.db
      .selectFrom("ledger")
      .select("id")
      .where("user_id", "=", inviterId)
      .execute();
    expect([await earned(inviterId), commissions]).toEqual([0, []]);
    await prove(
      await fresh({
        user_id: order.user_id,
        inviter_id: inviterId,
        commission_micro: 5,
        commission_orders: 1,
      }),
    );
    expect(await earned(inviterId)).toBe(5);
  });
});
