// What the operator sets of the partner plan takes effect, and the status tells its page (requirements Y53).
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { OptionKey } from "#contract/option.ts";
import { fakeClock } from "#server/clock.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { getUser, updateUserProfile } from "#server/store/users.ts";
import { seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";

describe.each(databases)("terms of the partner plan on $name", (database) => {
  const clock = fakeClock();
  let app: TestApp;
  let serial = 0;
  beforeAll(async () => {
    app = await createAppOn(database, { clock });
  });
  afterEach(async () => {
    expect(await checkLedger(app.ctx.db)).toEqual([]);
    await app.ctx.db.deleteFrom("options").execute();
    await app.ctx.options.reload();
  });
  afterAll(() => app.close());
  const set = (key: OptionKey, value: string) => app.ctx.options.set(key, value);

  /** What a code of $10 brings its user and the inviter. */
  async function redeemed(days = 0) {
    serial += 1;
    const inviter = await seedUser(app.ctx, `inviter${serial}`);
    const user = await seedUser(app.ctx, `invited${serial}`);
    const createdAt = clock.seconds() - days * 86_400;
    await app.ctx.db
      .updateTable("users")
      .set({ created_at: createdAt, inviter_id: inviter.id })
      .where("id", "=", user.id)
      .execute();
    await updateUserProfile(app.ctx.db, inviter.id, { aff_code: `GIFT${serial}` });
    const body = { name: "code", quota: 5_000_000, count: 1 };
    const [key] = (await app.call(asRoot, "POST", "/api/redemption/", body)).data;
    const answer = await app.call(user.who, "POST", "/api/user/topup", { key, gift_code: `GIFT${serial}` });
    expect(answer).toMatchObject({ success: true, message: "" });
    const { invite_commission_micro } = await getUser(app.ctx.db, inviter.id);
    return { bonus: answer.bonus, micro: invite_commission_micro, inviter };
  }

  test("codes bring the percentages that are set, to either side, and nothing at 0", async () => {
    expect(await redeemed()).toMatchObject({ bonus: 250_000, micro: 250_000 });
    await set("GiftPercent", "12");
    await set("RedeemCommissionPercent", "20");
    expect(await redeemed()).toMatchObject({ bonus: 600_000, micro: 1_000_000 });
    await set("GiftPercent", "0");
    await set("RedeemCommissionPercent", "0");
    expect(await redeemed()).toMatchObject({ bonus: 0, micro: 0 });
  });

  test("users who are here for longer than the first days bring none", async () => {
    await set("CommissionFirstDays", "30");
    expect((await redeemed(29)).micro).toBe(250_000);
    expect((await redeemed(30)).micro).toBe(0);
  });

  test("no less is paid out than is set, and the status tells all of it", async () => {
    const { inviter } = await redeemed();
    const ask = (amount: string) =>
      app.call(inviter.who, "POST", "/api/payout/", {
        ...{ amount, way: "alipay", account: "13800138000", name: "李华" },
      });
    expect(await ask("0.25")).toMatchObject({ success: false, message: "提现金额不能少于 100 元" });
    await set("LeastWithdrawalYuan", "1");
    expect(await ask("0.25")).toMatchObject({ success: false, message: "提现金额不能少于 1 元" });
    const pay = (amount: string) =>
      app.call(asRoot, "POST", "/api/user/withdrawal", { user_id: inviter.id, amount, remark: "" });
    expect(await pay("0.25")).toMatchObject({ success: false, message: "提现金额不能少于 1 元" });
    await set("LeastWithdrawalYuan", "0");
    expect(await ask("0")).toMatchObject({ success: false });
    expect(await ask("0.25")).toMatchObject({ success: true });
    await set("CommissionMonthYuan", "50");
    expect((await app.call(asRoot, "GET", "/api/status")).data.partner).toEqual({
      ...{ gift_percent: 5, redeem_percent: 5, pay_percent: 5, pay_base: "quota", plan_percent: 0 },
      ...{ first_orders: 0, first_days: 0, month_yuan: 50, least_withdrawal: 0 },
    });
  });
});
