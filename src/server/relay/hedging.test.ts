// A second call beside a stream that is late (requirements C45): one settlement, the other call aborted and named in the trail, no fault of its
// channel, and never more than two of a hundred.
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, test } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import { checkLimits } from "#server/money/ledger-check-limits.ts";
import { setChannelLimits } from "#server/store/channel-limits.ts";
import { parseAttempts, parseDecision } from "#server/store/failed-attempts.ts";
import { chunk, DONE, json, type Step, silence, sse, usageChunk } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, MODEL, QUESTION } from "#test/worlds/relay-world.ts";
import { createRelay } from "./relay.ts";
import { SecondCalls } from "./routing/second-calls.ts";

const world = createRelayWorld();
const PATIENCE = { timeout: 20_000 };
const STREAM = { ...QUESTION, stream: true };
/** What most streams take to begin, as far as is known: a call is late after this. */
const USUAL_MS = 150;
/** The stream after so many may get a second call. */
const NEARLY_ALLOWED = 49;

const answer = (text: string, tokens = 5) =>
  sse(
    chunk({ content: text }),
    chunk({}, "stop"),
    usageChunk({ prompt_tokens: 10, completion_tokens: tokens }),
    DONE,
  );
const quick = answer("quick");

/** By the key of the channel that is called. */
function byChannel(steps: Readonly<Record<string, Step>>): Step {
  return (res, asked) => steps[String(asked.headers.authorization).slice(7)]?.(res, asked);
}

const callsOf = (key: string) =>
  world.upstream.journal.filter(({ headers }) => headers.authorization === `Bearer ${key}`);

/** A relay that has seen enough streams for one second call, and channels `one` and, after it, `two`. */
async function late(): Promise<{ url: string; one: number; two: number }> {
  const { ctx } = world;
  await world.setOption("HedgeStreamsEnabled", "true");
  const one = await world.addChannel({ key: "one", priority: 9 });
  const two = await world.addChannel({ key: "two", priority: 5 });
  const url = await world.serve(createRelay(ctx));
  const runs = Array.from({ length: 64 }, () => ctx.health.pace.begin(one, MODEL, true));
  await sleep(USUAL_MS);
  for (const run of runs) {
    run.replied();
    run.end(0);
  }
  world.upstream.script(quick);
  for (let call = 0; call < NEARLY_ALLOWED; call += 1)
    expect(await (await world.ask(STREAM, { url })).text()).toContain(DONE);
  expect(callsOf("two")).toEqual([]);
  expect(ctx.health.pace.usualMs(MODEL)).toBeGreaterThanOrEqual(USUAL_MS - 1);
  world.upstream.journal.length = 0;
  return { url, one, two };
}

/** What became of the call, once it is booked. */
async function booked(action: () => Promise<unknown>) {
  const { charged, entries, log, open } = await world.costOf(action);
  const trail = log?.trail ?? "";
  return {
    charged,
    entries,
    open,
    channel: log?.channel_id,
    attempts: parseAttempts(trail),
    decision: parseDecision(trail),
  };
}

const samples = () =>
  world.ctx.events.samples().filter(({ name }) => name === "tollgate_channel_failures_total").length;

beforeEach(async () => {
  await world.setOption("HedgeStreamsEnabled", "false");
});

