// Orders at their edges: paid while they are being closed, long after, twice, in two amounts, in amounts that are written otherwise, under
// look-alike numbers, or of no known order (requirements Y03, Y13–Y15, Y19–Y21).
import { describe, expect, test, vi } from "vitest";
import { paymentProviderNames } from "#contract/payment-provider.ts";
import { asRoot, databases, type Who } from "#test/worlds/app.ts";
import { useDesksWorld } from "#test/worlds/desks-world.ts";
import { CREDITED } from "#test/worlds/payment-world.ts";

/** A page that a person does not wait for. */
const FAST_MS = 100;
/** Far less than the fifteen seconds that a provider may take, and long enough for a busy machine. */
const SLOW_MS = 3_000;
const cancelOf = (orderNo: string) => `/api/payment/order/${orderNo}/cancel`;

describe.each(databases)("orders at their edges on $name", (database) => {
  const world = useDesksWorld(database);

  test.each(paymentProviderNames)(
    "%s: paid between the question and the closing, it is credited and not closed",
    async (provider) => {
      const { account, method, desk } = world.at(provider);
      const { user, order } = await world.ordered(account, { method });
      let calls = 0;
      desk.beforeAnswers = async () => {
        calls += 1;
        if (calls === 2) desk.pay(order.order_no);
      };
      const { message } = await world.app.call(user.who, "POST", cancelOf(order.order_no), {});
      desk.beforeAnswers = async () => undefined;
      expect(message).toBe("");
      expect(await world.row(order.order_no)).toMatchObject({ status: "credited", review: "" });
      expect(await world.gained(user)).toBe(CREDITED);
    },
  );

  test("ways to pay are called in the language of their reader: in both shops, of an order, for administrators", async () => {
    const { account, method } = world.at("wechat");
    const { user, order } = await world.ordered(account, { method });
    const read = async (who: Who, path: string) =>
      (await world.app.call({ ...who, "accept-language": "en-US" }, "GET", path)).data;
    for (const path of ["/api/payment/shop", "/api/plan/shop"]) {
      const { methods } = await read(user.who, path);
      expect(methods.map(({ label }: { label: string }) => label)).toEqual(
        expect.arrayContaining(["Alipay", "WeChat Pay", "Card", "Alipay QR code", "WeChat QR code"]),
      );
    }
    const no = order.order_no;
    const [mine] = await read(user.who, "/api/payment/order");
    const { order: told } = await read(asRoot, `/api/payment/manage/${no}`);
    const [listed] = await read(asRoot, `/api/payment/manage?keyword=${no}`);
    const labels = [mine, await read(user.who, `/api/payment/order/${no}`), told, listed];
    expect(labels.map(({ label }) => label)).toEqual(new Array(4).fill("WeChat QR code"));
    expect(order.label).toBe("微信扫码");
  });

  // 易支付 V1 has no call that closes an order.
  test.each(paymentProviderNames.filter((provider) => provider !== "epay-v1"))(
    "%s: cancelled, it can be paid at the provider no more",
    async (provider) => {
      const { account, method, desk } = world.at(provider);
      const { user, order } = await world.ordered(account, { method });
      expect((await world.app.call(user.who, "POST", cancelOf(order.order_no), {})).message).toBe("");
      const { status } = await world.row(order.order_no);
      expect([status, desk.order(order.order_no).state]).toEqual(["closed", "closed"]);
    },
  );

  test("a site of 易支付 V2 that has no page for closing is no reason to leave an order open", async () => {
    const { account, method, desk } = world.at("epay-v2");
    const { user, order } = await world.ordered(account, { method });
    world.desks.other.faults.cannotClose = true;
    expect((await world.app.call(user.who, "POST", cancelOf(order.order_no), {})).message).toBe("");
    world.desks.other.faults.cannotClose = false;
    const { status } = await world.row(order.order_no);
    expect([status, desk.order(order.order_no).state]).toEqual(["closed", "open"]);
  });

  test("an administrator closes what is not paid, with a reason; what was paid meanwhile is credited", async () => {
    const { account, method, desk } = world.at("alipay");
    const [open, late] = [await world.ordered(account, { method }), await world.ordered(account, { method })];
    const close = (no: string, reason = "用户要求", who: Who = asRoot) =>
      world.app.call(who, "POST", `/api/payment/manage/${no}/close`, { reason });
    const no = open.order.order_no;
    expect((await close(no, " ")).success).toBe(false);
    expect((await close(no, "用户要求", open.user.who)).success).toBe(false);
    expect(await world.row(no)).toMatchObject({ status: "pending" });
    expect((await close(no)).data.status).toBe("closed");
    expect((await close(no)).message).toBe("该订单已经结束");
    const { db } = world.app.ctx;
    const rows = await db.selectFrom("audit").selectAll().where("target", "=", no).execute();
    expect(rows).toMatchObject([{ action: "payment.close", detail: expect.stringContaining("用户要求") }]);
    const historyOf = async (orderNo: string) => {
      const { data } = await world.app.call(asRoot, "GET", `/api/payment/manage/${orderNo}`);
      return data.events.map(({ kind, verdict, facts }: Record<string, string>) => [kind, verdict, facts]);
    };
    expect(await historyOf(no)).toEqual([["admin", "closed", '{"actor_id":1,"reason":"用户要求"}']]);
    desk.pay(late.order.order_no);
    expect((await close(late.order.order_no)).data.status).toBe("credited");
    expect(await historyOf(late.order.order_no)).toEqual([["poll", "credited", expect.any(String)]]);
    expect([await world.gained(open.user), await world.gained(late.user)]).toEqual([0, CREDITED]);
    const silent = await world.ordered(account, { method });
    desk.mode = "html";
    const { success } = await close(silent.order.order_no);
    desk.mode = "ok";
    expect([success, (await world.row(silent.order.order_no)).status]).toEqual([false, "pending"]);
  });

  test("what was agreed stays: the gift, the fee and the rate of its account may change before it is paid", async () => {
    const draft = { ...world.desks.draftOf("epay-v1"), fee_bp: 60, rate: "0.5" };
    const account = await world.account(draft);
    const giver = await world.buyer();
    const { user, order } = await world.ordered(account, { gift_code: giver.username.toUpperCase() });
    // 30 yuan at half a yuan for one, and 0.6 % on top.
    expect(order.amount_minor).toBe(6_036);
    const { options } = world.app.ctx;
    await options.set("GiftPercent", "50");
    const path = `/api/payment/instance/${account.id}`;
    const edited = { ...draft, name: "改", is_enabled: true, fee_bp: 0, rate: "1" };
    expect((await world.app.call(asRoot, "PUT", path, edited)).message).toBe("");
    const query = world.desks.epay.noticeV1(world.desks.epay.desk.pay(order.order_no));
    await world.notify(account, { query });
    await options.set("GiftPercent", "5");
    expect(await world.row(order.order_no)).toMatchObject({ status: "credited", paid_minor: 6_036 });
    expect([await world.gained(user), await world.gained(giver)]).toEqual([CREDITED * 1.05, CREDITED * 0.05]);
  });

  describe.each(["epay-v1", "epay-v2", "alipay"] as const)("the money of a notice of %s", (provider) => {
    /** Tells of an order that was paid, in these words. */
    async function told(money: string) {
      const { account, method, desk } = world.at(provider);
      const { user, order } = await world.ordered(account, { method });
      const paid = desk.pay(order.order_no);
      const { epay, other, alipay } = world.desks;
      const sent = {
        "epay-v1": () => ({ query: epay.noticeV1(paid, { money }) }),
        "epay-v2": () => ({ query: other.noticeV2(paid, { money }) }),
        alipay: () => ({ body: alipay.notice(paid, { total_amount: money }) }),
      }[provider]();
      expect((await world.notify(account, sent)).status).toBe(200);
      const { status, review } = await world.row(order.order_no);
      return [await world.gained(user), status, review];
    }

    test.each(["30", "30.0", "30.00"])("is %s: that is what was asked for", async (money) => {
      expect(await told(money)).toEqual([CREDITED, "credited", ""]);
    });

    test.each(["0", "0.00", "-30.00", "+30.00", "3e1", "030.00", "30.001", "３０", "NaN", ""])(
      "is %j: a person has to look",
      async (money) => {
        expect(await told(money)).toEqual([0, "paid", "amount"]);
      },
    );
  });

  test("a slow provider holds up no page: it is answered from our row, and what the provider says later counts", async () => {
    const { account, method, desk } = world.at("epay-v2");
    const { user, order } = await world.ordered(account, { method });
    const path = `/api/payment/order/${order.order_no}`;
    desk.pay(order.order_no);
    const before = desk.heard.length;
    const held = Promise.withResolvers<void>();
    desk.beforeAnswers = () => held.promise;
    const began = performance.now();
    expect((await world.app.call(user.who, "GET", path)).data).toMatchObject({ status: "pending" });
    // It was asked a moment ago.
    expect((await world.app.call(user.who, "GET", path)).data).toMatchObject({ status: "pending" });
    expect(performance.now() - began).toBeLessThan(SLOW_MS);
    const asked = desk.heard.slice(before).filter((heard) => heard.path.endsWith("/query"));
    expect(asked).toHaveLength(1);
    held.resolve();
    await vi.waitFor(async () => expect(await world.gained(user)).toBe(CREDITED));
    desk.beforeAnswers = async () => undefined;
    expect((await world.app.call(user.who, "GET", path)).data).toMatchObject({ status: "credited" });
  });

  test.each([1, 3_600, 86_400])(
    "paid %i s after it was closed, it is credited once, told twice or not at all",
    async (late) => {
      const { account, method, desk, notice } = world.at("epay-v2");
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
    const { account, method } = world.at("epay-v1");
    const { user, order } = await world.ordered(account, { method });
    const paid = world.desks.epay.desk.pay(order.order_no);
    await world.notify(account, { query: world.desks.epay.noticeV1(paid, { money: "29.99" }) });
    expect(await world.row(order.order_no)).toMatchObject({ status: "paid", review: "amount" });
    expect(await world.gained(user)).toBe(0);
    await world.notify(account, { query: world.desks.epay.noticeV1(paid, { trade_no: `9${paid.tradeNo}` }) });
    expect(await world.row(order.order_no)).toMatchObject({ status: "credited", review: "paid_twice" });
    expect(await world.gained(user)).toBe(CREDITED);
  });

  test("numbers of payments are texts: another case or a zero in front is another payment", async () => {
    const { account, method } = world.at("epay-v1");
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
          query: world.desks.epay.noticeV1(world.desks.epay.desk.pay(no), { trade_no: tradeNo ?? "" }),
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
    const { id } = world.at("epay-v1").account;
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
    for (const place of [0, 250, 499]) {
      const times: number[] = [];
      for (let turn = 0; turn < 7; turn += 1) {
        const began = performance.now();
        const answer = await world.app.call(asRoot, "GET", `/api/payment/event?p=${place}&size=20`);
        times.push(performance.now() - began);
        expect(answer.data).toHaveLength(20);
      }
      // The best of some: other tests have the machine too.
      expect(Math.min(...times), `page ${place}`).toBeLessThan(FAST_MS);
    }
    const page = await world.app.call(asRoot, "GET", "/api/payment/event?p=0&size=20");
    expect(page.total).toBeGreaterThanOrEqual(10_000);
    expect(page.data).toHaveLength(20);
    const last = await world.app.call(asRoot, "GET", "/api/payment/event?p=499&size=20");
    expect(last.data.length).toBeGreaterThan(0);
  });

  test("paid while no callback comes and the server starts anew, it is credited within a minute", async () => {
    const { account, method, desk } = world.at("alipay");
    const { user, order } = await world.ordered(account, { method });
    desk.pay(order.order_no);
    // The last test: the time that limits are counted by begins anew, as the clock of this test is not the database's.
    await world.restart();
    expect(await world.gained(user)).toBe(0);
    await world.pass(60);
    expect(await world.gained(user)).toBe(CREDITED);
  });
});
