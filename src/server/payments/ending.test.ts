// How orders end whose provider says nothing clear, or cannot be asked because its account is off (requirements Y17, Y19, Y42). On both databases.
import { describe, expect, test } from "vitest";
import { DAY_SEC } from "#server/clock.ts";
import { findInstance, updateInstance } from "#server/store/payment-instances.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { type Account, useEpayWorld } from "#test/worlds/payment-world.ts";

const CREDITED = 25_000_000;
const HALF_HOUR_SEC = 1_800;

describe.each(databases)("the end of an order on $name", (database) => {
  const world = useEpayWorld(database);
  const statusOf = async (no: string) => (await world.row(no)).status;
  /** Lets so much time pass, with a look as often as the job has it due. */
  const wait = async (sec: number, everySec: number) => {
    for (let passed = 0; passed < sec; passed += everySec) await world.pass(everySec);
  };
  const instances = async (account: Account) =>
    (await world.app.call(asRoot, "GET", "/api/payment/instance")).data.find(
      ({ id }: { id: number }) => id === account.id,
    );

  /** An order that the site says nothing about, with a code of its own. */
  async function forgotten() {
    const account = await world.site();
    const { user, order } = await world.ordered(account);
    const no = order.order_no;
    const known = world.epay.desk.order(no);
    world.epay.desk.orders.delete(no);
    const comesBack = () => world.epay.desk.orders.set(no, known);
    return { account, user, no, comesBack };
  }

  test("an odd code does not close it, and counts as an answer that says nothing; a day after its end it is closed", async () => {
    const { account, user, no, comesBack } = await forgotten();
    await world.pass(HALF_HOUR_SEC + 1);
    expect(await statusOf(no)).toBe("pending");
    expect((await instances(account)).unclear).toBeGreaterThan(0);
    const cancel = await world.app.call(user.who, "POST", `/api/payment/order/${no}/cancel`, {});
    expect([cancel.success, await statusOf(no)]).toEqual([false, "pending"]);
    const before = world.epay.desk.heard.length;
    await wait(DAY_SEC - HALF_HOUR_SEC, HALF_HOUR_SEC);
    expect(await statusOf(no)).toBe("pending");
    expect(world.epay.desk.heard.length).toBeGreaterThan(before);
    await wait(2 * HALF_HOUR_SEC, HALF_HOUR_SEC);
    expect(await statusOf(no)).toBe("closed");
    // What is paid after that is credited all the same.
    comesBack();
    await world.pay(account, no);
    expect(await world.gained(user)).toBe(CREDITED);
  });

  test("once the site knows it again it is closed, or credited", async () => {
    for (const isPaid of [false, true]) {
      const { account, user, no, comesBack } = await forgotten();
      await world.pass(HALF_HOUR_SEC + 1);
      comesBack();
      if (isPaid) world.epay.desk.pay(no);
      await world.pass(60);
      expect([await statusOf(no), await world.gained(user)]).toEqual(
        isPaid ? ["credited", CREDITED] : ["closed", 0],
      );
      expect((await instances(account)).unclear).toBe(0);
    }
  });

  test("while its account is off it stays open, however long; it is asked about as soon as the account is on", async () => {
    const account = await world.site();
    const { user, order } = await world.ordered(account);
    const no = order.order_no;
    const { db } = world.app.ctx;
    const row = await findInstance(db, account.id);
    // The key was lost, as by a restored copy.
    await updateInstance(db, account.id, { secrets_sealed: "" });
    await world.pass(HALF_HOUR_SEC + 1);
    expect(await statusOf(no)).toBe("pending");
    const cancel = await world.app.call(user.who, "POST", `/api/payment/order/${no}/cancel`, {});
    expect([cancel.success, await statusOf(no)]).toEqual([false, "pending"]);
    await wait(2 * DAY_SEC, HALF_HOUR_SEC);
    expect(await statusOf(no)).toBe("pending");
    world.epay.desk.pay(no);
    await updateInstance(db, account.id, { secrets_sealed: row?.secrets_sealed ?? "" });
    await world.pass(HALF_HOUR_SEC);
    expect([await statusOf(no), await world.gained(user)]).toEqual(["credited", CREDITED]);
  });

  test("orders that ended and wait for the site's word alone do not keep their user from buying", async () => {
    const account = await world.site();
    const user = await world.buyer();
    const { data: shop } = await world.app.call(user.who, "GET", "/api/payment/shop");
    expect(shop.plans).toHaveLength(5);
    for (const { dollars } of shop.plans) {
      const { data, message } = await world.buy(user.who, account, { dollars });
      expect(message).toBe("");
      world.epay.desk.orders.delete(data.order_no);
    }
    const other = await world.site();
    expect((await world.buy(user.who, other)).message).toContain("最多有 5 个");
    await world.pass(HALF_HOUR_SEC + 1);
    expect((await world.buy(user.who, other)).message).toBe("");
  });
});
