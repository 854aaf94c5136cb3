// Windows of limits as the rules judge, reset and forget them, without a database.
import { describe, expect, test } from "vitest";
import type { LimitWindow } from "#contract/limit-words.ts";
import { addWindow, type LimitBook, noLimits, type Reservation, type WindowBook } from "./rows.ts";
import {
  bookHolds,
  extendHolds,
  holdAll,
  judgeLimits,
  releaseHolds,
  resetOf,
  swapHolds,
  tightestRests,
  usageOf,
  usagesOf,
} from "./rules-limits.ts";

const NOW = Date.parse("2026-11-25T10:00:00Z") / 1000;
const MIDNIGHT = Date.parse("2026-11-26T00:00:00Z") / 1000;
const HOUR = 3600;
const REF = { limitId: 1, holder: 0 };

function ruleOf(window: LimitWindow, change: Partial<LimitBook> = {}): LimitBook {
  const rule = { id: 1, isCalls: false, amount: 10n, window, anchor: 1, isSoft: false };
  return { ...rule, boostAmount: 0n, boostUntil: 0, since: NOW - 100 * HOUR, ...change };
}

function deskOf(rule: LimitBook, book?: Partial<WindowBook>) {
  const limits = noLimits();
  limits.rules.set(1, rule);
  const empty = { ...REF, start: NOW - HOUR, spent: 0n, reserved: 0n, slices: new Map(), isCurrent: true };
  if (book) addWindow(limits, { ...empty, ...book });
  return { limits, nowSec: NOW, changes: { windows: new Set<WindowBook>() } };
}

function holding(change: object = {}): Reservation {
  const holds = [{ ...REF, start: NOW - HOUR, slice: 0, isCalls: false, ...change }];
  return { holds, amount: 3n } as unknown as Reservation;
}

describe("when a window is over", () => {
  test("without a time zone days are those of UTC", () => {
    const rule = ruleOf("day");
    const left = { rule, book: undefined, zone: undefined, nowSec: NOW, excess: 1n };
    expect(resetOf(left)).toBe(MIDNIGHT);
    const desk = deskOf(rule, { start: MIDNIGHT - 24 * HOUR, spent: 9n });
    expect(usageOf(desk, { rule, ref: REF, zone: undefined }).used).toBe(9n);
    const order = { amount: 2n, limits: [REF], zone: undefined };
    expect(judgeLimits(desk, usagesOf(desk, order), order)).toMatchObject({
      used: 9n,
      resetsAt: MIDNIGHT,
      canFit: true,
    });
  });

  test("a clock that was set back over midnight opens no window that is over, and nothing resets what is counted", () => {
    const rule = ruleOf("day");
    const desk = deskOf(rule, { start: MIDNIGHT, spent: 9n });
    const usage = { rule, ref: REF, zone: undefined };
    const order = { amount: 2n, limits: [REF], zone: undefined };
    for (const nowSec of [MIDNIGHT + HOUR, MIDNIGHT - 1, NOW]) {
      expect(usageOf({ ...desk, nowSec }, usage).used).toBe(9n);
      expect(judgeLimits({ ...desk, nowSec }, usagesOf({ ...desk, nowSec }, order), order)).toMatchObject({
        used: 9n,
      });
    }
    expect(usageOf({ ...desk, nowSec: MIDNIGHT + 24 * HOUR }, usage).used).toBe(0n);
  });

  test("another zone or window begins with nothing when it is set, what was spent before does not fill it", () => {
    const old = { start: MIDNIGHT - 24 * HOUR, spent: 9n };
    const usage = (rule: LimitBook, zone: string) =>
      usageOf(deskOf(rule, old), { rule, ref: REF, zone }).used;
    expect(usage(ruleOf("day"), "UTC")).toBe(9n);
    expect(usage(ruleOf("week", { since: NOW }), "UTC")).toBe(0n);
    // In Shanghai it is eighteen o'clock of a day that began at sixteen of UTC's day before, in New York five o'clock.
    for (const zone of ["Asia/Shanghai", "America/New_York", "UTC"])
      expect(usage(ruleOf("day", { since: NOW }), zone)).toBe(0n);
  });

  test("a node that has not heard of another zone yet counts in the window that began with it", () => {
    const rule = ruleOf("day", { since: NOW });
    const desk = { ...deskOf(rule, { start: NOW, spent: 4n }), nowSec: NOW + HOUR };
    for (const zone of ["UTC", "Asia/Shanghai", "America/New_York"])
      expect(usageOf(desk, { rule, ref: REF, zone }).used).toBe(4n);
  });

  test("a session is over five hours after its first call, and begins anew then", () => {
    const rule = ruleOf("session");
    const ask = { rule, zone: undefined, nowSec: NOW, excess: 1n };
    const [running, over] = [deskOf(rule, { spent: 9n }), deskOf(rule, { start: NOW - 6 * HOUR, spent: 9n })];
    const book = running.limits.current.values().next().value;
    expect(resetOf({ ...ask, book })).toBe(NOW + 4 * HOUR);
    expect(resetOf({ ...ask, book: undefined })).toBe(NOW + 5 * HOUR);
    const usage = { rule, ref: REF, zone: undefined };
    expect([usageOf(running, usage).used, usageOf(over, usage).used]).toEqual([9n, 0n]);
  });

  test("a rolling one forgets step by step; what running calls hold is asked for again after one step", () => {
    const rule = ruleOf("rolling_5h");
    const slices = new Map([
      [NOW - 9 * HOUR, 7n],
      [NOW - 2 * HOUR, 1n],
      [NOW - HOUR, 4n],
    ]);
    const desk = deskOf(rule, { start: rule.since, slices });
    const book = desk.limits.current.values().next().value;
    const ask = { rule, book, zone: undefined, nowSec: NOW };
    const [one, two, more] = [1n, 2n, 9n].map((excess) => resetOf({ ...ask, excess }));
    expect(two).toBe((one ?? 0) + HOUR);
    expect(more).toBeLessThan(one ?? 0);
    expect(resetOf({ ...ask, book: undefined, excess: 1n })).toBe(more);
    // What was spent nine hours ago counts no more.
    expect(usageOf(desk, { rule, ref: REF, zone: undefined }).used).toBe(5n);
  });
});

