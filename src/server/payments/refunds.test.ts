// Refunds by an administrator at each provider: what cannot be refunded is not, a second press of the button is no second refund, and one
// that the provider refuses or never ends does not stay hidden (requirements Y34). On both databases.
import { describe, expect, test, vi } from "vitest";
import { paymentProviderNames } from "#contract/payment-provider.ts";
import { listRefunds } from "#server/store/order-refunds.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { useDesksWorld } from "#test/worlds/desks-world.ts";
import { CREDITED } from "#test/worlds/payment-world.ts";

describe.each(databases)("refunds on $name", (database) => {
  const world = useDesksWorld(database);

  async function orderedAt(provider: string) {
    const { account, ...desk } = world.at(provider);
    return { desk, account, ...(await world.ordered(account, { method: desk.method })) };
  }

  async function paid(provider: string) {
    const { user, no, there } = await world.paid(provider);
    const refund = (amount: string | null) =>
      world.app.call(asRoot, "POST", `/api/payment/manage/${no}/refund`, { amount, reason: "测试" });
    const states = async () => (await listRefunds(world.app.ctx.db, no)).map(({ state }) => state);
    return { user, no, there, refund, states };
  }

  describe.each(paymentProviderNames.map((provider) => ({ provider })))("at $provider", ({ provider }) => {
    test("no money, odd amounts and more than was paid are refused, and nothing is held", async () => {
      const { user, there, refund, states } = await paid(provider);
      for (const amount of ["0", "0.00", "-1", "3e1", "30.001", " ", "１０", "30.01", "9007199254740993"])
        expect([amount, (await refund(amount)).success]).toEqual([amount, false]);
      expect([await states(), there.refunded, await world.gained(user)]).toEqual([[], 0, CREDITED]);
    });

    test("pressed twice or five times at once, it is one refund; later the same again is another", async () => {
      const { user, there, refund, states } = await paid(provider);
      const answers = await Promise.all(Array.from({ length: 5 }, () => refund("10.00")));
      expect(answers.filter(({ success }) => success)).toHaveLength(1);
      expect((await refund("10.00")).message).toContain("刚刚已经提交过");
      expect(await states()).toHaveLength(1);
      await world.pass(11);
      expect([there.refunded, await world.gained(user)]).toEqual([1_000, 16_666_667]);
      expect((await refund("10.00")).message).toBe("");
      await world.pass(11);
      expect([await states(), there.refunded]).toEqual([["done", "done"], 2_000]);
      expect(await world.gained(user)).toBe(8_333_334);
    });

    test("after all of it went back, nothing more does", async () => {
      const { user, refund, states } = await paid(provider);
      expect((await refund("30.00")).message).toBe("");
      await world.pass(11);
      for (const amount of ["0.01", "30.00"]) expect((await refund(amount)).message).toContain("超过可退");
      expect((await refund(null)).success).toBe(false);
      expect([await states(), await world.gained(user)]).toEqual([["done"], 0]);
    });
  });

  test.each(paymentProviderNames)(
    "of an order that was credited by hand, %s is not asked: it is paid back by hand, and registered",
    async (provider) => {
      const { desk, user, order } = await orderedAt(provider);
      const path = `/api/payment/manage/${order.order_no}`;
      const voucher = { trade_no: `bank-${provider}`, amount: "30.00", reason: "银行流水" };
      expect((await world.app.call(asRoot, "POST", `${path}/manual`, voucher)).message).toBe("");
      const before = desk.desk.heard.length;
      const notify = vi.spyOn(world.app.ctx, "notify");
      const wish = { amount: "30.00", reason: "测试" };
      const made = await world.app.call(asRoot, "POST", `${path}/refund`, wish);
      const [refund] = made.data.refunds;
      expect([made.message, refund.state, await world.gained(user)]).toEqual(["", "unknown", 0]);
      expect(notify.mock.calls.map(([{ content }]) => content.includes(refund.refund_no))).toEqual([true]);
      notify.mockRestore();
      for (const sec of [60, 7_200, 86_400]) await world.pass(sec);
      expect(desk.desk.heard.length).toBe(before);
      const settle = { refund_no: refund.refund_no, is_done: true, reason: "已转账" };
      const settled = await world.app.call(asRoot, "POST", `${path}/refund/settle`, settle);
      expect(settled.data.refunds.map(({ state }: { state: string }) => state)).toEqual(["done"]);
      expect(await world.gained(user)).toBe(0);
    },
  );

  test("one of a payment of another sum names what was paid, and while it is under way nothing is credited or closed", async () => {
    const { desk, account, order, user } = await orderedAt("wechat");
    const no = order.order_no;
    // The payer typed the sum.
    Object.assign(desk.desk.order(no), { amount: 5_500 });
    desk.desk.pay(no);
    await world.notify(account, desk.notice(no));
    expect(await world.row(no)).toMatchObject({ status: "paid", review: "amount", paid_minor: 5_500 });
    const act = (name: string, body: object) =>
      world.app.call(asRoot, "POST", `/api/payment/manage/${no}/${name}`, { ...body, reason: "测试" });
    expect((await act("refund", { amount: "55.00" })).message).toBe("");
    for (const as of ["paid", "ordered"])
      expect((await act("decide", { as })).message).toContain("不能这样入账");
    expect((await act("decide", { as: "settled" })).message).toContain("还没有结果");
    await world.pass(11);
    const [refund] = await listRefunds(world.app.ctx.db, no);
    expect([refund?.state, desk.desk.order(no).refunded]).toEqual(["done", 5_500]);
    expect([await world.gained(user), (await world.row(no)).review]).toEqual([0, ""]);
  });

  test("a payment that was disputed before it was credited is dealt with once all of it is gone", async () => {
    const { desk, account, order } = await orderedAt("stripe");
    const no = order.order_no;
    desk.desk.pay(no);
    await world.notify(account, desk.odd(no, { amountMinor: 2_000 }));
    world.desks.stripe.told.session = {};
    const settle = () =>
      world.app.call(asRoot, "POST", `/api/payment/manage/${no}/decide`, { as: "settled", reason: "测试" });
    expect((await settle()).message).toContain("尚未入账也未退款");
    const id = `du_${no}`;
    const intent = `pi_${desk.desk.order(no).tradeNo}`;
    world.desks.stripe.disputes.set(id, { id, amount: 2_000, payment_intent: intent, status: "lost" });
    const { body, header } = world.desks.stripe.event("charge.dispute.created", id);
    await world.notify(account, { body, headers: { "stripe-signature": header } });
    expect((await settle()).message).toBe("");
    expect((await world.row(no)).review).toBe("");
  });

  test("one that the provider works on for ever waits for a person in the end, who says what became of it", async () => {
    const { user, no, refund, states } = await paid("wechat");
    world.desks.wechat.told.refundStatus = "PROCESSING";
    await refund("30.00");
    for (const sec of [10, 60, 300, 1_800, 7_200, 43_200]) {
      await world.pass(sec);
      expect([sec, await states()]).toEqual([sec, ["asked"]]);
    }
    await world.pass(86_400);
    expect(await states()).toEqual(["unknown"]);
    world.desks.wechat.told.refundStatus = "SUCCESS";
    const [row] = await listRefunds(world.app.ctx.db, no);
    const settle = { refund_no: row?.refund_no, is_done: false, reason: "平台已撤销" };
    const answer = await world.app.call(asRoot, "POST", `/api/payment/manage/${no}/refund/settle`, settle);
    expect([answer.message, await states(), await world.gained(user)]).toEqual(["", ["failed"], CREDITED]);
  });

  test("two of one order reach Alipay three seconds apart at least; other providers ask for no such pause", async () => {
    const { there, refund, states } = await paid("alipay");
    expect((await refund("10.00")).message).toBe("");
    for (const sec of [0, 2]) {
      await world.pass(sec);
      expect((await refund("5.00")).message).toContain("至少间隔 3 秒");
    }
    expect([await states(), there.refunded]).toEqual([["done"], 1_000]);
    await world.pass(2);
    expect((await refund("5.00")).message).toBe("");
    expect([await states(), there.refunded]).toEqual([["done", "done"], 1_500]);

    const other = await paid("wechat");
    for (const amount of ["10.00", "5.00"]) expect((await other.refund(amount)).message).toBe("");
    expect(other.there.refunded).toBe(1_500);
  });

  test("one that the provider refuses gives the quota back", async () => {
    const { user, refund, states } = await paid("wechat");
    world.desks.wechat.told.refundStatus = "CLOSED";
    await refund("30.00");
    await world.pass(11);
    world.desks.wechat.told.refundStatus = "SUCCESS";
    expect([await states(), await world.gained(user)]).toEqual([["failed"], CREDITED]);
  });
});
