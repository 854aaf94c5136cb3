// What limits do not count, and that no job resets them (requirements L07, L08): a call that the last limit refuses, and one that its client
// leaves; windows that nothing but a call looked at, and a clock that was set back.
import { afterEach, describe, expect, test } from "vitest";
import type { LimitWindow } from "#contract/limit-words.ts";
import { fakeClock } from "#server/clock.ts";
import { LIMITS } from "#server/limits/table.ts";
import { chatReply, json } from "#test/emulators/fake-upstream.ts";
import { databases } from "#test/worlds/app.ts";
import { dropLimits, seedLimit } from "#test/worlds/limits.ts";
import { createRelayWorld, errorOf, QUESTION } from "#test/worlds/relay-world.ts";

const OPTIONS = [
  "TokenRequestsPerMinute",
  "UserRequestsPerMinute",
  "TokenConcurrency",
  "UserConcurrency",
] as const;

describe.each(databases)("what counts nowhere on $name", (database) => {
  const world = createRelayWorld({ database });
  afterEach(async () => {
    await dropLimits(world.ctx);
    for (const key of OPTIONS) await world.setOption(key, "0");
  });
  const own = () => ({ subject: "token", subject_id: world.token.id }) as const;

  /** What is left of each limit by the minute, and how many calls run. */
  async function left() {
    const headers = { authorization: `Bearer sk-${world.token.key}` };
    const { limits } = await (await fetch(`${world.url}/v1/usage`, { headers })).json();
    return limits.map((one: { remaining?: number; running?: number }) => one.remaining ?? one.running);
  }

  test("a thousand calls that the last limit refuses leave the others with room", {
    timeout: 300_000,
  }, async () => {
    await world.addChannel();
    for (const key of OPTIONS) await world.setOption(key, "40");
    await seedLimit(world.ctx, { ...own(), kind: "rpm", amount: 40 });
    await seedLimit(world.ctx, { ...own(), kind: "tpm", amount: 9_000 });
    await seedLimit(world.ctx, { ...own(), kind: "running", amount: 40 });
    const budget = await seedLimit(world.ctx, { ...own(), amount: 1_000_000_000, time_window: "day" });
    await seedLimit(world.ctx, { subject: "all", kind: "calls", amount: 1, time_window: "day" });
    const { charged } = await world.costOf(async () => (await world.ask(QUESTION)).text());
    const codes = new Map<unknown, number>();
    for (let turn = 0; turn < 100; turn += 1) {
      const asked = Array.from({ length: 10 }, () => world.ask(QUESTION).then(errorOf));
      for (const { code } of await Promise.all(asked)) codes.set(code, (codes.get(code) ?? 0) + 1);
      // On PostgreSQL they are given back a moment after the answer.
      await expect.poll(runningCalls).toEqual([0]);
    }
    // None was refused by a limit that the refused ones had filled.
    expect(Object.fromEntries(codes)).toEqual({ usage_limit_reached: 1_000 });
    await expect.poll(left, { timeout: 10_000 }).toEqual([40, 40, 0, 0, 40, 9_000, 0]);
    const { db } = world.ctx;
    const windows = db
      .selectFrom("limit_windows")
      .select(["spent", "reserved"])
      .where("limit_id", "=", budget);
    expect(await windows.execute()).toEqual([{ spent: charged, reserved: 0 }]);
  });

  async function runningCalls(): Promise<number[]> {
    const limit = { ...LIMITS.tokenRunning, burst: 40 };
    const looked = await world.ctx.limits.look([{ limit, subject: String(world.token.id), isHeld: true }]);
    return [...looked.values()].map(({ taken }) => taken);
  }

  test("a call that its client leaves before any output gives its tokens and its place back", async () => {
    await world.addChannel();
    await seedLimit(world.ctx, { ...own(), kind: "output_tpm", amount: 100 });
    await seedLimit(world.ctx, { ...own(), kind: "running", amount: 1 });
    const before = world.upstream.journal.length;
    world.upstream.script(() => undefined);
    const leaving = new AbortController();
    const stream = { ...QUESTION, stream: true };
    const gone = world.ask(stream, { signal: leaving.signal }).catch(() => undefined);
    await expect.poll(() => world.upstream.journal.length).toBe(before + 1);
    expect((await errorOf(await world.ask(QUESTION))).code).toBe("rate_limit_exceeded");
    expect(await left()).toEqual([0, 1]);
    leaving.abort();
    await gone;
    await expect.poll(left, { timeout: 10_000 }).toEqual([100, 0]);
    world.upstream.script(json(chatReply("hi")));
    expect((await world.ask(QUESTION)).status).toBe(200);
  });
});

const HOUR_MS = 3_600_000;

describe.each(databases)("windows that no job resets on $name", (database) => {
  // 10:00 on a Wednesday in Shanghai.
  const clock = fakeClock(Date.parse("2026-11-25T02:00:00Z"));
  const world = createRelayWorld({ database, clock });
  afterEach(() => dropLimits(world.ctx));

  const status = async () => {
    const response = await world.ask(QUESTION);
    await response.text();
    return response.status;
  };
  const three = async () => [await status(), await status(), await status()];

  test.each<[LimitWindow, number]>([
    ["session", 5],
    ["day", 24],
    ["week", 7 * 24],
    ["month", 31 * 24],
    ["rolling_5h", 6],
    ["rolling_day", 25],
  ])(
    "%s: three windows long exactly as many calls as fit, and the time of the next is told",
    async (time_window, hours) => {
      await world.addChannel();
      const own = { subject: "token", subject_id: world.token.id } as const;
      await seedLimit(world.ctx, { ...own, kind: "calls", amount: 2, time_window });
      for (let window = 0; window < 3; window += 1) {
        expect(await three()).toEqual([200, 200, 429]);
        const refused = await world.ask(QUESTION);
        const { error } = await refused.json();
        expect(error.resets_at).toBeGreaterThan(clock.seconds());
        expect(error.resets_at).toBeLessThanOrEqual(clock.seconds() + hours * 3_600);
        clock.advance(hours * HOUR_MS);
      }
      // A window in which no call came at all is no different.
      clock.advance(2 * hours * HOUR_MS);
      expect(await three()).toEqual([200, 200, 429]);
    },
  );

  test("a clock that is set back over midnight opens no day that is over, and gives none twice", async () => {
    await world.addChannel();
    const own = { subject: "token", subject_id: world.token.id } as const;
    await seedLimit(world.ctx, { ...own, kind: "calls", amount: 2, time_window: "day" });
    // One o'clock of some night in Shanghai.
    const nowMs = clock.now();
    const midnight = Math.ceil((nowMs + 8 * HOUR_MS) / (24 * HOUR_MS)) * 24 * HOUR_MS - 8 * HOUR_MS;
    clock.advance(midnight + HOUR_MS - nowMs);
    expect(await status()).toBe(200);
    clock.advance(-2 * HOUR_MS);
    expect([await status(), await status()]).toEqual([200, 429]);
    clock.advance(2 * HOUR_MS);
    expect(await status()).toBe(429);
    clock.advance(24 * HOUR_MS);
    expect(await three()).toEqual([200, 200, 429]);
  });
});
