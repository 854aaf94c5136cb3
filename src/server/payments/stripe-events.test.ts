// Stripe's events in any order, and the key of a step that was used before (requirements Y24–Y26). On both databases.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { databases } from "#test/worlds/app.ts";
import { RenewalWorld } from "#test/worlds/renewal-world.ts";
import { depsOf, factsOf, instanceOf } from "./orders.ts";
import { stripe } from "./providers/stripe.ts";

/** All orders of some things. */
function ordersOf(things: readonly string[]): string[][] {
  if (things.length === 0) return [[]];
  return things.flatMap((one) =>
    ordersOf(things.filter((other) => other !== one)).map((rest) => [one, ...rest]),
  );
}

describe.each(databases)("Stripe's events on $name", (database) => {
  const world = new RenewalWorld();
  beforeAll(() => world.start(database));
  afterAll(() => world.stop());
  const sessionOf = (orderNo: string) => world.stripe.sessionOf(world.stripe.desk.order(orderNo)).id;

  test("four events in each of their 24 orders credit once", async () => {
    const sequences = ordersOf(["completed", "async_payment_succeeded", "async_payment_failed", "expired"]);
    expect(sequences).toHaveLength(24);
    for (const [index, sequence] of sequences.entries()) {
      const { user, order } = await world.ordered(world.cards, { method: "card" });
      const id = sessionOf(order.order_no);
      // The bank pays before the first, or between the second and the third.
      const paidAt = index % 2 === 0 ? 0 : 2;
      for (const [at, type] of sequence.entries()) {
        if (at === paidAt) world.stripe.desk.pay(order.order_no);
        expect(await world.tell(`checkout.session.${type}`, id)).toBe(200);
      }
      expect([sequence, await world.gained(user)]).toEqual([sequence, 25_000_000]);
    }
  });

  test("nothing of an event counts but what it is about, whatever version wrote it", async () => {
    const { user, order } = await world.ordered(world.cards, { method: "card" });
    const id = sessionOf(order.order_no);
    const more = { object: "charge", paid: true, payment_status: "paid", amount_total: 1, currency: "usd" };
    const told = () => {
      const { body, header } = world.stripe.event("checkout.session.completed", id, { more });
      return world.notify(world.cards, { body, headers: { "stripe-signature": header } });
    };
    expect([(await told()).status, await world.gained(user)]).toEqual([200, 0]);
    world.stripe.desk.pay(order.order_no);
    expect([(await told()).status, await world.gained(user)]).toEqual([200, 25_000_000]);
  });

  test("the key of a step is not used for another amount: Stripe refuses, and there is one session", async () => {
    const { order } = await world.ordered(world.cards, { method: "card" });
    const instance = await instanceOf(world.app.ctx, world.cards.id);
    if (!instance) throw new Error("the account is complete");
    const facts = factsOf(await world.row(order.order_no));
    const deps = depsOf(world.app.ctx, instance, order.order_no);
    const { desk } = world.stripe;
    const before = desk.orders.size;
    expect(await stripe.create(instance, facts, deps)).toMatchObject({
      kind: "ready",
      session: facts.session,
    });
    const dearer = { ...facts, amountMinor: facts.amountMinor + 1 };
    expect(await stripe.create(instance, dearer, deps)).toMatchObject({ kind: "refused" });
    expect([desk.orders.size, desk.order(order.order_no).amount]).toEqual([before, facts.amountMinor]);
  });
});
