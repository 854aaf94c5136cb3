// A day compared with the provider's own list (requirements Y43): what only the provider has is credited or kept, what only we have is kept,
// wherever pages break and days end.
import { describe, expect, test } from "vitest";
import { dayOf } from "#contract/month.ts";
import { DAY_SEC } from "#server/clock.ts";
import { ROBOT } from "#test/emulators/robots.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { PROVIDERS, useComparison } from "#test/worlds/comparison.ts";
import { compareDue, dueDays, spanOfDay } from "./compare.ts";
import { newOrderNo } from "./orders.ts";
import { beijingSec } from "./wire/bill.ts";

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
  const { world, desks, robots, toNextDay, open, deskOf, untold, paid, found } = useComparison(database);

  test("finds nothing where both agree, and compares a day once", async () => {
    for (const provider of PROVIDERS) await paid(provider);
    await toNextDay(13);
    expect(await compareDue(world.app.ctx)).toBe(found(0, 0));
    expect(await compareDue(world.app.ctx)).toBe("0 days, 0 brought, 0 missing, 0 later, 0 unclear");
    expect(await open()).toEqual([]);
  });

  test.each(PROVIDERS)(
    "%s: what only the provider has is credited, or kept when no order fits",
    async (provider) => {
      const { user } = await untold(provider);
      const { desk } = deskOf(provider);
      const unknown = newOrderNo(world.clock.seconds());
      // Another shop's order is none of ours.
      for (const orderNo of [unknown, "SHOP1"]) {
        await desk.take({ orderNo, amount: 500, currency: "CNY", notifyUrl: "" });
        desk.pay(orderNo);
      }
      expect(await world.gained(user)).toBe(0);
      const before = await open();
      await toNextDay(13);
      // Stripe names the order of a session only when it was made by us.
      expect(await compareDue(world.app.ctx)).toBe(found(2, 0));
      expect(await world.gained(user)).toBe(25_000_000);
      expect((await open()).filter(([no]) => !before.some(([known]) => known === no))).toEqual([
        [unknown, "unknown_order"],
      ]);
      desk.orders.delete(unknown);
    },
  );

  test.each(PROVIDERS)(
    "%s: a payment that an administrator vouched for stands in no list, and is no difference",
    async (provider) => {
      const { account, method } = deskOf(provider);
      const { user, order } = await world.ordered(account, { method });
      const path = `/api/payment/manage/${order.order_no}/manual`;
      const voucher = { trade_no: `bank-${order.order_no}`, amount: "30.00", reason: "银行流水" };
      expect((await world.app.call(asRoot, "POST", path, voucher)).message).toBe("");
      expect(await world.gained(user)).toBe(25_000_000);
      const before = await open();
      await toNextDay(13);
      expect(await compareDue(world.app.ctx)).toBe(found(0, 0));
      expect(await open()).toEqual(before);
    },
  );

  test.each(PROVIDERS)(
    "%s: what only we have is kept for a person, once; one that the list forgot but the provider knows is not",
    async (provider) => {
      const [gone, hidden] = [await paid(provider), await paid(provider)];
      const { desk } = deskOf(provider);
      desk.orders.delete(gone.no);
      desk.hideFromList = hidden.no;
      const before = await open();
      await toNextDay(13);
      expect(await compareDue(world.app.ctx)).toBe(found(0, 1));
      expect((await open()).filter(([no]) => !before.some(([known]) => known === no))).toEqual([
        [gone.no, "not_listed"],
      ]);
      // What was credited stays: a person decides.
      expect(await world.gained(gone.user)).toBe(25_000_000);
    },
  );

  test.each(["epay-v1", "epay-v2"] as const)(
    "%s: pages that shift while they are read lose nothing",
    async (provider) => {
      const { user } = await untold(provider);
      const { desk } = deskOf(provider);
      const { faults } = provider === "epay-v1" ? desks().epay : desks().other;
      const fill = async (count: number) => {
        for (let index = 0; index < count; index++) {
          const orderNo = newOrderNo(world.clock.seconds());
          await desk.take({ orderNo, amount: 100, currency: "CNY", notifyUrl: "" });
        }
      };
      // The order is the last of its page, and slips to the next one.
      await fill(49);
      faults.beforePage = async (page) => {
        if (page === 1) return;
        faults.beforePage = async () => undefined;
        await fill(3);
      };
      await toNextDay(13);
      expect(await compareDue(world.app.ctx)).toBe(found(1, 0));
      expect(await world.gained(user)).toBe(25_000_000);
    },
  );

  test("stripe: pages of two sessions each are all read", async () => {
    const several = [];
    for (let index = 0; index < 5; index++) several.push(await untold("stripe"));
    desks().stripe.pageSize.most = 2;
    await toNextDay(13);
    expect(await compareDue(world.app.ctx)).toBe(found(5, 0));
    for (const buyer of several) expect(await world.gained(buyer.user)).toBe(25_000_000);
  });

  test.each(PROVIDERS)(
    "%s: a payment in the last second of a day is found, though we heard of it on the next",
    async (provider) => {
      const now = world.clock.seconds();
      const { beforeSec } = spanOfDay(dayOf(now));
      world.clock.advance((beforeSec - 1 - now) * 1_000);
      const { account, method, desk, notice } = deskOf(provider);
      const { order } = await world.ordered(account, { method });
      desk.pay(order.order_no);
      world.clock.advance(2_000);
      await world.notify(account, notice(order.order_no));
      const before = await open();
      await toNextDay(13);
      for (let day = 0; day < 2; day++) {
        expect(await compareDue(world.app.ctx)).toMatch(/ 0 brought, 0 missing, 0 later, 0 unclear$/);
        world.clock.advance(DAY_SEC * 1_000);
      }
      expect(await open()).toEqual(before);
    },
  );

  test("a bill that is not made yet is waited for, and a list that cannot be understood is asked for again", async () => {
    for (const provider of ["alipay", "wechat"]) await paid(provider);
    await toNextDay(3);
    expect(await compareDue(world.app.ctx)).toBe("3 days, 0 brought, 0 missing, 2 later, 0 unclear");
    world.clock.advance(10 * 3_600_000);
    for (const { desk } of desks().desks) desk.mode = "html";
    expect(await compareDue(world.app.ctx)).toBe("0 days, 0 brought, 0 missing, 0 later, 2 unclear");
    for (const { desk } of desks().desks) desk.mode = "ok";
    desks().wechat.bills.isBillForged = true;
    expect(await compareDue(world.app.ctx)).toBe("1 days, 0 brought, 0 missing, 0 later, 1 unclear");
    desks().wechat.bills.isBillForged = false;
    expect(await compareDue(world.app.ctx)).toBe("1 days, 0 brought, 0 missing, 0 later, 0 unclear");
  });

  test("an order that the provider says nothing clear about is asked about again with its day", async () => {
    const { user } = await untold("alipay");
    await toNextDay(13);
    desks().alipay.faults.look = { out_trade_no: "another" };
    expect(await compareDue(world.app.ctx)).toBe("4 days, 0 brought, 0 missing, 0 later, 1 unclear");
    expect(await world.gained(user)).toBe(0);
    desks().alipay.faults.look = {};
    expect(await compareDue(world.app.ctx)).toBe("1 days, 1 brought, 0 missing, 0 later, 0 unclear");
    expect(await world.gained(user)).toBe(25_000_000);
  });

  test("a line in a file without a signature credits nothing: what the question says counts", async () => {
    const { no, user } = await untold("alipay");
    const order = desks().alipay.desk.order(no);
    await toNextDay(13);
    desks().alipay.faults.look = { trade_status: "WAIT_BUYER_PAY" };
    expect(await compareDue(world.app.ctx)).toBe(found(1, 0));
    desks().alipay.faults.look = {};
    expect(await world.gained(user)).toBe(0);
    expect(await open()).toContainEqual([no, "not_confirmed"]);
    order.state = "closed";
  });

  test("what went back is missing nowhere; a refund made at WeChat Pay's platform is found and booked once", async () => {
    const [one, two] = [await paid("epay-v1"), await paid("epay-v2")];
    for (const { no } of [one, two]) {
      const body = { amount: "30.00", reason: "测试" };
      const answer = await world.app.call(asRoot, "POST", `/api/payment/manage/${no}/refund`, body);
      expect(answer.message).toBe("");
    }
    const { no, user } = await paid("wechat");
    desks().wechat.bills.elsewhere = [{ orderNo: no, id: "5030", amount: 1_000 }];
    await toNextDay(13);
    expect(await compareDue(world.app.ctx)).toBe(found(1, 0));
    expect(await world.gained(user)).toBe(16_666_667);
    await toNextDay(13);
    expect(await compareDue(world.app.ctx)).toBe(found(0, 0));
    expect(await world.gained(user)).toBe(16_666_667);
  });

  test("the reconciliation page tells of each day, and the operator is told of what waits", async () => {
    const target = await world.app.call(asRoot, "POST", "/api/alert/target", {
      kind: "webhook",
      name: "duty",
      is_enabled: true,
      address: `${robots().url}/hook`,
      secret: ROBOT.webhookSecret,
      events: ["payment_review"],
    });
    expect(target.message).toBe("");
    const { no } = await paid("wechat");
    desks().wechat.desk.orders.delete(no);
    await toNextDay(3);
    await compareDue(world.app.ctx);
    const days = async () => {
      const { data } = await world.app.call(asRoot, "GET", "/api/reconciliation");
      const rows = data.days as { day: string; instance_id: number; missing: number; state: string }[];
      return rows.filter(({ instance_id }) => instance_id === deskOf("wechat").account.id)[0];
    };
    expect(await days()).toMatchObject({ missing: 0, state: "later" });
    world.clock.advance(10 * 3_600_000);
    await compareDue(world.app.ctx);
    expect(await days()).toMatchObject({ listed: 0, brought: 0, missing: 1, state: "compared" });
    expect(await open()).toContainEqual([no, "not_listed"]);
    await world.app.ctx.alerts.idle();
    expect(JSON.stringify(robots().taken.map(({ body }) => body.data.alerts))).toContain(no);
  });
});
