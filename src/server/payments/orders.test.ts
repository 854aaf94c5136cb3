// Orders end to end with a 易支付 site, on both databases: what is paid is credited once, what does not fit waits, what is lost is found.
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { EpayEmulator } from "#test/emulators/epay-emulator.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { type Account, EpayWorld } from "#test/worlds/payment-world.ts";
import { priceOf } from "./order-price.ts";
import { nextCheck } from "./orders.ts";

describe.each(databases)("易支付 on $name", (database) => {
  const world = new EpayWorld();
  let epay: EpayEmulator;
  let account: Account;
  let second: Account;

  beforeAll(async () => {
    await world.start(database);
    epay = world.epay;
    const v1 = { provider: "epay-v1", methods: ["alipay", "wxpay"] };
    account = await world.account({ ...v1, fields: { base_url: `${epay.desk.url}/`, key: epay.key } });
    second = await world.account({
      ...v1,
      merchant_id: "2002",
      fields: { base_url: epay.desk.url, key: `${epay.key}x` },
    });
  });
  afterAll(() => world.stop());
  beforeEach(() => {
    epay.desk.mode = "ok";
    epay.desk.beforeCreateAnswers = async () => undefined;
  });

  const ok = { status: 200, text: "success" };

  test("is asked for with constants, shown with a code, and credited by its notice", async () => {
    const { user, order } = await world.ordered(account);
    expect(order).toMatchObject({
      status: "pending",
      quota: 25_000_000,
      amount_minor: 3_000,
      currency: "CNY",
      label: "支付宝",
    });
    expect(order.order_no).toMatch(/^TG2027\d{4}[0-9A-Z]{16}$/);
    expect(order.qr).toMatch(/^weixin:\/\/wxpay\/4200/);
    expect(order.url).toBe(`${epay.desk.url}/pay/${epay.desk.order(order.order_no).tradeNo}`);
    const sent = new URLSearchParams(epay.desk.heard.at(-1)?.body);
    expect([sent.get("name"), sent.get("money"), sent.get("return_url")]).toEqual([
      "账户充值",
      "30.00",
      `https://gate.example/api/payment/return/${order.order_no}`,
    ]);
    expect(await world.notify(account, { query: epay.noticeV1(epay.desk.pay(order.order_no)) })).toEqual(ok);
    expect(await world.gained(user)).toBe(25_000_000);
    const seen = await world.app.call(user.who, "GET", `/api/payment/order/${order.order_no}`);
    expect(seen.data).toMatchObject({ status: "credited", qr: "", url: "" });
    // Some sites post a form; the same again changes nothing.
    const body = epay.noticeV1(epay.desk.order(order.order_no));
    expect(await world.notify(account, { body })).toEqual(ok);
    expect(await world.gained(user)).toBe(25_000_000);
  });

  test("50 notices in parallel, the poller and an administrator's question credit once", async () => {
    const { user, order } = await world.ordered(account);
    const query = epay.noticeV1(epay.desk.pay(order.order_no));
    const ask = () => world.app.call(asRoot, "POST", `/api/payment/manage/${order.order_no}/ask`, {});
    const all = await Promise.all([
      ...Array.from({ length: 50 }, () => world.notify(account, { query })),
      world.pass(15).then(() => ok),
      ask().then(() => ok),
    ]);
    expect(all.filter(({ text }) => text === "success")).toHaveLength(52);
    expect(await world.gained(user)).toBe(25_000_000);
  });

  test("a notice that comes before the order was answered is credited, whatever the answer", async () => {
    epay.desk.beforeCreateAnswers = async (order) => {
      order.state = "paid";
      expect(await world.notify(account, { query: epay.noticeV1(order) })).toEqual(ok);
    };
    epay.desk.mode = "lost";
    const { user, order } = await world.ordered(account);
    expect(order.status).toBe("credited");
    expect(await world.gained(user)).toBe(25_000_000);
  });

  test.each([
    ["a signature of another key", (e: EpayEmulator, no: string) => e.noticeV1(e.desk.pay(no), {}, "other")],
    ["a signature with an empty key", (e: EpayEmulator, no: string) => e.noticeV1(e.desk.pay(no), {}, "")],
    ["no signature", (e: EpayEmulator, no: string) => e.noticeV1(e.desk.pay(no)).replace(/&sign=\w+/, "")],
    ["money twice", (e: EpayEmulator, no: string) => `money=0.01&${e.noticeV1(e.desk.pay(no))}`],
    [
      "a list of signatures",
      (e: EpayEmulator, no: string) => e.noticeV1(e.desk.pay(no)).replace("&sign=", "&sign[]="),
    ],
    [
      "parameters of a request",
      (e: EpayEmulator, no: string) => e.noticeV1(e.desk.pay(no), { notify_url: "https://x" }),
    ],
    ["a value with &", (e: EpayEmulator, no: string) => e.noticeV1(e.desk.pay(no), { name: "x&pid=1001" })],
    [
      "another amount, unsigned",
      (e: EpayEmulator, no: string) => e.noticeV1(e.desk.pay(no)).replace("30.00", "0.01"),
    ],
  ])("%s is refused and leaves nothing", async (_, forge) => {
    const { user, order } = await world.ordered(account);
    const before = (await world.openEvents()).length;
    const answer = await world.notify(account, { query: forge(epay, order.order_no) });
    expect(answer).toEqual({ status: 400, text: "fail" });
    expect([await world.gained(user), (await world.openEvents()).length]).toEqual([0, before]);
    expect(await world.row(order.order_no)).toMatchObject({ status: "pending", review: "", trade_no: "" });
  });

  test("a genuine notice of another amount, merchant or order waits for a person", async () => {
    const { user, order } = await world.ordered(account);
    const paid = epay.desk.pay(order.order_no);
    expect(await world.notify(account, { query: epay.noticeV1(paid, { pid: "1002" }) })).toEqual(ok);
    expect(await world.row(order.order_no)).toMatchObject({ status: "pending" });
    expect(
      await world.notify(account, {
        query: epay.noticeV1(paid, { out_trade_no: "TG0000000000000000000000AA" }),
      }),
    ).toEqual(ok);
    expect(await world.notify(account, { query: epay.noticeV1(paid, { money: "0.01" }) })).toEqual(ok);
    expect(await world.gained(user)).toBe(0);
    expect(await world.row(order.order_no)).toMatchObject({
      status: "paid",
      review: "amount",
      paid_minor: 1,
    });
    const verdicts = (await world.openEvents()).map(({ verdict }: { verdict: string }) => verdict);
    expect(verdicts).toEqual(expect.arrayContaining(["wrong_merchant", "unknown_order", "amount"]));
    const list = await world.app.call(asRoot, "GET", "/api/payment/manage?review=true&size=50");
    expect(list.data.map(({ order_no }: { order_no: string }) => order_no)).toContain(order.order_no);
  });

  test("the account is that of the address: a notice of one is nothing at another", async () => {
    const { user, order } = await world.ordered(account);
    const query = epay.noticeV1(epay.desk.pay(order.order_no));
    expect((await world.notify(second, { query })).status).toBe(400);
    // Genuine there, but of an order that is not its own.
    const own = epay.noticeV1(epay.desk.order(order.order_no), { pid: "2002" }, `${epay.key}x`);
    expect(await world.notify(second, { query: own })).toEqual(ok);
    expect(await world.gained(user)).toBe(0);
    expect(
      (await world.notify({ ...account, path: `/api/payment/notify/${"0".repeat(32)}` }, { query })).status,
    ).toBe(404);
    expect((await world.notify({ ...account, path: "/api/payment/notify/x" }, { query })).status).toBe(404);
  });

  test("an account without a secret answers 404 and stores nothing", async () => {
    const made = await world.app.call(asRoot, "POST", "/api/payment/instance", {
      name: "空",
      is_enabled: true,
      merchant_id: "1001",
      provider: "epay-v1",
      methods: ["alipay"],
      fields: { base_url: epay.desk.url, key: "   " },
    });
    expect(made.data.is_complete).toBe(false);
    const { order } = await world.ordered(account);
    const query = epay.noticeV1(epay.desk.pay(order.order_no), {}, "");
    const bare = { id: made.data.id, path: new URL(made.data.notify_url).pathname };
    expect((await world.notify(bare, { query })).status).toBe(404);
    expect((await world.buy((await world.buyer()).who, bare)).message).toContain("不可用");
  });

  test("a payment whose notice is lost is found by asking", async () => {
    const { user, order } = await world.ordered(account);
    epay.desk.pay(order.order_no);
    world.clock.advance(6_000);
    // With the page open.
    const look = () => world.app.call(user.who, "GET", `/api/payment/order/${order.order_no}`);
    await vi.waitFor(async () => expect((await look()).data.status).toBe("credited"));
    expect(await world.gained(user)).toBe(25_000_000);
    const alone = await world.ordered(account);
    await world.pass(20);
    epay.desk.pay(alone.order.order_no);
    await world.pass(40);
    expect(await world.gained(alone.user)).toBe(25_000_000);
  });

  test.each(["500", "html", "truncated", "lost", "redirect", "huge"] as const)(
    "an answer that says nothing (%s) leaves the order open, and it is found later",
    async (mode) => {
      epay.desk.mode = mode;
      const { user, order } = await world.ordered(account);
      expect(order).toMatchObject({ status: "created", qr: "" });
      const answer = await world.app.call(
        user.who,
        "POST",
        `/api/payment/order/${order.order_no}/cancel`,
        {},
      );
      if (mode !== "redirect" && mode !== "500") expect(answer.success).toBe(false);
      expect(await world.row(order.order_no)).toMatchObject({ review: "" });
      epay.desk.mode = "ok";
      if (!epay.desk.orders.has(order.order_no)) return;
      epay.desk.pay(order.order_no);
      await world.pass(65);
      expect(await world.gained(user)).toBe(25_000_000);
    },
  );

  test("an order ends by asking, closing and asking again; a late payment is credited all the same", async () => {
    const { user, order } = await world.ordered(account);
    await world.pass(1_801);
    expect(await world.row(order.order_no)).toMatchObject({ status: "closed" });
    epay.desk.pay(order.order_no);
    await world.pass(300);
    expect(await world.gained(user)).toBe(25_000_000);
    const other = await world.ordered(account);
    await world.app.call(other.user.who, "POST", `/api/payment/order/${other.order.order_no}/cancel`, {});
    expect(await world.row(other.order.order_no)).toMatchObject({ status: "closed" });
    const query = epay.noticeV1(epay.desk.pay(other.order.order_no));
    for (let turn = 0; turn < 2; turn += 1) expect(await world.notify(account, { query })).toEqual(ok);
    expect(await world.gained(other.user)).toBe(25_000_000);
  });

  test("what is asked counts as paid only by the full rule", async () => {
    const { user, order } = await world.ordered(account);
    const known = epay.desk.order(order.order_no);
    known.state = "paid";
    for (const money of [2_999, 3_001]) {
      known.amount = money;
      await world.app.call(asRoot, "POST", `/api/payment/manage/${order.order_no}/ask`, {});
      world.clock.advance(6_000);
    }
    expect(await world.gained(user)).toBe(0);
    expect(await world.row(order.order_no)).toMatchObject({ status: "paid", review: "amount" });
  });

  test("what was agreed stays: options that change meanwhile change nothing, and a switched off account still takes notices", async () => {
    const { user, order } = await world.ordered(account);
    const { options } = world.app.ctx;
    await options.set("QuotaPerUnit", "100");
    await options.set("TopUpPlans", '[{"dollars":1,"yuan":"1"}]');
    expect((await world.app.call(user.who, "GET", "/api/payment/shop")).data.plans).toEqual([
      { dollars: 1, yuan: "1" },
    ]);
    expect((await world.buy(user.who, account)).message).toContain("下架");
    const draft = { name: "关", methods: ["alipay"], fields: { base_url: epay.desk.url, key: "" } };
    await world.app.call(asRoot, "PUT", `/api/payment/instance/${account.id}`, {
      ...draft,
      is_enabled: false,
    });
    expect((await world.buy(user.who, account, { dollars: 1 })).message).toContain("不可用");
    expect(await world.notify(account, { query: epay.noticeV1(epay.desk.pay(order.order_no)) })).toEqual(ok);
    expect(await world.gained(user)).toBe(25_000_000);
    await world.app.call(asRoot, "PUT", `/api/payment/instance/${account.id}`, {
      ...draft,
      is_enabled: true,
    });
    await options.set("QuotaPerUnit", "500000");
    await options.set("TopUpPlans", '[{"dollars":10,"yuan":"6"},{"dollars":50,"yuan":"30"}]');
  });

  test("a replaced secret counts for two days more", async () => {
    const { user, order } = await world.ordered(account);
    const put = (key: string) =>
      world.app.call(asRoot, "PUT", `/api/payment/instance/${account.id}`, {
        name: "换",
        is_enabled: true,
        methods: ["alipay"],
        fields: { base_url: epay.desk.url, key },
      });
    await put("another-secret-key-0123456789abcd");
    expect(await world.notify(account, { query: epay.noticeV1(epay.desk.pay(order.order_no)) })).toEqual(ok);
    expect(await world.gained(user)).toBe(25_000_000);
    world.clock.advance(2 * 86_400_000 + 1_000);
    expect(
      (await world.notify(account, { query: epay.noticeV1(epay.desk.order(order.order_no)) })).status,
    ).toBe(400);
    await put(epay.key);
  });

  test("the same wish finds the same order, and no more than five wait", async () => {
    const user = await world.buyer();
    const [a, b] = [await world.buy(user.who, account), await world.buy(user.who, account)];
    expect(a.data.order_no).toBe(b.data.order_no);
    await world.app.ctx.options.set(
      "TopUpPlans",
      JSON.stringify([50, 2, 3, 4, 5, 6].map((dollars) => ({ dollars, yuan: "30" }))),
    );
    for (const dollars of [2, 3, 4, 5])
      expect((await world.buy(user.who, account, { dollars })).success).toBe(true);
    expect((await world.buy(user.who, account, { dollars: 6 })).message).toContain("最多有 5 个");
    await world.app.ctx.options.set("TopUpPlans", '[{"dollars":50,"yuan":"30"}]');
  });

  test("another user's order is as unknown as none, a gift code must be another's", async () => {
    const { order } = await world.ordered(account);
    const stranger = await world.buyer();
    const seen = await world.app.call(stranger.who, "GET", `/api/payment/order/${order.order_no}`);
    expect(seen.message).toBe("找不到该订单");
    expect((await world.buy(stranger.who, account, { gift_code: "NOBODY&sign=1" })).message).toBe(
      "礼品码无效",
    );
    const own = stranger.username.toUpperCase();
    expect((await world.buy(stranger.who, account, { gift_code: own })).message).toContain("自己");
    const giver = await world.buyer();
    const { user, order: gifted } = await world.ordered(account, { gift_code: giver.username.toUpperCase() });
    await world.notify(account, { query: epay.noticeV1(epay.desk.pay(gifted.order_no)) });
    expect([await world.gained(user), await world.gained(giver)]).toEqual([26_250_000, 1_250_000]);
  });

  test("a payer who comes back finds the order at an address without a signature, and nothing was credited", async () => {
    const { user, order } = await world.ordered(account);
    const query = epay.noticeV1(epay.desk.order(order.order_no));
    const response = await world.app.request(`/api/payment/return/${order.order_no}?${query}`);
    expect([response.status, response.headers.get("location")]).toEqual([
      303,
      `/topup/order/${order.order_no}`,
    ]);
    const odd = await world.app.request("/api/payment/return/%2F%2Fevil.example");
    expect(odd.headers.get("location")).toBe("/topup");
    expect(await world.gained(user)).toBe(0);
  });

  test("secrets are never told: neither by the account, nor by the database, nor by errors", async () => {
    const list = await world.app.call(asRoot, "GET", "/api/payment/instance");
    const rows = await world.app.ctx.db.selectFrom("payment_instances").selectAll().execute();
    expect(JSON.stringify([list, rows])).not.toContain(epay.key);
    expect(list.data[0].secrets_set).toEqual(["key"]);
    const flood = await world.notify(account, { body: "x".repeat(65 * 1024) });
    expect(flood).toEqual({ status: 413, text: "" });
  });

  test("V2 is verified with the platform's key, the merchant's number and the time", async () => {
    const v2 = await world.account({
      provider: "epay-v2",
      methods: ["alipay"],
      fields: {
        base_url: epay.desk.url,
        platform_key: epay.platform.publicPem,
        private_key: epay.merchant.privatePem,
      },
    });
    const { user, order } = await world.ordered(v2);
    expect(order.qr).toContain("https://qr.example/4200");
    const paid = epay.desk.pay(order.order_no);
    const stale = epay.noticeV2(paid, { timestamp: String(world.clock.seconds() - 301) });
    expect((await world.notify(v2, { query: stale })).status).toBe(400);
    // The platform's key is everybody's: a stranger's genuine notice verifies.
    expect(await world.notify(v2, { query: epay.noticeV2(paid, { pid: "1002" }) })).toEqual(ok);
    expect(await world.gained(user)).toBe(0);
    expect(await world.notify(v2, { query: epay.noticeV2(paid) })).toEqual(ok);
    expect(await world.gained(user)).toBe(25_000_000);
    const lost = await world.ordered(v2);
    epay.desk.pay(lost.order.order_no);
    await world.pass(16);
    expect(await world.gained(lost.user)).toBe(25_000_000);
  });
});

