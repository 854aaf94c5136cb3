// Orders at their edges: paid while they are being closed, long after, twice, in two amounts, under look-alike numbers, or of no known
// order (requirements Y14, Y15, Y19–Y21).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asRoot, databases } from "#test/worlds/app.ts";
import { type Desks, startDesks } from "#test/worlds/pay-desks.ts";
import { type Account, PaymentWorld } from "#test/worlds/payment-world.ts";

const CREDITED = 25_000_000;

describe.each(databases)("orders at their edges on $name", (database) => {
  const world = new PaymentWorld();
  let all: Desks;
  const accounts = new Map<string, Account>();

  beforeAll(async () => {
    await world.start(database);
    all = await startDesks(world.clock.now);
    for (const { provider, draft } of all.desks) accounts.set(provider, await world.account(draft));
  });
  afterAll(async () => {
    await all.close();
    await world.stop();
  });
  function at(provider: string) {
    const desk = all.desks.find((one) => one.provider === provider);
    const account = accounts.get(provider);
    if (!desk || !account) throw new Error(`no ${provider}`);
    return { ...desk, account };
  }

  test("paid between the question and the closing, it is credited and not closed", async () => {
    const { account, method, desk } = at("alipay");
    const { user, order } = await world.ordered(account, { method });
    all.alipay.faults.beforeClose = ({ orderNo }) => desk.pay(orderNo);
    await world.app.call(user.who, "POST", `/api/payment/order/${order.order_no}/cancel`, {});
    all.alipay.faults.beforeClose = () => undefined;
    expect(await world.row(order.order_no)).toMatchObject({ status: "credited", review: "" });
    expect(await world.gained(user)).toBe(CREDITED);
  });

  test.each([1, 3_600, 86_400])(
    "paid %i s after it was closed, it is credited once, told twice or not at all",
    async (late) => {
      const { account, method, desk, notice } = at("epay-v2");
      const [told, untold] = [
        await world.ordered(account, { method }),
        await world.ordered(account, { method }),
      ];
      await world.pass(1_801);
      for (const { order } of [told, untold])
        expect(await world.row(order.order_no)).toMatchObject({ status: "closed" });
      world.clock.advance((late - 1) * 1_000);
      for (const { order } of [told, untold]) desk.pay(order.order_no);
      for (let turn = 0; turn < 2; turn += 1)
        expect((await world.notify(account, notice(told.order.order_no))).status).toBe(200);
      expect(await world.gained(told.user)).toBe(CREDITED);
      // At the next of the three times after closing.
      for (const sec of [300, 3_600, 86_400]) await world.pass(sec);
      expect(await world.gained(untold.user)).toBe(CREDITED);
    },
  );

  test("a wrong amount waits; the right one by another payment is credited, and the first has to go back", async () => {
    const { account, method } = at("epay-v1");
    const { user, order } = await world.ordered(account, { method });
    const paid = all.epay.desk.pay(order.order_no);
    await world.notify(account, { query: all.epay.noticeV1(paid, { money: "29.99" }) });
    expect(await world.row(order.order_no)).toMatchObject({ status: "paid", review: "amount" });
    expect(await world.gained(user)).toBe(0);
    await world.notify(account, { query: all.epay.noticeV1(paid, { trade_no: `9${paid.tradeNo}` }) });
    expect(await world.row(order.order_no)).toMatchObject({ status: "credited", review: "paid_twice" });
    expect(await world.gained(user)).toBe(CREDITED);
  });

  test("numbers of payments are texts: another case or a zero in front is another payment", async () => {
    const { account, method } = at("epay-v1");
    for (const [one, other] of [
      ["abc1", "ABC1"],
      ["00771", "0771"],
    ]) {
      const [first, second] = [
        await world.ordered(account, { method }),
        await world.ordered(account, { method }),
      ];
      const told = (no: string, tradeNo: string | undefined) =>
        world.notify(account, {
          query: all.epay.noticeV1(all.epay.desk.pay(no), { trade_no: tradeNo ?? "" }),
        });
      await told(first.order.order_no, one);
      await told(second.order.order_no, other);
      expect([await world.gained(first.user), await world.gained(second.user)]).toEqual([CREDITED, CREDITED]);
      const third = await world.ordered(account, { method });
      await told(third.order.order_no, one);
      expect(await world.gained(third.user)).toBe(0);
    }
  });

  test("ten thousand payments of no known order are counted, and the newest stand on the first page", async () => {
    const { id } = at("epay-v1").account;
    const rows = Array.from({ length: 10_000 }, (_, index) => ({
      instance_id: id,
      kind: "notify",
      event_key: `orphan/${index}`,
      order_no: `TG20261124ORPHAN${index}`,
      verdict: "unknown_order",
      is_open: 1,
      facts: "{}",
      body_sealed: "",
      created_at: world.clock.seconds(),
    }));
    for (let start = 0; start < rows.length; start += 1_000)
      await world.app.ctx.db
        .insertInto("payment_events")
        .values(rows.slice(start, start + 1_000))
        .execute();
    const page = await world.app.call(asRoot, "GET", "/api/payment/event?p=0&size=20");
    expect(page.total).toBeGreaterThanOrEqual(10_000);
    expect(page.data).toHaveLength(20);
    const last = await world.app.call(asRoot, "GET", "/api/payment/event?p=499&size=20");
    expect(last.data.length).toBeGreaterThan(0);
  });

  test("paid while no callback comes and the server starts anew, it is credited within a minute", async () => {
    const { account, method, desk } = at("alipay");
    const { user, order } = await world.ordered(account, { method });
    desk.pay(order.order_no);
    // The last test: the time that limits are counted by begins anew, as the clock of this test is not the database's.
    await world.restart();
    expect(await world.gained(user)).toBe(0);
    await world.pass(60);
    expect(await world.gained(user)).toBe(CREDITED);
  });
});
