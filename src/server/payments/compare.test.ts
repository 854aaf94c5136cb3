// A day compared with the provider's own list (requirements Y43): what only the provider has is credited or kept, what only we have is kept,
// wherever pages break and days end.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { dayOf } from "#contract/month.ts";
import { type EpayEmulator, startEpay } from "#test/emulators/epay-emulator.ts";
import { type StripeEmulator, startStripe } from "#test/emulators/stripe-emulator.ts";
import { databases } from "#test/worlds/app.ts";
import { type Account, PaymentWorld } from "#test/worlds/payment-world.ts";
import { compareDue, dueDays, spanOfDay } from "./compare.ts";
import { newOrderNo } from "./orders.ts";
import { beijingSec } from "./providers/epay-list.ts";

const DAY_SEC = 86_400;

test("days are due once each, after they have ended in Beijing, and no more than a week of them", () => {
  const at = (time: string) => Date.parse(time) / 1_000;
  // 23:59:59 and 02:00:00 in Beijing.
  expect(dueDays("2026-11-24", at("2026-11-26T15:59:59Z"))).toEqual(["2026-11-25"]);
  expect(dueDays("2026-11-25", at("2026-11-26T17:59:59Z"))).toEqual([]);
  expect(dueDays("2026-11-25", at("2026-11-26T18:00:00Z"))).toEqual(["2026-11-26"]);
  expect(dueDays(undefined, at("2026-11-26T18:00:00Z"))).toEqual(["2026-11-26"]);
  expect(dueDays("2026-01-01", at("2026-11-26T18:00:00Z"))).toHaveLength(7);
  expect(spanOfDay("2026-11-26")).toEqual({
    fromSec: at("2026-11-25T16:00:00Z"),
    beforeSec: at("2026-11-26T16:00:00Z"),
  });
  expect(beijingSec("2026-11-24 12:00:00")).toBe(1_795_492_800);
  expect(beijingSec("0000-00-00 00:00:00")).toBeUndefined();
});

