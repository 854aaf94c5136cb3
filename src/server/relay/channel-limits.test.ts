// Limits of channels and of their keys (requirements C39, C40): what has no room is passed over without a fault, the next candidate serves, and
// all nodes count together. In the ledger a day's quota is exact, whatever fails and moves on.
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import { checkLimits } from "#server/money/ledger-check-limits.ts";
import { parseAttempts } from "#server/store/failed-attempts.ts";
import { chatReply, json, type Step } from "#test/emulators/fake-upstream.ts";
import { until } from "#test/emulators/raw-http.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot } from "#test/worlds/app.ts";
import { dropLimits, seedLimit } from "#test/worlds/limits.ts";
import { createCallNodes } from "#test/worlds/nodes.ts";
import { errorOf } from "#test/worlds/relay-world.ts";
import { engines } from "#test/worlds/stores.ts";
import { Queues } from "./routing/queues.ts";

/** A call that costs what is set aside for it: 9 tokens in and 5 out, at ratio 15 and completion ratio 2. */
const ASK = { model: "gpt-4", messages: [{ role: "user", content: "hello world" }], max_tokens: 5 };
const PATIENCE = { timeout: 30_000 };
/** Source: requirements C40. */
const WAITING = 64;
/** A caller in the middle of the queue. */
const LEAVER = 30;
const answer: Step = json({
  ...chatReply("hi"),
  usage: { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 },
});

