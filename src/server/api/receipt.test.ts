// The receipt of a call, from the request id in its answer's header: what the relay booked, and why (requirements Y63).
import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { EarlyAnswer } from "#server/app/early-answer.ts";
import { createRelay } from "#server/relay/relay.ts";
import { clearLogs } from "#server/store/logs.ts";
import {
  chatReply,
  chunk,
  createFakeUpstream,
  DONE,
  type FakeUpstream,
  json,
  sse,
  usageChunk,
} from "#test/emulators/fake-upstream.ts";
import { seedPriceVersion } from "#test/seeds/price-recipes.ts";
import { type SeededUser, seedToken, seedUser } from "#test/seeds/seed.ts";
import { createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { seedChannel } from "#test/worlds/stores.ts";
import { moveToken, seedMember, seedTeam } from "#test/worlds/teams.ts";

const USAGE = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 };
const QUESTION = { model: "gpt-4", messages: [{ role: "user", content: "hello world" }], max_tokens: 100 };

describe.each(databases)("receipts on $name", (database) => {
  let app: TestApp;
  let upstream: FakeUpstream;
  let server: Server;
  let url = "";
  let alice: SeededUser;
  let bob: SeededUser;
  let key = "";

  beforeAll(async () => {
    app = await createAppOn(database);
    const { ctx } = app;
    upstream = await createFakeUpstream();
    server = createServer({ ServerResponse: EarlyAnswer }, createRelay(ctx));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    url = `http://127.0.0.1:${address.port}/v1/chat/completions`;
    alice = await seedUser(ctx, "alice");
    bob = await seedUser(ctx, "bob");
    ({ key } = await seedToken(ctx, alice.id));
    const secret = "sk-canary-upstream";
    await seedChannel(ctx.db, {
      type: 8,
      key_hash: ctx.secrets.hash(secret),
      key_sealed: ctx.secrets.seal(secret, "channels.key"),
      base_url: upstream.url,
      models: "gpt-4",
    });
    await ctx.candidates.reload();
    await ctx.options.set("RetryTimes", "0");
  });
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await upstream.close();
    await app.close();
  });
  beforeEach(() => {
    upstream.journal.length = 0;
  });

  function ask(body: object, signal?: AbortSignal): Promise<Response> {
    return fetch(url, {
      method: "POST",
      headers: { authorization: `Bearer sk-${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      ...(signal ? { signal } : {}),
    });
  }
  const idOf = (response: Response) => response.headers.get("x-oneapi-request-id") ?? "";
  const receipt = (id: string, who = alice) => app.call(who.who, "GET", `/api/log/receipt/${id}`);

  /** Once the call has ended; an entry is written a moment after the answer, and after a client has left. */
  async function ended(id: string) {
    await expect
      .poll(async () => (await receipt(id)).data?.reason ?? "open", { timeout: 10_000 })
      .not.toBe("open");
    return (await receipt(id)).data;
  }

  test("an answer: counts, ratios, sum and the computation, which gives the sum again", async () => {
    const usage = { ...USAGE, prompt_tokens_details: { cached_tokens: 4 } };
    upstream.script(json(chatReply("hi there", usage)));
    const id = idOf(await ask(QUESTION));
    const seen = await ended(id);
    expect(seen).toMatchObject({
      request_id: id,
      reason: "complete",
      model_name: "gpt-4",
      prompt_tokens: 9,
      cached_tokens: 4,
      completion_tokens: 2,
      shortfall: 0,
      reserved: 0,
      estimated: false,
      is_stream: false,
    });
    const ratios = Object.fromEntries(
      seen.ratios.map(({ name, value }: { name: string; value: string }) => [name, value]),
    );
    expect(ratios).toMatchObject({ 模型倍率: "15", 补全倍率: "2", 分组倍率: "1" });
    const entry = await app.ctx.db
      .selectFrom("ledger")
      .select("amount")
      .where("request_id", "=", id)
      .executeTakeFirstOrThrow();
    expect(seen.quota).toBe(-entry.amount);
    const [, computed = ""] = /= (\d+)$/.exec(seen.formula) ?? [];
    expect(Number(computed)).toBe(seen.quota);
  });

  test("kinds of tokens that a call had beside plain ones", async () => {
    upstream.script(json(chatReply("hi", USAGE)));
    expect(await ended(idOf(await ask(QUESTION)))).toMatchObject({ token_kinds: [] });
    const usage = {
      ...{ prompt_tokens: 9, completion_tokens: 8, total_tokens: 17 },
      prompt_tokens_details: { cached_tokens: 2, audio_tokens: 3, image_tokens: 1, cache_write_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 5, audio_tokens: 2 },
    };
    upstream.script(json(chatReply("hi there, this is long enough to be believed", usage)));
    const seen = await ended(idOf(await ask(QUESTION)));
    expect(seen).toMatchObject({ prompt_tokens: 9, cached_tokens: 2, completion_tokens: 8 });
    expect(seen.token_kinds).toEqual([
      { kind: "cache_write", tokens: 2 },
      { kind: "audio_input", tokens: 3 },
      { kind: "image_input", tokens: 1 },
      { kind: "reasoning", tokens: 5 },
      { kind: "audio_output", tokens: 2 },
    ]);
  });

  test("the version of the prices that a call was reserved by, also where two came in one second", async () => {
    const { ctx } = app;
    upstream.script(json(chatReply("hi", USAGE)));
    const before = idOf(await ask(QUESTION));
    expect(await ended(before)).toMatchObject({ price_version: 0 });
    const published = ctx.clock.seconds() - 5;
    const first = await seedPriceVersion(ctx, published);
    const { promise: isPublished, resolve: publish } = Promise.withResolvers<void>();
    upstream.script(async (res) => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      res.write(chunk({ content: "hi" }));
      await isPublished;
      res.end(`${usageChunk(USAGE)}${DONE}`);
    });
    const running = await ask({ ...QUESTION, stream: true });
    expect((await receipt(idOf(running))).data).toMatchObject({ reason: "open", price_version: first });
    const second = await seedPriceVersion(ctx, published);
    publish();
    await running.text();
    expect(await ended(idOf(running))).toMatchObject({ price_version: first });
    upstream.script(json(chatReply("hi", USAGE)));
    const after = idOf(await ask(QUESTION));
    expect(await ended(after)).toMatchObject({ price_version: second });

    // What older programs booked has none, and stays what it was: by the second in which it began.
    const note = (change: { content?: string }) =>
      ctx.db
        .updateTable("logs")
        .set({ ...change, price_version: -1 })
        .where("request_id", "=", idOf(running))
        .execute();
    await note({});
    expect((await receipt(idOf(running))).data).toMatchObject({ price_version: second });
    // Of a call whose process died nothing was noted: it is told of a version only where there was no other all the time.
    await note({ content: "服务中断，按已收到的内容结算" });
    expect((await receipt(idOf(running))).data).toMatchObject({ reason: "interrupted", price_version: 0 });
    await ctx.db.updateTable("price_versions").set({ created_at: 1 }).execute();
    expect((await receipt(idOf(running))).data).toMatchObject({ price_version: second });
    // One that runs is told of no version where two may be meant.
    const requestId = "open-for-versions";
    await ctx.ledger.reserve({ requestId, userId: alice.id, tokenId: 0, amount: 1n, modelName: "gpt-4" });
    const { created_at } = (await receipt(requestId)).data;
    const openAt = async (published: number) => {
      await ctx.db
        .updateTable("price_versions")
        .set({ created_at: published })
        .where("id", "=", second)
        .execute();
      return (await receipt(requestId)).data.price_version;
    };
    expect(await openAt(created_at)).toBe(0);
    expect(await openAt(created_at - 1)).toBe(0);
    expect(await openAt(created_at - 2)).toBe(second);
    expect(await openAt(created_at + 1)).toBe(first);
    await ctx.ledger.release(requestId);
    await ctx.db.deleteFrom("price_versions").execute();
    await ctx.options.announce();
  });

  test("another user's request is answered as one that never was", async () => {
    upstream.script(json(chatReply("hi", USAGE)));
    const id = idOf(await ask(QUESTION));
    await ended(id);
    upstream.script((res) => void res.writeHead(400, { "content-type": "application/json" }).end("{}"));
    const failed = idOf(await ask(QUESTION));
    await ended(failed);
    const never = await receipt("2026112412000000000000000000000", bob);
    expect(never).toMatchObject({ success: false, message: "找不到该请求" });
    expect(await receipt(id, bob)).toEqual(never);
    expect(await receipt(failed, bob)).toEqual(never);
    expect((await receipt("x%20'--")).success).toBe(false);
  });

  test.each([
    ["estimated", sse(chunk({ content: "hello" }), chunk({}, "stop"), DONE), true],
    [
      "impossible",
      json(chatReply("hi", { prompt_tokens: 9, completion_tokens: 1e9, total_tokens: 1e9 })),
      false,
    ],
  ])("usage that is missing or cannot be is counted here: %s", async (reason, step, isStream) => {
    upstream.script(step);
    const response = await ask({ ...QUESTION, stream: isStream });
    await response.text();
    const seen = await ended(idOf(response));
    expect(seen).toMatchObject({ reason, estimated: true, prompt_tokens: 9, completion_tokens: 1 });
    expect(seen.formula).toMatch(/= \d+$/);
  });

  test("a call that a team pays for is its member's, answered or failed", async () => {
    const { db, ledger, coord } = app.ctx;
    const { walletId } = await seedTeam(db, ledger, { quota: 1_000_000n });
    await seedMember(db, alice.id, walletId);
    const tokens = await db.selectFrom("tokens").select("id").where("user_id", "=", alice.id).execute();
    const pay = async (wallet_id: number) => {
      for (const { id } of tokens) await moveToken(db, id, { wallet_id });
      await coord.publish("users", "");
    };
    await pay(walletId);
    upstream.script(json(chatReply("hi", USAGE)));
    const id = idOf(await ask(QUESTION));
    expect((await ended(id)).quota).toBeGreaterThan(0);
    upstream.script((res) => void res.writeHead(400, { "content-type": "application/json" }).end("{}"));
    const failed = idOf(await ask(QUESTION));
    expect(await ended(failed)).toMatchObject({ request_id: failed, quota: 0 });
    expect((await receipt(id, bob)).success).toBe(false);
    expect((await receipt(failed, bob)).success).toBe(false);
    await pay(0);
  });

  test("a client that leaves pays for what had come, and the receipt says so", async () => {
    upstream.script((res) => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      res.write(chunk({ content: "hello" }));
    });
    const controller = new AbortController();
    const response = await ask({ ...QUESTION, stream: true }, controller.signal);
    await response.body?.getReader().read();
    const id = idOf(response);
    expect((await receipt(id)).data).toMatchObject({ reason: "open", quota: 0, model_name: "gpt-4" });
    expect((await receipt(id)).data.reserved).toBeGreaterThan(0);
    expect((await receipt(id, bob)).success).toBe(false);
    controller.abort();
    expect(await ended(id)).toMatchObject({ reason: "disconnected", completion_tokens: 1, reserved: 0 });
  });

  test("a failed call cost nothing, and the receipt repeats what its caller was told", async () => {
    upstream.script((res) => void res.writeHead(503, { "content-type": "application/json" }).end("{}"));
    const response = await ask(QUESTION);
    expect(response.status).toBeGreaterThanOrEqual(400);
    const seen = await ended(idOf(response));
    expect(seen).toMatchObject({ reason: "failed", quota: 0, ratios: [] });
    expect(seen.formula).toMatch(/^\d{3} \w+：/);
  });

  test("when the log was cleared the ledger still knows the sum, and claims no reason", async () => {
    upstream.script(json(chatReply("hi", USAGE)));
    const id = idOf(await ask(QUESTION));
    const before = await ended(id);
    await clearLogs(app.ctx.db, app.ctx.clock.seconds() + 60, [2]);
    expect((await receipt(id)).data).toMatchObject({
      reason: "unlogged",
      quota: before.quota,
      model_name: "gpt-4",
      token_name: before.token_name,
      ratios: [],
      formula: "",
    });
  });
});