describe("a call that has no room for more", () => {
  test("is told of the window it began in, though another one has begun", () => {
    const desk = deskOf(ruleOf("day"), { start: NOW - HOUR, spent: 4n, reserved: 3n });
    const more = { more: 4n, zone: "UTC" };
    const refusal = { ...REF, amount: 10n, used: 7n, resetsAt: MIDNIGHT, canFit: true };
    expect(extendHolds(desk, holding(), more)).toEqual(refusal);
    const tomorrow = { ...desk, nowSec: MIDNIGHT + HOUR };
    expect(extendHolds(tomorrow, holding(), more)).toEqual(refusal);
    expect(extendHolds(desk, holding(), { ...more, more: 99n })).toEqual(refusal);
    expect(extendHolds(desk, holding(), { ...more, more: 3n })).toBeUndefined();
  });

  test("is told when a rolling one has forgotten enough", () => {
    const slices = new Map([[NOW - 2 * HOUR, 7n]]);
    const desk = deskOf(ruleOf("rolling_5h"), { start: NOW - HOUR, slices, reserved: 3n });
    expect(extendHolds(desk, holding(), { more: 1n, zone: "UTC" })).toMatchObject({
      resetsAt: NOW + 3 * HOUR + HOUR / 12,
    });
  });
});

describe("several limits of a call", () => {
  const zone = "UTC";
  /** Budgets of 10 that nothing is counted in yet, by their windows; the ids are 1, 2 … */
  const deskOfMany = (...windows: readonly LimitWindow[]) => {
    const desk = deskOf(ruleOf("day"));
    for (const [at, window] of windows.entries())
      desk.limits.rules.set(at + 1, ruleOf(window, { id: at + 1 }));
    return { desk, limits: windows.map((_, at) => ({ limitId: at + 1, holder: 0 })) };
  };

  test("the tightest is told: of equal ones the one that takes longest, then the first", () => {
    const told = (...windows: readonly LimitWindow[]) => {
      const { desk, limits } = deskOfMany(...windows);
      return tightestRests(desk, usagesOf(desk, { limits, zone }), zone).map(({ limitId }) => limitId);
    };
    expect(told("day", "month")).toEqual([2]);
    expect(told("month", "day")).toEqual([1]);
    expect(told("day", "day")).toEqual([1]);
    const { desk, limits } = deskOfMany("month", "day", "day");
    desk.limits.rules.set(2, ruleOf("day", { id: 2, amount: 9n }));
    desk.limits.rules.set(3, ruleOf("day", { id: 3, isCalls: true }));
    const rests = tightestRests(desk, usagesOf(desk, { limits, zone }), zone);
    expect(rests).toMatchObject([
      { limitId: 3, isCalls: true, left: 10n },
      { limitId: 2, isCalls: false, left: 9n, resetsAt: MIDNIGHT },
    ]);
  });

  test("what a call holds is told as used, also in a window that it begins, and one that is named twice has one window", () => {
    const { desk, limits } = deskOfMany("session");
    const order = { amount: 3n, limits: [...limits, ...limits], zone };
    const usages = usagesOf(desk, order);
    const holds = holdAll(desk, usages, order);
    expect(holds).toHaveLength(2);
    expect(holds[0]).toBe(holds[1]);
    expect([...desk.limits.windows.values()]).toMatchObject([{ start: NOW, reserved: 6n }]);
    const [rest] = tightestRests(desk, usages.slice(0, 1), zone);
    expect(rest).toMatchObject({ left: 7n, resetsAt: NOW + 5 * HOUR });
    // The next call that holds the same shares the list.
    expect(holdAll(desk, usagesOf(desk, order), order)).toBe(holds);
    expect(holdAll(desk, usagesOf(desk, { limits, zone }), order)).not.toBe(holds);
  });
});

