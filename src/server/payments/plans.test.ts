// Plans end to end, on both databases: made by an administrator, bought at a 易支付 site, paying for calls, told by the receipt, paid back.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DAY_SEC } from "#server/clock.ts";
import { findTokenByKey } from "#server/store/tokens.ts";
import { getUser } from "#server/store/users.ts";
import { type EpayEmulator, startEpay } from "#test/emulators/epay-emulator.ts";
import { chatReply, createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { type SeededUser, seedToken } from "#test/seeds/seed.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { type Account, PaymentWorld } from "#test/worlds/payment-world.ts";

/** 9 tokens in and 5 out, at ratio 15 and completion ratio 2. */
const COST = 285;
const REPLY = json({
  ...chatReply("hi"),
  usage: { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 },
});
const DRAFT = {
  name: "编程套餐",
  is_enabled: true,
  price: "30",
  unit: "day",
  count: 30,
  quota: 10 * COST,
  windows: [{ kind: "session", quota: 2 * COST }],
  models: ["gpt-4*"],
  overflow: true,
};

describe.each(databases)("plans on $name", (database) => {
  const world = new PaymentWorld();
  let epay: EpayEmulator;
  let account: Account;
  let upstream: FakeUpstream;
  let url = "";

  beforeAll(async () => {
    await world.start(database);
    epay = await startEpay(world.clock.now);
    const fields = { base_url: epay.desk.url, key: epay.key };
    account = await world.account({ provider: "epay-v1", methods: ["alipay"], fields });
    upstream = await createFakeUpstream();
    url = await world.app.listen();
    for (const [name, group, models] of [
      ["own", "default", "gpt-4,other"],
      ["lent", "vip", "gpt-4"],
    ]) {
      const channel = { type: 8, name, key: `k-${name}`, base_url: upstream.url, models, group };
      await world.app.call(asRoot, "POST", "/api/channel/", channel);
    }
    // Weeks pass here.
    await world.app.ctx.options.set("MfaRequiredFor", "none");
    await world.app.ctx.options.set("PreConsumedQuota", "0");
    await world.app.ctx.options.set("ModelRatio", '{"gpt-4":15,"other":15}');
    await world.app.ctx.options.set("CompletionRatio", '{"gpt-4":2,"other":2}');
    await world.app.ctx.options.set("GroupRatio", '{"default":1,"vip":1}');
    upstream.script(REPLY);
  });
  afterAll(async () => {
    await epay.desk.close();
    await upstream.close();
    await world.stop();
  });

  const make = async (change: object = {}) => {
    const made = await world.app.call(asRoot, "POST", "/api/plan/", { ...DRAFT, ...change });
    expect(made.message).toBe("");
    return made.data;
  };
  const shop = async ({ who }: SeededUser) => (await world.app.call(who, "GET", "/api/plan/shop")).data;
  const order = (user: SeededUser, plan: { id: number; version_id: number }, change: object = {}) =>
    world.app.call(user.who, "POST", "/api/plan/order", {
      plan_id: plan.id,
      version_id: plan.version_id,
      instance_id: account.id,
      method: "alipay",
      ...change,
    });
  const buy = async (user: SeededUser, plan: { id: number; version_id: number }, change: object = {}) => {
    const { data, message } = await order(user, plan, change);
    expect(message).toBe("");
    const query = epay.noticeV1(epay.desk.pay(data.order_no));
    expect((await world.notify(account, { query })).text).toBe("success");
    return data;
  };
  const ask = (key: string, model = "gpt-4") =>
    fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "hello world" }], max_tokens: 5 }),
    });
  /** Calls and gets the receipt. */
  const called = async (user: SeededUser, key: string, model?: string) => {
    const response = await ask(key, model);
    expect(response.status).toBe(200);
    await response.text();
    const id = response.headers.get("x-oneapi-request-id");
    return (await world.app.call(user.who, "GET", `/api/log/receipt/${id}`)).data;
  };

  test("are sold, pay for calls within their windows, and leave the rest to the wallet", async () => {
    const plan = await make();
    const user = await world.buyer();
    const { key } = await seedToken(world.app.ctx, user.id);
    // Without a plan the wallet pays; from now on the key is cached.
    expect(await called(user, key)).toMatchObject({ quota: COST, plan_quota: 0 });
    const bought = await buy(user, plan);
    expect(bought).toMatchObject({ plan: "编程套餐", amount_minor: 3_000 });
    expect(await called(user, key)).toMatchObject({ quota: COST, plan_quota: COST });
    expect(await called(user, key, "other")).toMatchObject({ quota: COST, plan_quota: 0 });
    expect(await called(user, key)).toMatchObject({ plan_quota: COST });
    // The window of five hours is used up.
    expect(await called(user, key)).toMatchObject({ quota: COST, plan_quota: 0 });
    expect(await world.gained(user)).toBe(-3 * COST);
    const { periods } = await shop(user);
    expect(periods).toMatchObject([
      {
        name: "编程套餐",
        state: "running",
        order_no: bought.order_no,
        quota: 10 * COST,
        used: 2 * COST,
        windows: [{ kind: "session", quota: 2 * COST, used: 2 * COST }],
      },
    ]);
    world.clock.advance(5 * 3_600_000);
    expect(await called(user, key)).toMatchObject({ plan_quota: COST });
    world.clock.advance(30 * DAY_SEC * 1_000);
    expect(await called(user, key)).toMatchObject({ quota: COST, plan_quota: 0 });
    expect((await shop(user)).periods[0].state).toBe("over");
  });

  test("refuse a call that they have no room for, when the wallet is not to pay", async () => {
    const plan = await make({ overflow: false });
    const user = await world.buyer();
    const { key } = await seedToken(world.app.ctx, user.id);
    await buy(user, plan);
    await called(user, key);
    await called(user, key);
    const refused = await ask(key);
    expect(refused.status).toBe(429);
    const { error } = (await refused.json()) as { error: Record<string, unknown> };
    expect(error).toMatchObject({ code: "plan_quota", type: "usage_limit_reached" });
    expect(error["resets_at"]).toBe((await shop(user)).periods[0].windows[0].resets_at);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(17_000);
    expect(await world.gained(user)).toBe(0);
  });

  test("lend their group as long as they run, and never touch the user's own", async () => {
    const plan = await make({ lent_group: "vip", groups: ["vip"] });
    const user = await world.buyer();
    const { key } = await seedToken(world.app.ctx, user.id);
    const lastKey = () => upstream.journal.at(-1)?.headers.authorization;
    await called(user, key);
    expect(lastKey()).toBe("Bearer k-own");
    const { order_no } = await buy(user, plan);
    expect(await called(user, key)).toMatchObject({ plan_quota: COST });
    expect(lastKey()).toBe("Bearer k-lent");
    const own = await findTokenByKey(world.app.ctx.db, world.app.ctx.secrets.hash(key));
    expect(own?.group).toBe("default");
    const refund = { amount: null, reason: "asked" };
    const path = `/api/payment/manage/${order_no}/refund`;
    const { data } = await world.app.call(asRoot, "POST", path, refund);
    // 30 days and 9 of 10 calls are left.
    expect(data.refunds).toMatchObject([{ amount_minor: 2_700, state: "done", quota: 0 }]);
    expect((await shop(user)).periods[0].state).toBe("stopped");
    expect(await called(user, key)).toMatchObject({ plan_quota: 0 });
    expect(lastKey()).toBe("Bearer k-own");
  });

  test("lend a group whose ratio is gone, at 1, and leave what an administrator makes of the user's own", async () => {
    const plan = await make({ lent_group: "vip", groups: ["vip"] });
    const user = await world.buyer();
    const { key } = await seedToken(world.app.ctx, user.id);
    await buy(user, plan);
    await world.app.ctx.options.set("GroupRatio", '{"default":1,"gold":1}');
    expect(await called(user, key)).toMatchObject({ quota: COST, plan_quota: COST });
    expect(upstream.journal.at(-1)?.headers.authorization).toBe("Bearer k-lent");
    const edit = { id: user.id, username: user.username, group: "gold" };
    expect((await world.app.call(asRoot, "PUT", "/api/user/", edit)).message).toBe("");
    world.clock.advance(31 * DAY_SEC * 1_000);
    expect((await getUser(world.app.ctx.db, user.id)).group).toBe("gold");
    await world.app.ctx.options.set("GroupRatio", '{"default":1,"vip":1}');
  });

  test("pay for the models that are asked for, whatever they are called upstream", async () => {
    const draft = { type: 8, name: "mapped", key: "k-mapped", base_url: upstream.url, group: "default" };
    const mapping = { models: "asked", model_mapping: '{"asked":"gpt-4"}' };
    await world.app.call(asRoot, "POST", "/api/channel/", { ...draft, ...mapping });
    await world.app.ctx.options.set("ModelRatio", '{"gpt-4":15,"other":15,"asked":15}');
    const user = await world.buyer();
    const { key } = await seedToken(world.app.ctx, user.id);
    await buy(user, await make({ models: ["gpt-4"] }));
    expect(await called(user, key, "asked")).toMatchObject({ plan_quota: 0 });
    await buy(user, await make({ models: ["asked"] }));
    const { quota, plan_quota } = await called(user, key, "asked");
    expect([plan_quota > 0, plan_quota]).toEqual([true, quota]);
  });

  test("that have ended lend their group for the days of grace, and the wallet pays", async () => {
    const plan = await make({ lent_group: "vip", groups: ["vip"] });
    const user = await world.buyer();
    const { key } = await seedToken(world.app.ctx, user.id);
    const lastKey = () => upstream.journal.at(-1)?.headers.authorization;
    await buy(user, plan);
    await world.app.ctx.options.set("PlanGraceDays", "2");
    world.clock.advance(30 * DAY_SEC * 1_000);
    expect(await called(user, key)).toMatchObject({ plan_quota: 0 });
    expect(lastKey()).toBe("Bearer k-lent");
    expect((await shop(user)).periods[0].state).toBe("over");
    world.clock.advance(2 * DAY_SEC * 1_000);
    expect(await called(user, key)).toMatchObject({ plan_quota: 0 });
    expect(lastKey()).toBe("Bearer k-own");
    // What was paid back lends nothing from that moment on.
    const { order_no } = await buy(user, plan);
    expect(lastKey()).toBe("Bearer k-own");
    await called(user, key);
    expect(lastKey()).toBe("Bearer k-lent");
    const refund = { amount: null, reason: "asked" };
    await world.app.call(asRoot, "POST", `/api/payment/manage/${order_no}/refund`, refund);
    await called(user, key);
    expect(lastKey()).toBe("Bearer k-own");
    await world.app.ctx.options.set("PlanGraceDays", "0");
  });

  test("begin their next period at once where the buyer wants that: the running one ends, and its rest is gone", async () => {
    const plan = await make();
    const user = await world.buyer();
    const now = { begins_now: true };
    const refused = "只有最后一个周期可以提前结束，请刷新页面";
    expect((await order(user, plan, now)).message).toBe(refused);
    await buy(user, plan);
    world.clock.advance(10 * DAY_SEC * 1_000);
    expect((await order(user, plan, { ...now, renews: true })).success).toBe(false);
    // An order for the end of the period is another one.
    const later = (await order(user, plan)).data.order_no;
    const bought = await buy(user, plan, now);
    expect(bought.order_no).not.toBe(later);
    const [running, stopped] = (await shop(user)).periods;
    expect(stopped).toMatchObject({ state: "stopped", ends_at: world.clock.seconds() });
    expect(running).toMatchObject({ state: "running", starts_at: world.clock.seconds() });
    const { key } = await seedToken(world.app.ctx, user.id);
    expect(await called(user, key)).toMatchObject({ plan_quota: COST });
    expect((await shop(user)).periods.map(({ used }: { used: number }) => used)).toEqual([COST, 0]);
    await buy(user, plan);
    expect((await order(user, plan, now)).message).toBe(refused);
  });

  test("are renewed and upgraded; a changed version is sold from then on, and bought ones stay", async () => {
    const plan = await make({ windows: [], purchase_limit: 2 });
    const user = await world.buyer();
    await buy(user, plan);
    world.clock.advance(15 * DAY_SEC * 1_000);
    await buy(user, plan);
    const [coming, running] = (await shop(user)).periods;
    expect(coming).toMatchObject({ state: "coming", starts_at: running.ends_at });
    const spent = "该套餐每人最多购买 2 次，未付款的订单也计算在内";
    expect((await order(user, plan)).message).toBe(spent);
    const dearer = await make({ name: "专业版", price: "90", quota: 30 * COST, windows: [] });
    const { upgrades } = await shop(user);
    const quote = upgrades.find((one: { plan_id: number }) => one.plan_id === dearer.id);
    expect(quote).toEqual({
      period_id: running.id,
      plan_id: dearer.id,
      price_minor: 3_000,
      quota: 10 * COST,
    });
    const upgraded = await buy(user, dearer, { upgrade_of: running.id });
    expect(upgraded.amount_minor).toBe(3_000);
    expect((await order(user, dearer, { upgrade_of: running.id })).message).toBe(
      "不能从当前套餐升级到该套餐",
    );
    expect((await order(user, dearer, { upgrade_of: 999_999 })).message).toBe("不能从当前套餐升级到该套餐");
    const changed = await world.app.call(asRoot, "PUT", `/api/plan/${dearer.id}`, {
      ...DRAFT,
      name: "专业版",
      price: "120",
    });
    expect(changed.data.version_id).toBeGreaterThan(dearer.version_id);
    expect((await order(user, dearer)).message).toContain("已更新");
    expect((await shop(user)).periods.find((one: { id: number }) => one.id === running.id)).toMatchObject({
      name: "专业版",
      quota: 20 * COST,
      ends_at: running.ends_at,
    });
    // What is no change of the terms is no other version.
    const off = { ...DRAFT, name: "专业版", price: "120", is_enabled: false, about: "下架" };
    const same = await world.app.call(asRoot, "PUT", `/api/plan/${dearer.id}`, off);
    expect(same.data).toMatchObject({ version_id: changed.data.version_id, subscribers: 1 });
    expect((await order(user, changed.data)).message).toContain("已下架");
    expect((await world.app.call(asRoot, "PUT", "/api/plan/999999", DRAFT)).success).toBe(false);
    expect((await world.app.call(asRoot, "GET", "/api/plan/")).data.at(-1)).toMatchObject({ name: "专业版" });
  });

  test("are bought no oftener than they may be: not by orders that wait, nor by leaving a period for a dearer plan", async () => {
    const fault = "该套餐每人最多购买 1 次，未付款的订单也计算在内";
    const user = await world.buyer();
    const plan = await make({ windows: [], purchase_limit: 1 });
    const dearer = await make({ price: "90", quota: 30 * COST, windows: [] });
    const fields = { base_url: epay.desk.url, key: epay.key };
    const other = await world.account({ provider: "epay-v1", methods: ["alipay"], fields });
    const told = await Promise.all(
      [account.id, other.id, account.id, other.id].map((instance_id) => order(user, plan, { instance_id })),
    );
    const made = told.flatMap(({ success, data }) => (success ? [data.order_no] : []));
    expect(new Set(made).size).toBe(1);
    const { instance_id } = await world.row(made[0]);
    const beside = instance_id === other.id ? account.id : other.id;
    expect((await order(user, plan, { instance_id: beside })).message).toBe(fault);
    const cancelled = await world.app.call(user.who, "POST", `/api/payment/order/${made[0]}/cancel`, {});
    expect(cancelled.message).toBe("");
    await buy(user, plan);
    const [running] = (await shop(user)).periods;
    await buy(user, dearer, { upgrade_of: running.id });
    expect((await order(user, plan)).message).toBe(fault);
  });

  test("bring the inviter the percentage of their price that is set, and take it back with a refund", async () => {
    const { ctx } = world.app;
    const [inviter, user] = [await world.buyer(), await world.buyer()];
    await ctx.db.updateTable("users").set({ inviter_id: inviter.id }).where("id", "=", user.id).execute();
    const plan = await make();
    await ctx.options.set("PlanCommissionPercent", "10");
    const { data } = await order(user, plan);
    // Frozen in the order.
    await ctx.options.set("PlanCommissionPercent", "0");
    const query = epay.noticeV1(epay.desk.pay(data.order_no));
    expect((await world.notify(account, { query })).text).toBe("success");
    const balance = async () =>
      (await world.app.call(inviter.who, "GET", "/api/user/partner_plan_info")).data.invite_balance;
    expect(await balance()).toBe("3");
    const path = `/api/payment/manage/${data.order_no}/refund`;
    await world.app.call(asRoot, "POST", path, { amount: "15", reason: "asked" });
    expect(await balance()).toBe("1.5");
    // Of quota for the wallet: 0.5 yuan per dollar, at twice the usual rate.
    await ctx.options.set("PayCommissionPercent", "10");
    const { order: topUp } = await world.ordered(account);
    await ctx.options.set("PayCommissionPercent", "5");
    expect((await world.row(topUp.order_no)).commission_micro).toBe(2_500_000);
  });

  test("a plan that runs beside is no upgrade, and what was frozen in an order counts", async () => {
    const user = await world.buyer();
    const [small, large] = [await make(), await make({ price: "60", quota: 20 * COST })];
    await buy(user, small);
    const { data } = await order(user, large);
    // Changed and taken off between the order and its payment.
    await world.app.call(asRoot, "PUT", `/api/plan/${large.id}`, { ...DRAFT, price: "1", is_enabled: false });
    const query = epay.noticeV1(epay.desk.pay(data.order_no));
    expect((await world.notify(account, { query })).text).toBe("success");
    const { periods } = await shop(user);
    expect(periods.map((one: { quota: number }) => one.quota).sort()).toEqual([10 * COST, 20 * COST].sort());
    const both = await world.app.call(asRoot, "PUT", `/api/plan/${large.id}`, { ...DRAFT, price: "60" });
    const running = periods.find((one: { plan_id: number }) => one.plan_id === small.id);
    expect((await order(user, both.data, { upgrade_of: running.id })).message).toBe("已有该套餐，无需升级");
  });
});
