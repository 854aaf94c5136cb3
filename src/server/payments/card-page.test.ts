// Who has a plan renewed by Stripe changes the card on a page of Stripe's, and the new one is charged (requirements Z21). On both databases.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { databases } from "#test/worlds/app.ts";
import { RenewalWorld, type Subscribed } from "#test/worlds/renewal-world.ts";

describe.each(databases)("another card on $name", (database) => {
  const world = new RenewalWorld();
  beforeAll(() => world.start(database));
  afterAll(() => world.stop());

  async function page({ user, orderNo }: Subscribed, who = user.who) {
    const { id } = await world.renewalOf(orderNo);
    return world.app.call(who, "POST", `/api/plan/renewal/${id}/card`, {});
  }

  test("is chosen on the page of the subscription's own customer, and charged from then on", async () => {
    const one = await world.subscribed(await world.plan());
    const { subscription } = one;
    const { data, message } = await page(one);
    expect(message).toBe("");
    const url = new URL(data.url);
    expect([url.origin, url.pathname]).toEqual([
      "https://billing.stripe.com",
      `/p/session/${subscription.customer}`,
    ]);
    expect(url.searchParams.get("back")).toBe("https://gate.example/subscription");
    // Nothing was chosen: the first card stays.
    await world.pass(700);
    expect([subscription.card, subscription.customerCard]).toEqual(["pm_first", null]);
    await page(one);
    subscription.customerCard = "pm_second";
    await world.pass(700);
    expect(subscription.card).toBeNull();
    const invoice = world.stripe.billing.renew(subscription);
    expect(invoice.card).toBe("pm_second");
    await world.paid(invoice);
    expect(await world.periodsOf(one.user)).toHaveLength(2);
    expect(await world.renewalOf(one.orderNo)).toMatchObject({ renews: 1, status: "active" });
  });

  test("is for the renewal's own user, while it runs, where the provider has such a page", async () => {
    const one = await world.subscribed(await world.plan());
    const other = await world.buyer();
    expect((await page(one, other.who)).message).toBe("找不到该自动续费");
    world.stripe.billing.hasPortal = false;
    expect((await page(one)).message).toContain("没有给出更换银行卡的页面");
    world.stripe.billing.hasPortal = true;
    world.stripe.billing.end(one.subscription);
    expect((await page(one)).message).toContain("已经结束");
    await world.tell("customer.subscription.deleted", one.subscription.id);
    expect((await page(one)).message).toBe("该自动续费已经结束，可重新购买套餐");
  });
});
