// What users paid, and what payment platforms and inviters took of it, arrives at the margin of each call and in every row (requirements X13).
import { describe, expect, test } from "vitest";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { bill, order } from "#test/worlds/ledger-world.ts";
import { useEpayWorld } from "#test/worlds/payment-world.ts";

const YUAN = 1_000_000_000 / 7;
const MONEY = ["revenue", "cost", "fees", "commission", "margin"] as const;

describe.each(databases)("net margins on $name", (database) => {
  const world = useEpayWorld(database);
  const list = (by: string) => world.app.call(asRoot, "GET", `/api/margin?days=7&size=50&by=${by}`);

  test("a payment's fee and commission go with the calls it pays for, into every row, and the rows are the total", async () => {
    const { ctx } = world.app;
    const account = await world.site({ fee_bp: 100, cost_bp: 60 });
    const inviter = await seedUser(ctx, "inviter");
    const buyer = await seedUser(ctx, "invited");
    const others = await seedUser(ctx, "unpaid");
    const given = await seedUser(ctx, "given");
    const forget = (id: number) =>
      ctx.db.updateTable("users").set({ bought: "" }).where("id", "=", id).execute();
    // Of the buyer's balance of before, and of all of the other's, nothing is known.
    await forget(buyer.id);
    await forget(others.id);
    await ctx.db.updateTable("users").set({ inviter_id: inviter.id }).where("id", "=", buyer.id).execute();
    const { data, message } = await world.buy(buyer.who, account);
    expect(message).toBe("");
    await world.pay(account, data.order_no);

    const call = async (userId: number, charge: bigint, model: string) => {
      const held = order({ userId, tokenId: (await seedToken(ctx, userId)).id }, charge);
      expect(await ctx.ledger.reserve(held)).toBe("reserved");
      const { log, ...rest } = bill(held, charge);
      const cost = { cost: 100_000_000, saved: 0, group: "default" };
      await ctx.ledger.settle({ ...rest, cost, log: log && { ...log, model_name: model } });
    };
    // 30 yuan bought $50, and 0.30 was paid as fee; the platform keeps 0.6 % of 30.30: 0.18. Commission is 1.25 yuan.
    await call(buyer.id, 5_000_000n, "gpt-4o");
    await call(buyer.id, 2_500_000n, "claude");
    // Of what nothing is known the average counts: $0.2 for 100,000.
    await call(others.id, 100_000n, "claude");
    // What an administrator gave brings nothing.
    await call(given.id, 100_000n, "claude");

    const [income, fees, commission] = [6 * YUAN, -0.024 * YUAN, 0.25 * YUAN];
    const near = (value: number) => expect.closeTo(value, -1);
    const users = (await list("user")).data;
    expect(users.find(({ name }: { name: string }) => name === "invited")).toMatchObject({
      revenue: near(1.5 * income),
      cost: 200_000_000,
      fees: near(1.5 * fees),
      commission: near(1.5 * commission),
      margin: near(1.5 * (income - fees - commission) - 200_000_000),
    });
    expect(users.find(({ name }: { name: string }) => name === "unpaid")).toMatchObject({
      ...{ revenue: 200_000_000, cost: 100_000_000, fees: 0, commission: 0, margin: 100_000_000 },
    });
    expect(users.find(({ name }: { name: string }) => name === "given")).toMatchObject({
      ...{ revenue: 0, cost: 100_000_000, fees: 0, commission: 0, margin: -100_000_000 },
    });
    const totals: number[][] = [];
    for (const by of ["model", "channel", "group", "user", "token", "day"]) {
      const { data: rows, sums } = await list(by);
      for (const name of MONEY) {
        const sum = rows.reduce((all: number, row: Record<string, number>) => all + (row[name] ?? 0), 0);
        expect([by, name, sum]).toEqual([by, name, sums[name]]);
      }
      const { revenue, cost, fees: kept, commission: earned, margin } = sums;
      expect(margin).toBe(revenue - cost - kept - earned);
      totals.push(MONEY.map((name) => sums[name]));
    }
    expect(totals).toEqual(totals.map(() => totals[0]));

    const entries = (await world.app.call(asRoot, "GET", "/api/log/?type=2")).data;
    const [entry] = entries.filter((row: { quota: number }) => row.quota === 5_000_000);
    expect(entry).toMatchObject({ revenue: near(income), fees: near(fees), commission: near(commission) });
    const own = (await world.app.call(buyer.who, "GET", "/api/log/self?type=2")).data;
    expect(own[0]).toMatchObject({ revenue: -1, cost: -1, fees: 0, commission: 0 });
    // What the average is set to later changes only calls of which nothing is known.
    await ctx.options.set("SoldDollarYuan", "0.7");
    const later = (await list("user")).data;
    expect(later.find(({ name }: { name: string }) => name === "invited").revenue).toBe(
      users.find(({ name }: { name: string }) => name === "invited").revenue,
    );
    expect(later.find(({ name }: { name: string }) => name === "unpaid").revenue).toBe(20_000_000);
  });
});
