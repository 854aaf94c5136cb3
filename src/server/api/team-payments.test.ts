// Money that comes into a team's wallet (requirements O10): codes and orders of its owner and finance, credited to the wallet once, with
// no gift and no commission; other users do not see the orders.
import { beforeAll, describe, expect, test } from "vitest";
import { changeOrder } from "#server/payments/evidence.ts";
import { debtOf } from "#server/store/users.ts";
import type { SeededUser } from "#test/seeds/seed.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { type Account, useEpayWorld } from "#test/worlds/payment-world.ts";

describe.each(databases)("paying into a team's wallet on $name", (database) => {
  const world = useEpayWorld(database);
  let account: Account;
  let team: number;
  let wallet: number;
  const people: Record<string, SeededUser> = {};
  const who = (name: string) => people[name]?.who ?? expect.fail();

  beforeAll(async () => {
    account = await world.site({ methods: ["alipay", "wxpay"] });
    people["owner"] = await world.buyer();
    const { data } = await world.app.call(who("owner"), "POST", "/api/team/", { name: "研发" });
    team = data.id;
    for (const role of ["manager", "finance", "member", "viewer"]) {
      people[role] = await world.buyer();
      const made = await world.app.call(who("owner"), "POST", `/api/team/${team}/invitation`, { role });
      await world.app.call(who(role), "POST", "/api/team/invitation/accept", { code: made.data.code });
    }
    people["stranger"] = await world.buyer();
    const row = world.app.ctx.db.selectFrom("teams").select("wallet_id").where("id", "=", team);
    wallet = (await row.executeTakeFirstOrThrow()).wallet_id;
  });

  const quotaOf = async (id: number) => {
    const row = world.app.ctx.db.selectFrom("users").select("quota").where("id", "=", id);
    return (await row.executeTakeFirstOrThrow()).quota;
  };

  test("an order of finance is credited to the wallet once, and told to who may pay in", async () => {
    const before = await quotaOf(wallet);
    const made = await world.buy(who("finance"), account, { team_id: team });
    expect(made).toMatchObject({ success: true, data: { status: "pending", team_id: team } });
    const { order_no } = made.data;
    const query = world.epay.noticeV1(world.epay.desk.pay(order_no));
    await Promise.all(Array.from({ length: 5 }, () => world.notify(account, { query })));
    expect((await quotaOf(wallet)) - before).toBe(25_000_000);
    expect(await world.gained(people["finance"] ?? expect.fail())).toBe(0);
    const path = `/api/payment/order/${order_no}`;
    for (const name of ["owner", "finance"]) {
      const seen = await world.app.call(who(name), "GET", path);
      expect(seen.data, name).toMatchObject({ status: "credited", team_id: team });
      const list = await world.app.call(who(name), "GET", `/api/payment/order?team_id=${team}`);
      expect(list.data[0].order_no).toBe(order_no);
      expect((await world.app.call(who(name), "GET", "/api/payment/order")).data).toEqual([]);
    }
    for (const name of ["manager", "member", "viewer", "stranger"])
      for (const [method, to] of [
        ["GET", path],
        ["POST", `${path}/cancel`],
      ] as const)
        expect(await world.app.call(who(name), method, to, method === "POST" ? {} : undefined)).toMatchObject(
          {
            ...{ success: false, message: "找不到该订单" },
          },
        );
  });

  test("other members and strangers neither order for it nor list its orders, and gift codes have no part in it", async () => {
    for (const [name, message] of [
      ["manager", "您在该团队中的角色不能执行该操作"],
      ["member", "您在该团队中的角色不能执行该操作"],
      ["viewer", "您在该团队中的角色不能执行该操作"],
      ["stranger", "找不到该团队"],
    ] as const) {
      expect((await world.buy(who(name), account, { team_id: team })).message, name).toBe(message);
      const list = await world.app.call(who(name), "GET", `/api/payment/order?team_id=${team}`);
      expect(list.message, name).toBe(message);
    }
    const gift = { team_id: team, gift_code: "AAAAA" };
    expect((await world.buy(who("owner"), account, gift)).message).toBe("团队充值不能使用礼品码");
  });

  test("an order that waits is cancelled by who may pay in", async () => {
    const { data } = await world.buy(who("owner"), account, { team_id: team, method: "wxpay" });
    const ended = await world.app.call(
      who("finance"),
      "POST",
      `/api/payment/order/${data.order_no}/cancel`,
      {},
    );
    expect(ended).toMatchObject({ success: true, data: { status: "closed", team_id: team } });
  });

  test("an administrator's refund takes from the wallet and from no person; what is spent is not refunded, and after a dispute it is owed", async () => {
    const { ctx } = world.app;
    // The inviter of a buyer earns a commission for that user's own orders: none for the team's, and none is taken back.
    const inviter = await world.buyer();
    const buyer = people["finance"] ?? expect.fail();
    await ctx.db.updateTable("users").set({ inviter_id: inviter.id }).where("id", "=", buyer.id).execute();
    const state = async () => ({
      wallet: await quotaOf(wallet),
      debt: await debtOf(ctx.db, wallet),
      people: [await quotaOf(buyer.id), await quotaOf(inviter.id)],
      owed: [await debtOf(ctx.db, buyer.id), await debtOf(ctx.db, inviter.id)],
      entries: (
        await ctx.db
          .selectFrom("ledger")
          .select("id")
          .where("user_id", "in", [buyer.id, inviter.id])
          .execute()
      ).length,
    });
    const before = await state();
    const { data: order } = await world.buy(who("finance"), account, { team_id: team });
    await world.pay(account, order.order_no);
    expect(await state()).toEqual({ ...before, wallet: before.wallet + 25_000_000 });
    const refund = (amount: string | null) =>
      world.app.call(asRoot, "POST", `/api/payment/manage/${order.order_no}/refund`, {
        amount,
        reason: "测试",
      });
    // 12 of 30 yuan.
    expect((await refund("12.00")).message).toBe("");
    expect(await state()).toEqual({ ...before, wallet: before.wallet + 15_000_000 });
    // The team has spent nearly all of it.
    const spend = { userId: wallet, kind: "grant", actorId: 1, reason: "spent" } as const;
    await ctx.ledger.adjust({ ...spend, quota: { target: 1_000_000n } });
    expect((await refund("18.00")).message).toContain("用户余额不足");
    expect(await quotaOf(wallet)).toBe(1_000_000);
    const facts = {};
    const origin = { kind: "admin", key: `${order.order_no}/dispute`, body: "" } as const;
    const claw = {
      verb: "claw",
      source: "dispute",
      refundNo: "dp1",
      providerId: "dp1",
      tradeNo: "",
    } as const;
    await changeOrder(ctx, await world.row(order.order_no), {
      ...{ act: { ...claw, amountMinor: 1_800 }, origin, facts },
    });
    const after = await state();
    expect(after).toEqual({ ...before, wallet: 0, debt: 14_000_000 });
    // What comes in next pays it.
    const { data: next } = await world.buy(who("owner"), account, { team_id: team });
    await world.pay(account, next.order_no);
    expect(await state()).toMatchObject({ wallet: 11_000_000, debt: 0, people: before.people });
  });

  test("a code goes into the wallet, once, also when several members try at the same moment", async () => {
    const { data: keys } = await world.app.call(asRoot, "POST", "/api/redemption/", {
      ...{ name: "团队", quota: 1_000, count: 1 },
    });
    const before = await quotaOf(wallet);
    const path = `/api/team/${team}/topup`;
    const body = { key: keys[0] };
    expect((await world.app.call(who("manager"), "POST", path, body)).success).toBe(false);
    const answers = await Promise.all(
      ["owner", "finance", "owner"].map((name) => world.app.call(who(name), "POST", path, body)),
    );
    expect(answers.filter(({ success }) => success).map(({ data }) => data)).toEqual([1_000]);
    expect((await quotaOf(wallet)) - before).toBe(1_000);
    const acts = await world.app.call(asRoot, "GET", "/api/audit/?action=team.topup");
    expect(acts.data).toMatchObject([{ target: String(team) }]);
    expect((await world.app.call(who("owner"), "POST", path, { key: "no such code" })).success).toBe(false);
  });
});
