import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Cooldowns, type Failure } from "./circuit-breaker.ts";

const BROKEN: Failure = { askedMs: 0, isSaturated: false };
const SATURATED: Failure = { askedMs: 0, isSaturated: true };
const asked = (askedMs: number): Failure => ({ askedMs, isSaturated: true });

/** One channel and one model, with a clock that is moved by hand. */
function world() {
  const cooldowns = new Cooldowns();
  let now = 1_800_000_000_000;
  const call = () => cooldowns.calling(1, "m", now);
  return {
    cooldowns,
    call,
    wait: (ms: number) => {
      now += ms;
    },
    isCooling: () => cooldowns.cooling("m", now)?.(1) === true,
    isRemembered: () => cooldowns.cooling("m", now) !== undefined,
    answer: (ticket = call()) => cooldowns.answered(1, "m", ticket, now),
    fail: (failure = BROKEN, ticket = call()) => cooldowns.failed(1, "m", failure, { ticket, now }),
    end: (ticket = call()) => cooldowns.ended(1, "m", ticket),
  };
}

/** A channel that rests for ten seconds. */
function resting() {
  const it = world();
  for (let round = 0; round < 3; round += 1) it.fail();
  return it;
}

describe("a channel begins to rest", () => {
  it("after three failures in a row", () => {
    const { fail, answer, isCooling, wait } = world();
    fail();
    fail();
    answer();
    fail();
    fail();
    expect(isCooling()).toBe(false);
    fail();
    expect(isCooling()).toBe(true);
    wait(9_999);
    expect(isCooling()).toBe(true);
    wait(1);
    expect(isCooling()).toBe(false);
  });

  it("when half of the last minute's results are failures, ten results at least", () => {
    const { fail, answer, isCooling } = world();
    for (let round = 0; round < 4; round += 1) {
      fail();
      answer();
    }
    fail();
    expect(isCooling()).toBe(false);
    answer();
    fail();
    expect(isCooling()).toBe(true);
  });

  it("not for failures that are more than a minute apart", () => {
    const { fail, answer, isCooling, wait } = world();
    for (let round = 0; round < 50; round += 1) {
      fail();
      answer();
      wait(15_000);
    }
    expect(isCooling()).toBe(false);
  });

  it("at once when it is saturated, for as long as it asks, at most five minutes", () => {
    const short = world();
    short.fail(SATURATED);
    expect(short.isCooling()).toBe(true);
    short.wait(2_000);
    expect(short.isCooling()).toBe(false);
    const long = world();
    long.fail(asked(42_000));
    long.wait(41_999);
    expect(long.isCooling()).toBe(true);
    long.wait(1);
    expect(long.isCooling()).toBe(false);
    const endless = world();
    endless.fail(asked(3_600_000));
    endless.wait(299_999);
    expect(endless.isCooling()).toBe(true);
    endless.wait(1);
    expect(endless.isCooling()).toBe(false);
  });

  it("for the model that failed only, and apart from other channels", () => {
    const { cooldowns } = resting();
    expect(cooldowns.cooling("other", 1_800_000_000_000)).toBeUndefined();
    expect(cooldowns.cooling("m", 1_800_000_000_000)?.(2)).toBe(false);
  });
});

describe("after a rest", () => {
  it("one call is let through; its success ends it all", () => {
    const { wait, call, isCooling, answer, isRemembered } = resting();
    wait(10_000);
    expect(isCooling()).toBe(false);
    const probe = call();
    expect(isCooling()).toBe(true);
    answer(probe);
    expect(isCooling()).toBe(false);
    expect(isRemembered()).toBe(false);
  });

  it("a failure of the probe doubles the rest, up to five minutes", () => {
    const { wait, fail, isCooling } = resting();
    for (const restMs of [10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]) {
      wait(restMs - 1);
      expect(isCooling()).toBe(true);
      wait(1);
      expect(isCooling()).toBe(false);
      fail();
    }
  });

  it("the upstream's own word stands above doubling", () => {
    const { wait, fail, isCooling } = resting();
    wait(10_000);
    fail(asked(3_000));
    wait(2_999);
    expect(isCooling()).toBe(true);
    wait(1);
    expect(isCooling()).toBe(false);
  });

  it("a probe whose caller was to blame makes way for another", () => {
    const { wait, call, end, isCooling } = resting();
    wait(10_000);
    const probe = call();
    expect(isCooling()).toBe(true);
    end(probe);
    expect(isCooling()).toBe(false);
  });

  it("a probe that never ends keeps others out for two minutes", () => {
    const { wait, call, isCooling } = resting();
    wait(10_000);
    call();
    wait(119_999);
    expect(isCooling()).toBe(true);
    wait(1);
    expect(isCooling()).toBe(false);
  });
});

