// However much is due at once, an account is asked at most twenty times in any second, and none waits for another's (requirements Y42).
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { databases } from "#test/worlds/app.ts";
import { useEpayWorld } from "#test/worlds/payment-world.ts";
import { EVERY_MS, Pace } from "./pace.ts";

const MOST = 20;
const SECOND_MS = 1_000;

/** A clock that goes on to the next timer once all callers sleep. */
function controlled() {
  let nowMs = 0;
  const sleepers: { readonly atMs: number; readonly wake: () => void }[] = [];
  return {
    timer: {
      now: () => nowMs,
      sleep: (ms: number) => new Promise<void>((wake) => sleepers.push({ atMs: nowMs + ms, wake })),
    },
    /** Lets so much time pass; until no timer is left, when it is not said how much. */
    async pass(ms = Number.POSITIVE_INFINITY): Promise<void> {
      const untilMs = nowMs + ms;
      for (;;) {
        for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
        sleepers.sort((a, b) => a.atMs - b.atMs);
        const isNext = (sleepers[0]?.atMs ?? Number.POSITIVE_INFINITY) <= untilMs;
        const next = isNext ? sleepers.shift() : undefined;
        if (!next) break;
        nowMs = next.atMs;
        next.wake();
      }
      if (Number.isFinite(untilMs)) nowMs = untilMs;
    },
  };
}

/** The most of some times that lie within a second. */
function mostInASecond(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  const after = (from: number) => sorted.filter((at) => at >= from && at < from + SECOND_MS).length;
  return Math.max(0, ...sorted.map(after));
}

test("a hundred questions at once go out one after the other, at most twenty in any second, and another account's at once", async () => {
  const clock = controlled();
  const pace = new Pace(clock.timer);
  const times: number[] = [];
  const other: number[] = [];
  const ask = async (account: number, heard: number[]) => {
    await pace.turn(account);
    heard.push(clock.timer.now());
  };
  for (let turn = 0; turn < 100; turn += 1) void ask(1, times);
  void ask(2, other);
  await clock.pass();
  expect(times).toHaveLength(100);
  expect(mostInASecond(times)).toBeLessThanOrEqual(MOST);
  expect([times[0], times.at(-1), other]).toEqual([0, 99 * EVERY_MS, [0]]);
});

test("whenever questions come, in the background and from people, those in the background keep the pace", async () => {
  const step = fc.record({
    afterMs: fc.integer({ min: 0, max: 200 }),
    turns: fc.integer({ min: 0, max: 12 }),
    people: fc.integer({ min: 0, max: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async (steps) => {
      const clock = controlled();
      const pace = new Pace(clock.timer);
      const times: number[] = [];
      for (const { afterMs, turns, people } of steps) {
        await clock.pass(afterMs);
        for (let turn = 0; turn < people; turn += 1) pace.count(1);
        for (let turn = 0; turn < turns; turn += 1)
          void pace.turn(1).then(() => times.push(clock.timer.now()));
      }
      await clock.pass();
      expect(mostInASecond(times)).toBeLessThanOrEqual(MOST);
    }),
  );
});

test("people who ask all the time hold up what comes in the background by two seconds, not for ever", async () => {
  const clock = controlled();
  const pace = new Pace(clock.timer);
  for (let turn = 0; turn < 10_000; turn += 1) pace.count(1);
  let at = Number.NaN;
  void pace.turn(1).then(() => {
    at = clock.timer.now();
  });
  await clock.pass();
  expect(at).toBe(2_000);
});

describe.each(databases)("the poller on $name", (database) => {
  const world = useEpayWorld(database);

  test("sends what is due of one account at its pace, closing orders and all", async () => {
    const account = await world.site();
    for (let index = 0; index < 8; index += 1) await world.ordered(account);
    const times: number[] = [];
    const { egress } = world.app.ctx;
    const send = egress.send.bind(egress);
    vi.spyOn(egress, "send").mockImplementation((...sent) => {
      times.push(performance.now());
      return send(...sent);
    });
    // At the end of each order it is asked about twice.
    await world.pass(1_801);
    vi.restoreAllMocks();
    expect(times).toHaveLength(16);
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(15 * EVERY_MS * 0.9);
  });
});
