import { describe, expect, test } from "vitest";
import { microOf, yuanText } from "#contract/yuan.ts";
import { getUser, updateUserProfile } from "#server/store/users.ts";
import { codeTerms, useLedgerWorld } from "#test/worlds/ledger-world.ts";
import { engines, seedRedemption, seedUser } from "#test/worlds/stores.ts";
import { commissionOf } from "./commission-terms.ts";
import type { RedeemOrder } from "./partner-operations.ts";
import { giftOf } from "./rules-partner.ts";

const display = { quotaPerUnit: 500_000, inCurrency: true };
const MOST = Number.MAX_SAFE_INTEGER;
let serial = 0;

function order(parts: Partial<RedeemOrder> & Pick<RedeemOrder, "userId" | "redemptionId">): RedeemOrder {
  serial += 1;
  return { operationId: `op${serial}`, giverId: null, inviterId: 0, terms: codeTerms, display, ...parts };
}

describe.each(engines)("redemption on %s", (engine) => {
  const world = useLedgerWorld(engine);
  const worth = async (id: number) => {
    const { quota, invite_commission_micro } = await getUser(world.db, id);
    return { quota, cash: yuanText(invite_commission_micro) };
  };
  const ledgerOf = (redemptionId: number) =>
    world.db
      .selectFrom("ledger")
      .select(["kind", "user_id", "amount", "yuan_micro", "actor_id"])
      .where("redemption_id", "=", redemptionId)
      .orderBy("id")
      .execute();
  const code = (quota: number) => seedRedemption(world.db, { quota });
  const people = async () => {
    const inviterId = await seedUser(world.db);
    return { inviterId, userId: await seedUser(world.db, { inviter_id: inviterId }) };
  };

  test.each([
    [500_000_000, 525_000_000, 25_000_000, "25"],
    [5_000_000, 5_250_000, 250_000, "0.25"],
    [100_000, 105_000, 5_000, "0.005"],
    [1, 1, 0, "0"],
    [19, 19, 0, "0"],
    [20, 21, 1, "0.000001"],
    [21, 22, 1, "0.000001"],
  ])(
    "a code of %i with the inviter's gift code brings %i, %i for the giver and %s yuan",
    async (...[quota, sum, gift, cash]) => {
      const { inviterId, userId } = await people();
      const redemptionId = await code(quota);
      const redeemed = await world.ledger.redeem(
        order({ userId, redemptionId, giverId: inviterId, inviterId }),
      );
      expect(redeemed).toEqual({ outcome: "done", quota: BigInt(quota), bonus: BigInt(gift) });
      expect(await worth(userId)).toEqual({ quota: sum, cash: "0" });
      expect(await worth(inviterId)).toEqual({ quota: gift, cash });
      const entries = await ledgerOf(redemptionId);
      const micro = Number(microOf(cash));
      expect(
        entries.map(({ kind, user_id, amount, yuan_micro }) => [kind, user_id, amount, yuan_micro]),
      ).toEqual([
        ["redeem", userId, quota, 0],
        ["gift", userId, gift, 0],
        ["gift", inviterId, gift, 0],
        ...(micro === 0 ? [] : [["commission", inviterId, 0, micro]]),
      ]);
      expect(entries.every(({ actor_id }) => actor_id === userId)).toBe(true);
    },
  );

  test("every user concerned finds it in the log", async () => {
    const { inviterId, userId } = await people();
    await world.ledger.redeem(
      order({ userId, redemptionId: await code(500_000_000), giverId: inviterId, inviterId }),
    );
    const lines = async (id: number) =>
      (await world.logsOf({ userId: id })).map(({ type, content, quota }) => [type, content, quota]);
    expect((await lines(userId)).reverse()).toEqual([
      [1, "通过兑换码充值 ＄1000.000000 额度", 500_000_000],
      [4, "使用礼品码，额外获得 ＄50.000000 额度", 25_000_000],
    ]);
    expect((await lines(inviterId)).reverse()).toEqual([
      [4, "礼品码被使用，获得 ＄50.000000 额度", 25_000_000],
      [4, "邀请的用户充值，获得返现 25 元", 0],
    ]);
    const plain = { quotaPerUnit: 500_000, inCurrency: false };
    const other = await seedUser(world.db);
    await world.ledger.redeem(order({ userId: other, redemptionId: await code(7), display: plain }));
    expect(await lines(other)).toEqual([[1, "通过兑换码充值 7 点额度", 7]]);
  });

  test("the largest code fits a user who has nothing, and is left alone when it does not fit", async () => {
    const { inviterId, userId } = await people();
    const largest = await code(MOST);
    const withGift = order({ userId, redemptionId: largest, giverId: inviterId, inviterId });
    expect(await world.ledger.redeem(withGift)).toEqual({ outcome: "too_large" });
    expect(await ledgerOf(largest)).toEqual([]);
    expect(await world.ledger.redeem(order({ userId, redemptionId: largest, inviterId }))).toEqual({
      outcome: "done",
      quota: BigInt(MOST),
      bonus: 0n,
    });
    expect(await worth(userId)).toEqual({ quota: MOST, cash: "0" });
    // 9007199254740991 × 25000 / 500000, rounded down.
    expect(await worth(inviterId)).toEqual({ quota: 0, cash: "450359962.737049" });
    const more = order({ userId, redemptionId: await code(1) });
    expect(await world.ledger.redeem(more)).toEqual({ outcome: "too_large" });
    const other = await seedUser(world.db);
    const giverIsFull = order({ userId: other, redemptionId: await code(20), giverId: userId });
    expect(await world.ledger.redeem(giverIsFull)).toEqual({ outcome: "too_large" });
    const cents = { quotaPerUnit: 0.000_001, inCurrency: true };
    const cashIsFull = order({ userId: other, redemptionId: await code(MOST), inviterId, display: cents });
    expect(await world.ledger.redeem(cashIsFull)).toEqual({ outcome: "too_large" });
  });

  test("refuses codes that are unknown, deleted, disabled or used, and leaves them as they are", async () => {
    const userId = await seedUser(world.db);
    const ask = async (redemptionId: number) =>
      (await world.ledger.redeem(order({ userId, redemptionId }))).outcome;
    expect(await ask(0)).toBe("unknown_code");
    expect(await ask(987_654_321)).toBe("unknown_code");
    const deleted = await code(5);
    await world.db.updateTable("redemptions").set({ deleted_at: 9 }).where("id", "=", deleted).execute();
    expect(await ask(deleted)).toBe("unknown_code");
    const disabled = await seedRedemption(world.db, { status: 2 });
    expect(await ask(disabled)).toBe("disabled_code");
    const once = await code(5);
    expect(await ask(once)).toBe("done");
    expect(await ask(once)).toBe("used_code");
    expect(await worth(userId)).toEqual({ quota: 5, cash: "0" });
    const rows = await world.db
      .selectFrom("redemptions")
      .select(["status", "redeemed_time", "used_user_id"])
      .where("id", "in", [disabled, once])
      .orderBy("id")
      .execute();
    expect(rows).toEqual([
      { status: 2, redeemed_time: 0, used_user_id: 0 },
      { status: 3, redeemed_time: world.clock.seconds(), used_user_id: userId },
    ]);
  });

  test("refuses one's own gift code, an unknown one and a banned giver's before the code is used up", async () => {
    const { inviterId, userId } = await people();
    const redemptionId = await code(100);
    const ask = async (giverId: number) =>
      (await world.ledger.redeem(order({ userId, redemptionId, giverId }))).outcome;
    expect(await ask(userId)).toBe("own_gift");
    expect(await ask(0)).toBe("unknown_gift");
    await updateUserProfile(world.db, inviterId, { status: 2 });
    expect(await ask(inviterId)).toBe("unknown_gift");
    expect(await ledgerOf(redemptionId)).toEqual([]);
    await updateUserProfile(world.db, inviterId, { status: 1 });
    expect(await ask(inviterId)).toBe("done");
    await updateUserProfile(world.db, userId, { status: 2 });
    expect((await world.ledger.redeem(order({ userId, redemptionId: await code(1) }))).outcome).toBe(
      "user_disabled",
    );
  });

  test("an inviter who is banned, deleted, gone or oneself earns nothing; the code counts all the same", async () => {
    const { inviterId, userId } = await people();
    const ask = async (inviter: number) =>
      (await world.ledger.redeem(order({ userId, redemptionId: await code(1_000), inviterId: inviter })))
        .outcome;
    for (const status of [2, 3]) {
      await updateUserProfile(world.db, inviterId, { status });
      expect(await ask(inviterId)).toBe("done");
    }
    expect(await ask(userId)).toBe("done");
    expect(await ask(987_654_321)).toBe("done");
    expect(await worth(inviterId)).toEqual({ quota: 0, cash: "0" });
    expect(await worth(userId)).toEqual({ quota: 4_000, cash: "0" });
  });

  test("an order that is repeated gets the answer of the first time", async () => {
    const { inviterId, userId } = await people();
    const plain = order({ userId, redemptionId: await code(100) });
    const gifted = order({ userId, redemptionId: await code(100), giverId: inviterId });
    expect(await Promise.all([world.ledger.redeem(plain), world.ledger.redeem(plain)])).toEqual([
      { outcome: "done", quota: 100n, bonus: 0n },
      { outcome: "done", quota: 100n, bonus: 0n },
    ]);
    await world.ledger.redeem(gifted);
    expect(await world.ledger.redeem(gifted)).toEqual({ outcome: "done", quota: 100n, bonus: 5n });
    // Whatever percentage is set by now, here or in another process.
    const later = { ...gifted, terms: { ...gifted.terms, giftPercent: 50 } };
    expect(await world.ledger.redeem(later)).toMatchObject({ bonus: 5n });
    const other = world.boot().ledger;
    expect(await other.redeem(later)).toMatchObject({ bonus: 5n });
    expect(await other.redeem({ ...plain, terms: later.terms })).toMatchObject({ bonus: 0n });
    await other.close();
    expect(await worth(userId)).toEqual({ quota: 205, cash: "0" });
  });

  test("nothing leaves the state of use, not even by a statement beside the ledger", async () => {
    const userId = await seedUser(world.db);
    const redemptionId = await code(10);
    await world.ledger.redeem(order({ userId, redemptionId }));
    for (const change of [
      { status: 1 },
      { status: 2 },
      { quota: 11 },
      { used_user_id: 1 },
      { redeemed_time: 0 },
    ]) {
      const update = world.db.updateTable("redemptions").set(change).where("id", "=", redemptionId);
      await expect(update.execute(), JSON.stringify(change)).rejects.toThrow("stays used");
    }
    await world.db
      .updateTable("redemptions")
      .set({ name: "renamed" })
      .where("id", "=", redemptionId)
      .execute();
  });
});