test("a price is rounded up into the account's currency, and the fee on top", () => {
  expect(priceOf(3_000, { rate: "1", feeBp: 0 })).toEqual({ amount: 3_000, fee: 0 });
  expect(priceOf(3_000, { rate: "7.2", feeBp: 0 })).toEqual({ amount: 417, fee: 0 });
  expect(priceOf(3_000, { rate: "1", feeBp: 60 })).toEqual({ amount: 3_018, fee: 18 });
  expect(priceOf(1, { rate: "1", feeBp: 1 })).toEqual({ amount: 2, fee: 1 });
});

test("the schedule: often at first, just before the end, at the end, and three times after closing", () => {
  const open = { status: "pending", created_at: 0, expires_at: 1_800, closed_at: 0, checks: 0 } as const;
  const times = [];
  for (let at = 0; at < 1_800; ) {
    at = nextCheck(open, at);
    times.push(at);
  }
  expect(times).toEqual([15, 30, 60, 120, 300, 600, 1_795, 1_800]);
  expect(nextCheck(open, 1_800)).toBe(1_860);
  const closed = { ...open, status: "closed", closed_at: 2_000 } as const;
  expect([2_000, 2_300, 5_600, 88_400].map((at) => nextCheck(closed, at))).toEqual([2_300, 5_600, 88_400, 0]);
  expect(nextCheck({ ...open, status: "credited" }, 0)).toBe(0);
});