describe("a step back of the clock", () => {
  it("keeps a channel at rest no longer than the longest rest", () => {
    const { wait, isCooling } = resting();
    wait(-7_200_000);
    expect(isCooling()).toBe(true);
    wait(299_999);
    expect(isCooling()).toBe(true);
    wait(1);
    expect(isCooling()).toBe(false);
  });

  it("keeps others out for a probe no longer than a probe may take", () => {
    const { wait, call, isCooling } = resting();
    wait(10_000);
    call();
    wait(-7_200_000);
    expect(isCooling()).toBe(true);
    wait(300_000);
    expect(isCooling()).toBe(false);
  });
});

describe("calls that began before the rest", () => {
  it("neither end it nor make it longer", () => {
    const { call, fail, answer, isCooling, wait } = world();
    const old = call();
    for (let round = 0; round < 3; round += 1) fail();
    answer(old);
    expect(isCooling()).toBe(true);
    fail(BROKEN, old);
    wait(10_000);
    expect(isCooling()).toBe(false);
    fail(BROKEN, old);
    expect(isCooling()).toBe(false);
  });

  it("a call made in spite of it, for want of another channel, ends it when it is answered", () => {
    const { call, fail, answer, isCooling } = resting();
    const forced = call();
    fail();
    answer(forced);
    expect(isCooling()).toBe(false);
  });
});

it("remembers nothing of what is healthy", () => {
  const { answer, fail, end, isRemembered, wait } = world();
  for (let round = 0; round < 100; round += 1) answer();
  end();
  expect(isRemembered()).toBe(false);
  fail();
  expect(isRemembered()).toBe(true);
  wait(60_000);
  answer();
  expect(isRemembered()).toBe(false);
});

it("forgets lines that nobody has asked for in a long time", () => {
  const cooldowns = new Cooldowns();
  for (let model = 0; model < 512; model += 1)
    cooldowns.failed(1, `m${model}`, BROKEN, { ticket: 0, now: 1_000_000 });
  expect(cooldowns.cooling("m0", 1_000_000)).toBeDefined();
  cooldowns.failed(1, "one more", BROKEN, { ticket: 0, now: 2_000_000 });
  expect(cooldowns.cooling("m0", 2_000_000)).toBeUndefined();
  expect(cooldowns.cooling("one more", 2_000_000)).toBeDefined();
});

type Step =
  | { readonly kind: "call" }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "answered" | "failed" | "ended"; readonly which: number; readonly failure: Failure };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("call" as const) }),
  fc.record({ kind: fc.constant("wait" as const), ms: fc.nat(40_000) }),
  fc.record({
    kind: fc.constantFrom("answered" as const, "failed" as const, "ended" as const),
    which: fc.nat(20),
    failure: fc.record({ askedMs: fc.constantFrom(0, 0, 500, 400_000), isSaturated: fc.boolean() }),
  }),
);

/** Takes one step. Returns the ticket of a call; undefined for any other step. */
function take(one: Step, it: ReturnType<typeof world>, tickets: number[]): number | undefined {
  if (one.kind === "wait") it.wait(one.ms);
  else if (one.kind === "call") return it.call();
  else {
    const ticket = tickets.splice(one.which % (tickets.length || 1), 1)[0] ?? 0;
    if (one.kind === "answered") it.answer(ticket);
    else if (one.kind === "ended") it.end(ticket);
    else it.fail(one.failure, ticket);
  }
  return undefined;
}

it("whatever happens in whatever order: rests are bounded, and one probe at a time gets through", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const line = world();
      const tickets: number[] = [];
      for (const one of steps) {
        const wasCooling = line.isCooling();
        const ticket = take(one, line, tickets);
        if (ticket !== undefined) {
          tickets.push(ticket);
          // A ticket that is not 0 is the probe, or was taken during a rest: either way nobody else is sent there.
          expect(line.isCooling()).toBe(ticket !== 0);
        }
        // Only a call or a failure closes a channel to others.
        if (one.kind !== "call" && one.kind !== "failed") expect(line.isCooling() && !wasCooling).toBe(false);
      }
      // Left in peace, everything is given another chance within five minutes.
      line.wait(300_000);
      expect(line.isCooling()).toBe(false);
    }),
    { numRuns: 500 },
  );
});

describe("a channel that is forgotten", () => {
  it("is whole at once, for every model", () => {
    const { cooldowns, isCooling } = resting();
    cooldowns.failed(1, "other", SATURATED, { ticket: 0, now: 1_800_000_000_000 });
    cooldowns.failed(2, "other", SATURATED, { ticket: 0, now: 1_800_000_000_000 });
    cooldowns.forget(1);
    expect(isCooling()).toBe(false);
    expect(cooldowns.cooling("other", 1_800_000_000_000)?.(1)).toBe(false);
    expect(cooldowns.cooling("other", 1_800_000_000_000)?.(2)).toBe(true);
    cooldowns.forget(2);
    expect(cooldowns.isEmpty).toBe(true);
  });

  it("is not judged by calls that began before", () => {
    const { cooldowns, call, fail, wait, isCooling, answer } = resting();
    wait(10_000);
    const old = call();
    cooldowns.forget(1);
    fail(SATURATED);
    answer(old);
    expect(isCooling()).toBe(true);
  });
});
