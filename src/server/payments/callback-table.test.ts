// Every odd callback of every provider: none moves anything, a forged one leaves nothing, and what is genuine but does not fit is seen in the
// list of what waits for a person (requirements Y04, Y06, Y13–Y15, Y20, Y21). On both databases.
import { afterEach, describe, expect, test, vi } from "vitest";
import { paymentProviderNames } from "#contract/payment-provider.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { useDesksWorld } from "#test/worlds/desks-world.ts";
import type { Oddity, Told } from "#test/worlds/pay-desks.ts";
import { type Account, CREDITED } from "#test/worlds/payment-world.ts";

const NOBODYS = "TG20261124NOBODYNOBODY0000";
const SIGN_TIME = ["epay-v2", "stripe", "wechat"];
const REFUSED = { "epay-v1": 400, "epay-v2": 400, stripe: 400, alipay: 400, wechat: 401 };

interface Event {
  readonly order_no: string;
  readonly verdict: string;
}

interface Refused {
  readonly refused_notices: number;
  readonly refused_at: number;
}

describe.each(databases)("odd callbacks on $name", (database) => {
  const world = useDesksWorld(database);
  afterEach(() => {
    world.desks.stripe.told.session = {};
  });

  /** The answer must be one that the provider takes for a yes, or its no. */
  async function tell(account: Account, told: Told): Promise<number> {
    return (await world.notify(account, told)).status;
  }

  /** All that a callback can move or leave: entries of the ledger, and what waits for a person. */
  async function seen() {
    const { db } = world.app.ctx;
    const rows = await db.selectFrom("ledger").select("id").execute();
    const events: Event[] = await world.openEvents();
    return { entries: rows.length, events: events.map(({ order_no, verdict }) => `${verdict} ${order_no}`) };
  }

  /** How many notices of the account were refused, and when the last was. */
  async function refusedOf({ id }: Pick<Account, "id">): Promise<Refused> {
    const { data } = await world.app.call(asRoot, "GET", "/api/payment/instance");
    const { refused_notices, refused_at } = data.find((one: { id: number }) => one.id === id);
    return { refused_notices, refused_at };
  }

  /** What a callback left for a person, when it moved nothing. */
  async function leaves(act: () => Promise<number>): Promise<{ status: number; left: string[] }> {
    const before = await seen();
    const status = await act();
    const after = await seen();
    expect(after.entries).toBe(before.entries);
    expect(await checkLedger(world.app.ctx.db)).toEqual([]);
    return { status, left: after.events.filter((event) => !before.events.includes(event)) };
  }

  describe.each(paymentProviderNames.map((provider) => ({ provider })))("of $provider", ({ provider }) => {
    async function ordered() {
      const desk = world.at(provider);
      const { account, method } = desk;
      const { user, order } = await world.ordered(account, { method });
      const no = order.order_no;
      return { desk, account, user, no, paid: () => desk.desk.pay(no) };
    }
    const inReview = async (no: string) => {
      const { data } = await world.app.call(asRoot, "GET", "/api/payment/manage?review=true&size=100");
      return data.some(({ order_no }: { order_no: string }) => order_no === no);
    };

    test("replayed: told three times, and a day later again, it is credited once", async () => {
      const { desk, account, user, no, paid } = await ordered();
      paid();
      expect(await tell(account, desk.notice(no))).toBe(200);
      const again = async () => {
        await tell(account, desk.notice(no));
        world.clock.advance(86_400_000);
        return tell(account, desk.notice(no));
      };
      expect(await leaves(again)).toEqual({ status: 200, left: [] });
      expect(await world.gained(user)).toBe(CREDITED);
    });

    test("replayed for another order: the payment is used, and a person sees it", async () => {
      const [first, second] = [await ordered(), await ordered()];
      const { tradeNo } = first.paid();
      second.paid();
      await tell(first.account, first.desk.notice(first.no));
      const stolen = () => tell(second.account, second.desk.odd(second.no, { tradeNo }));
      expect(await leaves(stolen)).toEqual({ status: 200, left: [`trade_used ${second.no}`] });
      expect([await world.gained(first.user), await world.gained(second.user)]).toEqual([CREDITED, 0]);
    });

    test("forged: refused, and nothing is left of it but that it came", async () => {
      const { desk, account, no, paid } = await ordered();
      paid();
      const { db } = world.app.ctx;
      const count = async () => (await db.selectFrom("payment_events").select("id").execute()).length;
      const before = await count();
      const told = await refusedOf(account);
      const forged = () => tell(account, desk.odd(no, { isForged: true }));
      expect(await leaves(forged)).toEqual({ status: REFUSED[provider], left: [] });
      expect(await count()).toBe(before);
      expect(await world.row(no)).toMatchObject({ status: "pending", review: "", trade_no: "" });
      // But how many came is told beside the list of what waits for a person.
      await forged();
      expect(await refusedOf(account)).toEqual({
        refused_notices: told.refused_notices + 2,
        refused_at: Math.floor(world.clock.now() / 1_000),
      });
    });

    test.each([2_999, 3_001, 1])("a wrong amount (%i fen) waits for a person", async (amountMinor) => {
      const { desk, account, no, paid } = await ordered();
      paid();
      const notify = vi.spyOn(world.app.ctx, "notify");
      const wrong = () => tell(account, desk.odd(no, { amountMinor }));
      expect(await leaves(wrong)).toEqual({ status: 200, left: [`amount ${no}`] });
      const alarms = notify.mock.calls.map(([{ event, content }]) => [event, content.includes(no)]);
      expect(alarms).toEqual([["payment_review", true]]);
      notify.mockRestore();
      expect(await world.row(no)).toMatchObject({
        status: "paid",
        review: "amount",
        paid_minor: amountMinor,
      });
      expect(await inReview(no)).toBe(true);
    });

    test("of another merchant, it waits for a person, and the order for its payment", async () => {
      const { desk, account, no, paid } = await ordered();
      paid();
      const foreign = () => tell(account, desk.odd(no, { isForeign: true }));
      // An event of Stripe's other mode is not believed even in which order it names.
      const named = provider === "stripe" ? "" : no;
      expect(await leaves(foreign)).toEqual({ status: 200, left: [`wrong_merchant ${named}`] });
      expect(await world.row(no)).toMatchObject({ status: "pending", review: "", trade_no: "" });
    });

    test("of no order of ours, it waits for a person", async () => {
      const { desk, account, no, paid } = await ordered();
      paid();
      const orderNo = `${NOBODYS.slice(0, -2)}${paymentProviderNames.indexOf(provider)}A`;
      const unknown = () => tell(account, desk.odd(no, { orderNo }));
      expect(await leaves(unknown)).toEqual({ status: 200, left: [`unknown_order ${orderNo}`] });
      expect(await world.row(no)).toMatchObject({ status: "pending", trade_no: "" });
    });

    test("of an order of another account of the same merchant, it waits for a person", async () => {
      const { desk, no, paid } = await ordered();
      const other = await world.account(desk.draft);
      paid();
      const elsewhere = () => tell(other, desk.notice(no));
      expect(await leaves(elsewhere)).toEqual({ status: 200, left: [`unknown_order ${no}`] });
      expect(await world.row(no)).toMatchObject({ status: "pending", trade_no: "" });
    });

    test("signed long ago: refused where the time is signed, and the payment is found by asking", async () => {
      const { desk, account, user, no, paid } = await ordered();
      paid();
      const stale: Oddity = { ageSec: 301 };
      if (SIGN_TIME.includes(provider))
        expect(await leaves(() => tell(account, desk.odd(no, stale)))).toEqual({
          status: REFUSED[provider],
          left: [],
        });
      await world.pass(16);
      expect(await world.gained(user)).toBe(CREDITED);
      // Told after that, it is nothing new.
      expect(await leaves(() => tell(account, desk.notice(no)))).toEqual({ status: 200, left: [] });
    });

    test("of a payment after the order was closed, it is the user's money and credited, once", async () => {
      const { desk, account, user, no, paid } = await ordered();
      await world.pass(1_801);
      expect(await world.row(no)).toMatchObject({ status: "closed" });
      paid();
      expect(await tell(account, desk.notice(no))).toBe(200);
      expect(await world.gained(user)).toBe(CREDITED);
      expect(await leaves(() => tell(account, desk.notice(no)))).toEqual({ status: 200, left: [] });
    });

    test("at the address of any other provider it is refused, whatever its headers and its body name", async () => {
      const { desk, no, paid } = await ordered();
      paid();
      const { query, body, headers } = desk.notice(no);
      const signed = world.desks.stripe.event("checkout.session.completed", "cs_test_1").header;
      const mixed = { "stripe-signature": signed, "x-provider": provider, ...headers };
      for (const [name, account] of world.accounts) {
        if (name === provider) continue;
        const named = (text: string) => (text.startsWith("{") ? text : `provider=${provider}&${text}`);
        const told: Told = {
          ...(query !== undefined && { query: named(query) }),
          ...(body !== undefined && { body: named(body) }),
          headers: mixed,
        };
        for (const each of [desk.notice(no), told]) {
          const { status, left } = await leaves(() => tell(account, each));
          expect([name, status >= 400 && status < 500, left]).toEqual([name, true, []]);
        }
      }
      expect(await world.row(no)).toMatchObject({ status: "pending", review: "", trade_no: "" });
    });
  });
});