describe("a stream that is late", () => {
  test("is answered by the next channel: one settlement, the late call aborted and told, no fault", async () => {
    const { url, one, two } = await late();
    world.upstream.script(byChannel({ one: silence, two: answer("second", 7) }));
    const failures = samples();
    const seen = await booked(async () => {
      const text = await (await world.ask(STREAM, { url })).text();
      expect(text).toContain("second");
      expect(text).toContain(DONE);
    });
    expect(seen).toMatchObject({ entries: 1, open: 0, channel: two, charged: (10 + 7 * 2) * 15 });
    // Seven tokens, as estimated, at $30 a million.
    expect(seen.attempts).toEqual([{ channelId: one, error: "overtaken", said: "$0.000210" }]);
    expect(seen.decision).toBe(`default/w/${one}t${two}c`);
    expect(callsOf("one")).toHaveLength(1);
    await callsOf("one")[0]?.aborted;
    expect(world.ctx.health.openCircuits(MODEL)).toBeUndefined();
    expect(samples()).toBe(failures);
    expect(world.ctx.health.pace.speedOf(one, MODEL, true)).toMatchObject({ inFlight: 0 });
    expect(await checkLedger(world.ctx.db)).toEqual([]);
  });

  test("keeps the first call when that begins while the second one runs", async () => {
    const { url, one, two } = await late();
    const second = Promise.withResolvers<void>();
    world.upstream.script(
      byChannel({
        one: (res, asked) => second.promise.then(() => answer("first", 3)(res, asked)),
        two: () => second.resolve(),
      }),
    );
    const seen = await booked(async () =>
      expect(await (await world.ask(STREAM, { url })).text()).toContain("first"),
    );
    expect(seen).toMatchObject({ entries: 1, open: 0, channel: one, charged: (10 + 3 * 2) * 15 });
    expect(seen.attempts).toEqual([{ channelId: two, error: "overtaken", said: "$0.000210" }]);
    expect(seen.decision).toBe(`default/w/${one}c${two}p`);
    await callsOf("two")[0]?.aborted;
  });

  test("and whose calls both fail is told the last fault and costs nothing", async () => {
    const { url, one, two } = await late();
    const failures = samples();
    const second = Promise.withResolvers<void>();
    world.upstream.script(
      byChannel({
        one: (res, asked) => second.promise.then(() => json({ error: { message: "no" } }, 500)(res, asked)),
        two: async (res, asked) => {
          second.resolve();
          // The first one's fault has been seen.
          await expect.poll(samples, PATIENCE).toBe(failures + 1);
          await json({ error: { message: "busy" } }, 503)(res, asked);
        },
      }),
    );
    const failed = await booked(async () => expect((await world.ask(STREAM, { url })).status).toBe(503));
    expect(failed).toMatchObject({ charged: 0, entries: 0, open: 0 });
    const newest = () =>
      world.ctx.db.selectFrom("logs").select(["trail", "type"]).orderBy("id", "desc").executeTakeFirst();
    await expect.poll(async () => (await newest())?.type, PATIENCE).toBe(6);
    expect(parseAttempts((await newest())?.trail ?? "")).toMatchObject([
      { channelId: one, error: "upstream_500" },
      { channelId: two, error: "upstream_503" },
    ]);
  });

  test("waits for its first call where the second one is refused", async () => {
    const { url, one, two } = await late();
    const refused = Promise.withResolvers<void>();
    world.upstream.script(
      byChannel({
        one: (res, asked) => refused.promise.then(() => answer("first")(res, asked)),
        two: async (res, asked) => {
          await json({ error: { message: "no such model" } }, 400)(res, asked);
          refused.resolve();
        },
      }),
    );
    const seen = await booked(async () =>
      expect(await (await world.ask(STREAM, { url })).text()).toContain("first"),
    );
    expect(seen).toMatchObject({
      entries: 1,
      channel: one,
      attempts: [{ channelId: two, error: "upstream_400" }],
    });
  });

  test("that its client leaves ends both calls, and pays one prompt", async () => {
    const { url } = await late();
    world.upstream.script(silence);
    const leaving = new AbortController();
    const seen = await booked(async () => {
      const asked = world.ask(STREAM, { url, signal: leaving.signal }).catch(() => undefined);
      await expect.poll(() => callsOf("two").length, PATIENCE).toBe(1);
      leaving.abort();
      await asked;
      await Promise.all([callsOf("one")[0]?.aborted, callsOf("two")[0]?.aborted]);
    });
    expect(seen).toMatchObject({ entries: 1, open: 0, charged: 9 * 15 });
    expect(world.ctx.health.openCircuits(MODEL)).toBeUndefined();
    expect(await checkLedger(world.ctx.db)).toEqual([]);
  });

  test("takes of the limits of both channels, and counts in the day of the one that answers", async () => {
    const { url, one, two } = await late();
    const { db, candidates, clock } = world.ctx;
    const limits = { running: 1, day_quota: 1_000_000 };
    await setChannelLimits(db, { subject: "channel", ids: [one, two] }, limits, clock.seconds());
    await candidates.reload();
    const hold = Promise.withResolvers<void>();
    world.upstream.script(
      byChannel({
        one: silence,
        two: (res) => {
          res.writeHead(200, { "content-type": "text/event-stream" });
          res.write(chunk({ content: "begun" }));
          return hold.promise.then(
            () =>
              void res.end(
                chunk({}, "stop") + usageChunk({ prompt_tokens: 10, completion_tokens: 5 }) + DONE,
              ),
          );
        },
      }),
    );
    const response = await world.ask(STREAM, { url });
    await callsOf("one")[0]?.aborted;
    // The second channel's one place is taken, the first one's is free again.
    const leaving = new AbortController();
    const other = world.ask(QUESTION, { url, signal: leaving.signal }).catch(() => undefined);
    await expect.poll(() => callsOf("one").length, PATIENCE).toBe(2);
    expect(callsOf("two")).toHaveLength(1);
    hold.resolve();
    expect(await response.text()).toContain(DONE);
    const days = async () =>
      db
        .selectFrom("limit_windows")
        .innerJoin("limits", "limits.id", "limit_id")
        .select(["subject_id", "spent"])
        .where("subject", "=", "channel")
        .where("spent", ">", 0)
        .execute();
    await expect.poll(days, PATIENCE).toEqual([{ subject_id: two, spent: 300 }]);
    leaving.abort();
    await other;
    await expect.poll(async () => (await world.money()).open, PATIENCE).toBe(0);
    expect(await checkLimits(db)).toEqual([]);
  });

  test("gets no second call where it is off, is no stream, or has no other channel that could serve", async () => {
    const { url, two } = await late();
    world.upstream.script(
      byChannel({ one: (res, asked) => sleep(3 * USUAL_MS).then(() => quick(res, asked)), two: quick }),
    );
    const askOnce = async (body: object) => {
      world.upstream.journal.length = 0;
      await (await world.ask(body, { url })).text();
      return world.upstream.journal.length;
    };
    await world.setOption("HedgeStreamsEnabled", "false");
    expect(await askOnce(STREAM)).toBe(1);
    await world.setOption("HedgeStreamsEnabled", "true");
    expect(await askOnce(QUESTION)).toBe(1);
    // A channel that rests is left alone.
    for (let time = 0; time < 3; time += 1) {
      const fault = { status: 500, upstreamStatus: 500, blame: "channel", retryAfterMs: 60_000, signals: [] };
      world.ctx.health.failed(two, MODEL, fault as never, world.ctx.health.calling(two, MODEL));
    }
    expect(await askOnce(STREAM)).toBe(1);
    await world.ctx.db.updateTable("channels").set({ deleted_at: 1 }).where("id", "=", two).execute();
    await world.ctx.candidates.reload();
    expect(await askOnce(STREAM)).toBe(1);
  });
});