describe.each(engines)("limits of channels on %s", (engine) => {
  const nodes = createCallNodes(engine, { count: 2 });
  const { apps, urls, first } = nodes;
  let key = "";
  let tokenId = 0;

  beforeAll(async () => {
    await queueFor(0);
    const { id } = await seedUser(first().ctx, `${engine}capped`);
    ({ key, id: tokenId } = await seedToken(first().ctx, id));
  });
  afterEach(async () => {
    await first().ctx.db.updateTable("channels").set({ deleted_at: 1 }).execute();
    await first().ctx.coord.publish("channels", "");
    await seen(0);
    expect(await checkLedger(first().ctx.db)).toEqual([]);
    expect(await checkLimits(first().ctx.db)).toEqual([]);
  });

  async function seen(channels: number): Promise<void> {
    for (const { ctx } of apps)
      await vi.waitFor(
        () => expect(ctx.candidates.find("default", "gpt-4")).toHaveLength(channels),
        PATIENCE,
      );
  }

  async function queueFor(seconds: number): Promise<void> {
    await first().ctx.options.set("ChannelQueueSeconds", String(seconds));
    for (const { ctx } of apps)
      await vi.waitFor(() => expect(ctx.options.get("ChannelQueueSeconds")).toBe(seconds), PATIENCE);
  }

  /** Channels of falling priority, named by their keys. Returns their ids. */
  async function channels(...drafts: readonly object[]): Promise<number[]> {
    const names = ["a", "b", "c"];
    for (const [index, draft] of drafts.entries()) {
      const made = { type: 8, name: names[index], key: names[index], priority: 9 - index, group: "default" };
      const body = { ...made, base_url: nodes.upstream.url, models: "gpt-4", ...draft };
      expect(await first().call(asRoot, "POST", "/api/channel/", body)).toMatchObject({ success: true });
    }
    await seen(drafts.length);
    return first()
      .ctx.candidates.find("default", "gpt-4")
      .map(({ id }) => id);
  }

  function ask(at = 0, body: object = ASK, signal?: AbortSignal): Promise<Response> {
    return fetch(`${urls[at % urls.length]}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${key}` },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    });
  }

  const askMany = async (count: number) => {
    const answers = await Promise.all(Array.from({ length: count }, (_, index) => ask(index)));
    await Promise.all(answers.map((one) => one.text()));
    return answers.map(({ status }) => status);
  };

  /** Scripts the upstream, and counts its calls by key from now on. */
  function counting(step: Step): () => Record<string, number> {
    const start = nodes.upstream.journal.length;
    nodes.upstream.script(step);
    return () => {
      const keys = nodes.upstream.journal.slice(start).map(({ headers }) => headers.authorization ?? "");
      const counts: Record<string, number> = {};
      for (const one of keys) counts[one.slice(7)] = (counts[one.slice(7)] ?? 0) + 1;
      return counts;
    };
  }

  /** Answers when it is told to. */
  function gated(): { readonly step: Step; readonly open: () => void } {
    const opened = Promise.withResolvers<void>();
    const step: Step = (res, asked) => opened.promise.then(() => answer(res, asked));
    return { step, open: opened.resolve };
  }

  const failures = async () => {
    const rows = await first().ctx.db.selectFrom("logs").select("trail").execute();
    return rows.filter(({ trail }) => parseAttempts(trail).length > 0).length;
  };

  test("what a vendor tells of its own limits lowers a channel's: one that it has no room for is passed over", async () => {
    await channels({ limits: { rpm: 600 } }, {});
    const calls = counting((res, asked) => {
      res.setHeader("x-ratelimit-limit-requests", "60");
      res.setHeader("x-ratelimit-remaining-requests", "1");
      res.setHeader("x-ratelimit-reset-requests", "59s");
      return answer(res, asked);
    });
    // By one node, which has heard it: each answer tells of one more.
    for (let call = 0; call < 3; call += 1) expect((await ask()).status).toBe(200);
    expect(calls()).toEqual({ a: 3 });
    const full = counting((res, asked) => {
      res.setHeader("x-ratelimit-limit-requests", "60");
      res.setHeader("x-ratelimit-remaining-requests", "0");
      res.setHeader("x-ratelimit-reset-requests", "60s");
      return answer(res, asked);
    });
    for (let call = 0; call < 4; call += 1) expect((await ask()).status).toBe(200);
    expect(full()).toEqual({ a: 1, b: 3 });
    expect(await failures()).toBe(0);
  });

  test("calls a minute: exactly as many as fit, the next channel serves the rest, and nothing counts as a fault", async () => {
    await channels({ limits: { rpm: 6 } }, {});
    const calls = counting(answer);
    const before = await failures();
    expect(new Set(await askMany(20))).toEqual(new Set([200]));
    expect(calls()).toEqual({ a: 6, b: 14 });
    expect(await failures()).toBe(before);
  });

  test("calls at once, and a place is free again when its call ends", async () => {
    await channels({ limits: { running: 2 } }, {});
    const { step, open } = gated();
    const calls = counting(step);
    const asked = askMany(8);
    await expect.poll(calls, PATIENCE).toEqual({ a: 2, b: 6 });
    open();
    expect(new Set(await asked)).toEqual(new Set([200]));
    const again = counting(answer);
    await expect.poll(async () => (await ask(1)).status && again()["a"], PATIENCE).toBeGreaterThan(0);
  });

  test("tokens a minute are taken by an estimate and corrected at the end", async () => {
    await channels({ limits: { tpm: 90 } }, {});
    const { step, open } = gated();
    const calls = counting(step);
    const body = { ...ASK, max_tokens: 40 };
    const asked = Promise.all(Array.from({ length: 6 }, (_, index) => ask(index, body)));
    await expect.poll(() => nodes.upstream.journal.length && calls(), PATIENCE).toMatchObject({ b: 5 });
    expect(calls()).toEqual({ a: 1, b: 5 });
    open();
    for (const one of await asked) expect((await one.json()).usage.total_tokens).toBe(14);
    // 14 of 90 are used: there is room for one more that may use 50.
    const again = counting(answer);
    await expect.poll(async () => (await ask(1, body)).status && again()["a"], PATIENCE).toBeGreaterThan(0);
  });

  test("a day's quota is exact, also where calls fail on one channel and are answered by another", async () => {
    const [capped = 0] = await channels({ limits: { day_quota: 1_000_000 } }, {});
    nodes.upstream.script(answer);
    const windowOf = () =>
      first()
        .ctx.db.selectFrom("limit_windows")
        .innerJoin("limits", "limits.id", "limit_id")
        .select(["spent", "reserved"])
        .where("subject", "=", "channel")
        .where("subject_id", "=", capped)
        .executeTakeFirst();
    expect((await ask()).status).toBe(200);
    const cost = (await windowOf())?.spent ?? 0;
    expect(cost).toBeGreaterThan(0);
    const change = { id: capped, limits: { day_quota: cost * 4 } };
    expect(await first().call(asRoot, "PUT", "/api/channel/", change)).toMatchObject({ success: true });
    const most = () => apps.map(({ ctx }) => ctx.candidates.byId(capped)?.limits?.[0]?.amount);
    await expect.poll(() => new Set(most()), PATIENCE).toEqual(new Set([cost * 4]));
    const refusal = json({ error: { message: "no" } }, 500);
    const failing = counting((res, asked) =>
      (asked.headers.authorization === "Bearer a" ? refusal : answer)(res, asked),
    );
    await first().ctx.options.set("RetryTimes", "1");
    expect((await ask()).status).toBe(200);
    expect(failing()).toEqual({ a: 1, b: 1 });
    expect(await windowOf()).toEqual({ spent: cost, reserved: 0 });
    const calls = counting(answer);
    expect(new Set(await askMany(12))).toEqual(new Set([200]));
    expect(calls()).toEqual({ a: 3, b: 9 });
    expect(await windowOf()).toEqual({ spent: cost * 4, reserved: 0 });
  });

  test("a key's own limit leaves the others", async () => {
    const [id = 0] = await channels({ key: "k1" });
    const path = `/api/channel/${id}/keys`;
    await first().call(asRoot, "POST", path, { text: "k2" });
    const { data } = await first().call(asRoot, "GET", path);
    const limited = { ids: [data[0].id], limits: { rpm: 2 } };
    expect(await first().call(asRoot, "PUT", path, limited)).toMatchObject({ data: 1 });
    expect((await first().call(asRoot, "GET", path)).data[0].limits).toMatchObject({ rpm: 2, tpm: 0 });
    const isKnown = () => apps.map(({ ctx }) => ctx.candidates.byId(id)?.keyLimits?.size ?? 0);
    await expect.poll(isKnown, PATIENCE).toEqual(apps.map(() => 1));
    const calls = counting(answer);
    expect(new Set(await askMany(16))).toEqual(new Set([200]));
    expect(calls()).toEqual({ k1: 2, k2: 14 });
  });

  test("where all are full the call is refused at once, with the time to come again; or waits for its turn", async () => {
    await channels({ limits: { running: 1 } });
    const { step, open } = gated();
    const calls = counting(step);
    const running = ask(0);
    await expect.poll(calls, PATIENCE).toEqual({ a: 1 });
    const refused = await ask(1);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await errorOf(refused)).toMatchObject({ status: 429, code: "channel_limit_exceeded" });
    await queueFor(30);
    const waiting = Array.from({ length: 4 }, () => ask(1).then(({ status }) => status));
    open();
    expect((await running).status).toBe(200);
    expect(await Promise.all(waiting)).toEqual([200, 200, 200, 200]);
    await queueFor(0);
  });

  test("a call that all are too full for counts in no limit of its caller (requirements L07)", async () => {
    const { ctx } = first();
    const own = { subject: "token", subject_id: tokenId } as const;
    await seedLimit(ctx, { ...own, kind: "rpm", amount: 10 });
    await seedLimit(ctx, { ...own, kind: "tpm", amount: 1_000 });
    await seedLimit(ctx, { ...own, kind: "calls", amount: 10, time_window: "day" });
    await ctx.options.set("TokenRequestsPerMinute", "10");
    await channels({ limits: { rpm: 1 } });
    counting(answer);
    expect((await ask()).status).toBe(200);
    for (let call = 0; call < 20; call += 1)
      expect(await errorOf(await ask())).toMatchObject({ status: 429, code: "channel_limit_exceeded" });
    const headers = { authorization: `Bearer sk-${key}` };
    const left = async () => {
      const { limits, windows } = await (await fetch(`${urls[0]}/v1/usage`, { headers })).json();
      return [...limits, ...windows].map(({ kind, limit, remaining }) => [kind, limit - remaining]);
    };
    // What the answered one took of a minute comes back with time; all twenty would have left nothing.
    const none = expect.toSatisfy((taken: number) => taken <= 1);
    const few = expect.toSatisfy((taken: number) => taken <= 14);
    await expect.poll(left, PATIENCE).toEqual([
      ["rpm", none],
      ["rpm", none],
      ["tpm", few],
      ["calls", 1],
    ]);
    await ctx.options.set("TokenRequestsPerMinute", "0");
    await dropLimits(ctx);
  });

  test("a hundred callers of one place: 64 wait in their order, 35 are refused, and one who leaves makes room", async () => {
    await channels({ limits: { running: 1 } });
    await queueFor(30);
    const { step, open } = gated();
    let inFlight = 0;
    let most = 0;
    const start = nodes.upstream.journal.length;
    nodes.upstream.script(async (res, asked) => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      res.once("close", () => {
        inFlight -= 1;
      });
      await step(res, asked);
    });
    const served = () =>
      nodes.upstream.journal.slice(start).map(({ json: { messages } }) => Number(messages[0].content));
    const joins = vi.spyOn(Queues.prototype, "join");
    const leaver = new AbortController();
    /** Callers come one after the other: the next when the one before has its place, or has none. */
    const come = async (caller: number, signal?: AbortSignal) => {
      const before = joins.mock.calls.length;
      const question = { ...ASK, messages: [{ role: "user", content: String(caller) }] };
      const told = ask(0, question, signal).then(
        (response) => response,
        () => undefined,
      );
      await until(() => joins.mock.calls.length > before || served().includes(caller));
      return { told };
    };
    const callers = [];
    for (let caller = 0; caller < 100; caller += 1)
      callers.push(await come(caller, caller === LEAVER ? leaver.signal : undefined));
    const refused = await Promise.all(callers.slice(WAITING + 1).map(({ told }) => told));
    for (const response of refused) {
      expect(Number(response?.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(response?.status).toBe(429);
      expect(await response?.json()).toMatchObject({ error: { code: "channel_limit_exceeded" } });
    }
    // The first is at the upstream, and no other caller is.
    expect([refused.length, served(), inFlight]).toEqual([35, [0], 1]);
    leaver.abort();
    expect(await callers[LEAVER]?.told).toBeUndefined();
    const newcomer = await vi.waitFor(async () => {
      const place = await come(100);
      // Not refused, as the hundredth was.
      expect(await Promise.race([place.told, sleep(200)])).toBeUndefined();
      return place;
    }, PATIENCE);
    const beyond = await come(101);
    expect((await beyond.told)?.status).toBe(429);
    open();
    const waited = await Promise.all(callers.slice(0, WAITING + 1).map(({ told }) => told));
    const statuses = waited.map((response) => response?.status);
    expect(statuses).toEqual(statuses.map((_, caller) => (caller === LEAVER ? undefined : 200)));
    expect((await newcomer.told)?.status).toBe(200);
    const inOrder = Array.from({ length: WAITING + 1 }, (_, caller) => caller);
    expect(served()).toEqual([...inOrder.filter((caller) => caller !== LEAVER), 100]);
    expect(most).toBe(1);
    await queueFor(0);
  });
});
