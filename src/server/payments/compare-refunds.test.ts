// What went back at a provider, and of which no notice came: the daily list finds it, once, whatever notices told before or tell later
// (requirements Y37).
import { describe, expect, test } from "vitest";
import { DAY_SEC } from "#server/clock.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { PROVIDERS, useComparison } from "#test/worlds/comparison.ts";
import { compareDue } from "./compare.ts";

describe.each(databases)("refunds that the daily comparison finds on $name", (database) => {
  const { world, desks, toNextDay, compareAll, open, deskOf, paid, found, refundElsewhere } =
    useComparison(database);

  test.each(PROVIDERS)(
    "%s: refunds made in its console are found weeks after the payment, booked once, part by part",
    async (provider) => {
      const { no, user } = await paid(provider);
      world.clock.advance(14 * DAY_SEC * 1_000);
      await toNextDay(13);
      await compareAll();
      for (const [part, left] of [
        [1_000, 16_666_667],
        [500, 12_500_000],
        [1_500, 0],
      ] as const) {
        await refundElsewhere(provider, no, part);
        await toNextDay(13);
        expect(await compareDue(world.app.ctx)).toBe(found(1, 0));
        expect(await world.gained(user)).toBe(left);
        desks().wechat.bills.elsewhere = [];
        await toNextDay(13);
        expect(await compareDue(world.app.ctx)).toBe(found(0, 0));
        expect(await world.gained(user)).toBe(left);
      }
    },
  );

  test.each(["stripe", "alipay"] as const)(
    "%s: a refund that a notice told is not booked again by the list, and one whose notice was lost is, beside our own",
    async (provider) => {
      const { no, user } = await paid(provider);
      const { account, desk } = deskOf(provider);
      const tell = async (id: string) => {
        if (provider === "stripe") {
          const { body, header } = desks().stripe.event("refund.created", `re_${id}`);
          await world.notify(account, { body, headers: { "stripe-signature": header } });
        } else {
          const order = desk.order(no);
          const refund_fee = `${(order.refunded / 100).toFixed(2)}`;
          await world.notify(account, {
            body: desks().alipay.notice(order, { refund_fee, gmt_refund: "2026" }),
          });
        }
      };
      await refundElsewhere(provider, no, 300);
      const second = await refundElsewhere(provider, no, 300);
      await tell(second);
      // Alipay wants three seconds between two refunds of one order.
      await world.pass(4);
      const ours = await world.app.call(asRoot, "POST", `/api/payment/manage/${no}/refund`, {
        amount: "3.00",
        reason: "测试",
      });
      expect(ours.message).toBe("");
      await toNextDay(13);
      // Alipay's notice told the sum of both; Stripe's one of two.
      expect(await compareDue(world.app.ctx)).toBe(found(provider === "stripe" ? 1 : 0, 0));
      expect(await world.gained(user)).toBe(17_500_000);
      const third = await refundElsewhere(provider, no, 300);
      await toNextDay(13);
      expect(await compareDue(world.app.ctx)).toBe(found(1, 0));
      expect(await world.gained(user)).toBe(15_000_000);
      await tell(third);
      expect(await world.gained(user)).toBe(15_000_000);
    },
  );

  test("stripe: a dispute whose events were lost is found, and so is that it was won", async () => {
    const { no, user } = await paid("stripe");
    const dispute: Record<string, unknown> = {
      ...{ id: "dp_lost", object: "dispute", amount: 3_000, status: "needs_response" },
      payment_intent: `pi_${desks().stripe.desk.order(no).tradeNo}`,
    };
    desks().stripe.disputes.set("dp_lost", dispute);
    await toNextDay(13);
    expect(await compareDue(world.app.ctx)).toBe(found(1, 0));
    expect(await world.gained(user)).toBe(0);
    dispute["status"] = "won";
    await toNextDay(13);
    expect(await compareDue(world.app.ctx)).toBe(found(1, 0));
    expect(await world.gained(user)).toBe(25_000_000);
    await toNextDay(13);
    expect(await compareDue(world.app.ctx)).toBe(found(0, 0));
  });

  test("a refund without a sum, or that the signed answer does not confirm, waits for a person and takes nothing", async () => {
    const [one, two] = [await paid("epay-v1"), await paid("alipay")];
    desks().epay.faults.namesRefunds = false;
    desks().alipay.faults.isRefundDenied = true;
    await refundElsewhere("epay-v1", one.no, 1_000);
    await refundElsewhere("alipay", two.no, 1_000);
    await toNextDay(13);
    expect(await compareDue(world.app.ctx)).toBe(found(2, 0));
    for (const { no, user } of [one, two]) {
      expect(await open()).toContainEqual([no, "return_unsure"]);
      expect(await world.gained(user)).toBe(25_000_000);
    }
    await toNextDay(13);
    expect(await compareDue(world.app.ctx)).toBe(found(0, 0));
    desks().epay.faults.namesRefunds = true;
    desks().alipay.faults.isRefundDenied = false;
  });
});
