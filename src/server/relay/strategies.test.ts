// What decides among channels of the same priority where weights alone do not (requirements C42, C43): over real HTTP, and in a simulated
// hour of several nodes with time and chance as arguments.
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type { OptionKey } from "#contract/option.ts";
import { providerOf } from "#contract/providers.ts";
import { choose } from "#server/channels/choice.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import { createPace, type Run } from "#server/channels/pace.ts";
import { createStrategy, oddsOfTwo } from "#server/channels/strategy.ts";
import { chatReply, json } from "#test/emulators/fake-upstream.ts";
import { channelOfKeys, keyRing, rowsOf } from "#test/worlds/key-rings.ts";
import { createRelayWorld, MODEL, QUESTION } from "#test/worlds/relay-world.ts";
import { rounds } from "#test/worlds/soak.ts";

const world = createRelayWorld();
const CHANGED: readonly [OptionKey, string][] = [
  ["ChannelStrategy", "weight"],
  ["ChannelStrategyByGroup", "{}"],
  ["NativeFormatFirstEnabled", "false"],
  ["RetryTimes", "0"],
];
afterEach(async () => {
  for (const [key, value] of CHANGED) await world.setOption(key, value);
});

async function addCosting(key: string, costRatio: number, mapping = {}): Promise<number> {
  const id = await world.addChannel({ key, weight: 1, mapping });
  await world.ctx.db.updateTable("channels").set({ cost_ratio: costRatio }).where("id", "=", id).execute();
  await world.ctx.candidates.reload();
  return id;
}

