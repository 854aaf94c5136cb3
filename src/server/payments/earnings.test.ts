// What is left of margins after fees, commission and what plans bring for their calls (requirements X13).
import { describe, expect, test } from "vitest";
import { seedUser } from "#test/seeds/seed.ts";
import { asRoot, createTestApp, databases } from "#test/worlds/app.ts";
import { useEpayWorld } from "#test/worlds/payment-world.ts";

const YUAN = 1_000_000_000 / 7;

describe.each(databases)("what is left of margins on $name", (database) => {
  const world = useEpayWorld(database);

  const net = async () => (await world.app.call(asRoot, "GET", "/api/margin?days=7")).net;

  test("counts what the platform keeps less what users paid, and commission less what was taken back", async () => {
    const account = await world.site({ fee_bp: 100, cost_bp: 60 });
    expect(await net()).toEqual({ fees: 0, commission: 0, plans: 0, margin: 0 });
    const inviter = await seedUser(world.app.ctx, "inviter");
    const buyer = await seedUser(world.app.ctx, "invited");
    await world.app.ctx.db
      .updateTable("users")
      .set({ inviter_id: inviter.id })
      .where("id", "=", buyer.id)
      .execute();
    const { data, message } = await world.buy(buyer.who, account);
    expect(message).toBe("");
    await world.pay(account, data.order_no);
    // 0.6 % of 30.30 yuan is 0.18, of which the user paid 0.30; 1.25 yuan of commission on $50.
    const fees = Math.round(-0.12 * YUAN);
    const commission = Math.round(1.25 * YUAN);
    expect(await net()).toEqual({ fees, commission, plans: 0, margin: -fees - commission });
    const body = { amount: "30.30", reason: "测试" };
    await world.app.call(asRoot, "POST", `/api/payment/manage/${data.order_no}/refund`, body);
    const after = await net();
    expect(after.commission).toBe(0);
  });
});

describe.each(databases)("what plans bring on $name", (database) => {
  test("is the price of a period through its quota for what was used, by its share of the time", async () => {
    const made = await database.create();
    const app = await createTestApp({ databaseUrl: made.url });
    try {
      const now = app.ctx.clock.seconds();
      const day = 86_400;
      const terms = JSON.stringify({ price_minor: 3_000 });
      const period = (n: number, startsDay: number, endsDay: number) => ({
        user_id: 1,
        order_no: `plan${n}`,
        plan_id: 1,
        version_id: 1,
        n,
        starts_at: now + startsDay * day,
        ends_at: now + endsDay * day,
        anchor_at: 0,
        anchor_months: 0,
        ended_at: 0,
        ended_by: "",
        terms,
        quota: 1_000_000,
        spent: 500_000,
        held: 0,
        windows: "",
      });
      const brought = async () => (await app.call(asRoot, "GET", "/api/margin?days=7&offset=0")).net.plans;
      // Whole within the span: 15 yuan for what is a dollar at its face.
      await app.ctx.db
        .insertInto("plan_periods")
        .values(period(1, -3, -1))
        .execute();
      expect(await brought()).toBe(Math.round(15 * YUAN) - 1_000_000_000);
      // One that ended before the span, and one that has not begun.
      await app.ctx.db
        .insertInto("plan_periods")
        .values([period(2, -40, -10), period(3, 1, 31)])
        .execute();
      expect(await brought()).toBe(Math.round(15 * YUAN) - 1_000_000_000);
      // Half of what ran so far lies within: six days and the hours of today, of twice as long.
      const start = now - (now % day) - 6 * day;
      const half = { ...period(4, 0, 30), starts_at: start - (now - start) };
      await app.ctx.db.insertInto("plan_periods").values(half).execute();
      expect(Math.abs((await brought()) - 1.5 * (15 * YUAN - 1_000_000_000))).toBeLessThan(100_000);
    } finally {
      await app.close();
      await made.drop();
    }
  });
});
