// Floods of orders and of callbacks: the limits hold however many come, and other users and real payments get through (requirements Y42).
import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { asRoot, databases } from "#test/worlds/app.ts";
import { DesksWorld } from "#test/worlds/desks-world.ts";
import type { Account } from "#test/worlds/payment-world.ts";
import { rounds } from "#test/worlds/soak.ts";

const AT_ONCE = 50;
const FLOOD = rounds(600, 100_000);
/** As limits/table.ts has them. */
const CREATES = 20;
const NOTICES = 600;
const MOST_OPEN = 5;
/** How long a body may take, as app.ts has it, and how long here. Unit: ms. */
const [BODY_MS, HERE_MS] = [30_000, 3_000];

/** Does it so many times, many at once. */
async function flood<Result>(times: number, act: (turn: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let done = 0; done < times; done += AT_ONCE)
    results.push(...(await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => act(done + at)))));
  return results;
}

describe.each(databases)("floods on $name", (database) => {
  const world = new DesksWorld();
  let account: Account;

  beforeAll(async () => {
    await world.start(database);
    account = await world.account(world.desks.draftOf("epay-v1"));
  });
  afterAll(() => world.stop());

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
    const paid = world.desks.epay.desk.pay(order.order_no);
    expect((await world.notify(account, { query: world.desks.epay.noticeV1(paid) })).status).toBe(200);
    expect(await world.gained(user)).toBe(25_000_000);
  });

  test("of looks: the provider is asked once in five seconds, by the payer's page and administrators together", async () => {
    const { user, order } = await world.ordered(account, { method: "alipay" });
    const { desk } = world.desks.epay;
    const look = () => world.app.call(user.who, "GET", `/api/payment/order/${order.order_no}`);
    const ask = () => world.app.call(asRoot, "POST", `/api/payment/manage/${order.order_no}/ask`, {});
    const rush = async () => {
      const before = desk.heard.length;
      const answers = await flood(100, (turn) => (turn % 2 === 0 ? look() : ask()));
      return { answers, questions: desk.heard.length - before };
    };
    const first = await rush();
    expect(first.questions).toBe(1);
    expect(first.answers.filter((_, turn) => turn % 2 === 0).every(({ success }) => success)).toBe(true);
    // Whichever of them asked: an administrator whose question was not sent is told so.
    const told = first.answers.filter(({ message }) => message === "刚刚查询过，请 5 秒后再试");
    expect([49, 50]).toContain(told.length);
    world.clock.advance(4_000);
    const second = await rush();
    expect(second.questions).toBe(0);
    expect(second.answers.filter(({ success }) => !success)).toHaveLength(50);
    world.clock.advance(1_000);
    expect((await rush()).questions).toBe(1);
  });

  test("of callbacks that never end: each is cut off, and a real one is heard meanwhile", async () => {
    const { user, order } = await world.ordered(account, { method: "alipay" });
    const url = new URL(await world.app.listen());
    const wait = globalThis.setTimeout;
    const patience = vi
      .spyOn(globalThis, "setTimeout")
      .mockImplementation(((act: () => void, ms?: number) =>
        wait(act, ms === BODY_MS ? HERE_MS : ms)) as typeof setTimeout);
    const slow = await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        const socket = connect(Number(url.port), url.hostname);
        const closed = once(socket.on("error", () => undefined).resume(), "close");
        await once(socket, "connect");
        const length = "content-type: text/plain\r\ncontent-length: 1000\r\n\r\nmoney=30";
        socket.write(`POST ${account.path} HTTP/1.1\r\nhost: gate.example\r\n${length}`);
        return { socket, closed };
      }),
    );
    const paid = world.desks.epay.desk.pay(order.order_no);
    expect((await world.notify(account, { query: world.desks.epay.noticeV1(paid) })).status).toBe(200);
    expect(await world.gained(user)).toBe(25_000_000);
    expect(slow.filter(({ socket }) => socket.closed)).toEqual([]);
    await Promise.all(slow.map(({ closed }) => closed));
    patience.mockRestore();
  });

  test("of bytes: a body beyond the bound is refused, announced or not, and nothing is kept", async () => {
    const before = (await world.openEvents()).length;
    const body = "x".repeat(64 * 1024 + 1);
    expect((await world.notify(account, { body })).status).toBe(413);
    const url = await world.app.listen();
    const chunks = new Blob([body]).stream();
    const init = { method: "POST", body: chunks, duplex: "half" } as const;
    const answer = await fetch(`${url}${account.path}`, init).then(
      ({ status }) => status,
      () => "cut off",
    );
    expect([413, "cut off"]).toContain(answer);
    expect((await world.openEvents()).length).toBe(before);
  });
});