/** How many of so many calls each key served. */
async function served(calls: number, path = "/v1/chat/completions"): Promise<Record<string, number>> {
  const from = world.upstream.journal.length;
  for (let call = 0; call < calls; call += 1) expect((await world.ask(QUESTION, { path })).status).toBe(200);
  const counts: Record<string, number> = {};
  for (const { headers } of world.upstream.journal.slice(from)) {
    const key = String(headers["x-api-key"] ?? headers["authorization"]).replace("Bearer ", "");
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

describe("the cheapest first", () => {
  test("prices within a twentieth share, dearer ones and those without a price come last", async () => {
    world.upstream.script(json(chatReply("hi")));
    await addCosting("one", 1);
    await addCosting("near", 1.03);
    await addCosting("dear", 2);
    await addCosting("unknown", 0.1, { [MODEL]: "nobody-prices-this" });
    await world.setOption("ChannelStrategy", "cost");
    const counts = await served(40);
    // By chance one of the two is missing once in 2^39.
    expect(Object.keys(counts).toSorted()).toEqual(["near", "one"]);
    world.upstream.script((res, asked) =>
      /one|near/.test(String(asked.headers.authorization))
        ? json({ error: { message: "no" } }, 500)(res, asked)
        : json(chatReply("hi"))(res, asked),
    );
    await world.setOption("RetryTimes", "3");
    expect(Object.keys(await served(1))).toContain("dear");
  });

  test("is a group's own, where the table says so", async () => {
    world.upstream.script(json(chatReply("hi")));
    await addCosting("one", 1);
    await addCosting("dear", 2);
    await world.setOption("ChannelStrategyByGroup", '{"vip":"cost"}');
    expect(Object.keys(await served(40))).toHaveLength(2);
    await world.setOption("ChannelStrategyByGroup", '{"default":"cost"}');
    expect(await served(20)).toEqual({ one: 20 });
  });
});

test("the client's own format comes first within a priority, when it is wanted, and the others when it fails", async () => {
  await world.addChannel({ key: "openai", weight: 1 });
  await world.addChannel({ key: "claude", weight: 1, type: 14 });
  await world.setOption("NativeFormatFirstEnabled", "true");
  const claude = {
    ...{ id: "msg_1", type: "message", role: "assistant", model: MODEL, stop_reason: "end_turn" },
    content: [{ type: "text", text: "hi" }],
    usage: { input_tokens: 9, output_tokens: 1 },
  };
  let isClaudeDown = false;
  world.upstream.script((res, asked) => {
    const isClaude = asked.headers["x-api-key"] !== undefined;
    const failure = { type: "error", error: { type: "api_error", message: "no" } };
    const [body, status] =
      isClaude && isClaudeDown ? [failure, 500] : [isClaude ? claude : chatReply("hi"), 200];
    return json(body, status)(res, asked);
  });
  expect(await served(20)).toEqual({ openai: 20 });
  expect(await served(20, "/v1/messages")).toEqual({ claude: 20 });
  isClaudeDown = true;
  await world.setOption("RetryTimes", "1");
  expect(await served(1, "/v1/messages")).toEqual({ claude: 1, openai: 1 });
});

test("is found out with any key, and makes no channel anew for that", async () => {
  await world.setOption("NativeFormatFirstEnabled", "true");
  const keys = keyRing(rowsOf(3));
  const channel = channelOfKeys({ keys, keyMode: "first" });
  const pick = () => keys.pick(channel, { model: "m", now: 1, tried: new Set<number>() });
  const served = pick() ?? expect.fail("no key");
  const call = { model: "m", isStream: true, endpoint: "chat" } as const;
  const strategy = createStrategy({ ...world.ctx, pace: world.ctx.health.pace }, "weight", call);
  // One of them has its key already, as where a conversation goes on.
  expect(
    strategy.weigh(
      [channel, served, { ...channel, keys: undefined, provider: providerOf(14) ?? expect.fail() }],
      false,
    ),
  ).toEqual([1, 1, "format_other"]);
  expect(pick()).toBe(served);
});

describe("the fastest first", () => {
  test("calls are measured only where they are chosen by it, and a failing channel is left", async () => {
    world.upstream.script(json(chatReply("hi")));
    const good = await world.addChannel({ key: "good", weight: 1 });
    const bad = await world.addChannel({ key: "bad", weight: 1 });
    const speed = (id: number) => world.ctx.health.pace.speedOf(id, MODEL, false);
    await served(4);
    expect([speed(good), speed(bad)]).toEqual(Array(2).fill({ ms: undefined, inFlight: 0 }));
    await world.setOption("ChannelStrategy", "latency");
    world.ctx.health.pace.begin(bad, MODEL, false).failed();
    await world.setOption("RetryTimes", "1");
    world.upstream.script((res, asked) =>
      String(asked.headers.authorization).includes("bad")
        ? json({ error: { message: "no" } }, 500)(res, asked)
        : json(chatReply("hi"))(res, asked),
    );
    // One of a hundred goes there to look, fails, and is served by the other.
    const { good: whole, bad: looks = 0 } = await served(30);
    expect(whole).toBe(30);
    expect(looks).toBeLessThanOrEqual(8);
    await expect.poll(() => speed(good)).toEqual({ ms: expect.any(Number), inFlight: 0 });
    await world.ctx.db
      .updateTable("channels")
      .set({ base_url: "http://127.0.0.1:9" })
      .where("id", "=", bad)
      .execute();
    await world.ctx.candidates.reload();
    expect(speed(bad).ms).toBeUndefined();
  });

  /** Chance that is the same every time. */
  function chance(seed: number): () => number {
    let state = seed;
    return () => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
  }

  interface Ending {
    readonly atMs: number;
    readonly run: Run;
    readonly isFailure: boolean;
  }

  /** Ends the calls that are due; the others are left. */
  function endDue(running: readonly Ending[], nowMs: number): Ending[] {
    for (const { run, isFailure } of running.filter(({ atMs }) => atMs <= nowMs)) {
      if (isFailure) run.failed();
      else run.replied();
      run.end(10);
    }
    return running.filter(({ atMs }) => atMs > nowMs);
  }

  const CALLS = 6_000;
  const WARM = 1_000;
  const NODES = 4;

  /** The share of each channel in the calls of several nodes; `ms` = how long a call takes, negative = it fails after so long. */
  function simulate(tier: readonly LiveChannel[], ms: readonly number[], random: () => number): number[] {
    let nowMs = 0;
    const paces = Array.from({ length: NODES }, () => createPace({ now: () => nowMs }));
    const call = { model: MODEL, isStream: true, endpoint: undefined };
    const strategies = paces.map((pace) => createStrategy({ ...world.ctx, pace }, "latency", call));
    let running: Ending[] = [];
    const chosen: number[] = [];
    for (let index = 0; index < CALLS; index += 1) {
      nowMs += 10;
      running = endDue(running, nowMs);
      const node = Math.floor(random() * NODES);
      const channel = choose(tier, { tried: new Set(), random: random(), strategy: strategies[node] });
      const at = channel === undefined ? -1 : tier.indexOf(channel);
      const [tookMs, pace] = [ms[at], paces[node]];
      if (channel === undefined || tookMs === undefined || pace === undefined) throw new Error("none chosen");
      chosen.push(at);
      const run = pace.begin(channel.id, MODEL, true);
      const atMs = nowMs + Math.abs(tookMs) * (0.8 + 0.4 * random());
      running.push({ atMs, run, isFailure: tookMs < 0 });
    }
    const counted = chosen.slice(WARM);
    return ms.map((_ms, at) => counted.filter((one) => one === at).length / counted.length);
  }

  test.each([
    ["one is ten times slower", [100, 100, 1_000]],
    ["one fails at once", [100, 100, -5]],
  ])("no node herds when %s", async (_case, ms) => {
    for (const key of ["a", "b", "c"]) await world.addChannel({ key, weight: 1 });
    const tier = world.ctx.candidates.find("default", MODEL);
    for (const seed of [1, 2, 3]) {
      const shares = simulate(tier, ms, chance(seed));
      expect(shares[2]).toBeLessThanOrEqual(0.05);
      expect(Math.max(...shares)).toBeLessThanOrEqual(0.7);
      // It is looked at now and then.
      expect(shares[2]).toBeGreaterThan(0);
    }
  });

  test("a conversation leaves channels that are slow, and keeps the others", async () => {
    for (const key of ["a", "b", "c"]) await world.addChannel({ key, weight: 1 });
    const tier = world.ctx.candidates.find("default", MODEL);
    const [first, second, slow] = tier;
    let nowMs = 0;
    const timed = createPace({ now: () => nowMs });
    const run = (id: number, ms: number) => {
      const one = timed.begin(id, MODEL, true);
      nowMs += ms;
      one.replied();
      one.end(0);
    };
    run(first?.id ?? 0, 100);
    run(second?.id ?? 0, 150);
    run(slow?.id ?? 0, 900);
    const call = { model: MODEL, isStream: true, endpoint: undefined };
    const strategy = createStrategy({ ...world.ctx, pace: timed }, "latency", call);
    for (let conversation = 0; conversation < 200; conversation += 1) {
      const base = { tried: new Set<number>(), random: 0, conversation };
      const home = choose(tier, base);
      const now = choose(tier, { ...base, strategy });
      if (home === slow) expect(now).not.toBe(slow);
      else expect(now).toBe(home);
    }
  });

  interface OddLot {
    readonly at: number;
    readonly weight: number;
    readonly score: number;
  }

  /** How often the first of a pair wins; equals share. */
  const wins = (one: OddLot, other: OddLot) =>
    one.score === other.score ? 0.5 : Number(one.score < other.score);

  /** By drawing each pair, in both orders. */
  function oddsByDrawing(lots: readonly OddLot[], one: OddLot): number {
    const total = lots.reduce((sum, { weight }) => sum + weight, 0);
    const drawn = (first: OddLot, second: OddLot) =>
      (first.weight / total) * (second.weight / (total - first.weight));
    const others = lots.filter(({ at }) => at !== one.at);
    const won = others.map((other) => (drawn(one, other) + drawn(other, one)) * wins(one, other));
    return 0.98 * won.reduce((sum, odds) => sum + odds, 0) + (0.02 * one.weight) / total;
  }

  test("the odds of the better of two are those of drawing them", () => {
    const lot = fc.record({ weight: fc.integer({ min: 1, max: 9 }), score: fc.integer({ min: 1, max: 4 }) });
    fc.assert(
      fc.property(fc.array(lot, { minLength: 2, maxLength: 7 }), (some) => {
        const lots = some.map((one, at) => ({ ...one, at }));
        const told = new Map(oddsOfTwo(lots).map(({ at, odds }) => [at, odds]));
        for (const one of lots) expect(told.get(one.at)).toBeCloseTo(oddsByDrawing(lots, one), 9);
      }),
      { numRuns: rounds(300, 2_000) },
    );
  });
});
