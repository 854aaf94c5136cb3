// Each check of a payment refuses by itself: a notice or an answer that is right in all but one thing credits nothing (requirements Y13–Y16,
// Y29, Y33). Removing a check from the code lets one of these through. On both databases.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { paymentProviderNames } from "#contract/payment-provider.ts";
import { findInstance } from "#server/store/payment-instances.ts";
import { databases } from "#test/worlds/app.ts";
import { DesksWorld } from "#test/worlds/desks-world.ts";
import type { Desks } from "#test/worlds/pay-desks.ts";
import type { Account } from "#test/worlds/payment-world.ts";
import { askOrder } from "./orders.ts";

interface Credit {
  readonly user: { readonly id: number };
  readonly orderNo: string;
}

describe.each(databases)("each check of a payment on $name", (database) => {
  const world = new DesksWorld();
  let epay: Desks["epay"];
  let stripe: Desks["stripe"];
  let alipay: Desks["alipay"];
  let wechat: Desks["wechat"];

  beforeAll(async () => {
    await world.start(database);
    ({ epay, stripe, alipay, wechat } = world.desks);
  });
  afterAll(() => world.stop());
  afterEach(() => {
    stripe.told.session = {};
    alipay.faults.look = {};
    wechat.told.transaction = {};
  });

  /** Nothing was credited, and the order waits as before. */
  async function untouched({ user, orderNo }: Credit): Promise<void> {
    const { status, review, trade_no } = await world.row(orderNo);
    expect([await world.gained(user), status, review, trade_no]).toEqual([0, "pending", "", ""]);
  }

  /** Nothing was credited, and a person has to look. */
  async function waits({ user, orderNo }: Credit, review: string): Promise<void> {
    const row = await world.row(orderNo);
    expect([await world.gained(user), row.status, row.review]).toEqual([0, "paid", review]);
  }

  async function ordered(account: Account, method: string): Promise<Credit> {
    const { user, order } = await world.ordered(account, { method });
    return { user, orderNo: order.order_no };
  }

  describe("an answer that says paid, of no payment", () => {
    beforeAll(() => world.openAccounts());
    const unclearOf = async ({ id }: Account) =>
      (await findInstance(world.app.ctx.db, id))?.unclear ?? Number.NaN;
    /** Lets the provider leave the number out. */
    const unnamed: Record<string, (order: { tradeNo: string }) => void> = {
      "epay-v1": (order) => Object.assign(order, { tradeNo: "" }),
      "epay-v2": (order) => Object.assign(order, { tradeNo: "" }),
      stripe: () => Object.assign(stripe.told.session, { payment_intent: null }),
      alipay: () => Object.assign(alipay.faults.look, { trade_no: "" }),
      wechat: () => Object.assign(wechat.told.transaction, { transaction_id: "" }),
    };

    test.each(paymentProviderNames)("says nothing, and counts as such: %s", async (provider) => {
      const { account, desk, method } = world.at(provider);
      const credit = await ordered(account, method);
      unnamed[provider]?.(desk.pay(credit.orderNo));
      const before = await unclearOf(account);
      const row = await world.row(credit.orderNo);
      expect(await askOrder(world.app.ctx, row, { kind: "poll", isUrgent: true })).toBe("unclear");
      expect(await unclearOf(account)).toBe(before + 1);
      await untouched(credit);
    });
  });

  describe("易支付", () => {
    let account: Account;
    beforeAll(async () => {
      account = await world.account(world.desks.draftOf("epay-v1"));
    });

    test("a notice without the number of the payment, or of a payment that is not made, credits nothing", async () => {
      const credit = await ordered(account, "alipay");
      const paid = epay.desk.pay(credit.orderNo);
      expect((await world.notify(account, { query: epay.noticeV1(paid, { trade_no: "" }) })).status).toBe(
        400,
      );
      for (const status of ["", "WAIT_BUYER_PAY", "trade_success", "TRADE_FINISHED"])
        await world.notify(account, { query: epay.noticeV1(paid, { trade_status: status }) });
      await untouched(credit);
    });

    test("a notice with parameters in the address and in the body is refused, however genuine the body", async () => {
      const credit = await ordered(account, "alipay");
      const body = epay.noticeV1(epay.desk.pay(credit.orderNo));
      expect((await world.notify(account, { query: "money=30.00", body })).status).toBe(400);
      await untouched(credit);
      // The same body alone is right.
      expect((await world.notify(account, { body })).status).toBe(200);
      expect(await world.gained(credit.user)).toBe(25_000_000);
    });

    test("an answer of V2 that its platform did not sign says nothing", async () => {
      const fields = {
        base_url: epay.desk.url,
        platform_key: epay.platform.publicPem,
        private_key: epay.merchant.privatePem,
      };
      const other = await world.account({ provider: "epay-v2", methods: ["wxpay"], fields });
      const credit = await ordered(other, "wxpay");
      epay.desk.pay(credit.orderNo);
      epay.faults.isWronglySigned = true;
      await world.pass(16);
      await untouched(credit);
      epay.faults.isWronglySigned = false;
      await world.pass(30);
      expect(await world.gained(credit.user)).toBe(25_000_000);
    });

    test("a secret that was blank before its replacement signs nothing", async () => {
      const credit = await ordered(account, "alipay");
      const paid = epay.desk.pay(credit.orderNo);
      const { db, secrets, clock } = world.app.ctx;
      const blank = JSON.stringify({ key: secrets.seal("  ", "payment_instances.secret") });
      const replaced = (text: string, until: number) =>
        db
          .updateTable("payment_instances")
          .set({ secrets_before: text, before_until: until })
          .where("id", "=", account.id)
          .execute();
      await replaced(blank, clock.seconds() + 3_600);
      expect((await world.notify(account, { query: epay.noticeV1(paid, {}, "  ") })).status).toBe(400);
      await untouched(credit);
      await replaced("", 0);
    });

    test("a payment is used once: its number completes no second order", async () => {
      const [one, two] = [await ordered(account, "alipay"), await ordered(account, "alipay")];
      const first = epay.desk.pay(one.orderNo);
      const second = epay.desk.pay(two.orderNo);
      await world.notify(account, { query: epay.noticeV1(first) });
      await world.notify(account, { query: epay.noticeV1(second, { trade_no: first.tradeNo }) });
      expect([await world.gained(one.user), await world.gained(two.user)]).toEqual([25_000_000, 0]);
      const verdicts = (await world.openEvents()).map(({ verdict }: { verdict: string }) => verdict);
      expect(verdicts).toContain("trade_used");
      // Its own payment still counts.
      await world.notify(account, { query: epay.noticeV1(second) });
      expect(await world.gained(two.user)).toBe(25_000_000);
    });
  });

  describe("Stripe", () => {
    let account: Account;
    beforeAll(async () => {
      account = await world.account(world.desks.draftOf("stripe"));
    });
    const tell = async ({ orderNo }: Credit) => {
      const { id } = stripe.sessionOf(stripe.desk.order(orderNo));
      const event = stripe.event("checkout.session.completed", id);
      await world.notify(account, { body: event.body, headers: { "stripe-signature": event.header } });
    };

    test.each([
      ["a live session at a test account", { livemode: true }],
      ["a session without a payment", { payment_intent: null }],
      ["a session that is not paid", { payment_status: "unpaid" }],
      ["a session that needs no payment", { payment_status: "no_payment_required" }],
    ])("%s credits nothing, told or asked", async (_, session) => {
      const credit = await ordered(account, "card");
      stripe.desk.pay(credit.orderNo);
      stripe.told.session = session;
      await tell(credit);
      await world.pass(16);
      await untouched(credit);
    });

    test.each([
      ["currency", { currency: "usd" }],
      ["amount", { amount_total: 2_999 }],
      ["amount", { amount_total: 3_001 }],
      ["amount", { amount_total: "3000" }],
      ["amount", { amount_total: 3_000.5 }],
    ])("another %s waits for a person: %j", async (review, session) => {
      const credit = await ordered(account, "card");
      stripe.desk.pay(credit.orderNo);
      stripe.told.session = session;
      await tell(credit);
      await waits(credit, review);
    });

    test("a session of nobody's order, or of another account's, credits nothing here", async () => {
      const other = await world.account({ ...world.desks.draftOf("stripe"), merchant_id: "acct_2" });
      const foreign = await ordered(other, "card");
      stripe.desk.pay(foreign.orderNo);
      // Genuine at Stripe, but the order was made at the other account.
      await tell(foreign);
      await untouched(foreign);
    });
  });

  describe("Alipay", () => {
    let account: Account;
    beforeAll(async () => {
      account = await world.account(world.desks.draftOf("alipay"));
    });

    test("a notice without the number of the payment is refused", async () => {
      const credit = await ordered(account, "qr");
      const body = alipay.notice(alipay.desk.pay(credit.orderNo), { trade_no: "" });
      expect((await world.notify(account, { body })).status).toBe(400);
      await untouched(credit);
    });

    test.each([
      ["another order", { out_trade_no: "TG-other" }],
      ["no payment", { trade_no: "" }],
      ["a payment that waits", { trade_status: "WAIT_BUYER_PAY" }],
      ["a fault of the platform", { code: "20000", sub_code: "isp.unknow-error" }],
      ["another code", { code: "10003" }],
    ])("an answer that names %s credits nothing", async (_, look) => {
      const credit = await ordered(account, "qr");
      alipay.desk.pay(credit.orderNo);
      alipay.faults.look = look;
      await world.pass(16);
      await untouched(credit);
    });

    test.each([["29.99"], ["30.01"], ["3e1"], [""]])(
      "an answer of %j yuan waits for a person",
      async (total) => {
        const credit = await ordered(account, "qr");
        alipay.desk.pay(credit.orderNo);
        alipay.faults.look = { total_amount: total };
        await world.pass(16);
        await waits(credit, "amount");
      },
    );
  });

  describe("WeChat Pay", () => {
    let account: Account;
    beforeAll(async () => {
      account = await world.account(world.desks.draftOf("wechat"));
    });

    test("a yes that WeChat Pay did not sign was never received", async () => {
      const credit = await ordered(account, "native");
      wechat.desk.pay(credit.orderNo);
      wechat.told.isWronglySigned = true;
      await world.pass(16);
      wechat.told.isWronglySigned = false;
      await untouched(credit);
      await world.pass(30);
      expect(await world.gained(credit.user)).toBe(25_000_000);
    });

    test.each([
      ["sealed with another key", { key: "f".repeat(32) }],
      ["of another cipher by name", { algorithm: "AEAD_AES_128_GCM" }],
      ["of no cipher", { algorithm: "" }],
      ["without the number of the payment", { body: { transaction_id: "" } }],
    ])("a callback %s is refused", async (_, change) => {
      const credit = await ordered(account, "native");
      const notice = wechat.notice(wechat.desk.pay(credit.orderNo), change);
      expect((await world.notify(account, notice)).status).toBe(401);
      await untouched(credit);
    });

    test.each([
      ["another merchant", { mchid: "1900000009" }],
      ["another app", { appid: "wx9" }],
      ["another order", { out_trade_no: "TG-other" }],
      ["no payment", { transaction_id: "" }],
      ["a payment under way", { trade_state: "USERPAYING" }],
      ["a payment that failed", { trade_state: "PAYERROR" }],
    ])("an answer that names %s credits nothing", async (_, transaction) => {
      const credit = await ordered(account, "native");
      wechat.desk.pay(credit.orderNo);
      wechat.told.transaction = transaction;
      await world.pass(16);
      await untouched(credit);
    });

    test("an answer about one order that names another one credits neither", async () => {
      const [paid, named] = [await ordered(account, "native"), await ordered(account, "native")];
      wechat.desk.pay(paid.orderNo);
      wechat.told.transaction = { out_trade_no: named.orderNo };
      await world.pass(16);
      await untouched(paid);
      await untouched(named);
    });

    test.each([
      ["currency", { total: 3_000, currency: "USD" }],
      ["amount", { total: 2_999, currency: "CNY" }],
      // What a coupon left of it is not what was ordered.
      ["amount", { total: "3000", payer_total: 3_000, currency: "CNY" }],
    ])("another %s waits for a person: %j", async (review, amount) => {
      const credit = await ordered(account, "native");
      const notice = wechat.notice(wechat.desk.pay(credit.orderNo), { body: { amount } });
      expect((await world.notify(account, notice)).status).toBe(200);
      await waits(credit, review);
    });
  });
});
