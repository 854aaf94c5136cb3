// What a refund or dispute could not take is owed, and whatever comes in next pays it first, wherever it comes from (requirements Y36).
import { describe, expect, test } from "vitest";
import type { Adjustment } from "#server/money/operations.ts";
import { debtOf } from "#server/store/users.ts";
import { codeTerms } from "#test/worlds/ledger-world.ts";
import { useOrderWorld } from "#test/worlds/order-world.ts";
import { engines, seedAccount, seedRedemption, seedUser } from "#test/worlds/stores.ts";

const display = { quotaPerUnit: 500_000, inCurrency: true };

describe.each(engines)("a debt on %s", (engine) => {
  const { world, fresh, prove, claw, hold, finish, drain, quotaOf } = useOrderWorld(engine);

  /** A user who owes 5,000,000. */
  async function debtor(): Promise<number> {
    const order = await fresh();
    await prove(order);
    await drain(order.user_id, 0n);
    await claw(order, "elsewhere", `back-${order.id}`, 3_000);
    return order.user_id;
  }
  const stateOf = async (userId: number) => [await quotaOf(userId), await debtOf(world.db, userId)];
  const raise = (userId: number, quota: Adjustment["quota"]) => {
    const log = { type: 3, content: "管理员将额度从 {before} 修改为 {after}", display };
    return world.ledger.adjust({ userId, kind: "adjust", quota, actorId: 1, reason: "test", log });
  };
  const textsOf = async (userId: number) => (await world.logsOf({ userId })).map(({ content }) => content);

  test("is paid first by what an administrator adds; lowering a balance pays nothing", async () => {
    const userId = await debtor();
    expect(await stateOf(userId)).toEqual([0, 5_000_000]);
    expect(await raise(userId, { delta: 1_000_000n })).toMatchObject({ outcome: "done" });
    expect(await stateOf(userId)).toEqual([0, 4_000_000]);
    expect(await raise(userId, { target: 6_000_000n })).toMatchObject({ outcome: "done" });
    expect(await stateOf(userId)).toEqual([2_000_000, 0]);
    expect((await textsOf(userId)).slice(0, 2)).toEqual([
      "偿还此前退款或拒付的欠额 ＄8.000000 额度",
      "管理员将额度从 ＄0.000000 额度 修改为 ＄12.000000 额度",
    ]);
    const entries = await world.db
      .selectFrom("ledger")
      .select(["kind", "amount"])
      .where("user_id", "=", userId)
      .orderBy("id", "desc")
      .limit(4)
      .execute();
    const booked = [
      ["debt", -4_000_000],
      ["adjust", 6_000_000],
      ["debt", -1_000_000],
      ["adjust", 1_000_000],
    ];
    expect(new Set(entries.map(({ kind, amount }) => `${kind} ${amount}`))).toEqual(
      new Set(booked.map((entry) => entry.join(" "))),
    );
    const other = await debtor();
    // Nothing tells the account of it, which need not be a person's.
    await world.ledger.adjust({
      ...{ userId: other, kind: "adjust", quota: { delta: 1_000_000n }, actorId: 1, reason: "test" },
    });
    expect(await stateOf(other)).toEqual([0, 4_000_000]);
    await raise(other, { delta: 0n });
    expect(await stateOf(other)).toEqual([0, 4_000_000]);
  });

  test("is paid first by a code and its gift, also by the gift of who gave the gift code", async () => {
    const userId = await debtor();
    const giverId = await debtor();
    const redemptionId = await seedRedemption(world.db, { quota: 4_000_000 });
    await world.ledger.redeem({
      ...{ operationId: `code-${redemptionId}`, userId, redemptionId, giverId, inviterId: 0 },
      ...{ terms: { ...codeTerms, giftPercent: 50 }, display },
    });
    expect(await stateOf(userId)).toEqual([1_000_000, 0]);
    expect(await stateOf(giverId)).toEqual([0, 3_000_000]);
  });

  test("is paid first by a transfer, and by what a registration brings", async () => {
    const userId = await debtor();
    const { userId: fromId } = await seedAccount(world.db, world.ledger, { quota: 2_000_000n });
    const operationId = `transfer-${userId}`;
    await world.ledger.transfer({
      ...{ operationId, fromId, toId: userId, amount: null, actorId: 1 },
      ...{ sent: "转出", received: "转入", display },
    });
    expect(await stateOf(userId)).toEqual([0, 3_000_000]);
    const friend = await seedUser(world.db, { inviter_id: userId });
    await world.ledger.grantSignup({
      ...{ userId: friend, inviterId: userId, forNewUser: 10n, forInvitee: 20n, forInviter: 1_000_000n },
      display,
    });
    expect([await stateOf(userId), await quotaOf(friend)]).toEqual([[0, 2_000_000], 30]);
  });

  test("is paid first by a payment with its gift, for the giver too, and by a refund that failed", async () => {
    const userId = await debtor();
    const giver_id = await debtor();
    await prove(await fresh({ user_id: userId, quota: 4_000_000, giver_id, gift_quota: 3_000_000 }));
    expect(await stateOf(userId)).toEqual([2_000_000, 0]);
    expect(await stateOf(giver_id)).toEqual([0, 2_000_000]);
    // Held for a refund, its quota is not there when another payment is taken back.
    const held = await fresh({ user_id: userId });
    await prove(held);
    await hold(held, `hold-${held.id}`, 3_000);
    const lost = await fresh({ user_id: userId });
    await prove(lost);
    await drain(userId, 1_000_000n);
    await claw(lost, "dispute", `lost-${lost.id}`, 3_000);
    expect(await stateOf(userId)).toEqual([0, 4_000_000]);
    await finish(held, `hold-${held.id}`, false);
    expect(await stateOf(userId)).toEqual([1_000_000, 0]);
  });
});
