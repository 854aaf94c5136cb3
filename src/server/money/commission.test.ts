// What the ledger does for the partner plan beside redemptions: commission, registration gifts, and entries in the log.
import { describe, expect, test } from "vitest";
import { microOf, yuanText } from "#contract/yuan.ts";
import { getUser, updateUserProfile } from "#server/store/users.ts";
import { useLedgerWorld } from "#test/worlds/ledger-world.ts";
import { engines, seedUser } from "#test/worlds/stores.ts";

const display = { quotaPerUnit: 500_000, inCurrency: true };
const MOST = Number.MAX_SAFE_INTEGER;

describe.each(engines)("commission and gifts on %s", (engine) => {
  const world = useLedgerWorld(engine);
  const worth = async (id: number) => {
    const { quota, invite_commission_micro } = await getUser(world.db, id);
    return { quota, cash: yuanText(invite_commission_micro) };
  };
  const people = async () => {
    const inviterId = await seedUser(world.db);
    return { inviterId, userId: await seedUser(world.db, { inviter_id: inviterId }) };
  };

  test("a payment leaves what is held, to the millionth", async () => {
    const userId = await seedUser(world.db);
    const by = { userId, actorId: 7, reason: "test" };
    await world.ledger.changeCommission({ ...by, kind: "commission-adjust", micro: { delta: 150_000_000n } });
    const pay = (keepMicro: bigint, delta = -100_000_000n) =>
      world.ledger.changeCommission({ ...by, kind: "withdraw", micro: { delta }, keepMicro });
    expect(await pay(50_000_001n)).toEqual({ outcome: "held" });
    expect(await pay(50_000_001n, -150_000_001n)).toEqual({ outcome: "below_zero" });
    expect(await pay(50_000_000n)).toEqual({ outcome: "done", before: 150_000_000n, after: 50_000_000n });
    expect(await worth(userId)).toEqual({ quota: 0, cash: "50" });
  });

  test("commission is corrected, and paid from 100 yuan, with actor and reason in the ledger", async () => {
    const userId = await seedUser(world.db);
    const by = { userId, actorId: 7, reason: "对账" };
    const log = { type: 3, content: "返现 {amount}：{before} → {after}", display };
    const micro = (text: string) => microOf(text) ?? -1n;
    const correct = (target: string) =>
      world.ledger.changeCommission({
        ...by,
        kind: "commission-adjust",
        micro: { target: micro(target) },
        log,
      });
    const pay = (amount: string) =>
      world.ledger.changeCommission({
        ...by,
        kind: "withdraw",
        micro: { delta: -micro(amount) },
        leastMicro: 100_000_000n,
      });
    expect(await correct("199.99")).toMatchObject({ outcome: "done", before: 0n, after: 199_990_000n });
    expect((await pay("99.99")).outcome).toBe("below_least");
    expect((await pay("99.999999")).outcome).toBe("below_least");
    expect((await pay("100.00")).outcome).toBe("done");
    expect((await pay("100")).outcome).toBe("below_zero");
    expect(await correct("0.5")).toMatchObject({ before: 99_990_000n, after: 500_000n });
    const more = { ...by, kind: "commission-adjust", micro: { delta: BigInt(MOST) } } as const;
    expect((await world.ledger.changeCommission(more)).outcome).toBe("too_large");
    expect((await world.ledger.changeCommission({ ...more, userId: 987_654_321 })).outcome).toBe("not_found");
    const once = { ...more, micro: { delta: 1n }, operationId: `payment-${userId}` };
    expect((await world.ledger.changeCommission(once)).outcome).toBe("done");
    expect((await world.ledger.changeCommission(once)).outcome).toBe("repeated");
    expect(await worth(userId)).toEqual({ quota: 0, cash: "0.500001" });
    const entries = await world.db
      .selectFrom("ledger")
      .select(["kind", "amount", "yuan_micro", "actor_id", "detail"])
      .where("user_id", "=", userId)
      .orderBy("id")
      .execute();
    expect(entries.map(({ kind, yuan_micro }) => [kind, yuan_micro])).toEqual([
      ["commission-adjust", 199_990_000],
      ["withdraw", -100_000_000],
      ["commission-adjust", -99_490_000],
      ["commission-adjust", 1],
    ]);
    expect(entries.every((row) => row.amount === 0 && row.actor_id === 7 && row.detail === "对账")).toBe(
      true,
    );
    expect((await world.logsOf({ userId })).map(({ type, content }) => [type, content])).toEqual([
      [3, "返现 99.49 元：99.99 元 → 0.5 元"],
      [3, "返现 199.99 元：0 元 → 199.99 元"],
    ]);
  });

  test("a registration brings its gifts once, to the users that exist", async () => {
    const gifts = { forNewUser: 100n, forInvitee: 20n, forInviter: 30n, display };
    const { inviterId, userId } = await people();
    for (let time = 0; time < 3; time += 1) await world.ledger.grantSignup({ userId, inviterId, ...gifts });
    expect([(await worth(userId)).quota, (await worth(inviterId)).quota]).toEqual([120, 30]);
    expect((await world.logsOf({ userId })).map(({ type, content }) => [type, content])).toEqual([
      [4, "使用邀请码赠送 ＄0.000040 额度"],
      [4, "新用户注册赠送 ＄0.000200 额度"],
    ]);
    expect((await world.logsOf({ userId: inviterId })).map(({ content }) => content)).toEqual([
      "邀请用户赠送 ＄0.000060 额度",
    ]);
    const alone = await seedUser(world.db);
    await world.ledger.grantSignup({ userId: alone, inviterId: 0, ...gifts });
    expect((await worth(alone)).quota).toBe(100);
    const narcissus = await seedUser(world.db);
    await world.ledger.grantSignup({ userId: narcissus, inviterId: narcissus, ...gifts });
    expect((await worth(narcissus)).quota).toBe(100);
    await updateUserProfile(world.db, inviterId, { status: 2 });
    const late = await seedUser(world.db);
    await world.ledger.grantSignup({ userId: late, inviterId, ...gifts, forNewUser: 0n });
    expect([(await worth(late)).quota, (await worth(inviterId)).quota]).toEqual([0, 30]);
    const nothing = { ...gifts, forNewUser: 0n, forInvitee: 0n };
    await world.ledger.grantSignup({ userId: late, inviterId: 0, ...nothing });
    await world.ledger.grantSignup({ userId: late, inviterId, ...nothing, forInviter: 0n });
    await world.ledger.grantSignup({ userId: 987_654_321, inviterId: 0, ...gifts });
    await expect(
      world.ledger.grantSignup({ userId: late, inviterId, ...gifts, forInviter: -1n }),
    ).rejects.toThrow("negative");
    const rich = await seedUser(world.db);
    const grant = { kind: "grant", actorId: 1, reason: "", quota: { delta: BigInt(MOST) } } as const;
    await world.ledger.adjust({ ...grant, userId: rich });
    const guest = await seedUser(world.db);
    await world.ledger.grantSignup({ userId: guest, inviterId: rich, ...gifts });
    expect([(await worth(guest)).quota, (await worth(rich)).quota]).toEqual([120, MOST]);
  });

  test("an adjustment tells the user in the same transaction, in the caller's words", async () => {
    const userId = await seedUser(world.db);
    const by = { userId, actorId: 1, reason: "r" };
    const log = { type: 3, content: "额度从 {before} 修改为 {after}", display };
    await world.ledger.adjust({ ...by, kind: "adjust", quota: { target: 1_000_000n }, log });
    const topup = { type: 1, content: "充值 {amount}", display };
    await world.ledger.adjust({ ...by, kind: "topup", quota: { delta: 500_000n }, log: topup });
    expect(
      (await world.logsOf({ userId })).map(({ type, content, quota }) => [type, content, quota]),
    ).toEqual([
      [1, "充值 ＄1.000000 额度", 500_000],
      [3, "额度从 ＄0.000000 额度 修改为 ＄2.000000 额度", 0],
    ]);
  });
});
