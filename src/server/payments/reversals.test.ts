// Money that goes back at a provider, beside its payment: told before it, of another payment of the order, or as sums at the same time
// (requirements Y37). On both databases.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asRoot, databases } from "#test/worlds/app.ts";
import { type Desks, startDesks, type Told } from "#test/worlds/pay-desks.ts";
import { type Account, PaymentWorld } from "#test/worlds/payment-world.ts";
import { instanceOf } from "./orders.ts";
import { bringReversal } from "./reversals.ts";

const CREDITED = 25_000_000;
/** Of 30 yuan 10 went back. */
const LEFT = 16_666_667;

interface Event {
  readonly id: number;
  readonly order_no: string;
  readonly verdict: string;
  readonly facts: string;
}

describe.each(databases)("money that goes back on $name", (database) => {
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
  let serial = 0;
  /** What a provider tells when 10 yuan of a payment went back in its console; told again it is the same. */
  function back(provider: string, no: string, change: { tradeNo?: string; orderNo?: string } = {}): Told {
    serial += 1;
    const order = at(provider).desk.order(no);
    const { tradeNo = order.tradeNo, orderNo = no } = change;
    if (provider === "wechat") {
      const refund = { refund_id: `50${serial}`, out_refund_no: `merchant-${serial}` };
      const body = {
        ...refund,
        ...{ out_trade_no: orderNo, transaction_id: tradeNo, amount: { refund: 1_000, total: 3_000 } },
      };
      return all.wechat.notice(order, { type: "REFUND.SUCCESS", body });
    }
    if (provider === "alipay") {
      const part = { refund_fee: "10.00", gmt_refund: "2026-11-24 12:00:00" };
      return { body: all.alipay.notice(order, { ...part, trade_no: tradeNo, out_trade_no: orderNo }) };
    }
    const id = `pyr_${serial}`;
    const made = { id, amount: 1_000, payment_intent: `pi_${tradeNo}`, status: "succeeded", metadata: {} };
    all.stripe.refunds.set(id, made);
    const { body, header } = all.stripe.event("refund.created", id);
    return { body, headers: { "stripe-signature": header } };
  }
  const open = async (verdict: string, names: readonly string[]): Promise<Event[]> => {
    const events: Event[] = await world.openEvents();
    return events.filter((event) => event.verdict === verdict && names.includes(event.order_no));
  };
  async function ordered(provider: string) {
    const { account, desk, method, notice } = at(provider);
    const { user, order } = await world.ordered(account, { method });
    const no = order.order_no;
    const tell = async (told: Told) => expect((await world.notify(account, told)).status).toBe(200);
    const { tradeNo } = desk.pay(no);
    const names = [no, tradeNo, `pi_${tradeNo}`];
    return { user, no, names, tell, pay: () => tell(notice(no)), gained: () => world.gained(user) };
  }

  test.each([
    ["wechat", "return_early"],
    ["alipay", "return_early"],
    // It names the payment alone, of which nothing is known.
    ["stripe", "unknown_order"],
  ])(
    "%s: told before its payment it waits for a person (%s), and takes its part as soon as that is credited",
    async (provider, verdict) => {
      for (const isSettled of [false, true]) {
        const { no, names, tell, pay, gained } = await ordered(provider);
        const told = back(provider, no);
        for (let turn = 0; turn < 2; turn += 1) await tell(told);
        const [event, ...others] = await open(verdict, names);
        expect([await gained(), others, event?.facts.includes("1000")]).toEqual([0, [], true]);
        // Who has looked at it has not taken it out of the books.
        const settle = `/api/payment/event/${event?.id}/settle`;
        if (isSettled) await world.app.call(asRoot, "POST", settle, { reason: "已核实" });
        await pay();
        expect(await gained()).toBe(LEFT);
        expect(await world.row(no)).toMatchObject({ status: "credited", refunded_minor: 1_000, review: "" });
        expect(await open(verdict, names)).toEqual([]);
        for (let turn = 0; turn < 2; turn += 1) {
          await tell(told);
          await pay();
        }
        expect(await gained()).toBe(LEFT);
      }
    },
  );

  test("a dispute that is told before its payment takes its part too, and gives it back when it is won", async () => {
    const { no, tell, pay, gained } = await ordered("stripe");
    const id = `du_early${no}`;
    const intent = `pi_${at("stripe").desk.order(no).tradeNo}`;
    const dispute = { id, amount: 1_000, payment_intent: intent, status: "needs_response" };
    const told = (type: string): Told => {
      const { body, header } = all.stripe.event(`charge.dispute.${type}`, id);
      return { body, headers: { "stripe-signature": header } };
    };
    all.stripe.disputes.set(id, dispute);
    await tell(told("created"));
    await pay();
    expect(await gained()).toBe(LEFT);
    all.stripe.disputes.set(id, { ...dispute, status: "won" });
    await tell(told("closed"));
    expect(await gained()).toBe(CREDITED);
  });

  test("of a payment of another sum it is counted too: what is left only goes back", async () => {
    const { account, desk } = at("wechat");
    const { no, tell, gained } = await ordered("wechat");
    await tell(back("wechat", no));
    await world.notify(account, at("wechat").odd(no, { amountMinor: 2_000 }));
    expect(await world.row(no)).toMatchObject({ status: "paid", review: "amount", refunded_minor: 1_000 });
    const act = { as: "paid", reason: "入账" };
    const decided = await world.app.call(asRoot, "POST", `/api/payment/manage/${no}/decide`, act);
    expect([decided.success, await gained(), desk.order(no).refunded]).toEqual([false, 0, 0]);
  });

  test("a payment and its refund at the same moment end alike, whichever is first", async () => {
    for (let round = 0; round < 6; round += 1) {
      const { no, names, tell, pay, gained } = await ordered("wechat");
      const acts = [() => tell(back("wechat", no)), pay];
      await Promise.all((round % 2 === 0 ? acts : acts.toReversed()).map((act) => act()));
      expect(await gained()).toBe(LEFT);
      expect(await open("return_early", names)).toEqual([]);
    }
  });

  test("of a payment without an order it takes its part when a person credits that", async () => {
    const { no, tell } = await ordered("wechat");
    const user = await world.buyer();
    const orderNo = "TG20261124NOBODYNOBODYBACK";
    await tell(all.wechat.notice(at("wechat").desk.order(no), { body: { out_trade_no: orderNo } }));
    await tell(back("wechat", no, { orderNo }));
    const events: (Event & { is_orphan: boolean })[] = await world.openEvents();
    const orphan = events.find(({ order_no, is_orphan }) => order_no === orderNo && is_orphan);
    const given = { user_id: user.id, reason: "凭证" };
    const path = `/api/payment/event/${orphan?.id}/credit`;
    expect((await world.app.call(asRoot, "POST", path, given)).message).toBe("");
    expect(await world.gained(user)).toBe(LEFT);
  });

  test.each(["wechat", "alipay"])(
    "%s: of the second payment of an order it takes nothing, and waits for a person, once",
    async (provider) => {
      const { desk, odd } = at(provider);
      const { no, names, tell, pay, gained } = await ordered(provider);
      await pay();
      const second = `9${desk.order(no).tradeNo}`;
      await tell(odd(no, { tradeNo: second }));
      expect(await world.row(no)).toMatchObject({ status: "credited", review: "paid_twice" });
      const told = back(provider, no, { tradeNo: second });
      for (let turn = 0; turn < 2; turn += 1) await tell(told);
      expect(await open("other_payment", names)).toHaveLength(1);
      expect([await gained(), (await world.row(no)).refunded_minor]).toEqual([CREDITED, 0]);
      await tell(back(provider, no));
      expect(await gained()).toBe(LEFT);
    },
  );

  test("refunds of a list are summed up by payment: those of the second one are none of the first", async () => {
    const { no, names, pay, gained } = await ordered("alipay");
    await pay();
    const { account, desk } = at("alipay");
    const instance = await instanceOf(world.app.ctx, account.id);
    if (!instance) throw new Error("the account is complete");
    const { tradeNo } = desk.order(no);
    const list = (providerId: string, trade: string) =>
      bringReversal(world.app.ctx, instance, {
        reversal: {
          ...{ source: "elsewhere", providerId, orderNo: no, tradeNo: trade, amountMinor: 1_000 },
          ...{ isTotal: false, isListed: true, isUndone: false },
        },
        origin: { kind: "poll", key: `refund/${providerId}`, body: "" },
      });
    expect([await list("m1", `9${tradeNo}`), await list("m1", `9${tradeNo}`)]).toEqual([true, false]);
    expect(await open("other_payment", names)).toHaveLength(1);
    expect([await list("m2", tradeNo), await list("m2", tradeNo)]).toEqual([true, false]);
    expect(await gained()).toBe(LEFT);
  });

  test("a refund that fails at Stripe after it was booked waits for a person, once; one that was never booked is nothing", async () => {
    const { no, tell, pay, gained } = await ordered("stripe");
    await pay();
    const fail = async (id: string, change: object = {}) => {
      all.stripe.refunds.set(id, { ...all.stripe.refunds.get(id), ...change, id, status: "failed" });
      for (const type of ["refund.failed", "refund.updated"]) {
        const { body, header } = all.stripe.event(type, id);
        await tell({ body, headers: { "stripe-signature": header } });
      }
    };
    const payment_intent = `pi_${at("stripe").desk.order(no).tradeNo}`;
    await fail("re_never", { amount: 1_000, payment_intent, metadata: {} });
    expect([await open("return_failed", [no]), await gained()]).toEqual([[], CREDITED]);
    await tell(back("stripe", no));
    await fail(`pyr_${serial}`);
    const [event, ...others] = await open("return_failed", [no]);
    expect([others, event?.facts.includes("1000"), await gained()]).toEqual([[], true, LEFT]);
    // One of ours, which is known by its number.
    const known = new Set(all.stripe.refunds.keys());
    const wish = { amount: "10.00", reason: "测试" };
    const made = await world.app.call(asRoot, "POST", `/api/payment/manage/${no}/refund`, wish);
    expect(made.message).toBe("");
    const ours = [...all.stripe.refunds.keys()].find((id) => !known.has(id)) ?? "";
    await fail(ours);
    expect(await open("return_failed", [no])).toHaveLength(2);
  });

  test("sums that are told at the same time count once: 2 yuan and then 4 are 4", async () => {
    const { no, tell, pay, gained } = await ordered("alipay");
    await pay();
    const sum = (refund_fee: string): Told => {
      const order = at("alipay").desk.order(no);
      return { body: all.alipay.notice(order, { refund_fee, gmt_refund: "2026-11-24 12:00:00" }) };
    };
    await Promise.all(["2.00", "4.00", "2.00", "4.00"].map((fee) => tell(sum(fee))));
    expect((await world.row(no)).refunded_minor).toBe(400);
    expect(await gained()).toBe(21_666_667);
  });
});
