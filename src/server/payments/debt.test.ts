// Calls of an account that owes what a refund or dispute could not take, where the operator wants them to wait (requirements Y36).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Context } from "#server/context.ts";
import { debtOf, getUser } from "#server/store/users.ts";
import { startEpay } from "#test/emulators/epay-emulator.ts";
import { chatReply, createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { order as callOf } from "#test/worlds/ledger-world.ts";
import { PATIENCE } from "#test/worlds/nodes.ts";
import { EpayWorld } from "#test/worlds/payment-world.ts";
import { errorOf, QUESTION } from "#test/worlds/relay-world.ts";
import { severalNodes } from "#test/worlds/several-nodes.ts";
import { instanceOf } from "./orders.ts";
import type { Reversal } from "./provider.ts";
import { bringReversal } from "./reversals.ts";

const ask = (url: string, key: string, model = QUESTION.model) =>
  fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer sk-${key}` },
    body: JSON.stringify({ ...QUESTION, model }),
  });

/** All that was paid goes back in the provider's console. */
async function takeAllBack(ctx: Context, account: number, orderNo: string): Promise<void> {
  const instance = await instanceOf(ctx, account);
  if (!instance) throw new Error("no instance");
  const reversal: Reversal = {
    source: "elsewhere",
    providerId: orderNo,
    orderNo,
    tradeNo: "",
    amountMinor: 3_000,
    isTotal: true,
    isUndone: false,
  };
  await bringReversal(ctx, instance, { reversal, origin: { kind: "poll", key: orderNo, body: "" } });
}

describe.each(databases)("calls in debt on $name", (database) => {
  const world = new EpayWorld();
  let upstream: FakeUpstream;
  let url = "";

  beforeAll(async () => {
    await world.start(database);
    upstream = await createFakeUpstream();
    upstream.script(json(chatReply("hi")));
    url = await world.app.listen();
    const channel = { type: 8, name: "c", key: "k", base_url: upstream.url, group: "default" };
    await world.app.call(asRoot, "POST", "/api/channel/", { ...channel, models: "gpt-4,free-1" });
    await world.app.ctx.options.set("ModelRatio", JSON.stringify({ "gpt-4": 15, "free-1": 0 }));
  });
  afterAll(async () => {
    await upstream.close();
    await world.stop();
  });

  /** A user who paid, spent, and had it refunded at the provider. */
  async function debtor() {
    const account = await world.site();
    const { user, order } = await world.ordered(account);
    await world.pay(account, order.order_no);
    const { ctx } = world.app;
    const { key } = await seedToken(ctx, user.id);
    // The caller is remembered as one who owes nothing.
    expect((await ask(url, key)).status).toBe(200);
    await ctx.ledger.adjust({
      ...{ userId: user.id, kind: "adjust", actorId: 1, reason: "spent" },
      quota: { delta: -20_000_000n },
    });
    return { account, user, order, key };
  }

  /** What a call had set aside meanwhile comes back, and pays no debt: there is quota, and still something is owed. */
  async function refundAll({ account, order, user }: Awaited<ReturnType<typeof debtor>>): Promise<void> {
    const { ledger } = world.app.ctx;
    const held = callOf({ userId: user.id, tokenId: 0 }, 1_000_000n);
    expect(await ledger.reserve(held)).toBe("reserved");
    await takeAllBack(world.app.ctx, account.id, order.order_no);
    await ledger.release(held.requestId);
  }

  /** A user in debt whose calls wait, as the operator wants it. */
  async function refused() {
    await world.app.ctx.options.set("RefuseInDebtEnabled", "true");
    const person = await debtor();
    await refundAll(person);
    expect((await ask(url, person.key)).status).toBe(403);
    return person;
  }

  test("go on while the option is off, and wait while it is on, but for free models", async () => {
    const person = await debtor();
    const { ctx } = world.app;
    await refundAll(person);
    expect((await ask(url, person.key)).status).toBe(200);
    await ctx.options.set("RefuseInDebtEnabled", "true");
    expect(await errorOf(await ask(url, person.key))).toMatchObject({
      status: 403,
      code: "insufficient_user_quota",
      message: expect.stringContaining("欠额"),
    });
    expect((await ask(url, person.key, "free-1")).status).toBe(200);
    await ctx.options.set("RefuseInDebtEnabled", "false");
    expect((await ask(url, person.key)).status).toBe(200);
  });

  test("are refused from the refund on and go on when a payment has paid what was owed", async () => {
    const { ctx } = world.app;
    const person = await refused();
    const { data: order } = await world.buy(person.user.who, person.account);
    await world.pay(person.account, order.order_no);
    expect((await ask(url, person.key)).status).toBe(200);
    await ctx.options.set("RefuseInDebtEnabled", "false");
  });

  test("go on when an administrator has added what was owed, who is told of it beforehand", async () => {
    const { ctx } = world.app;
    const person = await refused();
    const owed = await debtOf(ctx.db, person.user.id);
    const { data: shown } = await world.app.call(asRoot, "GET", `/api/user/${person.user.id}`);
    expect(shown.debt_quota).toBe(owed);
    const before = (await getUser(ctx.db, person.user.id)).quota;
    const raise = { user_id: person.user.id, quota: owed, remark: "免除欠额" };
    expect(await world.app.call(asRoot, "POST", "/api/topup", raise)).toMatchObject({ success: true });
    expect(await debtOf(ctx.db, person.user.id)).toBe(0);
    expect((await getUser(ctx.db, person.user.id)).quota).toBe(before);
    expect((await ask(url, person.key)).status).toBe(200);
    await ctx.options.set("RefuseInDebtEnabled", "false");
  });

  test("go on in a group that is free, whatever the groups cost that come after it", async () => {
    const { ctx } = world.app;
    await ctx.options.set("GroupRatio", '{"free":0,"default":1}');
    await ctx.options.set("UserUsableGroups", '{"free":""}');
    const channel = { type: 8, name: "f", key: "k", base_url: upstream.url, group: "free", models: "gpt-4" };
    await world.app.call(asRoot, "POST", "/api/channel/", channel);
    const { user, key } = await refused();
    await ctx.db
      .updateTable("tokens")
      .set({ groups: "free,default" })
      .where("user_id", "=", user.id)
      .execute();
    await ctx.coord.publish("users", String(user.id));
    await expect.poll(async () => (await ask(url, key)).status).toBe(200);
    await ctx.options.set("RefuseInDebtEnabled", "false");
  });

  test("are refused without a question to the database", async () => {
    const { ctx } = world.app;
    const person = await refused();
    // What is remembered stands, also when the row says otherwise unannounced.
    const owed = await debtOf(ctx.db, person.user.id);
    expect(owed).toBeGreaterThan(0);
    const write = (debt_quota: number) =>
      ctx.db.updateTable("users").set({ debt_quota }).where("id", "=", person.user.id).execute();
    await write(0);
    expect((await ask(url, person.key)).status).toBe(403);
    await write(owed);
    await ctx.options.set("RefuseInDebtEnabled", "false");
  });
});

describe("calls in debt over two nodes", () => {
  const nodes = severalNodes(2);
  const { urls, node } = nodes;

  test("are refused by the node that did not hear of the refund itself", async () => {
    const [upstream, epay] = await Promise.all([createFakeUpstream(), startEpay(Date.now)]);
    upstream.script(json(chatReply("hi")));
    await nodes.addChannel("gpt-4", { base_url: upstream.url });
    await nodes.set("ServerAddress", "https://gate.example");
    await nodes.set("RefuseInDebtEnabled", "true");
    const { call, ctx } = node(0);
    const { data: account } = await call(asRoot, "POST", "/api/payment/instance", {
      ...{ name: "n", is_enabled: true, merchant_id: "1001", provider: "epay-v1", methods: ["alipay"] },
      fields: { base_url: epay.desk.url, key: epay.key },
    });
    const user = await seedUser(ctx, "owing");
    const { key } = await seedToken(ctx, user.id);
    expect((await ask(urls[1] ?? "", key)).status).toBe(200);
    const bought = { dollars: 50, instance_id: account.id, method: "alipay" };
    const { data: order } = await call(user.who, "POST", "/api/payment/order", bought);
    epay.desk.pay(order.order_no);
    const look = () => call(user.who, "GET", `/api/payment/order/${order.order_no}`);
    await expect.poll(async () => (await look()).data.status, PATIENCE).toBe("credited");
    const spent = { kind: "adjust", actorId: 1, reason: "spent", quota: { delta: -20_000_000n } } as const;
    await ctx.ledger.adjust({ userId: user.id, ...spent });
    await takeAllBack(ctx, account.id, order.order_no);
    const gift = { kind: "grant", actorId: 1, reason: "gift", quota: { delta: 1_000_000n } } as const;
    await ctx.ledger.adjust({ userId: user.id, ...gift });
    await expect.poll(async () => (await ask(urls[1] ?? "", key)).status, PATIENCE).toBe(403);
    await Promise.all([upstream.close(), epay.desk.close()]);
  });
});
