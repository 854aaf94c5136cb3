// What calls cost users in money: the mean of what is left in the wallet, the price of a plan's period (requirements X13).
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sumCosts } from "#server/store/margins.ts";
import { bill, codeTerms, order, type Parties } from "#test/worlds/ledger-world.ts";
import { useOrderWorld } from "#test/worlds/order-world.ts";
import { buyPlan, periodOf, terms } from "#test/worlds/plans.ts";
import { engines, seedAccount, seedRedemption, seedToken, seedUser } from "#test/worlds/stores.ts";
import {
  type Bought,
  boughtOf,
  boughtText,
  changed,
  givenQuota,
  leftOf,
  NOTHING_BOUGHT,
  nanoOfFen,
  nanoOfMicro,
  takeOut,
  together,
} from "./bought.ts";

const money = fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n });
const bought: fc.Arbitrary<Bought> = fc
  .record({
    quota: fc.bigInt({ min: 1n, max: 10n ** 15n }),
    part: fc.nat(100),
    income: fc.bigInt({ min: 0n, max: 10n ** 15n }),
    fees: money,
    commission: fc.bigInt({ min: 0n, max: 10n ** 15n }),
  })
  .map(({ part, ...rest }) => ({ ...rest, given: (rest.quota * BigInt(part)) / 100n }));

test("is stored as a text and read again", () => {
  fc.assert(fc.property(bought, (one) => void expect(boughtOf(boughtText(one))).toEqual(one)));
  expect([boughtText(NOTHING_BOUGHT), boughtOf("")]).toEqual(["", NOTHING_BOUGHT]);
  // Money without quota waits for what comes in next.
  const owed = { ...NOTHING_BOUGHT, income: -5n };
  expect(boughtOf(boughtText(owed))).toEqual(owed);
});

test("as calls took nothing out of it at first, no more is left than is in the wallet", () => {
  const whole = { ...NOTHING_BOUGHT, quota: 100n, income: 300n };
  expect(leftOf("100 300 0 0", 40n)).toEqual({ ...NOTHING_BOUGHT, quota: 40n, income: 120n });
  expect(leftOf("100 300 0 0", 400n)).toEqual(whole);
  expect(leftOf("100 300 0 0 0", 40n)).toEqual(whole);
  expect(leftOf("", 40n)).toEqual(NOTHING_BOUGHT);
});

test("parts that are taken out add up to the whole, and each is at the mean of what was left", () => {
  fc.assert(
    fc.property(
      bought,
      fc.array(fc.bigInt({ min: 0n, max: 10n ** 14n }), { maxLength: 20 }),
      (whole, amounts) => {
        const wallet = { bought: whole };
        const parts = amounts.map((amount) => {
          const before = wallet.bought;
          const part = takeOut(wallet, amount);
          expect(part.quota).toBe(amount < before.quota ? amount : before.quota);
          const exact = (before.income * part.quota) / (before.quota || 1n);
          expect(Math.abs(Number(part.income - exact))).toBeLessThanOrEqual(1);
          expect(part.given <= part.quota && wallet.bought.given <= wallet.bought.quota).toBe(true);
          return part;
        });
        const sum = parts.reduce(together, NOTHING_BOUGHT);
        expect(together(sum, wallet.bought)).toEqual(whole);
        expect(together(sum, takeOut(wallet, wallet.bought.quota))).toEqual(whole);
        expect(wallet.bought).toEqual(NOTHING_BOUGHT);
      },
    ),
  );
});

test("what is given lowers the mean, and goes first when it is taken back", () => {
  const paid = { ...NOTHING_BOUGHT, quota: 100n, income: 300n };
  const mixed = changed(paid, givenQuota(200n));
  expect(mixed).toEqual({ ...NOTHING_BOUGHT, quota: 300n, given: 200n, income: 300n });
  expect(changed(mixed, givenQuota(-200n))).toEqual(paid);
  expect(changed(mixed, givenQuota(-250n))).toMatchObject({ quota: 50n, given: 0n, income: 300n });
  // Quota of which nothing was known goes too.
  expect(changed(paid, givenQuota(-150n))).toMatchObject({ quota: 0n, given: 0n, income: 300n });
  // No call brings less than nothing: what went back after it was used is filled by what comes in next.
  const owed = { bought: { ...NOTHING_BOUGHT, quota: 10n, given: 10n, income: -30n } };
  expect(takeOut(owed, 5n)).toMatchObject({ quota: 5n, income: 0n });
  expect(changed(owed.bought, paid)).toMatchObject({ quota: 105n, income: 270n });
  expect([nanoOfFen(700n), nanoOfMicro(7_000_000n)]).toEqual([1_000_000_000n, 1_000_000_000n]);
});

