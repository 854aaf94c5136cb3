// A stream never delivers much more than is reserved for its caller (requirements M04).
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { limitErrors } from "#server/relay/http/limit-errors.ts";
import { localErrors } from "#server/relay/http/local-errors.ts";
import { createRelay } from "#server/relay/relay.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { chunk, DONE, type Step, sse, usageChunk } from "#test/emulators/fake-upstream.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { newLimit } from "#test/worlds/limits.ts";
import { createRelayWorld, QUESTION } from "#test/worlds/relay-world.ts";
import { Extension, type ExtensionParts } from "./extension.ts";

describe("a reservation", () => {
  let nowMs = 0;
  const clock = { now: () => nowMs };
  /** For streams whose upper bound is exact. */
  const extensionOf = (
    extend: (tokens: number) => Promise<boolean>,
    more: Partial<ExtensionParts> = {},
    end: RelayFault = localErrors.quotaRanOut(),
  ) => {
    let seen = 0;
    const cover = new Extension({
      tokens: 1_000,
      limit: Number.POSITIVE_INFINITY,
      clock,
      extend: async (tokens) => ((await extend(tokens)) ? undefined : end),
      count: async () => seen,
      ...more,
    });
    return {
      close: () => cover.close(),
      look(tokens: number) {
        seen = tokens;
        return cover.look(tokens);
      },
    };
  };

  it("lasts to its end, also when there is no more", async () => {
    const cover = extensionOf(async () => false);
    expect(cover.look(700)).toBeUndefined();
    expect(cover.look(800)).toBeUndefined();
    await sleep(0);
    expect(cover.look(1_000)).toBeUndefined();
    expect(await cover.look(1_001)).toMatchObject({ code: "insufficient_user_quota" });
  });

  it("is not extended within a limit of the client's own, however close it is", async () => {
    const asked: number[] = [];
    const cover = extensionOf(async (tokens) => asked.push(tokens) > 0, { limit: 1_000 });
    for (const tokens of [800, 999, 1_000]) expect(cover.look(tokens)).toBeUndefined();
    await sleep(0);
    expect(asked).toEqual([]);
  });

  it("is not extended for a little more than the client's own limit: another tokenizer counts it", async () => {
    let asked = 0;
    const refuse = async () => {
      asked += 1;
      return false;
    };
    const cover = extensionOf(refuse, { limit: 1_000 });
    for (const tokens of [1_001, 1_100, 1_282]) expect(await cover.look(tokens)).toBeUndefined();
    expect(asked).toBe(0);
    expect(await cover.look(1_283)).toMatchObject({ code: "insufficient_user_quota" });
  });

  it("is not extended for a little more than the client's limit that was reserved later", async () => {
    const asked: number[] = [];
    const cover = extensionOf(async (tokens) => asked.push(tokens) < 2, { limit: 1_300 });
    expect(cover.look(800)).toBeUndefined();
    await sleep(0);
    expect(await cover.look(1_310)).toBeUndefined();
    expect(asked).toEqual([300]);
  });

  it("is extended up to the client's limit and not beyond", async () => {
    const asked: number[] = [];
    const cover = extensionOf(async (tokens) => asked.push(tokens) > 0, { limit: 1_300 });
    expect(cover.look(800)).toBeUndefined();
    await sleep(0);
    expect(cover.look(1_299)).toBeUndefined();
    expect(asked).toEqual([300]);
  });

  it("is not used up by what only may have come", async () => {
    let asked = 0;
    const refuse = async () => {
      asked += 1;
      return false;
    };
    const cover = extensionOf(refuse, { limit: 1_000, count: async () => 700 });
    expect(await cover.look(1_283)).toBeUndefined();
    expect(cover.look(1_865)).toBeUndefined();
    expect(await cover.look(1_866)).toBeUndefined();
    expect(asked).toBe(0);
  });

  it("is extended in smaller parts as long as there is quota", async () => {
    const asked: number[] = [];
    const cover = extensionOf(async (tokens) => asked.push(tokens) > 0 && tokens < 200);
    expect(cover.look(800)).toBeUndefined();
    await sleep(0);
    expect(await cover.look(1_001)).toBeUndefined();
    expect(asked).toEqual([1_024, 1_025, 513, 257, 129]);
  });

  it.each([
    limitErrors.tooDear(newLimit({ kind: "cost" })),
    limitErrors.tooLarge(newLimit()),
    limitErrors.usedUp(newLimit(), { resetsAt: 1, resetText: "", nowMs: 0 }),
  ])("is extended in smaller parts as far as a limit goes, and ends with its words: $code", async (end) => {
    const asked: number[] = [];
    const cover = extensionOf(async (tokens) => asked.push(tokens) > 0 && tokens < 200, {}, end);
    expect(await cover.look(1_001)).toBeUndefined();
    expect(asked).toEqual([1_025, 513, 257, 129]);
    asked.length = 0;
    expect(await cover.look(1_400)).toEqual(end);
    expect(asked.at(-1)).toBeGreaterThan(200);
  });

  it("is extended as far as one piece went beyond it", async () => {
    const asked: number[] = [];
    const cover = extensionOf(async (tokens) => asked.push(tokens) > 0);
    expect(await cover.look(10_000)).toBeUndefined();
    expect(cover.look(10_000)).toBeUndefined();
    expect(asked).toEqual([10_024]);
  });

  it("waits for the ledger while that is in trouble for moments", async () => {
    let isTroubled = true;
    const cover = extensionOf(async () => {
      if (isTroubled) throw new Error("locked");
      return true;
    });
    const verdict = cover.look(1_001);
    await sleep(0);
    isTroubled = false;
    nowMs += 4_000;
    expect(await verdict).toBeUndefined();
    expect(cover.look(1_100)).toBeUndefined();
  });

  it("is all there is when the trouble lasts", async () => {
    const cover = extensionOf(() => Promise.reject(new Error("locked")));
    const verdict = cover.look(1_001);
    await sleep(0);
    nowMs += 6_000;
    expect(await verdict).toMatchObject({ status: 503, code: "storage_unavailable" });
  });

  it("is not extended any more once the stream is over", async () => {
    let asked = 0;
    const cover = extensionOf(() => {
      asked += 1;
      return Promise.reject(new Error("locked"));
    });
    const verdict = cover.look(1_001);
    await sleep(0);
    cover.close();
    await verdict;
    expect(asked).toBe(1);
  });
});

