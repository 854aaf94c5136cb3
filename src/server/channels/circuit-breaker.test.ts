import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CircuitBreakers, type Failure } from "./circuit-breakers.ts";

const BROKEN: Failure = { askedMs: 0, isSaturated: false };
const SATURATED: Failure = { askedMs: 0, isSaturated: true };
const asked = (askedMs: number): Failure => ({ askedMs, isSaturated: true });

/** One channel and one model, with a clock that is moved by hand. */
function world() {
  const circuits = new CircuitBreakers();
  let now = 1_800_000_000_000;
  const call = () => circuits.calling(1, "m", now);
  return {
    circuits,
    call,
    wait: (ms: number) => {
      now += ms;
    },
    isOpen: () => circuits.openFor("m", now)?.(1) === true,
    isRemembered: () => circuits.openFor("m", now) !== undefined,
    answer: (permit = call()) => circuits.answered(1, "m", permit, now),
    fail: (failure = BROKEN, permit = call()) => circuits.failed(1, "m", failure, { permit, now }),
    end: (permit = call()) => circuits.ended(1, "m", permit),
  };
}

/** A circuit that is open for ten seconds. */
function opened() {
  const it = world();
  for (let round = 0; round < 3; round += 1) it.fail();
  return it;
}

describe("a circuit opens", () => {
  it("after three failures in a row", () => {
    const { fail, answer, isOpen, wait } = world();
    fail();
    fail();
    answer();
    fail();
    fail();
    expect(isOpen()).toBe(false);
    fail();
    expect(isOpen()).toBe(true);
    wait(9_999);
    expect(isOpen()).toBe(true);
    wait(1);
    expect(isOpen()).toBe(false);
  });

  it("when half of the last minute's results are failures, ten results at least", () => {
    const { fail, answer, isOpen } = world();
    for (let round = 0; round < 4; round += 1) {
      fail();
      answer();
    }
    fail();
    expect(isOpen()).toBe(false);
    answer();
    fail();
    expect(isOpen()).toBe(true);
  });

  it("not for failures that are more than a minute apart", () => {
    const { fail, answer, isOpen, wait } = world();
    for (let round = 0; round < 50; round += 1) {
      fail();
      answer();
      wait(15_000);
    }
    expect(isOpen()).toBe(false);
  });

  it("at once when the upstream is saturated, for as long as it asks, at most five minutes", () => {
    const short = world();
    short.fail(SATURATED);
    expect(short.isOpen()).toBe(true);
    short.wait(2_000);
    expect(short.isOpen()).toBe(false);
    const long = world();
    long.fail(asked(42_000));
    long.wait(41_999);
    expect(long.isOpen()).toBe(true);
    long.wait(1);
    expect(long.isOpen()).toBe(false);
    const endless = world();
    endless.fail(asked(3_600_000));
    endless.wait(299_999);
    expect(endless.isOpen()).toBe(true);
    endless.wait(1);
    expect(endless.isOpen()).toBe(false);
  });

  it("only for the model that failed, and apart from other channels", () => {
    const { circuits } = opened();
    expect(circuits.openFor("other", 1_800_000_000_000)).toBeUndefined();
    expect(circuits.openFor("m", 1_800_000_000_000)?.(2)).toBe(false);
  });
});

describe("a half-open circuit", () => {
  it("lets one call through; its success closes the circuit", () => {
    const { wait, call, isOpen, answer, isRemembered } = opened();
    wait(10_000);
    expect(isOpen()).toBe(false);
    const probe = call();
    expect(isOpen()).toBe(true);
    answer(probe);
    expect(isOpen()).toBe(false);
    expect(isRemembered()).toBe(false);
  });

  it("opens for twice as long after a failed probe, up to five minutes", () => {
    const { wait, fail, isOpen } = opened();
    for (const openMs of [10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]) {
      wait(openMs - 1);
      expect(isOpen()).toBe(true);
      wait(1);
      expect(isOpen()).toBe(false);
      fail();
    }
  });

  it("opens for as long as the upstream asks, rather than twice as long", () => {
    const { wait, fail, isOpen } = opened();
    wait(10_000);
    fail(asked(3_000));
    wait(2_999);
    expect(isOpen()).toBe(true);
    wait(1);
    expect(isOpen()).toBe(false);
  });

  it("lets another probe through when the caller of the first was to blame", () => {
    const { wait, call, end, isOpen } = opened();
    wait(10_000);
    const probe = call();
    expect(isOpen()).toBe(true);
    end(probe);
    expect(isOpen()).toBe(false);
  });

  it("keeps other calls away for two minutes when its probe never ends", () => {
    const { wait, call, isOpen } = opened();
    wait(10_000);
    call();
    wait(119_999);
    expect(isOpen()).toBe(true);
    wait(1);
    expect(isOpen()).toBe(false);
  });
});

