// The decision that is kept with each call, read by its number in the log, on both databases (requirements C47).
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { RouteDecision } from "#contract/route.ts";
import { chatReply, createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { type SeededUser, seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createTestApp, databases, type TestApp } from "#test/worlds/app.ts";

describe.each(databases)("the decision of a call on $name", (database) => {
  let app: TestApp;
  let upstream: FakeUpstream;
  let drop: () => Promise<void>;
  let url = "";
  let token = { id: 0, key: "" };
  let user: SeededUser;

  beforeAll(async () => {
    const made = await database.create();
    drop = made.drop;
    app = await createTestApp({ databaseUrl: made.url });
    upstream = await createFakeUpstream();
    url = await app.listen();
    user = await seedUser(app.ctx, "caller");
    token = await seedToken(app.ctx, user.id);
    await app.ctx.options.set("ChannelQueueSeconds", "0");
    await app.ctx.options.set("RetryTimes", "3");
  });
  afterAll(async () => {
    await app.close();
    await upstream.close();
    await drop();
  });
  afterEach(async () => {
    await app.ctx.db.updateTable("channels").set({ deleted_at: 1 }).execute();
    await app.ctx.candidates.reload();
  });

  async function channel(name: string, draft: object = {}): Promise<void> {
    const usual = { type: 8, name, key: name, base_url: upstream.url, models: "gpt-4", group: "default" };
    expect(await app.call(asRoot, "POST", "/api/channel/", { ...usual, ...draft })).toMatchObject({
      success: true,
    });
  }

  /** Makes a call and waits for its entry in the log. */
  async function callLogged(key = token.key, model = "gpt-4"): Promise<{ status: number; id: number }> {
    const newest = async () => {
      const row = await app.ctx.db.selectFrom("logs").select("id").orderBy("id", "desc").executeTakeFirst();
      return row?.id ?? 0;
    };
    const before = await newest();
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${key}` },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "hi" }], max_tokens: 5 }),
    });
    await response.text();
    await expect.poll(newest).toBeGreaterThan(before);
    return { status: response.status, id: await newest() };
  }
  async function decision(id: number): Promise<RouteDecision> {
    const { data, message, success } = await app.call(asRoot, "GET", `/api/route/call/${id}`);
    expect([success, message]).toEqual([true, ""]);
    return data;
  }
  const verdicts = ({ groups }: RouteDecision) =>
    groups.map(({ group, candidates }) => [
      group,
      Object.fromEntries(candidates.map(({ name, verdict }) => [name, verdict])),
    ]);

  test("says why this channel: what failed, was full, rests, or has a lower priority", async () => {
    await channel("full", { priority: 9, limits: { rpm: 1 } });
    await channel("broken", { priority: 8 });
    await channel("good", { priority: 5 });
    await channel("lower", { priority: 1 });
    upstream.script((res, asked) =>
      asked.headers.authorization === "Bearer broken"
        ? json({ error: { message: "no" } }, 429, { "retry-after": "60" })(res, asked)
        : json(chatReply("hi"))(res, asked),
    );
    const first = await decision((await callLogged()).id);
    expect(first).toMatchObject({ user_id: user.id, model: "gpt-4", served: true });
    expect(verdicts(first)).toEqual([
      [
        "default",
        { full: "chosen", broken: "priority_lower", good: "priority_lower", lower: "priority_lower" },
      ],
    ]);
    const second = await decision((await callLogged()).id);
    expect(verdicts(second)).toEqual([
      ["default", { full: "limited", broken: "tried", good: "chosen", lower: "priority_lower" }],
    ]);
    const tried = second.groups[0]?.candidates.find(({ name }) => name === "broken");
    expect(tried).toMatchObject({ error: "upstream_429" });
    expect(second.groups[0]).toMatchObject({ strategy: "weight", native_first: false, more: 0 });
    const third = await decision((await callLogged()).id);
    expect(verdicts(third)).toEqual([
      ["default", { full: "limited", broken: "resting", good: "chosen", lower: "priority_lower" }],
    ]);
    expect(third.channel).toBe(third.groups[0]?.candidates.find(({ verdict }) => verdict === "chosen")?.id);
  });

  test("says why none: the channels that have the model and what bars them", async () => {
    await channel("off", { status: 2 });
    await channel("others", { group: "vip" });
    await channel("else", { models: "gpt-4o" });
    const { status, id } = await callLogged();
    expect(status).toBe(503);
    const told = await decision(id);
    expect(told).toMatchObject({ served: false, channel: 0 });
    expect(verdicts(told)).toEqual([["default", { off: "disabled", others: "group" }]]);
    const unknown = await decision((await callLogged(token.key, "unheard-of")).id);
    expect(unknown.groups).toMatchObject([{ group: "default", candidates: [] }]);
  });

  test("says why all of them failed", async () => {
    await channel("one");
    await channel("two");
    upstream.script(json({ error: { message: "no" } }, 500));
    const { status, id } = await callLogged();
    expect(status).toBe(500);
    expect(verdicts(await decision(id))).toEqual([["default", { one: "tried", two: "tried" }]]);
  });

  test("walks the groups of a token in their order", async () => {
    await app.ctx.options.set("UserUsableGroups", '{"vip":"","svip":""}');
    await channel("first", { group: "vip" });
    await channel("second", { group: "default" });
    const several = await seedToken(app.ctx, user.id);
    const groups = "svip,vip,default";
    await app.ctx.db.updateTable("tokens").set({ groups }).where("id", "=", several.id).execute();
    upstream.script((res, asked) =>
      asked.headers.authorization === "Bearer first"
        ? json({ error: { message: "no" } }, 500)(res, asked)
        : json(chatReply("hi"))(res, asked),
    );
    const { status, id } = await callLogged(several.key);
    expect(status).toBe(200);
    expect(verdicts(await decision(id))).toEqual([
      ["vip", { first: "tried" }],
      ["default", { second: "chosen" }],
    ]);
    const answer = await app.call(asRoot, "GET", `/api/route/explain?token_id=${several.id}&model=gpt-4`);
    const told = [answer.data, ...answer.further] as readonly { group: string }[]; // Rows of the contract.
    expect(told.map(({ group }) => group)).toEqual(["svip", "vip", "default"]);
  });

  test("is for administrators alone, and no user's log has a word of it", async () => {
    await channel("secret-name");
    await channel("other-secret");
    upstream.script(json(chatReply("hi")));
    const { id } = await callLogged();
    for (const path of [`/api/route/call/${id}`, "/api/route/explain?model=gpt-4"]) {
      const refused = await app.call(user.who, "GET", path);
      expect(refused).toMatchObject({ success: false, message: "权限不够，无法执行该操作" });
      expect(refused.data ?? null).toBeNull();
    }
    const own = await app.call(user.who, "GET", "/api/log/self/");
    expect(own.data[0]).toMatchObject({ id, channel: 0, trail: [] });
    expect(JSON.stringify(own)).not.toMatch(/secret|default\/w/);
    const all = await app.call(asRoot, "GET", "/api/log/");
    expect(all.data[0]).toMatchObject({ id, trail: [] });
    expect((await app.call(asRoot, "GET", "/api/route/call/999999999")).message).toBe("找不到该调用");
  });
});
