// Payouts of commission (requirements Y54): what is too new is held, a refund takes it from there, and an amount is paid once.
import { beforeAll, describe, expect, test } from "vitest";
import { Role } from "#contract/user.ts";
import { microOf } from "#contract/yuan.ts";
import { getUser } from "#server/store/users.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { asRoot, databases, type Who } from "#test/worlds/app.ts";
import { type Account, useEpayWorld } from "#test/worlds/payment-world.ts";

const DAY_MS = 86_400_000;
const ALIPAY = { way: "alipay", account: "13800000000", name: "李华" };

describe.each(databases)("payouts on $name", (database) => {
  const world = useEpayWorld(database);
  let account: Account;

  beforeAll(async () => {
    account = await world.site();
  });

  const call = (who: Who, method: string, path: string, body?: object) =>
    world.app.call(who, method, `/api/payout${path}`, body);
  const queue = (who: Who, method: string, path: string, body?: object) =>
    world.app.call(who, method, `/api/payout_queue${path}`, body);
  const desk = async (who: Who) => (await call(who, "GET", "/")).data;
  /** An inviter with commission that is corrected to so many yuan. */
  const rich = async (yuan: string): Promise<SeededUser> => {
    const user = await world.buyer();
    const micro = { delta: microOf(yuan) ?? 0n };
    const by = { userId: user.id, actorId: 1, reason: "test" };
    await world.app.ctx.ledger.changeCommission({ ...by, kind: "commission-adjust", micro });
    return user;
  };
  /** A user who was invited buys quota for $1000, which brings the inviter 25 yuan. */
  const invited = async (inviter: SeededUser): Promise<string> => {
    const user = await world.buyer();
    await world.app.ctx.db
      .updateTable("users")
      .set({ inviter_id: inviter.id })
      .where("id", "=", user.id)
      .execute();
    const { data: order } = await world.buy(user.who, account, { dollars: 1_000 });
    await world.pay(account, order.order_no);
    return order.order_no;
  };
  const owed = async ({ id }: SeededUser) => (await getUser(world.app.ctx.db, id)).invite_commission_micro;

  test("commission of online payments is held for so many days, and a refund takes it from there", async () => {
    const inviter = await rich("100");
    const first = await invited(inviter);
    expect(await desk(inviter.who)).toMatchObject({
      balance: "125",
      held: "25",
      available: "100",
      least: "100",
      hold_days: 7,
      rows: [],
    });
    expect(await call(inviter.who, "POST", "/", { ...ALIPAY, amount: "100.01" })).toMatchObject({
      success: false,
      message: "可提现金额不足",
    });
    // What was never taken stands in no list as something that its user took back.
    expect((await desk(inviter.who)).rows).toEqual([]);
    const refund = { amount: "250.00", reason: "测试" };
    await world.app.call(asRoot, "POST", `/api/payment/manage/${first}/refund`, refund);
    expect(await desk(inviter.who)).toMatchObject({ balance: "112.5", held: "12.5", available: "100" });
    world.clock.advance(7 * DAY_MS - 1_000);
    expect(await desk(inviter.who)).toMatchObject({ held: "12.5" });
    world.clock.advance(1_000);
    expect(await desk(inviter.who)).toMatchObject({ held: "0", available: "112.5" });
    await invited(inviter);
    await world.app.ctx.options.set("CommissionHoldDays", "0");
    expect(await desk(inviter.who)).toMatchObject({ held: "0", available: "137.5", hold_days: 0 });
    await world.app.ctx.options.set("CommissionHoldDays", "7");
  });

  test("one is open at a time, from 100 yuan, and it is paid once", async () => {
    const inviter = await rich("250");
    for (const amount of ["99.999999", "0"])
      expect(await call(inviter.who, "POST", "/", { ...ALIPAY, amount })).toMatchObject({
        message: "提现金额不能少于 100 元",
      });
    const asked = await Promise.all(
      [1, 2, 3].map(() => call(inviter.who, "POST", "/", { ...ALIPAY, amount: "120" })),
    );
    const made = asked.filter(({ success }) => success);
    expect(made).toHaveLength(1);
    const { id } = made[0]?.data ?? {};
    expect(made[0]?.data).toMatchObject({ account: "138****00", name: "李**", state: "requested" });
    expect(await desk(inviter.who)).toMatchObject({ balance: "250", available: "130" });
    // By two administrators, of whom one clicks twice.
    const other = await seedUser(world.app.ctx, `payer${id}`, { role: Role.root });
    const paid = await Promise.all(
      [asRoot, other.who, asRoot].map((who) => queue(who, "POST", `/${id}/pay`, { note: "流水 1" })),
    );
    expect(paid.some(({ success, data }) => success && data === "130")).toBe(true);
    expect(await owed(inviter)).toBe(130_000_000);
    const again = await queue(asRoot, "POST", `/${id}/pay`, { note: "流水 2" });
    expect(again).toMatchObject({ success: false, message: "该提现申请已处理" });
    expect(await owed(inviter)).toBe(130_000_000);
    expect((await desk(inviter.who)).rows).toMatchObject(
      [{ id, state: "paid", note: "流水 1" }, { state: "cancelled" }, { state: "cancelled" }].slice(
        0,
        (await desk(inviter.who)).rows.length,
      ),
    );
    expect((await call(inviter.who, "POST", `/${id}/cancel`)).success).toBe(false);
    expect((await queue(asRoot, "POST", `/${id}/reject`, { note: "x" })).success).toBe(false);
  });

  test("what is held cannot be paid by hand either", async () => {
    const inviter = await rich("100");
    await invited(inviter);
    const body = { user_id: inviter.id, amount: "110" };
    const refused = await world.app.call(asRoot, "POST", "/api/user/withdrawal", body);
    expect(refused).toMatchObject({ success: false, message: "可提现的返现不足：一部分仍在冻结期" });
    await world.app.ctx.options.set("CommissionHoldDays", "1");
    world.clock.advance(DAY_MS);
    expect((await world.app.call(asRoot, "POST", "/api/user/withdrawal", body)).data).toBe("15");
    await world.app.ctx.options.set("CommissionHoldDays", "7");
  });

  test("a payout that the balance no longer covers goes back to the queue", async () => {
    const inviter = await rich("150");
    const { data } = await call(inviter.who, "POST", "/", { ...ALIPAY, amount: "150" });
    await world.app.call(asRoot, "POST", "/api/user/withdrawal", { user_id: inviter.id, amount: "100" });
    expect((await queue(asRoot, "POST", `/${data.id}/pay`, { note: "流水" })).success).toBe(false);
    expect((await desk(inviter.who)).rows).toMatchObject([{ id: data.id, state: "requested" }]);
    expect(await owed(inviter)).toBe(50_000_000);
    await queue(asRoot, "POST", `/${data.id}/reject`, { note: "余额不足" });
    expect((await desk(inviter.who)).rows).toMatchObject([{ state: "rejected", note: "余额不足" }]);
  });

  test("what the ledger has is not undone by a row that did not hear of it", async () => {
    const inviter = await rich("150");
    const { data } = await call(inviter.who, "POST", "/", { ...ALIPAY, amount: "150" });
    const micro = { delta: -150_000_000n };
    const by = { userId: inviter.id, actorId: 1, reason: "流水", operationId: `payout-${data.id}` };
    await world.app.ctx.ledger.changeCommission({ ...by, kind: "withdraw", micro });
    expect((await queue(asRoot, "POST", `/${data.id}/reject`, { note: "x" })).success).toBe(false);
    expect((await call(inviter.who, "POST", `/${data.id}/cancel`)).success).toBe(false);
    expect((await queue(asRoot, "POST", `/${data.id}/pay`, { note: "流水" })).data).toBe("0");
    expect((await desk(inviter.who)).rows).toMatchObject([{ state: "paid" }]);
  });

  test("the queue shows masked accounts, its export whole ones, and the export stands in the audit log", async () => {
    const inviter = await rich("100");
    const address = "TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf";
    const draft = { way: "usdt-trc20", account: address, name: "张三丰", amount: "100" };
    const { data } = await call(inviter.who, "POST", "/", draft);
    const { data: open } = await queue(asRoot, "GET", "/?open=true&size=100");
    const row = open.find((one: { id: number }) => one.id === data.id);
    expect(row).toMatchObject({ username: inviter.username, account: "TXY****Bf", name: "张**" });
    const { data: exported } = await queue(asRoot, "POST", "/export");
    expect(exported.find((one: { id: number }) => one.id === data.id)).toMatchObject({
      account: address,
      name: "张三丰",
    });
    const trail = await world.app.ctx.db.selectFrom("audit").select("action").execute();
    expect(trail.map(({ action }) => action)).toContain("payout.export");
    const stored = await world.app.ctx.db.selectFrom("payouts").selectAll().execute();
    expect(JSON.stringify(stored)).not.toContain(address);
    const stranger = await world.buyer();
    expect((await call(stranger.who, "POST", `/${data.id}/cancel`)).success).toBe(false);
    expect((await queue(stranger.who, "GET", "/")).success).toBe(false);
    expect((await queue(stranger.who, "POST", "/export")).success).toBe(false);
    expect((await call(inviter.who, "POST", `/${data.id}/cancel`)).success).toBe(true);
    await call(inviter.who, "POST", "/", draft);
    await world.app.call(inviter.who, "DELETE", "/api/user/self");
    const left = await world.app.ctx.db
      .selectFrom("payouts")
      .select(["state", "account_sealed", "name_sealed"])
      .where("user_id", "=", inviter.id)
      .execute();
    expect(left).toEqual([
      { state: "cancelled", account_sealed: "", name_sealed: "" },
      { state: "cancelled", account_sealed: "", name_sealed: "" },
    ]);
  });

  test("an account has to look like one of its way", async () => {
    const inviter = await rich("100");
    const wrong = [
      { way: "alipay", account: "=cmd|'/c calc'" },
      { way: "alipay", account: "12345" },
      { way: "usdt-trc20", account: "0x52908400098527886E0F7030069857D2E4169EE7" },
      { way: "usdt-erc20", account: "0x52908400098527886E0F7030069857D2E4169EE" },
      { way: "wechat", account: "13800000000" },
    ];
    for (const draft of wrong)
      expect((await call(inviter.who, "POST", "/", { ...ALIPAY, ...draft, amount: "100" })).success).toBe(
        false,
      );
    expect((await desk(inviter.who)).rows).toEqual([]);
  });
});