describe("a step back of the clock", () => {
  it("keeps a circuit open no longer than the longest time", () => {
    const { wait, isOpen } = opened();
    wait(-7_200_000);
    expect(isOpen()).toBe(true);
    wait(299_999);
    expect(isOpen()).toBe(true);
    wait(1);
    expect(isOpen()).toBe(false);
  });

  it("keeps other calls away no longer than a probe may take", () => {
    const { wait, call, isOpen } = opened();
    wait(10_000);
    call();
    wait(-7_200_000);
    expect(isOpen()).toBe(true);
    wait(300_000);
    expect(isOpen()).toBe(false);
  });
});

describe("calls that began before the circuit opened", () => {
  it("neither close it nor keep it open longer", () => {
    const { call, fail, answer, isOpen, wait } = world();
    const old = call();
    for (let round = 0; round < 3; round += 1) fail();
    answer(old);
    expect(isOpen()).toBe(true);
    fail(BROKEN, old);
    wait(10_000);
    expect(isOpen()).toBe(false);
    fail(BROKEN, old);
    expect(isOpen()).toBe(false);
  });

  it("a call made while it is open, for want of another channel, closes it when it is answered", () => {
    const { call, fail, answer, isOpen } = opened();
    const forced = call();
    fail();
    answer(forced);
    expect(isOpen()).toBe(false);
  });
});

it("remembers nothing about healthy channels", () => {
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

it("forgets circuits whose last failure was long ago", () => {
  const circuits = new CircuitBreakers();
  for (let model = 0; model < 512; model += 1)
    circuits.failed(1, `m${model}`, BROKEN, { permit: 0, now: 1_000_000 });
  expect(circuits.openFor("m0", 1_000_000)).toBeDefined();
  circuits.failed(1, "one more", BROKEN, { permit: 0, now: 2_000_000 });
  expect(circuits.openFor("m0", 2_000_000)).toBeUndefined();
  expect(circuits.openFor("one more", 2_000_000)).toBeDefined();
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

/** Takes one step. Returns the permit of a call; undefined for any other step. */
function take(one: Step, it: ReturnType<typeof world>, permits: number[]): number | undefined {
  if (one.kind === "wait") it.wait(one.ms);
  else if (one.kind === "call") return it.call();
  else {
    const permit = permits.splice(one.which % (permits.length || 1), 1)[0] ?? 0;
    if (one.kind === "answered") it.answer(permit);
    else if (one.kind === "ended") it.end(permit);
    else it.fail(one.failure, permit);
  }
  return undefined;
}

it("whatever happens in whatever order: circuits are open for a bounded time, and one probe at a time gets through", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const circuit = world();
      const permits: number[] = [];
      for (const one of steps) {
        const wasOpen = circuit.isOpen();
        const permit = take(one, circuit, permits);
        if (permit !== undefined) {
          permits.push(permit);
          // A permit that is not 0 is the probe's, or was given while the circuit was open: either way no other call gets through.
          expect(circuit.isOpen()).toBe(permit !== 0);
        }
        // Only a call or a failure opens a circuit.
        if (one.kind !== "call" && one.kind !== "failed") expect(circuit.isOpen() && !wasOpen).toBe(false);
      }
      // Without further calls, a circuit is half-open or closed within five minutes.
      circuit.wait(300_000);
      expect(circuit.isOpen()).toBe(false);
    }),
    { numRuns: 500 },
  );
});

describe("a channel that is forgotten", () => {
  it("has closed circuits at once, for every model", () => {
    const { circuits, isOpen } = opened();
    circuits.failed(1, "other", SATURATED, { permit: 0, now: 1_800_000_000_000 });
    circuits.failed(2, "other", SATURATED, { permit: 0, now: 1_800_000_000_000 });
    circuits.forget(1);
    expect(isOpen()).toBe(false);
    expect(circuits.openFor("other", 1_800_000_000_000)?.(1)).toBe(false);
    expect(circuits.openFor("other", 1_800_000_000_000)?.(2)).toBe(true);
    circuits.forget(2);
    expect(circuits.size).toBe(0);
  });

  it("is not judged by calls that began before", () => {
    const { circuits, call, fail, wait, isOpen, answer } = opened();
    wait(10_000);
    const old = call();
    circuits.forget(1);
    fail(SATURATED);
    answer(old);
    expect(isOpen()).toBe(true);
  });
});
