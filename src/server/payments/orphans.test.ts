// Genuine payments that name no order of ours, given to a user by an administrator (requirements Y21).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asRoot, databases } from "#test/worlds/app.ts";
import { EpayWorld } from "#test/worlds/payment-world.ts";
import { newOrderNo } from "./orders.ts";

describe.each(databases)("payments without an order on $name", (database) => {
  const world = new EpayWorld();
  beforeAll(() => world.start(database));
  afterAll(() => world.stop());

  /** A payment of an order that we do not know; returns its notice, and how to tell of it. */
  async function orphan(amount: number, orderNo = newOrderNo(world.clock.seconds())) {
    const account = await world.site();
    await world.epay.desk.take({ orderNo, amount, currency: "CNY", notifyUrl: "" });
    const tell = () => world.pay(account, orderNo);
    expect((await tell()).text).toBe("success");
    const events: { id: number; order_no: string }[] = await world.openEvents();
    const event = events.find(({ order_no }) => order_no === orderNo);
    if (!event) throw new Error("the notice was not kept");
    return { account, orderNo, id: event.id, tell };
  }
  const credit = (id: number, user_id: number, reason = "付款人提供了凭证") =>
    world.app.call(asRoot, "POST", `/api/payment/event/${id}/credit`, { user_id, reason });

  test("brings what a plan of that price brings, once, and the provider's number is used up", async () => {
    const [user, other] = [await world.buyer(), await world.buyer()];
    const { id, orderNo, tell, account } = await orphan(3_000);
    const { data, message } = await credit(id, user.id);
    expect(message).toBe("");
    expect(data).toMatchObject({
      order_no: orderNo,
      status: "credited",
      amount_minor: 3_000,
      user_id: user.id,
    });
    expect(await world.gained(user)).toBe(25_000_000);
    // The notice is dealt with, and told again it is known.
    expect((await credit(id, other.id)).message).not.toBe("");
    expect((await tell()).text).toBe("success");
    expect([await world.gained(user), await world.gained(other)]).toEqual([25_000_000, 0]);
    expect((await world.openEvents()).map((one: { order_no: string }) => one.order_no)).not.toContain(
      orderNo,
    );
    // Another order is not paid by the same payment.
    const { user: third, order } = await world.ordered(account);
    const trade_no = world.epay.desk.order(orderNo).tradeNo;
    await world.notify(account, {
      query: world.epay.noticeV1(world.epay.desk.pay(order.order_no), { trade_no }),
    });
    expect(await world.gained(third)).toBe(0);
    // The order can be given back as any.
    const back = await world.app.call(asRoot, "POST", `/api/payment/manage/${orderNo}/refund`, {
      amount: null,
      reason: "退款",
    });
    expect(back.message).toBe("");
    expect(await world.gained(user)).toBe(0);
  });

  test("of another sum brings its part of the dearest plan; an order number of another shop is left alone", async () => {
    const user = await world.buyer();
    // $120 cost 60 yuan, $10 cost 6: by the dearer one 9 yuan are $15.
    const { id } = await orphan(900, "SHOP-17");
    const { data, message } = await credit(id, user.id);
    expect(message).toBe("");
    expect(data.order_no).toMatch(/^TG[0-9A-Z]{24}$/);
    expect(await world.gained(user)).toBe(7_500_000);
  });

  test("given to two users at once it is credited to one", async () => {
    const users = await Promise.all([world.buyer(), world.buyer()]);
    const { id } = await orphan(3_000);
    const answers = await Promise.all(users.map((user) => credit(id, user.id)));
    expect(answers.filter(({ message }) => message === "")).toHaveLength(1);
    const gained = await Promise.all(users.map((user) => world.gained(user)));
    expect(gained.sort((a, b) => a - b)).toEqual([0, 25_000_000]);
  });

  test("stands in the audit log with its reason, and is refused without a reason, a user or a payment", async () => {
    const user = await world.buyer();
    const { id } = await orphan(3_000);
    expect((await credit(id, user.id, " ")).message).toContain("原因");
    expect((await credit(id, 999_999)).message).not.toBe("");
    expect((await credit(999_999, user.id)).message).toContain("找不到");
    expect(await world.gained(user)).toBe(0);
    expect((await credit(id, user.id)).message).toBe("");
    const { db } = world.app.ctx;
    const rows = await db
      .selectFrom("audit")
      .selectAll()
      .where("action", "=", "payment.event.credit")
      .execute();
    expect(rows.at(-1)).toMatchObject({ target: String(id) });
    expect(rows.at(-1)?.detail).toContain("付款人提供了凭证");
  });
});
