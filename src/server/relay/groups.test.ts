// Tokens that name groups in an order (requirements K15), over real HTTP: the next group is used only when the channels of the one before
// are exhausted, the group that answers is paid, by its own price, limits and plans, and the right to each is looked at with every call.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { LogType } from "#contract/log.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { updateUserProfile } from "#server/store/users.ts";
import { createFakeRealtime } from "#test/emulators/fake-realtime.ts";
import {
  chatReply,
  chunk,
  createFakeUpstream,
  DONE,
  type FakeUpstream,
  json,
  type Step,
  usageChunk,
} from "#test/emulators/fake-upstream.ts";
import { beginTalk } from "#test/emulators/realtime-client.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createTestApp, type TestApp } from "#test/worlds/app.ts";
import { dropLimits, seedLimit } from "#test/worlds/limits.ts";
import { createPostgresDatabase, type PostgresDatabase } from "#test/worlds/postgres.ts";
import { engines } from "#test/worlds/stores.ts";

/** 9 tokens in and 5 out at ratio 15 and completion ratio 2: 285 in a group of ratio 1. */
const ASK = { messages: [{ role: "user", content: "hello world" }], max_tokens: 5 };
const COST = 285;
/** The same with the eight tokens in of our estimate. */
const ESTIMATE = 270;
/** One for each test: a channel that failed in one test is left alone for a while, for that model. */
const MODELS = Array.from({ length: 20 }, (_, at) => `model-${at}`);
/** A dear group has two channels, a cheap one has one, and one has none. */
const RATIOS = { default: 1, dear: 4, cheap: 0.5, empty: 1, hidden: 1 };
const OPEN = { dear: "快", cheap: "慢", empty: "" };