describe.each(engines)("calls on %s", (engine) => {
  const { world, act, fresh, prove, claw, drain, quotaOf } = useOrderWorld(engine);
  const cost = { cost: 1_000, saved: 0, group: "default" };
  /** Books a call and gives what its row of the log has. */
  async function call(parties: Parties, charge: bigint, plans?: readonly number[]) {
    const held = { ...order(parties, charge), ...(plans && { plans }) };
    expect(await world.ledger.reserve(held)).toBe("reserved");
    await world.ledger.settle({ ...bill(held, charge), cost });
    const { earned } = await world.db
      .selectFrom("logs")
      .select("earned")
      .where("request_id", "=", held.requestId)
      .executeTakeFirstOrThrow();
    return boughtOf(earned);
  }
  const sums = async () => {
    const now = world.clock.seconds();
    const span = { start: now - 86_400, before: now + 3_600 };
    const all = { model: "model", user: "user", channel: "channel", group: "group" } as const;
    const totals = [];
    for (const dimension of Object.values(all)) {
      const rows = await sumCosts(world.db, span, dimension);
      const of = (name: "priced_quota" | "income" | "fees" | "commission") =>
        rows.reduce((sum, row) => sum + row[name], 0);
      totals.push([of("priced_quota"), of("income"), of("fees"), of("commission")]);
    }
    return totals;
  };

  const forget = (userId: number) =>
    world.db.updateTable("users").set({ bought: "" }).where("id", "=", userId).execute();

  test("take their part of payment, fee and commission; what nothing is known of is not priced", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 100n });
    await forget(account.userId);
    expect(await call(account, 100n)).toEqual(NOTHING_BOUGHT);
    const inviterId = await seedUser(world.db);
    const paid = await fresh({
      ...{ user_id: account.userId, inviter_id: inviterId, commission_micro: 700_000 },
      ...{ income: 4_000_000_000, fees: -50_000_000 },
    });
    await prove(paid);
    // 5,000,000 quota for $4; the payer paid $0.05 more as fee than the platform kept; $0.1 of commission.
    const part = {
      ...{ quota: 500_000n, given: 0n, income: 400_000_000n, fees: -5_000_000n },
      commission: 10_000_000n,
    };
    expect(await call(account, 500_000n)).toEqual(part);
    // A refund takes quota at its price: what is left is worth the same.
    await claw(paid, "elsewhere", `back-${paid.id}`, 1_500);
    expect(await call(account, 500_000n)).toEqual(part);
    const doubled = [1_000_000, 800_000_000, -10_000_000, 20_000_000];
    expect(await sums()).toEqual([doubled, doubled, doubled, doubled]);
  });

  test("of quota that was given bring nothing, whoever gave it, and lower the mean of what was paid", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 1_000_000n });
    expect(await call(account, 500_000n)).toEqual(givenQuota(500_000n));
    const giverId = await seedUser(world.db);
    const paid = await fresh({
      ...{ user_id: account.userId, giver_id: giverId, gift_quota: 500_000, income: 4_000_000_000 },
    });
    await prove(paid);
    // $4 for 5,000,000, and 1,000,000 for nothing.
    expect(await call(account, 3_000_000n)).toEqual({
      ...{ quota: 3_000_000n, given: 500_000n, income: 2_000_000_000n, fees: 0n, commission: 0n },
    });
    // All of it comes to all that was paid, and what comes after it is given again.
    expect(await call(account, 3_000_000n)).toMatchObject({ quota: 3_000_000n, income: 2_000_000_000n });
    await drain(account.userId, 100n);
    expect(await call(account, 100n)).toEqual(givenQuota(100n));
    const giver = { userId: giverId, tokenId: await seedToken(world.db, giverId, { unlimited_quota: 1 }) };
    expect(await call(giver, 500_000n)).toEqual(givenQuota(500_000n));
  });

  test("after a refund of quota that was used bring nothing until more was paid than went back", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 0n });
    const first = await fresh({ user_id: account.userId, income: 4_000_000_000 });
    await prove(first);
    await call(account, 4_000_000n);
    // $3.2 of calls, and all of $4 goes back: 4,000,000 are owed.
    await claw(first, "dispute", `back-${first.id}`, 3_000);
    await prove(await fresh({ user_id: account.userId, income: 8_000_000_000, quota: 10_000_000 }));
    // What is left of it was bought for what was paid in all, less what calls brought before.
    expect(await quotaOf(account.userId)).toBe(6_000_000);
    expect(await call(account, 6_000_000n)).toMatchObject({ quota: 6_000_000n, income: 4_800_000_000n });
  });

  test("of a payment that was credited in another sum take what came in", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 0n });
    const short = await fresh({ user_id: account.userId, income: 3_000_000_000, fees: 300_000_000 });
    await prove(short, { amountMinor: 2_000 });
    await act(short, { verb: "decide", as: "ordered", actorId: 1, reason: "kept" });
    const parts = { income: 2_000_000_000n, fees: 200_000_000n };
    expect(await call(account, 5_000_000n)).toMatchObject({ quota: 5_000_000n, ...parts });
    const foreign = await fresh({ user_id: account.userId, income: 3_000_000_000 });
    await prove(foreign, { amountMinor: 2_000, currency: "USD" });
    await act(foreign, { verb: "decide", as: "ordered", actorId: 1, reason: "kept" });
    expect(await call(account, 5_000_000n)).toMatchObject({ income: 3_000_000_000n });
    const vouched = await fresh({ user_id: account.userId, income: 3_000_000_000 });
    const proof = { tradeNo: `bank-${vouched.id}`, amountMinor: 1_000, currency: "CNY", paidSec: 0 };
    await act(vouched, { verb: "manual", proof, actorId: 1, reason: "bank" });
    expect(await call(account, 1_666_666n)).toMatchObject({ quota: 1_666_666n, income: 1_000_000_000n });
  });

  test("of plans take the price of the period through its quota, then the wallet's", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 0n });
    await prove(await fresh({ user_id: account.userId, income: 5_000_000_000 }));
    const sold = terms({ price_minor: 1_400 });
    const plan = await buyPlan(world.db, world.ledger, { userId: account.userId, terms: sold });
    const period = await periodOf(world.db, plan);
    // Of before there was this column: by the price in its terms, $2.
    await world.db.updateTable("plan_periods").set({ bought: "" }).where("id", "=", period.id).execute();
    const quota = BigInt(period.quota);
    expect(await call(account, quota / 2n, [period.id])).toMatchObject({
      quota: quota / 2n,
      income: 1_000_000_000n,
    });
    // The rest of its price, and of the wallet's $5 for 5,000,000.
    expect(await call(account, quota, [period.id])).toMatchObject({
      quota,
      income: 1_000_000_000n + (quota - quota / 2n) * 1_000n,
    });
  });

  test("of a plan's order take its own fee and commission", async () => {
    const inviterId = await seedUser(world.db);
    const account = await seedAccount(world.db, world.ledger, { quota: 0n });
    const sold = terms({ price_minor: 1_400 });
    const worth = {
      income: 2_000_000_000,
      fees: 30_000_000,
      inviter_id: inviterId,
      commission_micro: 7_000_000,
    };
    const plan = await buyPlan(world.db, world.ledger, { userId: account.userId, terms: sold, order: worth });
    const period = await periodOf(world.db, plan);
    expect(await call(account, BigInt(period.quota), [period.id])).toEqual({
      ...{
        quota: BigInt(period.quota),
        given: 0n,
        income: 2_000_000_000n,
        fees: 30_000_000n,
        commission: 1_000_000_000n,
      },
    });
    // What goes back of it was never the wallet's.
    await claw(plan, "dispute", `back-${plan.id}`, 1_400);
    await drain(account.userId, 100n);
    expect(await call(account, 100n)).toEqual(givenQuota(100n));
  });

  test("of codes take the average that stood at the redemption, of transfers what the sender paid", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 0n });
    const wallet = await seedAccount(world.db, world.ledger, { quota: 0n });
    const redemptionId = await seedRedemption(world.db, { quota: 500_000 });
    await world.ledger.redeem({
      ...{
        operationId: `code-${redemptionId}`,
        userId: account.userId,
        redemptionId,
        giverId: null,
        inviterId: 0,
      },
      terms: { ...codeTerms, soldYuan: 3.5 },
      display: { quotaPerUnit: 500_000, inCurrency: true },
    });
    expect(await call(account, 100_000n)).toMatchObject({ income: 100_000_000n });
    await world.ledger.transfer({
      ...{
        operationId: `move-${redemptionId}`,
        fromId: account.userId,
        toId: wallet.userId,
        amount: 200_000n,
      },
      ...{ actorId: 1, sent: "转出", received: "转入", display: { quotaPerUnit: 500_000, inCurrency: true } },
    });
    expect(await call(wallet, 50_000n)).toMatchObject({ quota: 50_000n, income: 50_000_000n });
    // What was moved is the sender's no more.
    expect(await call(account, 200_000n)).toMatchObject({ quota: 200_000n, income: 200_000_000n });
    expect(await call(wallet, 150_000n)).toMatchObject({ income: 150_000_000n });
    await drain(account.userId, 300n);
    expect(await call(account, 300n)).toEqual(givenQuota(300n));
  });

  test("of a code with a price of its own take that, and nothing of one that was given away", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 0n });
    const redeemed = async (price_minor: number) => {
      const redemptionId = await seedRedemption(world.db, { quota: 500_000, price_minor });
      const sides = { userId: account.userId, redemptionId, giverId: null, inviterId: 0 };
      await world.ledger.redeem({
        ...{ operationId: `code-${redemptionId}`, ...sides, terms: { ...codeTerms, soldYuan: 3.5 } },
        display: { quotaPerUnit: 500_000, inCurrency: true },
      });
      return call(account, 500_000n);
    };
    expect(await redeemed(700)).toMatchObject({ quota: 500_000n, given: 0n, income: 1_000_000_000n });
    expect(await redeemed(0)).toEqual(givenQuota(500_000n));
    expect(await redeemed(-1)).toMatchObject({ given: 0n, income: 500_000_000n });
  });
});
