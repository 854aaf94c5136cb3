// The usage log through the API: what users and administrators see, search, clearing, and that none of it touches money (requirements
// W3.9, M28, P06).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import { printAttempts } from "#server/store/failed-attempts.ts";
import { insertLog } from "#server/store/logs.ts";
import { type SeededUser, seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp, type Who } from "#test/worlds/app.ts";
import { newLog } from "#test/worlds/stores.ts";

describe.each(databases)("the usage log on $name", (database) => {
  let app: TestApp;
  let admin: SeededUser;
  let alice: SeededUser;
  let bob: SeededUser;
  let serial = 0;

  beforeAll(async () => {
    app = await createAppOn(database);
    admin = await seedUser(app.ctx, "admin", { role: 10 });
    alice = await seedUser(app.ctx, "alice");
    bob = await seedUser(app.ctx, "bob");
  });
  afterAll(() => app.close());

  async function pay(user: SeededUser, tokenId: number, isLogged = true): Promise<void> {
    serial += 1;
    const party = { requestId: `log-${serial}`, userId: user.id, tokenId };
    await app.ctx.ledger.reserve({ ...party, amount: 10n, modelName: "gpt-4" });
    await app.ctx.ledger.settle({
      ...party,
      channelId: 7,
      charge: 10n,
      usage: { promptTokens: 3, completionTokens: 4, cachedTokens: 0 },
      log: isLogged
        ? {
            content: "模型倍率 1",
            model_name: "gpt-4",
            elapsed_time: 5,
            first_byte_time: 1,
            is_stream: 0,
            estimated: 0,
            trail: "",
          }
        : null,
    });
  }
  async function note(user: SeededUser, type: number, content: string, trail = ""): Promise<void> {
    const created_at = app.ctx.clock.seconds();
    const { id: user_id, username } = user;
    await insertLog(app.ctx.db, newLog({ user_id, username, created_at, type, content, trail }));
  }

  test("administrators search all users' entries, users their own without channels", async () => {
    const { id } = await seedToken(app.ctx, alice.id);
    await pay(alice, id);
    await note(alice, 1, "通过兑换码充值 1");
    await note(bob, 1, "通过兑换码充值 2");
    const search = (who: SeededUser, path: string, keyword: string) =>
      app.call(who.who, "GET", `/api/log/${path}search?keyword=${encodeURIComponent(keyword)}`);
    const all = await search(admin, "", "通过兑换码");
    expect(all.data.map((row: { username: string }) => row.username)).toEqual(["bob", "alice"]);
    expect(all.total).toBe(2);
    expect((await search(admin, "", "2")).data).toMatchObject([{ type: 2, channel: 7 }]);
    const own = await search(alice, "self/", "通过兑换码");
    expect(own.data.map((row: { username: string }) => row.username)).toEqual(["alice"]);
    expect((await search(alice, "self/", "2")).data).toMatchObject([
      { type: 2, channel: 0, channel_name: "" },
    ]);
    expect((await search(alice, "", "2")).success).toBe(false);
  });

  test("the failed attempts of a call are shown to administrators alone, and cannot be searched for", async () => {
    const channel = { type: 1, key: "sk-upstream", models: "gpt-4", group: "default", name: "首选上游" };
    await app.call(asRoot, "POST", "/api/channel/", channel);
    const [{ id: channelId }] = (await app.call(asRoot, "GET", "/api/channel/")).data;
    const text = "通过首选以外的渠道";
    const attempts = [
      { channelId, error: "upstream_401", said: "your credit balance is too low" },
      { channelId: 999, error: "do_request_failed", said: "" },
    ];
    await note(alice, 2, text, printAttempts(attempts));
    const newest = async (who: SeededUser["who"], path: string) => (await app.call(who, "GET", path)).data[0];
    const seen = {
      content: text,
      trail: [
        {
          channel: channelId,
          channel_name: "首选上游",
          error: "upstream_401",
          said: "your credit balance is too low",
        },
        { channel: 999, channel_name: "", error: "do_request_failed", said: "" },
      ],
    };
    const find = encodeURIComponent(text);
    expect(await newest(admin.who, "/api/log/")).toMatchObject(seen);
    expect(await newest(admin.who, `/api/log/search?keyword=${find}`)).toMatchObject(seen);
    const own = { content: text, trail: [], channel: 0 };
    expect(await newest(alice.who, "/api/log/self/")).toMatchObject(own);
    expect(await newest(alice.who, `/api/log/self/search?keyword=${find}`)).toMatchObject(own);
    const guess = encodeURIComponent(`${channelId}:upstream`);
    expect((await app.call(alice.who, "GET", `/api/log/self/search?keyword=${guess}`)).data).toEqual([]);
  });

  test("a failed call is found by its type, costs nothing, and shows its user no channel", async () => {
    const stat = (await app.call(alice.who, "GET", "/api/log/self/stat")).data;
    const text = "403 insufficient_user_quota：用户额度不足";
    const attempts = printAttempts([{ channelId: 7, error: "upstream_500", said: "" }]);
    await note(alice, 6, text, attempts);
    await note(bob, 6, "404 model_not_found：没有", attempts);
    const own = await app.call(alice.who, "GET", "/api/log/self/?type=6");
    expect(own.total).toBe(1);
    expect(own.data).toMatchObject([{ type: 6, content: text, quota: 0, channel: 0, trail: [] }]);
    expect((await app.call(alice.who, "GET", "/api/log/self/search?keyword=403")).data).toHaveLength(1);
    const all = await app.call(admin.who, "GET", "/api/log/?type=6");
    expect(all.data).toMatchObject([{ username: "bob" }, { username: "alice", trail: [{ channel: 7 }] }]);
    expect((await app.call(alice.who, "GET", "/api/log/self/stat")).data).toEqual(stat);
    expect((await app.call(alice.who, "GET", "/api/log/self/stat?type=6")).data).toEqual(stat);
  });

  test("clearing needs a moment, tells how many went, and keeps top-ups, acts and sums", async () => {
    const stat = (await app.call(asRoot, "GET", "/api/log/stat")).data;
    const self = (await app.call(alice.who, "GET", "/api/log/self/history")).data;
    expect((await app.call(admin.who, "DELETE", "/api/log/")).message).toBe("请指定清理的截止时间");
    expect((await app.call(admin.who, "DELETE", "/api/log/?target_timestamp=0")).success).toBe(false);
    expect((await app.call(admin.who, "DELETE", "/api/log/?target_timestamp=5")).data).toBe(0);
    const calls = (await app.call(asRoot, "GET", "/api/log/?type=2")).total;
    const others = (await app.call(asRoot, "GET", "/api/log/?type=1")).total;
    const failed = (await app.call(asRoot, "GET", "/api/log/?type=6")).total;
    const until = app.ctx.clock.seconds() + 10;
    expect((await app.call(admin.who, "DELETE", `/api/log/?target_timestamp=${until}`)).data).toBe(
      calls + failed,
    );
    expect((await app.call(asRoot, "GET", "/api/log/?type=2")).total).toBe(0);
    expect((await app.call(asRoot, "GET", "/api/log/?type=1")).total).toBe(others);
    expect((await app.call(asRoot, "GET", "/api/log/stat")).data).toEqual(stat);
    expect((await app.call(alice.who, "GET", "/api/log/self/history")).data).toEqual(self);
    expect((await app.call(alice.who, "DELETE", "/api/log/?target_timestamp=5")).success).toBe(false);
  });

  test("calls that are not logged, and a log that is cleared meanwhile, change no money (requirements M28)", async () => {
    const { ctx } = app;
    const { id } = await seedToken(ctx, bob.id);
    const before = (await app.call(bob.who, "GET", "/api/user/self")).data;
    const clear = () =>
      app.call(admin.who, "DELETE", `/api/log/?target_timestamp=${ctx.clock.seconds() + 10}`);
    const work = Array.from({ length: 200 }, (_, index) => [
      pay(bob, id, index % 2 === 0),
      ...(index % 20 === 0 ? [clear()] : []),
    ]).flat();
    await Promise.all(work);
    const after = (await app.call(bob.who, "GET", "/api/user/self")).data;
    expect(after.quota).toBe(before.quota - 2_000);
    expect(after.used_quota).toBe(before.used_quota + 2_000);
    expect(after.request_count).toBe(before.request_count + 200);
    const { count } = await ctx.db
      .selectFrom("ledger")
      .select((select) => select.fn.countAll<number>().as("count"))
      .where("user_id", "=", bob.id)
      .where("kind", "=", "consume")
      .executeTakeFirstOrThrow();
    expect(Number(count)).toBe(200);
    expect((await app.call(bob.who, "GET", "/api/log/self/stat")).data).toEqual({
      quota: 2_000,
      token: 1_400,
      request: 200,
    });
    expect(await checkLedger(ctx.db)).toEqual([]);
    await clear();
    expect((await app.call(bob.who, "GET", "/api/log/self/?type=2")).total).toBe(0);
    expect(await checkLedger(ctx.db)).toEqual([]);
  });

  test("what a call cost and brought is told only to administrators who may see money", async () => {
    // Bought by a code without a price of its own, which counts by the average, beside 500,000 that were given.
    const buyer = await seedUser(app.ctx, "costly");
    const codes = { name: "sold", quota: 10_000, count: 1 };
    const { data: keys } = await app.call(asRoot, "POST", "/api/redemption/", codes);
    expect((await app.call(buyer.who, "POST", "/api/user/topup", { key: keys[0] })).message).toBe("");
    const { id: tokenId } = await seedToken(app.ctx, buyer.id);
    const call = { requestId: "log-cost", userId: buyer.id, tokenId, channelId: 7, charge: 1_000n };
    await app.ctx.ledger.settle({
      ...call,
      usage: { promptTokens: 3, completionTokens: 4, cachedTokens: 0 },
      cost: { cost: 1_500_000, saved: 0, group: "default" },
      log: {
        content: "",
        model_name: "gpt-4-costly",
        elapsed_time: 1,
        first_byte_time: 0,
        is_stream: 0,
        estimated: 0,
        trail: "",
      },
    });
    const seenBy = async (who: Who, path: string) => {
      const { data } = await app.call(who, "GET", `${path}?model_name=gpt-4-costly`);
      return data.map(({ cost, revenue }: { cost: number; revenue: number }) => [cost, revenue]);
    };
    // 1,000 of 500,000 a dollar, of which 10,000 in 510,000 were bought.
    expect(await seenBy(asRoot, "/api/log/")).toEqual([[1_500_000, 39_216]]);
    expect(await seenBy(admin.who, "/api/log/")).toEqual([[1_500_000, 39_216]]);
    expect(await seenBy(buyer.who, "/api/log/self/")).toEqual([[-1, -1]]);
    const set = { name: "readers", permissions: ["log.read"] };
    const made = await app.call(asRoot, "POST", "/api/staff/set", set);
    expect(made.message).toBe("");
    const reader = await seedUser(app.ctx, "reader", { role: 10 });
    const held = { staff_set_id: made.data.id };
    await app.ctx.db.updateTable("users").set(held).where("id", "=", reader.id).execute();
    await app.ctx.coord.publish("users", String(reader.id));
    expect(await seenBy(reader.who, "/api/log/")).toEqual([[-1, -1]]);
  });
});