describe.each(engines)("groups of tokens on %s", (engine) => {
  let database: PostgresDatabase | undefined;
  let app: TestApp;
  let upstream: FakeUpstream;
  let url = "";
  let serial = 0;
  let round = 0;
  /** Keys of channels that fail now, by the status they fail with. */
  const failing = new Map<string, number>();

  const good = json({
    ...chatReply("hi"),
    usage: { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 },
  });
  const answer: Step = (res, asked) => {
    const status = failing.get(keyOf(asked.headers.authorization));
    return status === undefined ? good(res, asked) : json({ error: { message: "no" } }, status)(res, asked);
  };
  const keyOf = (header: string | undefined) => (header ?? "").replace("Bearer ", "");
  const called = () => upstream.journal.map(({ headers }) => keyOf(headers.authorization));

  beforeAll(async () => {
    database = engine === "postgres" ? await createPostgresDatabase() : undefined;
    upstream = await createFakeUpstream();
    upstream.script(answer);
    app = await createTestApp(database === undefined ? {} : { databaseUrl: database.url });
    url = await app.listen();
    await app.ctx.options.set("GroupRatio", JSON.stringify(RATIOS));
    await app.ctx.options.set("UserUsableGroups", JSON.stringify(OPEN));
    await app.ctx.options.set("PreConsumedQuota", "0");
    const draft = { type: 8, name: "c", base_url: upstream.url, models: MODELS.join(",") };
    await app.ctx.options.set(
      "ModelRatio",
      JSON.stringify(Object.fromEntries(MODELS.map((name) => [name, 15]))),
    );
    await app.ctx.options.set(
      "CompletionRatio",
      JSON.stringify(Object.fromEntries(MODELS.map((name) => [name, 2]))),
    );
    for (const [key, group, models] of [
      ["dear-1", "dear"],
      ["dear-2", "dear"],
      ["cheap-1", "cheap"],
      ["default-1", "default"],
      ["hidden-1", "hidden"],
      ["both-1", "dear,cheap", "gpt-4-turbo"],
      ["cheap-2", "cheap", "gpt-4o"],
    ])
      await app.call(asRoot, "POST", "/api/channel/", { ...draft, key, group, ...(models && { models }) });
    await vi.waitFor(() => expect(app.ctx.candidates.all()).toHaveLength(7), { timeout: 10_000 });
  });
  beforeEach(() => {
    round += 1;
  });
  afterEach(async () => {
    failing.clear();
    upstream.journal.length = 0;
    await dropLimits(app.ctx);
    await app.ctx.options.set("UserUsableGroups", JSON.stringify(OPEN));
    await app.ctx.options.set("RetryTimes", "0");
    expect(await checkLedger(app.ctx.db)).toEqual([]);
    expect(await app.ctx.db.selectFrom("reservations").select("request_id").execute()).toEqual([]);
  });
  afterAll(async () => {
    await app.close();
    await upstream.close();
    await database?.drop();
  });

  /** A user with a dollar and a token with these groups. */
  async function caller(groups: string, quota = 500_000n) {
    serial += 1;
    const { ctx } = app;
    const user = await seedUser(ctx, `${engine === "sqlite" ? "s" : "p"}${serial}grp`);
    const actorId = 1;
    await ctx.ledger.adjust({
      userId: user.id,
      kind: "adjust",
      quota: { target: quota },
      actorId,
      reason: "t",
    });
    const token = await seedToken(ctx, user.id);
    await ctx.db.updateTable("tokens").set({ groups }).where("id", "=", token.id).execute();
    return { userId: user.id, tokenId: token.id, key: token.key, who: user.who };
  }

  async function ask(key: string, model = MODELS[round]) {
    const reply = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${key}`, "content-type": "application/json" },
      body: JSON.stringify({ ...ASK, model }),
    });
    // Errors of the relay have this shape.
    const { error } = (await reply.json()) as { error?: { message: string; code: string } };
    return { status: reply.status, requestId: reply.headers.get("x-oneapi-request-id") ?? "", error };
  }

  const left = async (userId: number) =>
    (await app.ctx.db.selectFrom("users").select("quota").where("id", "=", userId).executeTakeFirstOrThrow())
      .quota;

  test("the first group answers as long as it can, whatever the others cost, and the log and receipt name it", async () => {
    const { key, userId, who } = await caller("dear,cheap");
    const { requestId } = await ask(key);
    expect(called()).toHaveLength(1);
    expect(called()[0]).toMatch(/^dear/);
    expect(await left(userId)).toBe(500_000 - COST * 4);
    const { data } = await app.call(who, "GET", `/api/log/receipt/${requestId}`);
    expect(data).toMatchObject({
      group: "dear",
      quota: COST * 4,
      formula: expect.not.stringContaining("dear"),
    });
    const list = await app.call(who, "GET", "/api/log/self/");
    expect(JSON.stringify(list.data)).toContain("（分组 dear）");
  });

  test.each([0, 3])(
    "RetryTimes %d: every channel of a group is tried once before the next group",
    async (times) => {
      await app.ctx.options.set("RetryTimes", String(times));
      failing.set("dear-1", 500).set("dear-2", 500);
      const { key, userId } = await caller("dear,empty,cheap");
      expect((await ask(key)).status).toBe(200);
      expect(called().slice(0, 2).toSorted()).toEqual(["dear-1", "dear-2"]);
      expect(called().slice(2)).toEqual(["cheap-1"]);
      expect(await left(userId)).toBe(500_000 - Math.ceil(COST * 0.5));
    },
  );

  test("a group whose channels are all left alone after failures is passed over at once", async () => {
    failing.set("dear-1", 500).set("dear-2", 500);
    const { key } = await caller("dear,cheap");
    const rounds = 12;
    for (let turn = 0; turn < rounds; turn += 1) expect((await ask(key)).status).toBe(200);
    expect(called().filter((name) => name === "cheap-1")).toHaveLength(rounds);
    expect(called().filter((name) => name !== "cheap-1").length).toBeLessThan(rounds * 2);
    expect(called().at(-2)).toBe("cheap-1");
  });

  test("a fault of the request itself moves no call on", async () => {
    failing.set("dear-1", 400).set("dear-2", 400);
    const { key } = await caller("dear,cheap");
    expect((await ask(key)).status).toBe(400);
    expect(called()).toHaveLength(1);
  });

  test("a channel of two groups is called once, at the end the caller hears the upstream's fault", async () => {
    failing.set("both-1", 500);
    const { key, userId } = await caller("dear,cheap");
    const { status, error } = await ask(key, "gpt-4-turbo");
    expect([status, called()]).toEqual([500, ["both-1"]]);
    expect(error?.code).not.toBe("no_available_channel");
    expect(await left(userId)).toBe(500_000);
  });

  test("without a channel anywhere all groups are named; a group further on that is too dear is passed over", async () => {
    const { key } = await caller("empty,dear,cheap");
    const nowhere = await ask(key, "gpt-3.5-turbo");
    expect(nowhere).toMatchObject({ status: 503, error: { code: "no_available_channel" } });
    expect(nowhere.error?.message).toContain("empty、dear、cheap");
    const poor = await caller("empty,dear,cheap", BigInt(COST * 2));
    expect((await ask(poor.key)).status).toBe(200);
    expect(called()).toEqual(["cheap-1"]);
    expect(await left(poor.userId)).toBe(COST * 2 - Math.ceil(COST * 0.5));
    const broke = await caller("empty,dear", BigInt(COST * 2));
    expect(await ask(broke.key)).toMatchObject({ status: 403, error: { code: "insufficient_user_quota" } });
  });

  test("the first group's own refusals are the answer: no caller is served cheaper than he asked", async () => {
    const { key } = await caller("dear,cheap", BigInt(COST * 2));
    expect(await ask(key)).toMatchObject({ status: 403, error: { code: "insufficient_user_quota" } });
    expect(called()).toEqual([]);
  });

  test("it is reserved by the dearest of the groups that may still serve it, and settled by the one that answers", async () => {
    const reserved = new Map<string, number>();
    // Looked at while the upstream has the call.
    upstream.script(async (res, asked) => {
      const rows = await app.ctx.db.selectFrom("reservations").select("amount").execute();
      reserved.set(keyOf(asked.headers.authorization), Number(rows[0]?.amount));
      await answer(res, asked);
    });
    failing.set("default-1", 500);
    const { key, userId, who } = await caller("default,cheap,dear,empty");
    const { requestId } = await ask(key);
    failing.set("cheap-1", 500).set("dear-1", 500);
    await ask(key);
    upstream.script(answer);
    expect(Object.fromEntries(reserved)).toMatchObject({
      "default-1": ESTIMATE * 4,
      "cheap-1": ESTIMATE * 4,
      "dear-2": ESTIMATE * 4,
    });
    expect(await left(userId)).toBe(500_000 - Math.ceil(COST * 0.5) - COST * 4);
    const { data } = await app.call(who, "GET", `/api/log/receipt/${requestId}`);
    expect(data).toMatchObject({ group: "cheap", formula: expect.not.stringContaining("预留") });
    const list = await app.call(who, "GET", "/api/log/self/");
    expect(JSON.stringify(list.data)).toContain("（按分组 dear 预留）（分组 cheap）");
  });

  test("where the balance has no room for the dearest, it is reserved by the price of the group that serves", async () => {
    const { key, userId } = await caller("cheap,dear", BigInt(COST * 2));
    expect((await ask(key)).status).toBe(200);
    expect(await left(userId)).toBe(COST * 2 - Math.ceil(COST * 0.5));
  });

  test.each([
    ["the balance", 130_000n, 0],
    ["a limit of its cost", 500_000n, 60_000],
  ])("a stream has all that was set aside: %s ends none that it has room for", async (_, quota, most) => {
    // 2,400 tokens of output, of which a group's price sets 1,024 aside at first.
    upstream.script(async (res) => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      for (let piece = 0; piece < 24; piece += 1) {
        res.write(chunk({ content: "hello ".repeat(100) }));
        await sleep(5);
      }
      // Time enough for one that would be broken off.
      await sleep(500);
      res.end(chunk({}, "stop") + usageChunk({ prompt_tokens: 9, completion_tokens: 2_400 }) + DONE);
    });
    const { key, userId, tokenId } = await caller("cheap,dear", quota);
    if (most > 0)
      await seedLimit(app.ctx, { subject: "token", subject_id: tokenId, kind: "cost", amount: most });
    const reply = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${key}` },
      body: JSON.stringify({ model: MODELS[round], messages: ASK.messages, stream: true }),
    });
    const text = await reply.text();
    upstream.script(answer);
    expect([text.endsWith(DONE), text.includes('"error"')]).toEqual([true, false]);
    expect(await left(userId)).toBe(Number(quota) - Math.ceil((9 + 2_400 * 2) * 15 * 0.5));
  });

  test("the limits of the answering group count the call, those of the group that failed do not", async () => {
    const { key, userId } = await caller("dear,cheap");
    const window = { kind: "calls", amount: 1, time_window: "day" } as const;
    const ids = new Map<string, number>();
    for (const name of ["dear", "cheap"])
      ids.set(name, await seedLimit(app.ctx, { subject: "group", subject_name: name, ...window }));
    await seedLimit(app.ctx, { subject: "group", subject_name: "cheap", kind: "rpm", amount: 1 });
    failing.set("dear-1", 500).set("dear-2", 500);
    expect((await ask(key)).status).toBe(200);
    failing.clear();
    // The window of the dear group is untouched.
    expect((await ask(key)).status).toBe(200);
    expect(called().at(-1)).toMatch(/^dear/);
    expect((await ask(key)).status).toBe(429);
    expect(await left(userId)).toBe(500_000 - COST * 4 - Math.ceil(COST * 0.5));
  });

  test("a group that is withdrawn is skipped from then on; without any left the key says so and still reads its balance", async () => {
    const { key, userId } = await caller("dear,hidden,cheap");
    expect((await ask(key)).status).toBe(200);
    await app.ctx.options.set("UserUsableGroups", '{"cheap":""}');
    expect((await ask(key)).status).toBe(200);
    expect(called().map((name) => name.replace(/-.*/, ""))).toEqual(["dear", "cheap"]);
    await app.ctx.options.set("UserUsableGroups", "{}");
    expect(await ask(key)).toMatchObject({ status: 403, error: { code: "group_not_allowed" } });
    const headers = { authorization: `Bearer sk-${key}` };
    expect((await fetch(`${url}/v1/key`, { headers })).status).toBe(200);
    // His own group is always his.
    await updateUserProfile(app.ctx.db, userId, { group: "hidden" });
    await app.ctx.coord.publish("users", String(userId));
    expect((await ask(key)).status).toBe(200);
    expect(called().at(-1)).toBe("hidden-1");
  });

  test("the list of models is what can be called in any of the groups", async () => {
    const { key } = await caller("dear,cheap");
    const headers = { authorization: `Bearer sk-${key}` };
    const models = (await (await fetch(`${url}/v1/models`, { headers })).json()) as {
      data: { id: string }[];
    };
    expect(models.data.map(({ id }) => id)).toEqual([...MODELS, "gpt-4-turbo", "gpt-4o"].toSorted());
    expect((await fetch(`${url}/v1/models/gpt-4o`, { headers })).status).toBe(200);
    expect((await fetch(`${url}/v1/models/gpt-5`, { headers })).status).toBe(404);
  });

  test("a realtime conversation goes on in the next group too, reserved and charged there alone", async () => {
    const provider = await createFakeRealtime();
    const model = "gpt-realtime";
    provider.script((next) => next.say({ type: "session.created", session: { model } }));
    const draft = { type: 1, name: "r", key: "r", models: model };
    const dead = "http://127.0.0.1:9";
    await app.call(asRoot, "POST", "/api/channel/", { ...draft, group: "dear", base_url: dead });
    await app.call(asRoot, "POST", "/api/channel/", { ...draft, group: "cheap", base_url: provider.url });
    await vi.waitFor(() => expect(app.ctx.candidates.find("cheap", model)).toHaveLength(1), {
      timeout: 10_000,
    });
    const { key, userId } = await caller("dear,cheap");
    const client = beginTalk(url, key, model);
    await client.until("session.created");
    const talk = provider.talks.at(-1) ?? expect.fail("nobody called");
    talk.say({ type: "response.created", response: { id: "r1" } });
    const usage = { total_tokens: 14, input_tokens: 9, output_tokens: 5 };
    talk.say({ type: "response.done", response: { id: "r1", status: "completed", usage } });
    await client.until("response.done");
    client.socket.close();
    const open = () => app.ctx.db.selectFrom("reservations").select("request_id").execute();
    await vi.waitFor(async () => expect(await open()).toEqual([]), { timeout: 30_000 });
    const logs = await app.ctx.db.selectFrom("logs").selectAll().where("user_id", "=", userId).execute();
    const calls = logs.filter(({ type }) => type === LogType.consume);
    expect(calls).toHaveLength(1);
    expect(calls[0]?.content).toMatch(/分组倍率 0\.5.*（分组 cheap）$/);
    expect(await left(userId)).toBe(500_000 - (calls[0]?.quota ?? 0));
    await provider.close();
  });

  test("calls at once of a balance for one: one passes in the next group, nothing is overdrawn", async () => {
    failing.set("dear-1", 500).set("dear-2", 500);
    const { key, userId } = await caller("dear,cheap", BigInt(COST * 4));
    const replies = await Promise.all(Array.from({ length: 12 }, () => ask(key)));
    const passed = replies.filter(({ status }) => status === 200).length;
    expect(passed).toBeGreaterThan(0);
    expect(await left(userId)).toBe(COST * 4 - passed * Math.ceil(COST * 0.5));
  });
});
