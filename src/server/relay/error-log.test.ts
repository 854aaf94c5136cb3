// Calls that failed for their callers are in the usage log, once and without a charge; charged, left and flooding calls are not.
import { describe, expect, it, vi } from "vitest";
import { chunk, json, reset, sse } from "#test/emulators/fake-upstream.ts";
import { beginTalk } from "#test/emulators/realtime-client.ts";
import { callerOf } from "#test/seeds/caller.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { CHANNEL_KEY, createRelayWorld, QUESTION } from "#test/worlds/relay-world.ts";
import { createTestDatabase } from "#test/worlds/stores.ts";
import { createErrorLog, type FailedCall } from "./error-log.ts";
import { localErrors } from "./http/local-errors.ts";

const world = createRelayWorld();

function stored() {
  return world.ctx.db.selectFrom("logs").selectAll().where("type", "=", 6).orderBy("id").execute();
}

let asked = 0;

/** The entries that an action made: they are written in order, so one of a last call shows that all of them are there. */
async function entriesOf(action: () => Promise<unknown>) {
  const before = (await stored()).at(-1)?.id ?? 0;
  const { charged, entries } = await world.costOf(action);
  asked += 1;
  const model = `last-${asked}`;
  await world.ask({ ...QUESTION, model });
  await vi.waitFor(async () => expect((await stored()).at(-1)?.model_name).toBe(model), 10_000);
  const failed = (await stored()).filter(({ id }) => id > before).slice(0, -1);
  return { charged, entries, failed };
}

async function answerOf(body: unknown, init?: Parameters<typeof world.ask>[1]): Promise<string> {
  return (await world.ask(body, init)).text().catch(() => "");
}

describe("a failed call has one entry and costs nothing", () => {
  it("whose model no channel serves", async () => {
    const { charged, entries, failed } = await entriesOf(() => answerOf({ ...QUESTION, model: "nobody\0s" }));
    expect({ charged, entries }).toEqual({ charged: 0, entries: 0 });
    expect(failed).toMatchObject([
      {
        user_id: world.userId,
        username: "caller",
        token_id: world.token.id,
        model_name: "nobodys",
        content: "503 no_available_channel：当前分组 default 下对于模型 nobodys 无可用渠道",
        quota: 0,
        prompt_tokens: 0,
        completion_tokens: 0,
        channel_id: 0,
        is_stream: 0,
        trail: "0:route:default/w/",
      },
    ]);
    expect(failed[0]?.token_name).not.toBe("");
    expect(failed[0]?.request_id).not.toBe("");
  });

  it("that no channel could answer, with all attempts, and none of the request's words", async () => {
    await world.setOption("RetryTimes", "3");
    const [first, second] = [await world.addChannel({ priority: 2 }), await world.addChannel()];
    const error = { message: `oops ${CHANNEL_KEY} hello world`, type: "server_error", code: "hello" };
    world.upstream.script(json({ error }, 500));
    const { charged, entries, failed } = await entriesOf(() => answerOf({ ...QUESTION, stream: true }));
    expect({ charged, entries }).toEqual({ charged: 0, entries: 0 });
    expect(failed).toMatchObject([
      {
        model_name: QUESTION.model,
        channel_id: second,
        is_stream: 1,
        trail: `${first}:upstream_500:oops *** … …,${second}:upstream_500:oops *** … …,0:route:default/w/${first}t${second}t`,
        content: "500 upstream_error：上游服务出错，请稍后再试",
      },
    ]);
    expect(JSON.stringify(failed)).not.toMatch(/sk-canary|hello/);
  });

  it.each([
    [400, "400 upstream_error：上游不接受该请求，原因见调用方收到的错误信息"],
    [401, "502 upstream_credential：上游拒绝了本服务的凭证，请联系管理员"],
    [429, "429 upstream_error：上游限流或负载已满，请稍后再试"],
  ])("that its upstream refused with %i", async (status, content) => {
    await world.addChannel();
    const error = { message: `hello world ${CHANNEL_KEY}`, code: "rate_limit_exceeded", param: "hello" };
    world.upstream.script(json({ error }, status));
    const { failed } = await entriesOf(() => answerOf(QUESTION));
    expect(failed).toMatchObject([{ content }]);
    expect(JSON.stringify(failed)).not.toMatch(/sk-canary|hello/);
  });

  it("whose upstream cannot be reached", async () => {
    await world.addChannel();
    world.upstream.script(reset);
    const { failed } = await entriesOf(() => answerOf(QUESTION));
    expect(failed).toMatchObject([{ content: "502 do_request_failed：上游连接中断" }]);
  });

  it("whose stream breaks before any output", async () => {
    const channel = await world.addChannel();
    world.upstream.script(sse(chunk({ role: "assistant", content: "" }), 50, "cut"));
    const { charged, entries, failed } = await entriesOf(() => answerOf({ ...QUESTION, stream: true }));
    expect({ charged, entries }).toEqual({ charged: 0, entries: 0 });
    expect(failed).toMatchObject([{ channel_id: channel, is_stream: 1 }]);
    expect(failed[0]?.content).toMatch(/^50\d do_request_failed：/);
  });

  it("whose user has no quota left", async () => {
    await world.addChannel();
    const user = await seedUser(world.ctx, "poor");
    const quota = { target: 100n };
    await world.ctx.ledger.adjust({ userId: user.id, kind: "adjust", quota, actorId: 1, reason: "test" });
    const { key } = await seedToken(world.ctx, user.id);
    const { failed } = await entriesOf(() => answerOf(QUESTION, { key }));
    expect(failed).toMatchObject([
      { user_id: user.id, username: "poor", content: "403 insufficient_user_quota：用户额度不足" },
    ]);
  });

  it("also a conversation that never began", async () => {
    const { failed } = await entriesOf(async () => {
      const client = beginTalk(world.url, world.token.key, "nobody-speaks");
      await client.until("error");
      client.socket.terminate();
    });
    expect(failed).toMatchObject([{ model_name: "nobody-speaks", is_stream: 1, user_id: world.userId }]);
    expect(failed[0]?.content).toMatch(/^503 no_available_channel：/);
  });
});