describe("a stream", () => {
  const world = createRelayWorld();
  const STREAM = { ...QUESTION, max_tokens: undefined, stream: true };
  const WORD = chunk({ content: " hello" });
  const WORDS = 10_000;

  beforeEach(() => world.addChannel());

  /** As many words as fit, as fast as they go. */
  const flood: Step = async (res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    for (let word = 0; word < WORDS && !res.destroyed; word += 1)
      if (!res.write(WORD))
        await Promise.race([new Promise((resolve) => res.once("drain", resolve)), sleep(5_000)]);
    res.end(chunk({}, "stop") + DONE);
  };

  it("that is faster than the ledger waits for it", async () => {
    const { ledger } = world.ctx;
    let isAsked = false;
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const slow = new Proxy(ledger, {
      get(target, name) {
        if (name === "extend")
          return async (...asked: Parameters<typeof target.extend>) => {
            isAsked = true;
            await answered;
            return target.extend(...asked);
          };
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const url = await world.serve(createRelay({ ...world.ctx, ledger: slow }));
    world.upstream.script(flood);
    let text = "";
    const { charged } = await world.costOf(async () => {
      const response = await world.ask(STREAM, { url });
      const reading = (async () => {
        for await (const piece of response.body ?? []) text += Buffer.from(piece).toString();
      })();
      await expect.poll(() => isAsked).toBe(true);
      await sleep(500);
      // What 1,024 tokens cover, and what was read before the upstream was paused.
      expect(text.length).toBeLessThan(1_024 * WORD.length + 2 * 64 * 1024);
      answer();
      await reading;
    });
    expect(text.endsWith(DONE)).toBe(true);
    expect(text.length).toBeGreaterThan(WORDS * WORD.length);
    expect(charged).toBeGreaterThanOrEqual((9 + WORDS * 2) * 15);
  });

  it("that brings too much in one piece: the shortfall is reported to the operator", async () => {
    const { id } = await seedUser(world.ctx, "poor");
    const quota = { target: 40_000n };
    await world.ctx.ledger.adjust({ userId: id, kind: "adjust", quota, actorId: 1, reason: "test" });
    const { key } = await seedToken(world.ctx, id);
    const usage = { prompt_tokens: 10, completion_tokens: 5_000 };
    world.upstream.script(
      sse(chunk({ content: "word ".repeat(5_000) }) + chunk({}, "stop") + usageChunk(usage) + DONE),
    );
    const told = () =>
      world.ctx.events.samples().find(({ name }) => name === "tollgate_relay_shortfall_quota_total")?.value ??
      0;
    expect(told()).toBe(0);
    await (await world.ask(STREAM, { key })).text();
    expect(told()).toBe((10 + 5_000 * 2) * 15 - 40_000);
  });
});
