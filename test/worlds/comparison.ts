// Merchant accounts at all five emulated providers, days that pass, and the comparison of each.
import { afterAll, beforeAll, beforeEach } from "vitest";
import { dayOf } from "#contract/month.ts";
import { compareDue, spanOfDay } from "#server/payments/compare.ts";
import { type Robots, startRobots } from "#test/emulators/robots.ts";
import type { TestDatabase } from "./app.ts";
import { DesksWorld } from "./desks-world.ts";

export const PROVIDERS = ["epay-v1", "epay-v2", "stripe", "alipay", "wechat"] as const;

/** Starts all of it before the tests of the caller, and ends it after them. Each test begins with nothing left to compare. */
export function useComparison(database: TestDatabase) {
  const world = new DesksWorld();
  let robots: Robots;

  beforeAll(async () => {
    await world.start(database);
    // The days of the tests are more than an administrator has time to add a factor.
    await world.app.ctx.options.set("MfaRequiredFor", "none");
    robots = await startRobots(world.clock.now);
    await world.openAccounts();
    await toNextDay(13);
    await compareDue(world.app.ctx);
  });
  afterAll(async () => {
    await robots.close();
    await world.stop();
  });
  beforeEach(async () => {
    for (const { desk } of world.desks.desks) Object.assign(desk, { mode: "ok", hideFromList: "" });
    for (const { faults } of [world.desks.epay, world.desks.other]) faults.beforePage = async () => undefined;
    Object.assign(world.desks.wechat.bills, { isBillForged: false, elsewhere: [] });
    world.desks.stripe.pageSize.most = 100;
    // What a test before this one left is compared by none of the next.
    await toNextDay(13);
    await compareDue(world.app.ctx);
  });

  /** A time of the next day in Beijing; bills are made by half past ten. */
  async function toNextDay(hour: number): Promise<void> {
    const now = world.clock.seconds();
    const { beforeSec } = spanOfDay(dayOf(now));
    world.clock.advance((beforeSec + hour * 3_600 - now) * 1_000);
  }
  /** Compares until no day is left, however many have passed. */
  async function compareAll(): Promise<void> {
    while (!(await compareDue(world.app.ctx)).startsWith("0 days"));
  }
  const open = async () => {
    const rows = await world.app.ctx.db
      .selectFrom("payment_events")
      .selectAll()
      .where("is_open", "=", 1)
      .execute();
    return rows.map(({ verdict, order_no }) => [order_no, verdict]);
  };
  const deskOf = (provider: string) => world.at(provider);
  /** An order whose payment the provider does not tell us of. */
  async function untold(provider: string): Promise<{ no: string; user: { readonly id: number } }> {
    const { account, method, desk } = deskOf(provider);
    const { user, order } = await world.ordered(account, { method });
    await world.app.ctx.db
      .updateTable("orders")
      .set({ next_check: 0 })
      .where("order_no", "=", order.order_no)
      .execute();
    desk.pay(order.order_no);
    return { no: order.order_no, user };
  }
  const paid = (provider: string) => world.paid(provider);
  const found = (brought: number, missing: number) =>
    `5 days, ${brought} brought, ${missing} missing, 0 later, 0 unclear`;

  /** A refund in the provider's console: one more of the order, by its own name. */
  async function refundElsewhere(provider: string, no: string, amount: number): Promise<string> {
    const order = deskOf(provider).desk.order(no);
    serial += 1;
    const id = `console${serial}`;
    if (provider === "alipay") world.desks.alipay.takeBack(no, id, amount);
    else order.refunded += amount;
    if (provider === "stripe")
      world.desks.stripe.refunds.set(`re_${id}`, {
        ...{ id: `re_${id}`, object: "refund", amount, status: "succeeded", metadata: {} },
        ...{ payment_intent: `pi_${order.tradeNo}`, created: world.clock.seconds() },
      });
    if (provider === "wechat") world.desks.wechat.bills.elsewhere.push({ orderNo: no, id, amount });
    return id;
  }
  let serial = 0;

  return {
    world,
    desks: () => world.desks,
    robots: () => robots,
    toNextDay,
    compareAll,
    open,
    deskOf,
    untold,
    paid,
    found,
    refundElsewhere,
  };
}
