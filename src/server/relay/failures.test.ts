// Upstreams that fail: nothing is charged, another channel is tried, and no client learns too much.
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { parseAttempts } from "#server/store/failed-attempts.ts";
import {
  chatReply,
  chunk,
  createFakeUpstream,
  DONE,
  json,
  raw,
  reset,
  type Step,
  silence,
  sse,
  usageChunk,
} from "#test/emulators/fake-upstream.ts";
import { CHANNEL_KEY, createRelayWorld, errorOf, QUESTION } from "#test/worlds/relay-world.ts";
import { pauseAfter } from "./routing/pause.ts";

const world = createRelayWorld();

describe("upstreams that fail", () => {
  const refusedUrl = "http://127.0.0.1:9";
  const html = raw("<html><title>Bad gateway</title></html>", { "content-type": "text/html" });
  const failures: readonly (readonly [name: string, step: Step, status: number])[] = [
    ["reset", reset, 502],
    ["HTML with 200", html, 502],
    ["empty 200", raw("", { "content-type": "application/json" }), 502],
    ["204", (res) => void res.writeHead(204).end(), 502],
    ["truncated JSON", raw('{"choices":[{"message":', { "content-type": "application/json" }), 502],
    ["foreign JSON", json({ hello: "world" }), 502],
    ["foreign content type", raw(JSON.stringify(chatReply("x")), { "content-type": "image/png" }), 502],
    ["coded body", raw("xxxx", { "content-type": "application/json", "content-encoding": "gzip" }), 502],
    [
      "wrong length",
      (res) => {
        res.writeHead(200, { "content-type": "application/json", "content-length": "999" });
        res.write("{");
        res.destroy();
      },
      502,
    ],
    ["error with 200", json({ error: { message: "no", type: "server_error" } }), 502],
    ["error as first event", sse('data: {"error":{"message":"no","type":"x","code":500}}\n\n'), 500],
    [
      "error as first event, after a comment",
      sse(': wait\n\ndata: {"error":{"message":"no","type":"x","code":500}}\n\n'),
      500,
    ],
    ["stream of comments", sse(...Array.from({ length: 30 }, () => [": wait\n\n", 50]).flat()), 504],
    ["stream of nothing", sse(DONE), 502],
    ["stream that ends at once", sse(), 502],
    ["redirect", (res) => void res.writeHead(307, { location: "http://127.0.0.1:1/" }).end(), 502],
    ["500", json({ error: { message: "oops", type: "server_error" } }, 500), 500],
    ["503 HTML", raw("<html><title>busy</title></html>", { "content-type": "text/html" }, 503), 503],
    [
      "401",
      json({ error: { message: `Incorrect API key ${CHANNEL_KEY}`, code: "invalid_api_key" } }, 401),
      502,
    ],
    ["403", json({ error: { message: "org-abcdef123 forbidden" } }, 403), 502],
    ["429", json({ error: { message: "rate limit of org-abcdef123" } }, 429, { "retry-after": "0" }), 429],
    ["silence", silence, 504],
  ];

  it.each(
    failures.flatMap(([name, step, status]) =>
      [false, true].map((stream) => [name, stream, step, status] as const),
    ),
  )("%s (stream: %s) charges nothing and has its own error", async (name, stream, step, status) => {
    if (!stream && (name.includes("event") || name.includes("stream"))) return;
    await world.addChannel();
    world.upstream.script(step);
    let text = "";
    const { charged, open, entries } = await world.costOf(async () => {
      const url = status === 504 ? world.hastyUrl : world.url;
      const response = await world.ask({ ...QUESTION, stream }, { url });
      expect(response.status).toBe(status);
      text = await response.text();
    });
    expect(JSON.parse(text).error.message).toMatch(/request id/);
    expect(text).not.toContain(CHANNEL_KEY);
    expect(text).not.toContain("org-abcdef123");
    expect(text).not.toContain("127.0.0.1");
    expect({ charged, open, entries }).toEqual({ charged: 0, open: 0, entries: 0 });
  });

  it.each(
    failures.flatMap(([name, step, status]) =>
      [false, true].map((stream) => [name, stream, step, status] as const),
    ),
  )("%s (stream: %s) is retried on another channel, with one charge", async (name, stream, step, status) => {
    if (!stream && (name.includes("event") || name.includes("stream"))) return;
    await world.setOption("RetryTimes", "3");
    const bad = await world.addChannel({ priority: 5 });
    const good = await world.addChannel();
    world.upstream.script(
      step,
      stream
        ? sse(
            chunk({ content: "x" }),
            chunk({}, "stop"),
            usageChunk({ prompt_tokens: 10, completion_tokens: 5 }),
            DONE,
          )
        : json(chatReply("ok")),
    );
    const { charged, entries, log } = await world.costOf(async () => {
      const url = status === 504 ? world.hastyUrl : world.url;
      const response = await world.ask({ ...QUESTION, stream }, { url });
      expect(response.status).toBe(200);
      await response.text();
    });
    expect(world.upstream.journal.length).toBe(2);
    expect({ charged, entries, channel: log?.channel_id }).toEqual({
      charged: 300,
      entries: 1,
      channel: good,
    });
    // Administrators see which channels failed before, and how.
    expect(parseAttempts(log?.trail ?? "")).toEqual([
      {
        channelId: bad,
        error: expect.stringMatching(/^(upstream_\d+|[a-z_]+)$/),
        said: expect.not.stringMatching(/sk-/),
      },
    ]);
    const used = await world.ctx.db
      .selectFrom("channels")
      .select("used_quota")
      .where("id", "=", bad)
      .executeTakeFirstOrThrow();
    expect(used.used_quota).toBe(0);
  });

  it.each([400, 413, 415, 422, 501])(
    "does not retry %i, and passes OpenAI's error object",
    async (status) => {
      await world.setOption("RetryTimes", "3");
      await world.addChannel({ priority: 5 });
      await world.addChannel();
      world.upstream.script(
        json(
          {
            error: {
              message: "too long",
              type: "invalid_request_error",
              param: "messages",
              code: "context_length_exceeded",
              hint: 1,
            },
          },
          status,
        ),
      );
      const error = await errorOf(await world.ask(QUESTION));
      expect(error).toMatchObject({
        status,
        type: "invalid_request_error",
        param: "messages",
        code: "context_length_exceeded",
        hint: 1,
      });
      expect(error.message).toMatch(/^too long \(request id/);
      expect(world.upstream.journal.length).toBe(1);
    },
  );

  it("retries a refused connection and a missing model", async () => {
    await world.setOption("RetryTimes", "2");
    await world.addChannel({ baseUrl: refusedUrl, priority: 9 });
    await world.addChannel({ priority: 8 });
    await world.addChannel({ priority: 7 });
    world.upstream.script(
      json({ error: { message: "no such model", code: "model_not_found" } }, 404),
      json(chatReply("ok")),
    );
    expect((await world.ask(QUESTION)).status).toBe(200);
  });

  it("waits longer before each further try, within bounds", () => {
    const bounds = [1, 2, 3, 4, 7].map((calls) => [pauseAfter(calls, 0), pauseAfter(calls, 1)]);
    expect(bounds).toEqual([
      [50, 100],
      [100, 200],
      [200, 400],
      [400, 800],
      [2_500, 5_000],
    ]);
  });

  it("pauses before another channel is called, unless the client leaves", async () => {
    await world.setOption("RetryTimes", "5");
    for (let index = 0; index < 5; index += 1) await world.addChannel();
    const calledMs: number[] = [];
    const leave = new AbortController();
    world.upstream.script((res) => {
      calledMs.push(performance.now());
      res.writeHead(500).end();
      // Before the pause begins: its end is a timer, and a machine that stalled would run both at once.
      if (calledMs.length === 3) leave.abort();
    });
    await expect(world.ask(QUESTION, { signal: leave.signal })).rejects.toThrow("abort");
    await sleep(500);
    const [first = 0, second = 0, third = 0] = calledMs;
    expect(calledMs).toHaveLength(3);
    expect(second - first).toBeGreaterThanOrEqual(49);
    expect(third - second).toBeGreaterThanOrEqual(99);
  });

  it("a client that leaves is no failure of the channel: not in the log, nor in what is counted", async () => {
    await world.setOption("RetryTimes", "3");
    const failing = await world.addChannel({ priority: 9 });
    await world.addChannel({ priority: 8 });
    const failed: number[] = [];
    const stop = world.ctx.events.onChannelFailed(({ channelId }) => failed.push(channelId));
    world.upstream.script(json({ error: { message: "oops" } }, 500), silence);
    const { entries, log } = await world.costOf(async () => {
      const leave = new AbortController();
      const pending = world.ask(QUESTION, { signal: leave.signal });
      await expect.poll(() => world.upstream.journal.length).toBe(2);
      leave.abort();
      await expect(pending).rejects.toThrow("abort");
      await world.upstream.journal[1]?.aborted;
    });
    stop();
    expect(failed).toEqual([failing]);
    expect(entries).toBe(1);
    expect(parseAttempts(log?.trail ?? "")).toEqual([
      { channelId: failing, error: "upstream_500", said: "oops" },
    ]);
  });

  it("fail, fail, ok is one reservation and one entry, on the channel that answered", async () => {
    await world.setOption("RetryTimes", "3");
    const failing = [await world.addChannel({ priority: 9 }), await world.addChannel({ priority: 8 })];
    const answering = await world.addChannel({ priority: 7 });
    const oops = json({ error: { message: "oops" } }, 500);
    const reservations: number[] = [];
    const counted =
      (step: Step): Step =>
      async (res, asked) => {
        reservations.push((await world.money()).open);
        await step(res, asked);
      };
    world.upstream.script(counted(oops), counted(reset), counted(json(chatReply("ok"))));
    const { charged, open, entries, log } = await world.costOf(() => world.ask(QUESTION));
    expect({ charged, open, entries, reservations }).toEqual({
      charged: 300,
      open: 0,
      entries: 1,
      reservations: [1, 1, 1],
    });
    const { db } = world.ctx;
    const rows = await db
      .selectFrom("channels")
      .select(["id", "used_quota"])
      .where("id", "in", [...failing, answering])
      .orderBy("id")
      .execute();
    expect(rows).toEqual([
      ...failing.map((id) => ({ id, used_quota: 0 })),
      { id: answering, used_quota: 300 },
    ]);
    expect(parseAttempts(log?.trail ?? "").map(({ channelId }) => channelId)).toEqual(failing);
    const booked = await db
      .selectFrom("ledger")
      .select("channel_id")
      .orderBy("id", "desc")
      .limit(2)
      .execute();
    expect(booked[0]?.channel_id).toBe(answering);
    expect(failing).not.toContain(booked[1]?.channel_id);
  });

  it.each([
    ["an unknown name", () => "http://no-such-host.invalid"],
    ["a port without a listener", () => refusedUrl],
    ["no TLS where some was expected", () => world.upstream.url.replace("http:", "https:")],
  ])("%s charges nothing as the last fault", async (_, baseUrl) => {
    await world.addChannel({ baseUrl: baseUrl() });
    for (const stream of [false, true]) {
      const { charged, open, entries } = await world.costOf(async () => {
        const response = await world.ask({ ...QUESTION, stream });
        expect(response.status).toBe(502);
        expect(await response.text()).not.toContain("127.0.0.1");
      });
      expect({ charged, open, entries }).toEqual({ charged: 0, open: 0, entries: 0 });
    }
    expect(world.upstream.journal).toEqual([]);
  });

  it("tries each channel once and no more than RetryTimes says", async () => {
    await world.setOption("RetryTimes", "9");
    for (let index = 0; index < 8; index += 1) await world.addChannel({ key: `sk-channel-number-${index}` });
    world.upstream.script(json({ error: { message: "x" } }, 500));
    expect((await world.ask(QUESTION)).status).toBe(500);
    const keys = world.upstream.journal.map(({ headers }) => headers.authorization);
    // At most 5 retries, never a channel twice.
    expect(keys.length).toBe(6);
    expect(new Set(keys).size).toBe(6);
    world.upstream.journal.length = 0;
    await world.setOption("RetryTimes", "0");
    await world.ask(QUESTION);
    expect(world.upstream.journal.length).toBe(1);
  });

  it("replaces a final 429 by the saturation text", async () => {
    await world.addChannel();
    world.upstream.script(
      json({ error: { message: "You exceeded your quota of org-1234567", type: "tokens" } }, 429),
    );
    const error = await errorOf(await world.ask(QUESTION));
    expect(error.status).toBe(429);
    expect(error.message).toContain("饱和");
    expect(error.message).not.toContain("exceeded");
  });

  it("does not follow redirects", async () => {
    const other = await createFakeUpstream();
    await world.addChannel();
    world.upstream.script((res) => void res.writeHead(302, { location: `${other.url}/steal` }).end());
    expect((await world.ask(QUESTION)).status).toBe(502);
    expect(other.journal.length).toBe(0);
    await other.close();
  });

  it("refuses private addresses that are not allowed", async () => {
    await world.addChannel({ baseUrl: "http://10.255.255.1:81" });
    const start = performance.now();
    const error = await errorOf(await world.ask(QUESTION));
    expect(error.status).toBe(502);
    expect(error.message).not.toContain("10.255");
    expect(performance.now() - start).toBeLessThan(1_000);
  });

  it("disables a channel whose key is refused again and again, when the option is on, and no other", async () => {
    await world.setOption("AutomaticDisableChannelEnabled", "true");
    const id = await world.addChannel();
    const status = async () =>
      (
        await world.ctx.db
          .selectFrom("channels")
          .select(["status", "status_reason"])
          .where("id", "=", id)
          .executeTakeFirstOrThrow()
      ).status;
    // Words that a prompt can put into a 400 or even a 403 change nothing.
    world.upstream.script(
      json({ error: { message: "credit balance quota permission denied", type: "insufficient_quota" } }, 400),
    );
    for (let index = 0; index < 5; index += 1) await world.ask(QUESTION);
    expect(await status()).toBe(1);
    world.upstream.script(json({ error: { message: "Incorrect API key", code: "invalid_api_key" } }, 401));
    await world.ask(QUESTION);
    await world.ask(QUESTION);
    expect(await status()).toBe(1);
    await world.ask(QUESTION);
    for (let tries = 0; tries < 50 && (await status()) === 1; tries += 1) await sleep(10);
    expect(await status()).toBe(3);
    expect((await world.ask(QUESTION)).status).toBe(503);
    await world.setOption("AutomaticDisableChannelEnabled", "false");
  });
});
