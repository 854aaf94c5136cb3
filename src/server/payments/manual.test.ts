// A large payment that a super administrator vouches for waits for another super administrator (requirements Y39). On both databases.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Role } from "#contract/user.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { asRoot, databases, type Who } from "#test/worlds/app.ts";
import { EpayWorld } from "#test/worlds/payment-world.ts";

describe.each(databases)("a large payment vouched for on $name", (database) => {
  const world = new EpayWorld();
  let second: SeededUser;
  let third: SeededUser;
  let admin: SeededUser;
  beforeAll(async () => {
    await world.start(database);
    second = await seedUser(world.app.ctx, "second", { role: Role.root });
    third = await seedUser(world.app.ctx, "third", { role: Role.root });
    admin = await seedUser(world.app.ctx, "admin", { role: Role.admin });
    await world.app.ctx.options.set("ManualOrderLimitYuan", "29");
  });
  afterAll(() => world.stop());

  let serial = 0;
  function tradeNo(): string {
    serial += 1;
    return `bank-${serial}000`;
  }

  function vouch(no: string, change: object = {}, who: Who = asRoot) {
    const body = { trade_no: tradeNo(), amount: "30.00", reason: "银行流水", ...change };
    return world.app.call(who, "POST", `/api/payment/manage/${no}/manual`, body);
  }
  /** A new order that was vouched for, and its event in the queue. */
  async function asked(change: object = {}) {
    const { user, order } = await world.ordered(await world.site());
    expect((await vouch(order.order_no, change)).message).toBe("");
    return { user, no: order.order_no, id: (await waiting(order.order_no))?.id ?? 0 };
  }
  async function waiting(no: string): Promise<{ id: number; asked_by: number } | undefined> {
    const events: { order_no: string; id: number; asked_by: number }[] = await world.openEvents();
    return events.find((event) => event.order_no === no && event.asked_by !== 0);
  }
  const judge = (who: Who, id: number, is_approved: boolean) =>
    world.app.call(who, "POST", `/api/payment/event/${id}/judge`, { is_approved, reason: "已核对流水" });
  const verdicts = async (no: string) =>
    (await world.app.call(asRoot, "GET", `/api/payment/manage/${no}`)).data.events.map(
      ({ verdict }: { verdict: string }) => verdict,
    );

  test("waits in the queue, is approved by another super administrator alone, and credited once", async () => {
    const { user, no, id } = await asked();
    expect([await world.gained(user), (await world.row(no)).trade_no]).toEqual([0, ""]);
    expect(await waiting(no)).toMatchObject({ asked_by: 1 });
    expect((await vouch(no)).message).toBe("该订单已有一笔补单等待批准");
    expect((await vouch(no, {}, second.who)).message).toBe("该订单已有一笔补单等待批准");
    expect((await judge(asRoot, id, true)).message).toBe("须由另一位超级管理员批准或拒绝");
    expect((await judge(asRoot, id, false)).success).toBe(false);
    expect((await judge(admin.who, id, true)).success).toBe(false);
    expect((await judge(user.who, id, true)).success).toBe(false);
    // No administrator takes it from the queue as if it were a notice.
    for (const who of [asRoot, admin.who, second.who]) {
      const path = `/api/payment/event/${id}/settle`;
      expect((await world.app.call(who, "POST", path, { reason: "已核实" })).success).toBe(false);
    }
    expect([await world.gained(user), (await waiting(no))?.id]).toEqual([0, id]);
    const both = await Promise.all([judge(second.who, id, true), judge(third.who, id, true)]);
    expect(both.filter(({ success }) => success)).toHaveLength(1);
    expect([await world.gained(user), (await world.row(no)).status]).toEqual([25_000_000, "credited"]);
    expect((await judge(third.who, id, false)).success).toBe(false);
    expect([await verdicts(no), await waiting(no)]).toEqual([
      ["awaits_second", "second_approved", "credited"],
      undefined,
    ]);
  });

  test("stands in the audit log with both who did it", async () => {
    const { no, id } = await asked();
    await judge(second.who, id, true);
    const rows = await world.app.ctx.db
      .selectFrom("audit")
      .select(["action", "actor_id", "detail"])
      .where("target", "=", no)
      .orderBy("id")
      .execute();
    expect(rows).toMatchObject([
      { action: "payment.manual", actor_id: 1, detail: expect.stringContaining('"needs_second":true') },
      { action: "payment.manual.judge", actor_id: second.id, detail: expect.stringContaining("已核对流水") },
    ]);
  });

  test("is refused by another one, and may be asked for again", async () => {
    const { user, no, id } = await asked();
    expect((await judge(second.who, id, false)).message).toBe("");
    expect((await judge(third.who, id, true)).success).toBe(false);
    expect([await world.gained(user), await verdicts(no)]).toEqual([0, ["awaits_second", "second_refused"]]);
    expect((await vouch(no, {}, second.who)).message).toBe("");
    const again = await waiting(no);
    expect(again).toMatchObject({ asked_by: second.id });
    expect((await judge(second.who, again?.id ?? 0, true)).success).toBe(false);
    expect((await judge(asRoot, again?.id ?? 0, true)).message).toBe("");
    expect(await world.gained(user)).toBe(25_000_000);
  });

  test("brings nothing where the order was paid meanwhile, or the number was used", async () => {
    const account = await world.site();
    const { user, order } = await world.ordered(account);
    await vouch(order.order_no);
    await world.pay(account, order.order_no);
    const { id } = (await waiting(order.order_no)) ?? { id: 0 };
    expect((await judge(second.who, id, true)).message).toBe("该订单不能补单");
    expect((await vouch(order.order_no)).message).toBe("该订单不能补单");
    expect(await world.gained(user)).toBe(25_000_000);
    const trade_no = (await world.row(order.order_no)).trade_no;
    const other = await world.ordered(account);
    await vouch(other.order.order_no, { trade_no });
    const { id: used } = (await waiting(other.order.order_no)) ?? { id: 0 };
    expect((await judge(second.who, used, true)).message).toBe("该平台交易号已用于另一个订单");
    expect(await world.gained(other.user)).toBe(0);
  });

  test("counts in yuan at the account's rate; up to the limit, and without one, nobody is asked", async () => {
    const { user, order } = await world.ordered(await world.site());
    expect((await vouch(order.order_no, { amount: "29.00" })).data.status).toBe("credited");
    expect(await world.gained(user)).toBeGreaterThan(0);
    const dear = await world.site({ merchant_id: "1002", rate: "7.25" });
    for (const [amount, isCredited] of [
      ["4.00", true],
      ["4.01", false],
    ] as const) {
      const { order: one } = await world.ordered(dear);
      const { data } = await vouch(one.order_no, { amount });
      expect([amount, data.status === "credited"]).toEqual([amount, isCredited]);
    }
    await world.app.ctx.options.set("ManualOrderLimitYuan", "0");
    const { order: free } = await world.ordered(dear);
    expect((await vouch(free.order_no, { amount: "4.01" })).data.status).toBe("credited");
    await world.app.ctx.options.set("ManualOrderLimitYuan", "29");
  });
});