describe("second calls", () => {
  test("are at most two of a hundred: over a thousand streams of which one in ten is late", {
    timeout: 120_000,
  }, async () => {
    await world.setOption("HedgeStreamsEnabled", "true");
    await world.addChannel({ key: "one", priority: 9 });
    await world.addChannel({ key: "two", priority: 5 });
    const url = await world.serve(createRelay(world.ctx));
    let asked = 0;
    world.upstream.script((res, call) => {
      asked += 1;
      // Later and later: what is known of the slowest is always less.
      return asked % 10 === 0 ? sleep(20 + asked / 10).then(() => quick(res, call)) : quick(res, call);
    });
    const before = await world.costOf(async () => {
      for (let round = 0; round < 100; round += 1) {
        const answers = await Promise.all(Array.from({ length: 10 }, () => world.ask(STREAM, { url })));
        for (const one of answers) expect(await one.text()).toContain(DONE);
      }
    });
    expect(before).toMatchObject({ entries: 1_000, open: 0, charged: 1_000 * 300 });
    const extra = world.upstream.journal.length - 1_000;
    expect(extra).toBeLessThanOrEqual(20);
    expect(extra).toBeGreaterThan(0);
    expect(await checkLedger(world.ctx.db)).toEqual([]);
  });

  test("that were not made may be made later, five at the most", () => {
    const calls = new SecondCalls();
    expect(calls.take()).toBe(false);
    for (let stream = 0; stream < 49; stream += 1) calls.count();
    expect(calls.take()).toBe(false);
    calls.count();
    expect([calls.take(), calls.take(), calls.made]).toEqual([true, false, 1]);
    calls.giveBack();
    expect([calls.take(), calls.take(), calls.made]).toEqual([true, false, 1]);
    for (let stream = 0; stream < 10_000; stream += 1) calls.count();
    expect(Array.from({ length: 7 }, () => calls.take())).toEqual([...Array(5).fill(true), false, false]);
  });
});