describe("no entry of a failure", () => {
  it("has a call that was answered, nor one whose partial answer is charged", async () => {
    await world.addChannel();
    const answered = await entriesOf(() => answerOf(QUESTION));
    expect(answered).toMatchObject({ entries: 1, failed: [] });
    world.upstream.script(sse(chunk({ content: "words that were delivered" }), 50, "cut"));
    const broken = await entriesOf(() => answerOf({ ...QUESTION, stream: true }));
    expect(broken).toMatchObject({ entries: 1, failed: [] });
    expect(broken.charged).toBeGreaterThan(0);
  });

  it("has a client that left", async () => {
    await world.addChannel();
    let left = () => {};
    world.upstream.script(() => left());
    const { failed } = await entriesOf(async () => {
      const leaving = new AbortController();
      left = () => leaving.abort();
      await world.ask(QUESTION, { signal: leaving.signal }).catch(() => undefined);
    });
    expect(failed).toEqual([]);
  });

  it("has an unknown key", async () => {
    const { failed } = await entriesOf(() => answerOf(QUESTION, { key: "nobodys-key" }));
    expect(failed).toEqual([]);
  });

  it("has a call that our own limits refuse", async () => {
    await world.addChannel();
    await world.setOption("TokenRequestsPerMinute", "1");
    const { key } = await seedToken(world.ctx, world.userId);
    const { entries, failed } = await entriesOf(async () => {
      await answerOf(QUESTION, { key });
      expect((await world.ask(QUESTION, { key })).status).toBe(429);
      await world.setOption("TokenRequestsPerMinute", "0");
    });
    expect({ entries, failed }).toEqual({ entries: 1, failed: [] });
  });

  it("is written while LogConsumeEnabled is off", async () => {
    await world.setOption("LogConsumeEnabled", "false");
    const { failed } = await entriesOf(async () => {
      await answerOf({ ...QUESTION, model: "nobodys" });
      await world.setOption("LogConsumeEnabled", "true");
    });
    expect(failed).toEqual([]);
  });
});

describe("entries are few", () => {
  const call = (userId: number): FailedCall => ({
    requestId: "many",
    startedMs: 0,
    channel: undefined,
    failedAttempts: [],
    next: undefined,
    decidedBefore: "",
    caller: callerOf(userId, 1),
    model: "m",
    isStream: false,
    status: 404,
    fault: localErrors.modelUnknown("m"),
  });
  const untold = () =>
    world.ctx.events.samples().find(({ name }) => name === "tollgate_failed_calls_unlogged_total")?.value ??
    0;
  const clock = { now: () => 1_900_000_000_000, seconds: () => 1_900_000_000 };

  it("sixty of a user in a minute, the others are counted", async () => {
    const failed = createErrorLog({ ...world.ctx, clock });
    const before = { rows: (await stored()).length, untold: untold() };
    for (let index = 0; index < 70; index += 1) failed.note(call(1));
    failed.note(call(2));
    await failed.idle();
    expect((await stored()).length - before.rows).toBe(61);
    expect(untold() - before.untold).toBe(10);
  });

  it("a thousand that wait for the database", async () => {
    const failed = createErrorLog({ ...world.ctx, clock });
    const before = { rows: (await stored()).length, untold: untold() };
    for (let user = 0; user < 1_200; user += 1) failed.note(call(user));
    await failed.idle();
    const rows = (await stored()).length - before.rows;
    expect(rows).toBeLessThanOrEqual(1_001);
    expect(rows + untold() - before.untold).toBe(1_200);
  });

  it("none for a database that takes none: one write is tried", async () => {
    const database = await createTestDatabase("sqlite");
    const { db, close } = await database.open();
    await close();
    const failed = createErrorLog({ ...world.ctx, db, clock });
    const before = untold();
    for (let user = 0; user < 200; user += 1) failed.note(call(user));
    await failed.idle();
    expect(untold() - before).toBe(200);
    await database.drop();
  });
});