describe.each(databases)("the daily comparison on $name", (database) => {
  const world = new PaymentWorld();
  let epay: EpayEmulator;
  let stripe: StripeEmulator;
  let site: Account;
  let card: Account;

  beforeAll(async () => {
    await world.start(database);
    epay = await startEpay(world.clock.now);
    stripe = await startStripe(world.clock.now);
    const fields = { base_url: epay.desk.url, key: epay.key };
    site = await world.account({ provider: "epay-v1", methods: ["alipay"], fields });
    card = await world.account({
      provider: "stripe",
      methods: ["card"],
      fields: { base_url: stripe.desk.url, secret_key: "sk_test_1", webhook_secret: stripe.webhookSecret },
    });
    await toMorning();
    await compareDue(world.app.ctx);
  });
  afterAll(async () => {
    await Promise.all([epay.desk.close(), stripe.desk.close()]);
    await world.stop();
  });
  beforeEach(() => {
    epay.desk.mode = "ok";
    epay.faults.hideFromList = "";
    epay.faults.beforePage = async () => undefined;
    stripe.pageSize.most = 100;
  });

  /** The next day at 03:00 in Beijing. */
  async function toMorning(): Promise<void> {
    const now = world.clock.seconds();
    const { beforeSec } = spanOfDay(dayOf(now));
    world.clock.advance((beforeSec + 3 * 3_600 - now) * 1_000);
  }
  const open = async () =>
    ((await world.openEvents()) as { verdict: string; order_no: string }[]).map(({ verdict, order_no }) => [
      order_no,
      verdict,
    ]);
  async function paid(): Promise<{ no: string; user: { readonly id: number } }> {
    const { user, order } = await world.ordered(site);
    await world.notify(site, { query: epay.noticeV1(epay.desk.pay(order.order_no)) });
    return { no: order.order_no, user };
  }

  test("finds nothing where both agree, and compares a day once", async () => {
    await paid();
    await toMorning();
    expect(await compareDue(world.app.ctx)).toBe("2 days, 0 brought, 0 missing, 0 unclear");
    expect(await compareDue(world.app.ctx)).toBe("0 days, 0 brought, 0 missing, 0 unclear");
    expect(await open()).toEqual([]);
  });

  test("what only the provider has is credited, or kept when no order fits; another shop's order is none of ours", async () => {
    const { user, order } = await world.ordered(site);
    await world.app.ctx.db
      .updateTable("orders")
      .set({ next_check: 0 })
      .where("order_no", "=", order.order_no)
      .execute();
    epay.desk.pay(order.order_no);
    const unknown = newOrderNo(world.clock.seconds());
    for (const orderNo of [unknown, "SHOP-1"]) {
      await epay.desk.take({ orderNo, amount: 500, currency: "CNY", notifyUrl: "" });
      epay.desk.pay(orderNo);
    }
    const bought = await world.ordered(card, { method: "card" });
    await world.app.ctx.db
      .updateTable("orders")
      .set({ next_check: 0 })
      .where("order_no", "=", bought.order.order_no)
      .execute();
    stripe.desk.pay(bought.order.order_no);
    expect([await world.gained(user), await world.gained(bought.user)]).toEqual([0, 0]);
    await toMorning();
    expect(await compareDue(world.app.ctx)).toBe("2 days, 3 brought, 0 missing, 0 unclear");
    expect([await world.gained(user), await world.gained(bought.user)]).toEqual([25_000_000, 25_000_000]);
    expect(await open()).toEqual([[unknown, "unknown_order"]]);
    epay.desk.orders.delete(unknown);
  });

  test("what only we have is kept for a person, once; one that the list forgot but the provider knows is not", async () => {
    const [gone, hidden] = [await paid(), await paid()];
    epay.desk.orders.delete(gone.no);
    epay.faults.hideFromList = hidden.no;
    const before = await open();
    await toMorning();
    expect(await compareDue(world.app.ctx)).toBe("2 days, 0 brought, 1 missing, 0 unclear");
    expect((await open()).filter((row) => !before.some((known) => known[0] === row[0]))).toEqual([
      [gone.no, "not_listed"],
    ]);
    // What was credited stays: a person decides.
    expect(await world.gained(gone.user)).toBe(25_000_000);
  });

  test("pages that shift while they are read lose nothing", async () => {
    const { user, order } = await world.ordered(site);
    await world.app.ctx.db
      .updateTable("orders")
      .set({ next_check: 0 })
      .where("order_no", "=", order.order_no)
      .execute();
    epay.desk.pay(order.order_no);
    const fill = async (count: number) => {
      for (let index = 0; index < count; index++) {
        const orderNo = newOrderNo(world.clock.seconds());
        await epay.desk.take({ orderNo, amount: 100, currency: "CNY", notifyUrl: "" });
      }
    };
    // The order is the last of its page, and slips to the next one.
    await fill(49);
    epay.faults.beforePage = async (page) => {
      if (page === 1) return;
      epay.faults.beforePage = async () => undefined;
      await fill(3);
    };
    const several = await Promise.all(
      Array.from({ length: 5 }, () => world.ordered(card, { method: "card" })),
    );
    for (const { order: made } of several) stripe.desk.pay(made.order_no);
    stripe.pageSize.most = 2;
    await toMorning();
    await compareDue(world.app.ctx);
    expect(await world.gained(user)).toBe(25_000_000);
    for (const buyer of several) expect(await world.gained(buyer.user)).toBe(25_000_000);
  });

  test("a payment in the last second of a day is found, though we heard of it on the next", async () => {
    const now = world.clock.seconds();
    const { beforeSec } = spanOfDay(dayOf(now));
    world.clock.advance((beforeSec - 1 - now) * 1_000);
    const { order } = await world.ordered(site);
    const made = epay.desk.pay(order.order_no);
    world.clock.advance(2_000);
    await world.notify(site, { query: epay.noticeV1(made) });
    const before = await open();
    await toMorning();
    for (let day = 0; day < 2; day++) {
      expect(await compareDue(world.app.ctx)).toMatch(/ 0 brought, 0 missing, 0 unclear$/);
      world.clock.advance(DAY_SEC * 1_000);
    }
    expect(await open()).toEqual(before);
  });

  test("a list that cannot be understood finds nothing missing, and is asked for again", async () => {
    await paid();
    await toMorning();
    epay.desk.mode = "html";
    expect(await compareDue(world.app.ctx)).toMatch(/ 0 brought, 0 missing, 1 unclear$/);
    epay.desk.mode = "ok";
    expect(await compareDue(world.app.ctx)).toMatch(/^\d+ days, 0 brought, 0 missing, 0 unclear$/);
  });
});
