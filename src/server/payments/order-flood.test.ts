// Floods of orders and of callbacks: the limits hold however many come, and other users and real payments get through (requirements Y42).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asRoot, databases } from "#test/worlds/app.ts";
import { type Desks, startDesks } from "#test/worlds/pay-desks.ts";
import { type Account, PaymentWorld } from "#test/worlds/payment-world.ts";
import { rounds } from "#test/worlds/soak.ts";

const AT_ONCE = 50;
const FLOOD = rounds(600, 100_000);
/** As limits/table.ts has them. */
const CREATES = 20;
const NOTICES = 600;
const MOST_OPEN = 5;

/** Does it so many times, many at once. */
async function flood<Result>(times: number, act: (turn: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let done = 0; done < times; done += AT_ONCE)
    results.push(...(await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => act(done + at)))));
  return results;
}

describe.each(databases)("floods on $name", (database) => {
  const world = new PaymentWorld();
  let all: Desks;
  let account: Account;

  beforeAll(async () => {
    await world.start(database);
    all = await startDesks(world.clock.now);
    const [desk] = all.desks;
    if (desk === undefined) throw new Error("no desk");
    account = await world.account(desk.draft);
  });
  afterAll(async () => {
    await all.close();
    await world.stop();
  });

  test("of orders: twenty are looked at, a few are open, and other users order", async () => {
    const user = await world.buyer();
    // Amounts that differ: the same order again would be the one that is open.
    const answers = await flood(FLOOD, (turn) => world.buy(user.who, account, { dollars: 10 + (turn % 90) }));
    const made = answers.filter(({ success }) => success);
    const limited = answers.filter(({ message }) => message.startsWith("下单过于频繁"));
    expect(made.length).toBeGreaterThan(0);
    expect(new Set(made.map(({ data }) => data.order_no)).size).toBeLessThanOrEqual(MOST_OPEN);
    expect(limited).toHaveLength(FLOOD - CREATES);
    const { total } = await world.app.call(asRoot, "GET", `/api/payment/order?user_id=${user.id}`);
    expect(total).toBeLessThanOrEqual(MOST_OPEN);
    expect((await world.ordered(account, { method: "alipay" })).order.status).toBe("pending");
  });

  test("of forged callbacks: none moves or keeps anything, and a real one is heard a minute later", async () => {
    const { user, order } = await world.ordered(account, { method: "alipay" });
    const before = (await world.openEvents()).length;
    const answers = await flood(NOTICES + FLOOD, (turn) =>
      world.notify(account, {
        query: `out_trade_no=${order.order_no}&trade_no=${turn}&sign=0&sign_type=MD5`,
      }),
    );
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(FLOOD);
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(NOTICES);
    expect([await world.gained(user), (await world.openEvents()).length]).toEqual([0, before]);
    world.clock.advance(60_000);
    const paid = all.epay.desk.pay(order.order_no);
    expect((await world.notify(account, { query: all.epay.noticeV1(paid) })).status).toBe(200);
    expect(await world.gained(user)).toBe(25_000_000);
  });
});