describe("limits that are removed or unknown meanwhile", () => {
  test("no call is refused by one, and what was set aside in it changes nothing", () => {
    const desk = deskOf(ruleOf("total"));
    const order = { amount: 1n, limits: [{ limitId: 2, holder: 0 }], zone: undefined };
    expect(judgeLimits(desk, usagesOf(desk, order), order)).toBeUndefined();
    expect(usagesOf(desk, { limits: undefined, zone: undefined })).toEqual([]);
    expect(extendHolds(desk, holding(), { more: 5n, zone: undefined })).toBeUndefined();
    releaseHolds(desk, holding());
    expect(desk.changes.windows.size).toBe(0);
  });

  test("a rolling window's steps are kept when its limit is gone, and one's old steps go", () => {
    const desk = deskOf(ruleOf("rolling_day"), { reserved: 3n, slices: new Map([[NOW - 99 * HOUR, 1n]]) });
    const book = desk.limits.current.values().next().value;
    desk.limits.rules.clear();
    bookHolds(desk, holding({ slice: NOW }), 2n);
    expect([...(book?.slices ?? [])]).toEqual([
      [NOW - 99 * HOUR, 1n],
      [NOW, 2n],
    ]);
    desk.limits.rules.set(1, ruleOf("rolling_day"));
    bookHolds(desk, holding({ slice: NOW, isCalls: true }), 2n);
    expect([...(book?.slices ?? [])]).toEqual([[NOW, 3n]]);
  });
});

describe("the windows of a call's channel", () => {
  const swap = { take: [REF], drop: [], zone: "UTC" };
  const deskWith = (change: Partial<LimitBook> = {}) => {
    const desk = deskOf(ruleOf("total", { isSoft: true, since: NOW - HOUR, ...change }), { spent: 5n });
    return { ...desk, changes: { ...desk.changes, planned: new Set<Reservation>() } };
  };
  const open = (): Reservation => ({ holds: [], parts: [], amount: 3n }) as unknown as Reservation;

  test("a soft limit refuses a call that has not begun, and nothing changes then", () => {
    const [desk, call] = [deskWith({ amount: 7n }), open()];
    expect(swapHolds(desk, call, swap)).toMatchObject({ limitId: 1, used: 5n, canFit: true });
    expect([call.holds, desk.changes.planned.size, desk.changes.windows.size]).toEqual([[], 0, 0]);
  });

  test("it is held once, however often it is asked for, and given back when another channel is called", () => {
    const [desk, call] = [deskWith(), open()];
    const book = desk.limits.current.values().next().value;
    for (let time = 0; time < 2; time += 1) expect(swapHolds(desk, call, swap)).toBeUndefined();
    expect([call.holds.length, book?.reserved]).toEqual([1, 3n]);
    expect(swapHolds(desk, call, { ...swap, take: [], drop: [REF] })).toBeUndefined();
    expect([call.holds, book?.reserved, desk.changes.planned.has(call)]).toEqual([[], 0n, true]);
  });

  test("a limit that is gone is passed over", () => {
    const [desk, call] = [deskWith(), open()];
    desk.limits.rules.clear();
    expect(swapHolds(desk, call, swap)).toBeUndefined();
    expect(call.holds).toEqual([]);
  });
});
