// Stripe, Alipay and WeChat Pay end to end against emulators, which the vendors' own packages check: notices, questions, refunds, disputes; on both databases.
import { AlipaySdk } from "alipay-sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listRefunds } from "#server/store/order-refunds.ts";
import { debtOf } from "#server/store/users.ts";
import { stripeAt } from "#test/emulators/stripe-vendor.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { DesksWorld } from "#test/worlds/desks-world.ts";
import type { Desks } from "#test/worlds/pay-desks.ts";
import type { Account } from "#test/worlds/payment-world.ts";
import { STRIPE_VERSION } from "./providers/stripe-call.ts";

describe.each(databases)("the providers on $name", (database) => {
  const world = new DesksWorld();
  let stripe: Desks["stripe"];
  let alipay: Desks["alipay"];
  let wechat: Desks["wechat"];

  beforeAll(async () => {
    await world.start(database);
    ({ stripe, alipay, wechat } = world.desks);
  });
  afterAll(() => world.stop());

  const refund = (orderNo: string, amount: string | null) =>
    world.app.call(asRoot, "POST", `/api/payment/manage/${orderNo}/refund`, { amount, reason: "测试" });
  const statesOf = async (orderNo: string) =>
    (await listRefunds(world.app.ctx.db, orderNo)).map(({ state }) => state);

  describe("Stripe", () => {
    let account: Account;
    beforeAll(async () => {
      account = await world.account({ ...world.desks.draftOf("stripe"), methods: ["card", "alipay"] });
    });
    const send = (event: { body: string; header: string }) =>
      world.notify(account, { body: event.body, headers: { "stripe-signature": event.header } });
    const sessionId = (orderNo: string) => stripe.sessionOf(stripe.desk.order(orderNo)).id;
    const bought = async () => {
      const made = await world.ordered(account, { method: "card" });
      stripe.desk.pay(made.order.order_no);
      await send(stripe.event("checkout.session.completed", sessionId(made.order.order_no)));
      expect(await world.gained(made.user)).toBe(25_000_000);
      return made;
    };

    test("the vendor's package reads what the emulator answers, and sends the version that is pinned", async () => {
      const vendor = stripeAt(stripe.desk.url);
      const session = await vendor.checkout.sessions.create({
        mode: "payment",
        client_reference_id: "TGORACLE",
        line_items: [
          { quantity: 1, price_data: { currency: "cny", unit_amount: 3_000, product_data: { name: "x" } } },
        ],
      });
      expect(session).toMatchObject({ amount_total: 3_000, currency: "cny", payment_status: "unpaid" });
      expect(stripe.desk.heard.at(-1)?.headers["stripe-version"]).toBe(STRIPE_VERSION);
    });

    test("events tell what to look at, the fetched session what is so, in any order", async () => {
      const { user, order } = await world.ordered(account, { method: "card" });
      expect(order.url).toContain("https://checkout.stripe.example/");
      const id = sessionId(order.order_no);
      // The event says completed, the object that the bank has not paid.
      expect((await send(stripe.event("checkout.session.completed", id))).status).toBe(200);
      expect([await world.gained(user), (await world.row(order.order_no)).status]).toEqual([0, "pending"]);
      expect((await send(stripe.event("checkout.session.async_payment_failed", id))).status).toBe(200);
      stripe.desk.pay(order.order_no);
      const types = ["async_payment_succeeded", "completed", "expired", "async_payment_failed"];
      for (const type of types)
        expect((await send(stripe.event(`checkout.session.${type}`, id))).status).toBe(200);
      expect(await world.gained(user)).toBe(25_000_000);
    });

    test("a forged, foreign or live event changes nothing; one that cannot be looked up comes again", async () => {
      const { user, order } = await world.ordered(account, { method: "card" });
      stripe.desk.pay(order.order_no);
      const id = sessionId(order.order_no);
      const event = stripe.event("checkout.session.completed", id);
      expect((await send({ ...event, header: event.header.replace("v1=", "v0=") })).status).toBe(400);
      expect((await send({ ...event, body: `${event.body} ` })).status).toBe(400);
      expect((await send(stripe.event("checkout.session.completed", id, { livemode: true }))).status).toBe(
        200,
      );
      expect((await send(stripe.event("checkout.session.completed", "cs_test_unknown"))).status).toBe(200);
      stripe.desk.mode = "500";
      expect((await send(event)).status).toBe(503);
      stripe.desk.mode = "ok";
      expect(await world.gained(user)).toBe(0);
      await world.pass(16);
      expect(await world.gained(user)).toBe(25_000_000);
    });

    test("an answer that is lost makes no second session: the same step has the same key", async () => {
      stripe.desk.mode = "lost";
      const { user, order } = await world.ordered(account, { method: "card" });
      expect(order.status).toBe("created");
      stripe.desk.mode = "ok";
      stripe.desk.pay(order.order_no);
      await world.pass(16);
      expect(await world.gained(user)).toBe(25_000_000);
      const keys = stripe.desk.heard
        .filter(({ body }) => body.includes(order.order_no))
        .map(({ headers }) => headers["idempotency-key"]);
      expect(new Set(keys)).toEqual(new Set([`order/${order.order_no}/create`]));
    });

    test.each([
      ["re_dash", "dp_1"],
      // As they are called where wallets paid, and by newer versions.
      ["pyr_1Dash", "du_1Bank"],
    ])(
      "our refund is done once; one made in the dashboard (%s) and a dispute (%s) are booked once each",
      async (refundId, disputeId) => {
        const { user, order } = await bought();
        expect((await refund(order.order_no, "10.00")).success).toBe(true);
        expect([await world.gained(user), await statesOf(order.order_no)]).toEqual([16_666_667, ["done"]]);
        // Stripe tells of ours too.
        for (const id of stripe.refunds.keys()) await send(stripe.event("refund.updated", id));
        const intent = `pi_${stripe.desk.order(order.order_no).tradeNo}`;
        stripe.refunds.set(refundId, {
          id: refundId,
          amount: 500,
          payment_intent: intent,
          status: "succeeded",
          metadata: {},
        });
        for (const type of ["refund.created", "refund.updated"]) await send(stripe.event(type, refundId));
        expect(await world.gained(user)).toBe(12_500_000);
        stripe.disputes.set(disputeId, {
          id: disputeId,
          amount: 1_500,
          payment_intent: intent,
          status: "needs_response",
        });
        await world.app.ctx.ledger.adjust({
          userId: user.id,
          kind: "adjust",
          quota: { target: 0n },
          actorId: 1,
          reason: "spent",
        });
        for (const type of ["created", "funds_withdrawn"])
          await send(stripe.event(`charge.dispute.${type}`, disputeId));
        expect(await debtOf(world.app.ctx.db, user.id)).toBe(12_500_000);
        stripe.disputes.set(disputeId, { ...stripe.disputes.get(disputeId), status: "won" });
        for (const type of ["closed", "funds_reinstated"])
          await send(stripe.event(`charge.dispute.${type}`, disputeId));
        expect(await debtOf(world.app.ctx.db, user.id)).toBe(0);
        stripe.disputes.set(disputeId, { ...stripe.disputes.get(disputeId), status: "lost" });
        await send(stripe.event("charge.dispute.closed", disputeId));
        expect(await debtOf(world.app.ctx.db, user.id)).toBe(12_500_000);
      },
    );

    test("a refund whose answer is lost is asked about with the same number", async () => {
      const { user, order } = await bought();
      stripe.desk.mode = "lost";
      expect((await refund(order.order_no, "30.00")).success).toBe(true);
      expect(await statesOf(order.order_no)).toEqual(["unknown"]);
      stripe.desk.mode = "ok";
      await world.pass(15);
      expect([await world.gained(user), await statesOf(order.order_no)]).toEqual([0, ["done"]]);
      expect((await refund(order.order_no, "0.01")).message).toContain("超过可退");
    });
  });

  describe("Alipay", () => {
    let account: Account;
    beforeAll(async () => {
      account = await world.account({ ...world.desks.draftOf("alipay"), methods: ["qr", "page"] });
    });
    const send = (body: string) => world.notify(account, { body });
    const ok = { status: 200, text: "success" };

    test("the vendor's package verifies what the emulator answers", async () => {
      const pkcs8 = alipay.merchant.privatePem.replace(/-----[A-Z ]+-----|\s/g, "");
      const vendor = new AlipaySdk({
        appId: alipay.appId,
        privateKey: pkcs8,
        keyType: "PKCS8",
        alipayPublicKey: alipay.platform.publicPem.replace(/-----[A-Z ]+-----|\s/g, ""),
        gateway: `${alipay.desk.url}/gateway.do`,
      });
      const content = { out_trade_no: "TGORACLE", total_amount: "30.00", subject: "x" };
      const answer = await vendor.exec(
        "alipay.trade.precreate",
        { bizContent: content },
        { validateSign: true },
      );
      expect(answer).toMatchObject({ code: "10000", outTradeNo: "TGORACLE" });
      const posted = Object.fromEntries(new URLSearchParams(alipay.notice(alipay.desk.order("TGORACLE"))));
      expect(vendor.checkNotifySignV2(posted)).toBe(true);
    });

    test("a code is shown, its notice credits once, and each check refuses by itself", async () => {
      const { user, order } = await world.ordered(account, { method: "qr" });
      expect(order.qr).toMatch(/^https:\/\/qr\.alipay\.example\//);
      const paid = alipay.desk.pay(order.order_no);
      const good = alipay.notice(paid);
      for (const forged of [
        good.replace("total_amount=30.00", "total_amount=30.01"),
        alipay.notice(paid, { sign_type: "RSA" }),
        good.replace("&sign_type=RSA2", ""),
        `${good}&total_amount=30.00`,
      ])
        expect(await send(forged)).toEqual({ status: 400, text: "fail" });
      for (const genuine of [
        alipay.notice(paid, { app_id: "2021000000000009" }),
        alipay.notice(paid, { seller_id: "2088000000000009" }),
        alipay.notice(paid, { trade_status: "WAIT_BUYER_PAY" }),
        alipay.notice(paid, { trade_status: "TRADE_CLOSED" }),
        alipay.notice(paid, { out_trade_no: "TG-of-nobody" }),
      ])
        expect(await send(genuine)).toEqual(ok);
      expect([await world.gained(user), (await world.row(order.order_no)).status]).toEqual([0, "pending"]);
      for (let turn = 0; turn < 3; turn += 1) expect(await send(good)).toEqual(ok);
      expect(await world.gained(user)).toBe(25_000_000);
      // The notice of a refund says TRADE_SUCCESS too, and brings nothing.
      const other = await world.ordered(account, { method: "qr" });
      const back = { refund_fee: "30.00", gmt_refund: "2026-11-24 12:00:00" };
      const no = other.order.order_no;
      expect(await send(alipay.notice(alipay.desk.pay(no), back))).toEqual(ok);
      expect([await world.gained(other.user), (await world.row(no)).status]).toEqual([0, "pending"]);
    });

    test("the page is a signed address; an answer that does not verify says nothing; a lost notice is found", async () => {
      const page = await world.ordered(account, { method: "page" });
      expect(page.order.url).toContain("/gateway.do?app_id=2021000000000001&method=alipay.trade.page.pay");
      const { user, order } = await world.ordered(account, { method: "qr" });
      alipay.desk.pay(order.order_no);
      for (const fault of ["isWronglySigned", "isUnsigned"] as const) {
        alipay.faults[fault] = true;
        await world.pass(16);
        expect([fault, await world.gained(user)]).toEqual([fault, 0]);
        alipay.faults[fault] = false;
      }
      await world.pass(65);
      expect(await world.gained(user)).toBe(25_000_000);
      const paid = alipay.desk.order(order.order_no);
      expect((await refund(order.order_no, "12.00")).success).toBe(true);
      expect([paid.refunded, await statesOf(order.order_no)]).toEqual([1_200, ["done"]]);
      // A notice about ours tells the sum of all refunds; 6 yuan more were refunded elsewhere.
      const told = (fee: string) =>
        alipay.notice(paid, { refund_fee: fee, gmt_refund: "2026-11-24 12:00:00" });
      await send(told("12.00"));
      expect(await world.gained(user)).toBe(15_000_000);
      for (let turn = 0; turn < 2; turn += 1) await send(told("18.00"));
      expect(await world.gained(user)).toBe(10_000_000);
    });
  });

  describe("WeChat Pay", () => {
    let account: Account;
    beforeAll(async () => {
      account = await world.account(world.desks.draftOf("wechat"));
    });
    const send = (notice: { body: string; headers: Record<string, string> }) => world.notify(account, notice);

    test("a code is shown, its callback is opened and credits once, and each check refuses by itself", async () => {
      const { user, order } = await world.ordered(account, { method: "native" });
      expect(order.qr).toMatch(/^weixin:\/\/wxpay\//);
      const paid = wechat.desk.pay(order.order_no);
      const good = wechat.notice(paid);
      for (const forged of [
        wechat.notice(paid, { serial: "unknown" }),
        wechat.notice(paid, { signature: "WECHATPAY/SIGNTEST/x" }),
        wechat.notice(paid, { ageSec: 301 }),
        { ...good, body: `${good.body} ` },
        { ...good, headers: {} },
      ])
        expect((await send(forged)).status).toBe(401);
      for (const genuine of [
        wechat.notice(paid, { body: { mchid: "1900000009" } }),
        wechat.notice(paid, { body: { appid: "wx9" } }),
        wechat.notice(paid, { body: { trade_state: "USERPAYING" } }),
        wechat.notice(paid, { type: "TRANSACTION.OTHER" }),
      ])
        expect((await send(genuine)).status).toBe(200);
      expect([await world.gained(user), (await world.row(order.order_no)).status]).toEqual([0, "pending"]);
      for (let turn = 0; turn < 3; turn += 1) expect((await send(good)).status).toBe(200);
      expect(await world.gained(user)).toBe(25_000_000);
    });

    test("a lost callback is found, a refund is taken and then done, one made at WeChat is booked", async () => {
      const { user, order } = await world.ordered(account, { method: "native" });
      const paid = wechat.desk.pay(order.order_no);
      await world.pass(16);
      expect(await world.gained(user)).toBe(25_000_000);
      await refund(order.order_no, "15.00");
      expect(await statesOf(order.order_no)).toEqual(["asked"]);
      await world.pass(11);
      expect([await statesOf(order.order_no), paid.refunded]).toEqual([["done"], 1_500]);
      const elsewhere = {
        refund_id: "503",
        out_refund_no: "merchant-1",
        refund_status: "SUCCESS",
        amount: { refund: 300, total: 3_000 },
      };
      for (let turn = 0; turn < 2; turn += 1)
        await send(wechat.notice(paid, { type: "REFUND.SUCCESS", body: elsewhere }));
      expect(await world.gained(user)).toBe(10_000_000);
    });

    test("an order that its user does not pay is closed there and here", async () => {
      const { order } = await world.ordered(account, { method: "native" });
      await world.pass(1_801);
      expect([wechat.desk.order(order.order_no).state, (await world.row(order.order_no)).status]).toEqual([
        "closed",
        "closed",
      ]);
    });
  });

  test("acts by hand need the rank, a reason and proof, and stand in the audit log", async () => {
    const { ctx } = world.app;
    const site = (await world.app.call(asRoot, "GET", "/api/payment/instance")).data.find(
      ({ provider }: { provider: string }) => provider === "wechat",
    );
    const { user, order } = await world.ordered({ id: site.id, path: "" }, { method: "native" });
    const path = `/api/payment/manage/${order.order_no}`;
    const manual = { trade_no: "bank-0001", amount: "30.00", reason: "银行流水" };
    expect((await world.app.call(user.who, "POST", `${path}/manual`, manual)).success).toBe(false);
    for (const bad of [
      { ...manual, reason: " " },
      { ...manual, trade_no: "" },
      { ...manual, amount: "3e1" },
    ])
      expect((await world.app.call(asRoot, "POST", `${path}/manual`, bad)).success).toBe(false);
    expect(await world.gained(user)).toBe(0);
    expect((await world.app.call(asRoot, "POST", `${path}/manual`, manual)).data.status).toBe("credited");
    expect((await world.app.call(asRoot, "POST", `${path}/manual`, manual)).success).toBe(false);
    expect(await world.gained(user)).toBe(25_000_000);
    const acts = await ctx.db
      .selectFrom("audit")
      .select(["action", "detail"])
      .where("target", "=", order.order_no)
      .execute();
    expect(acts[0]).toMatchObject({ action: "payment.manual", detail: expect.stringContaining("银行流水") });
    const { data } = await world.app.call(asRoot, "GET", path);
    expect(
      data.events.map(({ kind, verdict }: { kind: string; verdict: string }) => [kind, verdict]),
    ).toEqual([["admin", "credited"]]);
  });
});
