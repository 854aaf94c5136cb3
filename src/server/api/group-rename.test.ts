// A group gets another name (requirements K16): in everything that names it or in nothing, while keys go on working at its price.
import { sql } from "kysely";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import { chatReply, createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { type SeededUser, seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { seedLimit } from "#test/worlds/limits.ts";
import { buyPlan, orderPlan, periodOf, terms } from "#test/worlds/plans.ts";
import { seedTeam } from "#test/worlds/teams.ts";

/** 9 tokens in and 5 out at ratio 15, completion ratio 2 and group ratio 0.5, rounded up. */
const COST = 143;
const RATIOS = { default: 1, vip: 0.5, "v%p": 3, svip: 2 };

describe.each(databases)("renaming a group on $name", (database) => {
  let app: TestApp;
  let upstream: FakeUpstream;
  let url = "";
  let person: SeededUser;
  let key = "";
  let tokenId = 0;

  beforeAll(async () => {
    upstream = await createFakeUpstream();
    const usage = { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 };
    upstream.script(json({ ...chatReply("hi"), usage }));
    app = await createAppOn(database);
    url = await app.listen();
    await app.ctx.options.set("GroupRatio", JSON.stringify(RATIOS));
    await app.ctx.options.set("UserUsableGroups", '{"vip":"更快","svip":""}');
    await app.ctx.options.set("ChannelStrategyByGroup", '{"vip":"latency"}');
    await app.ctx.options.set("PreConsumedQuota", "0");
    const draft = {
      type: 8,
      name: "c",
      key: "k",
      base_url: upstream.url,
      models: "gpt-4",
      group: "svip,vip",
    };
    await app.call(asRoot, "POST", "/api/channel/", draft);
    await vi.waitFor(() => expect(app.ctx.candidates.find("vip", "gpt-4")).toHaveLength(1), {
      timeout: 10_000,
    });
    person = await seedUser(app.ctx, "person", { group: "vip" });
    ({ key, id: tokenId } = await seedToken(app.ctx, person.id));
  });
  afterEach(async () => expect(await checkLedger(app.ctx.db)).toEqual([]));
  afterAll(async () => {
    await app.close();
    await upstream.close();
  });

  const rename = (from: string, to: string) => app.call(asRoot, "POST", "/api/group/rename", { from, to });
  const ask = async (secret = key) => {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${secret}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "gpt-4",
        messages: [{ role: "user", content: "hello world" }],
        max_tokens: 5,
      }),
    });
    await answer.text();
    return answer.status;
  };
  const quota = async () =>
    (
      await app.ctx.db
        .selectFrom("users")
        .select("quota")
        .where("id", "=", person.id)
        .executeTakeFirstOrThrow()
    ).quota;

  test.each([
    ["default", "x", "default"],
    ["vip", "default", "default"],
    ["vip", "vip", "相同"],
    ["vip", "svip", "已经存在"],
    ["nowhere", "x", "没有这个分组"],
    ["vip", "a,b", "逗号"],
    ["vip", "x".repeat(33), "32"],
    ["vip", " ", "不能为空"],
  ])("%s → %s is refused", async (from, to, words) => {
    const answer = await rename(from, to);
    expect(answer.success).toBe(false);
    expect(answer.message).toContain(words);
  });

  test("everything that names it follows, nothing else does, and old log entries stay", async () => {
    const { db, ledger, options } = app.ctx;
    expect(await ask()).toBe(200);
    const team = await seedTeam(db, ledger, { quota: 0n, group: "vip" });
    await db.updateTable("tokens").set({ groups: "vip,svip,v%p" }).where("id", "=", tokenId).execute();
    const limit = await seedLimit(app.ctx, {
      subject: "group",
      subject_name: "vip",
      kind: "rpm",
      amount: 999,
    });
    const promised = terms({ name: "vip", groups: ["vip", "svip"], lent_group: "vip" });
    const buyer = await seedUser(app.ctx, "buyer");
    const stored = JSON.stringify(promised);
    const plan = { plan_id: 1, terms: stored, actor_id: 1, created_at: 1 };
    await db.insertInto("plan_versions").values(plan).execute();
    const order = await buyPlan(db, ledger, { userId: buyer.id, terms: promised });
    const waiting = await orderPlan(db, { userId: buyer.id, terms: promised });
    const rule = { name: "vip", models: ["vip"], groups: ["vip", "svip", "gold"], avoid: [99] };
    const others = [
      { name: "others", groups: ["svip"], avoid: [98] },
      { name: "all", avoid: [97] },
    ];
    await options.set("RouteRules", JSON.stringify([rule, ...others]));
    const { data, success } = await rename("vip", "gold");
    expect([success, data]).toEqual([true, { users: 2, channels: 1, tokens: 1, limits: 1, plans: 1 }]);
    expect(options.get("GroupRatio")).toEqual({ default: 1, gold: 0.5, "v%p": 3, svip: 2 });
    expect(options.get("UserUsableGroups")).toEqual({ gold: "更快", svip: "" });
    expect(options.get("ChannelStrategyByGroup")).toEqual({ gold: "latency" });
    expect(options.get("RouteRules")).toEqual([{ ...rule, groups: ["gold", "svip"] }, ...others]);
    const groupOf = async (id: number) =>
      (await db.selectFrom("users").select("group").where("id", "=", id).executeTakeFirstOrThrow()).group;
    expect([await groupOf(person.id), await groupOf(team.walletId), await groupOf(buyer.id)]).toEqual([
      "gold",
      "gold",
      "default",
    ]);
    const row = await db.selectFrom("tokens").select("groups").where("id", "=", tokenId).executeTakeFirst();
    expect(row?.groups).toBe("gold,svip,v%p");
    expect(await db.selectFrom("channels").select("group").execute()).toEqual([{ group: "svip,gold" }]);
    const named = await db
      .selectFrom("limits")
      .select("subject_name")
      .where("id", "=", limit)
      .executeTakeFirst();
    expect(named?.subject_name).toBe("gold");
    const wanted = { name: "vip", groups: ["gold", "svip"], lent_group: "gold" };
    expect(JSON.parse((await periodOf(db, order)).terms)).toMatchObject(wanted);
    const versions = await db.selectFrom("plan_versions").select("terms").execute();
    expect(JSON.parse(versions[0]?.terms ?? "")).toMatchObject(wanted);
    const sale = await db
      .selectFrom("orders")
      .select("plan_sale")
      .where("order_no", "=", waiting.order_no)
      .executeTakeFirst();
    expect(JSON.parse(sale?.plan_sale ?? "")).toMatchObject({ plan_id: 1, terms: wanted });
    const before = await quota();
    expect(await ask()).toBe(200);
    expect(before - (await quota())).toBe(COST);
    const log = await db
      .selectFrom("audit")
      .select(["action", "target", "detail"])
      .orderBy("id", "desc")
      .executeTakeFirst();
    expect(log).toMatchObject({
      action: "group.rename",
      target: "vip",
      detail: expect.stringContaining("gold"),
    });
  });

  test("a renaming that fails in its middle has changed nothing", async () => {
    const { db, options } = app.ctx;
    await db.updateTable("tokens").set({ groups: "" }).where("id", "=", tokenId).execute();
    const isSqlite = database.name === "SQLite";
    const stop = isSqlite
      ? ["CREATE TRIGGER no_limits BEFORE UPDATE ON limits BEGIN SELECT RAISE(ABORT, 'no'); END"]
      : [
          "CREATE FUNCTION no_limits() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$",
          "CREATE TRIGGER no_limits BEFORE UPDATE ON limits FOR EACH ROW EXECUTE FUNCTION no_limits()",
        ];
    for (const text of stop) await sql.raw(text).execute(db);
    expect((await rename("gold", "platinum")).success).toBe(false);
    await sql.raw(isSqlite ? "DROP TRIGGER no_limits" : "DROP TRIGGER no_limits ON limits").execute(db);
    expect(Object.keys(options.get("GroupRatio"))).toContain("gold");
    expect(await db.selectFrom("channels").select("group").execute()).toEqual([{ group: "svip,gold" }]);
    expect(await db.selectFrom("users").select("id").where("group", "=", "platinum").execute()).toEqual([]);
    expect(await ask()).toBe(200);
  });

  test("calls that go on all the while are all served, each at the price of the group, by the group's rule", async () => {
    const draft = { type: 8, name: "barred", key: "barred", priority: 9, base_url: upstream.url };
    await app.call(asRoot, "POST", "/api/channel/", { ...draft, models: "gpt-4", group: "gold" });
    await vi.waitFor(() => expect(app.ctx.candidates.find("gold", "gpt-4")).toHaveLength(2), {
      timeout: 10_000,
    });
    const [barred] = app.ctx.candidates.find("gold", "gpt-4");
    const rules = [{ name: "barred", groups: ["gold"], avoid: [barred?.id] }];
    await app.ctx.options.set("RouteRules", JSON.stringify(rules));
    await app.ctx.db.updateTable("tokens").set({ groups: "" }).where("id", "=", tokenId).execute();
    await app.ctx.coord.publish("tokens", String(tokenId));
    const before = await quota();
    let isOver = false;
    const statuses: number[] = [];
    const caller = async () => {
      while (!isOver) statuses.push(await ask());
    };
    const callers = Array.from({ length: 4 }, caller);
    let name = "gold";
    for (const next of ["one", "two", "three"]) {
      const reached = statuses.length + 4;
      expect((await rename(name, next)).success).toBe(true);
      // The next but one comes at once: in three renamings nothing that this process keeps may have been read anew.
      if (next !== "two") {
        await vi.waitFor(() => expect(statuses.length).toBeGreaterThan(reached), { timeout: 30_000 });
      }
      name = next;
    }
    isOver = true;
    await Promise.all(callers);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(app.ctx.options.get("RouteRules")).toMatchObject([{ groups: ["three"] }]);
    expect(upstream.journal.filter(({ headers }) => headers.authorization === "Bearer barred")).toEqual([]);
    // A settlement that the database did not take at once is repeated.
    await expect.poll(async () => before - (await quota())).toBe(statuses.length * COST);
  });
});
