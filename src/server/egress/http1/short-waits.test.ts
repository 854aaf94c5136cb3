// Waits of connections, on a fake clock: none is over too early, none later than a tenth of its time (requirements C41).
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ShortWaits } from "./pool.ts";

/** How often a pool looks at all of its connections. */
const LOOK_MS = 500;

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ["performance", "setTimeout", "clearTimeout", "setInterval", "clearInterval"],
  });
});
afterEach(() => void vi.useRealTimers());

/** What waits as a connection does; `past` = when its waits were over, in ms of the fake clock. */
function watched(offMs = 0) {
  const past: number[] = [];
  let deadlineMs = Infinity;
  const one = {
    check(nowMs: number): number {
      if (deadlineMs > nowMs) return deadlineMs - nowMs;
      past.push(nowMs);
      deadlineMs = Infinity;
      return Infinity;
    },
  };
  const waits = new ShortWaits<typeof one>();
  setTimeout(() => setInterval(() => one.check(performance.now()), LOOK_MS), offMs);
  const wait = (ms: number) => {
    deadlineMs = performance.now() + ms;
    waits.begin(one, ms);
  };
  const pause = () => (deadlineMs = Infinity);
  return { past, wait, pause, end: () => waits.end(one) };
}

test.each([1, 60, 400, 1_999, 2_000, 2_001, 3_000, 5_000, 5_999, 6_000, 6_001, 10_000, 90_000, 120_000])(
  "a wait of %d ms is over within a tenth of it, whenever all are looked at",
  (ms) => {
    for (const offMs of [0, 1, 250, 499]) {
      const { past, wait } = watched(offMs);
      const beginMs = performance.now();
      wait(ms);
      vi.advanceTimersByTime(2 * ms + 2 * LOOK_MS);
      expect(past).toHaveLength(1);
      const tookMs = (past[0] ?? 0) - beginMs;
      expect(tookMs).toBeGreaterThanOrEqual(ms);
      expect(tookMs).toBeLessThanOrEqual(1.1 * ms + 2);
      vi.clearAllTimers();
    }
  },
);

test("each piece begins the wait anew, with one timer", () => {
  const { past, wait } = watched();
  const timers = vi.getTimerCount();
  for (let piece = 0; piece < 1_000; piece += 1) {
    wait(2_000);
    expect(vi.getTimerCount()).toBeLessThanOrEqual(timers + 1);
    vi.advanceTimersByTime(100);
  }
  expect(past).toEqual([]);
  const lastMs = performance.now() - 100;
  vi.advanceTimersByTime(3_000);
  expect(past).toHaveLength(1);
  expect((past[0] ?? 0) - lastMs).toBeLessThanOrEqual(2_200);
});

test("a shorter wait after a longer one is over in its own time", () => {
  const { past, wait } = watched();
  const beginMs = performance.now();
  wait(5_000);
  wait(300);
  vi.advanceTimersByTime(400);
  expect((past[0] ?? Infinity) - beginMs).toBeLessThanOrEqual(330);
});

test("one that is paused is never over, and one that has ended leaves no timer", () => {
  const { past, wait, pause, end } = watched();
  vi.advanceTimersByTime(1);
  const timers = vi.getTimerCount();
  wait(2_000);
  pause();
  vi.advanceTimersByTime(10_000);
  expect([past, vi.getTimerCount()]).toEqual([[], timers]);
  wait(2_000);
  end();
  expect(vi.getTimerCount()).toBe(timers);
});