test("gift and commission are whole fractions, rounded down, for any quota", () => {
  for (const [quota, gift, micro] of [
    [0n, 0n, 0n],
    [1n, 0n, 0n],
    [19n, 0n, 0n],
    [20n, 1n, 1n],
    [21n, 1n, 1n],
    [40n, 2n, 2n],
    [BigInt(MOST), 450_359_962_737_049n, 450_359_962_737_049n],
  ] as const) {
    expect([giftOf(quota, 5), commissionOf(quota, { quotaPerUnit: 500_000, percent: 5 })]).toEqual([
      gift,
      micro,
    ]);
  }
  // Against fractions computed another way, for odd numbers of units per dollar.
  for (let index = 1; index <= 100_000; index += 1) {
    const quota = BigInt((index * 7_919_777) % MOST);
    const units = 1 + ((index * 31) % 999_983);
    const exact = (quota * 50n * 1_000_000n) / (2n * BigInt(units) * 1_000n);
    expect(commissionOf(quota, { quotaPerUnit: units, percent: 5 })).toBe(exact);
  }
  expect(commissionOf(3n, { quotaPerUnit: 0.5, percent: 5 })).toBe(150_000n);
  expect(commissionOf(1n, { quotaPerUnit: 1e21, percent: 5 })).toBe(0n);
});
