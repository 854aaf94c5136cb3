// Answers that run under a budget or a limit of the cost of one call, on both databases: they go as far as the limit does, and end with the
// limit's name and the time when there is room again, since the wallet is full (requirements L08, L09).
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import { checkLimits } from "#server/money/ledger-check-limits.ts";
import { createFakeRealtime, type FakeRealtime } from "#test/emulators/fake-realtime.ts";
import {
  chunk,
  createFakeUpstream,
  DONE,
  type FakeUpstream,
  type Step,
} from "#test/emulators/fake-upstream.ts";
import { beginTalk } from "#test/emulators/realtime-client.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createTestApp, type TestApp } from "#test/worlds/app.ts";
import { dropLimits, seedLimit } from "#test/worlds/limits.ts";
import { createPostgresDatabase, type PostgresDatabase } from "#test/worlds/postgres.ts";
import { engines } from "#test/worlds/stores.ts";

const PATIENCE = { timeout: 30_000 };
const SPOKEN = "gpt-realtime";
/** A stream that names no cap sets aside 1,024 tokens of output at 30 quota, and some for its prompt. */
const AT_FIRST = 31_000;

describe.each(engines)("answers that run on %s", (engine) => {
  let database: PostgresDatabase | undefined;
  let upstream: FakeUpstream;
  let provider: FakeRealtime;
  let app: TestApp;
  let url = "";
  let serial = 0;
  /** How often a stream looks whether it was broken off. */
  let patience = 1_000;

  beforeAll(async () => {
    database = engine === "postgres" ? await createPostgresDatabase() : undefined;
    upstream = await createFakeUpstream();
    provider = await createFakeRealtime();
    app = await createTestApp(database === undefined ? {} : { databaseUrl: database.url });
    url = await app.listen();
    await app.ctx.options.set("PreConsumedQuota", "0");
    const draft = { type: 8, name: "c", key: "k", base_url: upstream.url, models: "gpt-4", group: "default" };
    await app.call(asRoot, "POST", "/api/channel/", draft);
    const spoken = { ...draft, type: 1, base_url: provider.url, models: SPOKEN };
    await app.call(asRoot, "POST", "/api/channel/", spoken);
    for (const model of ["gpt-4", SPOKEN])
      await vi.waitFor(() => expect(app.ctx.candidates.find("default", model)).toHaveLength(1), PATIENCE);
  });
  afterEach(async () => {
    await expect.poll(() => checkLimits(app.ctx.db), PATIENCE).toEqual([]);
    expect(await checkLedger(app.ctx.db)).toEqual([]);
    await dropLimits(app.ctx);
  });
  afterAll(async () => {
    await app.close();
    await upstream.close();
    await provider.close();
    await database?.drop();
  });

  async function newcomer() {
    serial += 1;
    const { id: userId } = await seedUser(app.ctx, `${engine.slice(0, 1)}${serial}stream`);
    const quota = { target: 10n ** 9n };
    await app.ctx.ledger.adjust({ userId, kind: "adjust", quota, actorId: 1, reason: "test" });
    const { id: tokenId, key } = await seedToken(app.ctx, userId);
    const spent = async () =>
      (
        await app.ctx.db
          .selectFrom("users")
          .select("used_quota")
          .where("id", "=", userId)
          .executeTakeFirstOrThrow()
      ).used_quota;
    return { tokenId, key, spent };
  }

  /** The words of a stream that names no cap, and the error it ends with. */
  async function listen(key: string, more: object = {}) {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${key}` },
      body: JSON.stringify({
        model: "gpt-4",
        messages: [{ role: "user", content: "hi" }],
        stream: true,
        ...more,
      }),
    });
    const text = await response.text();
    const events = text.split("\n").filter((line) => line.startsWith("data: {"));
    const error = events.map((event) => JSON.parse(event.slice(6)).error).find((one) => one !== undefined);
    return { status: response.status, head: response.headers, words: events.length, text, error };
  }

  /** Some more than twice the first reservation covers, and what comes for who did not break it off by then. */
  const long: Step = async (res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    for (let piece = 0; piece < 24; piece += 1) {
      res.write(chunk({ content: "hello ".repeat(100) }));
      await sleep(5);
    }
    for (let tries = 0; tries < patience && !res.destroyed; tries += 1) await sleep(10);
    for (let piece = 0; piece < 20; piece += 1) res.write(chunk({ content: "hello ".repeat(100) }));
    res.end(chunk({}, "stop") + DONE);
  };

  test("a stream ends with the budget that it used up, and when it begins anew", async () => {
    const { key, tokenId, spent } = await newcomer();
    const amount = AT_FIRST * 2;
    await seedLimit(app.ctx, { subject: "token", subject_id: tokenId, amount, time_window: "day" });
    upstream.script(long);
    const { error, words } = await listen(key);
    expect(error).toMatchObject({ type: "usage_limit_reached", code: "usage_limit_reached" });
    expect(error.message).toContain("令牌每日额度上限");
    expect(error.resets_at).toBeGreaterThan(app.ctx.clock.seconds());
    expect(words).toBeGreaterThan(10);
    // Beyond the budget by no more than the last pieces.
    expect(await spent()).toBeLessThan(amount + 500 * 30);
    expect(await spent()).toBeGreaterThan(AT_FIRST);
  });

  test("a stream without max_tokens costs no more than one call may, and ends with that limit", async () => {
    const { key, tokenId, spent } = await newcomer();
    const amount = AT_FIRST * 2;
    await seedLimit(app.ctx, { subject: "token", subject_id: tokenId, kind: "cost", amount });
    upstream.script(long);
    const { error, words } = await listen(key);
    expect(error).toMatchObject({ type: "invalid_request_error", code: "request_cost_limit" });
    expect(error.message).toContain("令牌单次请求费用上限");
    expect(words).toBeGreaterThan(10);
    expect(await spent()).toBeLessThan(amount + 500 * 30);
    expect(await spent()).toBeGreaterThan(AT_FIRST);
  });

  test("under a limit that lowers the output a stream is sent with a cap for all its choices, and broken off where its upstream heeds none", async () => {
    const { key, tokenId, spent } = await newcomer();
    const amount = AT_FIRST;
    const clamp = { kind: "cost", amount, mode: "clamp" } as const;
    await seedLimit(app.ctx, { subject: "token", subject_id: tokenId, ...clamp });
    upstream.script(long);
    const { error, head } = await listen(key, { n: 2 });
    const sent = upstream.journal.at(-1)?.json.max_tokens;
    expect(sent * 2 * 30).toBeLessThanOrEqual(amount);
    expect(sent * 2 * 30).toBeGreaterThan(amount * 0.9);
    expect(head.get("x-tollgate-max-tokens")).toBe(String(sent));
    expect(error).toMatchObject({ type: "invalid_request_error", code: "request_cost_limit" });
    // The first 24 pieces may have come by then, none of those that wait for the end.
    expect(await spent()).toBeLessThan(2_500 * 30);
  });

  test("within both limits a stream comes to its end", async () => {
    const { key, tokenId } = await newcomer();
    const amount = AT_FIRST * 10;
    patience = 0;
    await seedLimit(app.ctx, { subject: "token", subject_id: tokenId, kind: "cost", amount });
    await seedLimit(app.ctx, { subject: "token", subject_id: tokenId, amount, time_window: "day" });
    upstream.script(long);
    const { error, text } = await listen(key);
    expect({ error, isWhole: text.endsWith(DONE) }).toEqual({ error: undefined, isWhole: true });
  });

  /** A response that speaks for so many seconds: 20 tokens each, at 32 quota. */
  function speak(seconds: number): void {
    const delta = Buffer.alloc(20 * 48_000).toString("base64");
    provider.script((talk) => {
      talk.say({ type: "session.created", session: {} });
      talk.say({ type: "response.created", response: { id: "r" } });
      void (async () => {
        for (let said = 0; said < seconds; said += 20) {
          talk.say({ type: "response.output_audio.delta", response_id: "r", delta });
          await sleep(100);
        }
      })();
    });
  }

  async function talk(key: string) {
    const client = beginTalk(url, key, SPOKEN);
    await client.until("error");
    await client.closed;
    return client.events.find(({ type }) => type === "error");
  }

  test.each(["cost", "quota"] as const)(
    "a conversation ends with the limit of %s that it came to",
    async (kind) => {
      const { key, tokenId, spent } = await newcomer();
      const amount = 50_000;
      await seedLimit(app.ctx, { subject: "token", subject_id: tokenId, kind, amount, time_window: "day" });
      speak(400);
      const event = await talk(key);
      const code = kind === "cost" ? "request_cost_limit" : "usage_limit_reached";
      expect(event).toMatchObject({ error: { code } });
      expect(event?.error?.message).toContain(kind === "cost" ? "单次请求费用上限" : "每日额度上限");
      await expect.poll(spent, PATIENCE).toBeGreaterThan(0);
      expect(await spent()).toBeLessThan(amount + 20 * 20 * 32 * 2);
    },
  );

  test("a conversation is not begun that may cost more at once", async () => {
    const { key, tokenId, spent } = await newcomer();
    await seedLimit(app.ctx, { subject: "token", subject_id: tokenId, kind: "cost", amount: 10 });
    speak(20);
    const event = await talk(key);
    expect(event).toMatchObject({ error: { code: "request_cost_limit" } });
    expect(await spent()).toBe(0);
  });
});
