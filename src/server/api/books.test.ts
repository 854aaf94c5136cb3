// Reconciliation as administrators see it: totals that agree, what is set aside, and a balance that was changed by hand (requirements Y64).
import { describe, expect, test } from "vitest";
import { advanceSums } from "#server/money/sums.ts";
import { seedToken } from "#test/seeds/seed.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { useEpayWorld } from "#test/worlds/payment-world.ts";

describe.each(databases)("reconciliation on $name", (database) => {
  const world = useEpayWorld(database);

  const look = async () => (await world.app.call(asRoot, "GET", "/api/reconciliation")).data;

  test("entries less what is set aside are the balances, before and after they are summed up", async () => {
    const { ctx } = world.app;
    const user = await world.buyer();
    const { id: tokenId } = await seedToken(ctx, user.id);
    await ctx.ledger.reserve({
      requestId: "open-1",
      userId: user.id,
      tokenId,
      amount: 700n,
      modelName: "gpt-4",
    });
    const first = await look();
    expect(first).toMatchObject({ difference: 0, reserved: 700, open_count: 1, mismatch_count: 0, debt: 0 });
    expect(first.entries - first.reserved).toBe(first.balances);
    expect(first.open).toMatchObject([
      { request_id: "open-1", user_id: user.id, amount: 700, model_name: "gpt-4" },
    ]);
    expect(first.chain.broken_id).toBe(0);
    await advanceSums(ctx);
    world.clock.advance(1_000);
    await advanceSums(ctx);
    expect(await look()).toMatchObject({ entries: first.entries, balances: first.balances, difference: 0 });
    await ctx.ledger.release("open-1");
    expect(await look()).toMatchObject({ reserved: 0, open_count: 0, difference: 0 });
    expect((await world.app.call(user.who, "GET", "/api/reconciliation")).success).toBe(false);
  });

  test("sums beyond what a number holds are told as the most it does, and their difference exactly", async () => {
    const { ctx } = world.app;
    const rich = [await world.buyer(), await world.buyer()];
    const amount = BigInt(Number.MAX_SAFE_INTEGER) - 1_000_000_000n;
    const adjust = (quota: bigint) =>
      Promise.all(
        rich.map(({ id }) =>
          ctx.ledger.adjust({
            userId: id,
            kind: "grant",
            quota: { delta: quota },
            actorId: 1,
            reason: "test",
          }),
        ),
      );
    await adjust(amount);
    expect(await look()).toMatchObject({
      entries: Number.MAX_SAFE_INTEGER,
      balances: Number.MAX_SAFE_INTEGER,
      difference: 0,
      mismatch_count: 0,
    });
    await adjust(-amount);
    expect((await look()).balances).toBeLessThan(Number.MAX_SAFE_INTEGER);
  });

  test("a merchant account's sums are those of its orders", async () => {
    const account = await world.site();
    const paid = await world.ordered(account);
    await world.pay(account, paid.order.order_no);
    const odd = await world.ordered(account);
    await world.notify(account, {
      query: world.epay.noticeV1(world.epay.desk.pay(odd.order.order_no), { money: "6.00" }),
    });
    await world.ordered(account);
    await world.app.call(asRoot, "POST", `/api/payment/manage/${paid.order.order_no}/refund`, {
      amount: "3.00",
      reason: "测试",
    });
    const { payments, difference } = await look();
    expect(payments).toEqual([
      {
        instance_id: account.id,
        name: "测试",
        currency: "CNY",
        orders: 2,
        paid_minor: 3_600,
        refunded_minor: 300,
        disputed_minor: 0,
        in_review: 1,
      },
    ]);
    expect(difference).toBe(0);
  });

  test("a balance that was changed beside the ledger is named with what it should be", async () => {
    const { db } = world.app.ctx;
    const { id } = await world.buyer();
    const { balances } = await look();
    await db.updateTable("users").set({ quota: 500_123 }).where("id", "=", id).execute();
    expect(await look()).toMatchObject({
      difference: -123,
      balances: balances + 123,
      mismatch_count: 1,
      mismatches: [{ table: "users", id, column: "quota", stored: 500_123, expected: 500_000 }],
    });
    await db.updateTable("users").set({ quota: 500_000 }).where("id", "=", id).execute();
    expect(await look()).toMatchObject({ difference: 0, mismatch_count: 0 });
  });
});
