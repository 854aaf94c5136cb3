import { expect, test, vi } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { StoreError, type StoreFaultKind } from "#server/store/fault.ts";
import { createDice } from "#test/seeds/random.ts";
import type { LedgerBackend, Tell } from "./backend.ts";
import { createGroupCommit } from "./group-commit.ts";
import type { Batch, Operation, Outcome } from "./operations.ts";

const call = (requestId: string, kind: "reserve" | "release" = "reserve"): Operation =>
  kind === "reserve"
    ? { kind, requestId, userId: 1, tokenId: 0, amount: 1n, modelName: "m" }
    : { kind, requestId, userId: 1, tokenId: 0 };

const reserved = { kind: "reserve", verdict: "reserved" } as const;

/** A ledger backend that answers by script and remembers the request ids of each batch. */
function scripted(answer: (batch: Batch, turn: number) => Promise<void> | undefined) {
  const batches: string[][] = [];
  const backend: LedgerBackend = {
    async run(batch, tell) {
      batches.push(batch.operations.map((operation) => operation.requestId));
      await answer(batch, batches.length);
      for (const index of batch.operations.keys()) tell(index, reserved);
    },
    renewLease: () => Promise.resolve(),
    dropLease: () => Promise.resolve(),
    expireLeases: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
  const clock = fakeClock();
  const givenUp: string[] = [];
  const onGivenUp = ({ requestId }: Operation) => void givenUp.push(requestId);
  return { batches, clock, givenUp, groups: createGroupCommit({ backend, clock, node: "n", onGivenUp }) };
}

const fail = (kind: StoreFaultKind) => Promise.reject(new StoreError(kind, kind));

test("what arrives together is one transaction, what arrives meanwhile is the next", async () => {
  let release = () => {};
  const { groups, batches } = scripted((_batch, turn) =>
    turn === 1 ? new Promise((resolve) => (release = () => resolve())) : undefined,
  );
  const first = [groups.submit(call("a")), groups.submit(call("b"))];
  await expect.poll(() => batches).toHaveLength(1);
  const later = ["c", "d", "e"].map((id) => groups.submit(call(id)));
  release();
  await Promise.all([...first, ...later]);
  expect(batches).toEqual([
    ["a", "b"],
    ["c", "d", "e"],
  ]);
});

test("as long as each turn of the loop brings more, it is waited for; then no call waits longer", async () => {
  const { groups, batches } = scripted(() => undefined);
  const calls = [groups.submit(call("0"))];
  for (let turn = 1; turn <= 5; turn += 1) {
    await new Promise(setImmediate);
    calls.push(groups.submit(call(String(turn))));
  }
  expect(batches).toEqual([]);
  await Promise.all(calls);
  expect(batches).toEqual([["0", "1", "2", "3", "4", "5"]]);
});

test("as many as share a commit well wait for no others, and a single call does not wait", async () => {
  const { groups, batches } = scripted(() => undefined);
  const many = Array.from({ length: 64 }, (_, index) => groups.submit(call(String(index))));
  // One turn, where fewer would have waited for a second.
  await new Promise(setImmediate);
  expect(batches.map((batch) => batch.length)).toEqual([64]);
  await Promise.all(many);
  const alone = groups.submit(call("alone"), { isAlone: true });
  expect(batches).toHaveLength(2);
  await alone;
});

test("what may wait shares the transaction of what comes next, and is not forgotten when nothing comes", async () => {
  const { groups, batches } = scripted(() => undefined);
  const patient = groups.submit(call("a"), { mayWait: true });
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  expect(batches).toEqual([]);
  await Promise.all([patient, groups.submit(call("b"))]);
  expect(batches).toEqual([["a", "b"]]);
  await groups.submit(call("c"), { mayWait: true });
  expect(batches).toEqual([["a", "b"], ["c"]]);
});

test("what may wait does so beside a running group too, but not for the end", async () => {
  let release = () => {};
  const { groups, batches } = scripted((_batch, turn) =>
    turn === 1 ? new Promise((resolve) => (release = () => resolve())) : undefined,
  );
  const first = groups.submit(call("a"));
  await expect.poll(() => batches).toHaveLength(1);
  const patient = groups.submit(call("b"), { mayWait: true });
  release();
  await first;
  expect(batches).toEqual([["a"]]);
  const closed = groups.close();
  await Promise.all([patient, closed]);
  expect(batches).toEqual([["a"], ["b"]]);
});

test("what was to wait and went with others before its time leaves nothing behind that would stop later operations", async () => {
  let release = () => {};
  const { groups, batches } = scripted((_batch, turn) =>
    turn === 1 ? new Promise((resolve) => (release = () => resolve())) : undefined,
  );
  const first = groups.submit(call("a"));
  await expect.poll(() => batches).toHaveLength(1);
  const others = [groups.submit(call("b"), { mayWait: true }), groups.submit(call("c"))];
  release();
  await Promise.all([first, ...others]);
  // The time of the waiting operation passes after it is gone.
  await new Promise((resolve) => setTimeout(resolve, 20));
  await groups.submit(call("d"));
  await groups.submit(call("e"), { mayWait: true });
  expect(batches).toEqual([["a"], ["b", "c"], ["d"], ["e"]]);
});

test("every operation is answered, whenever it arrives and however urgent it is", async () => {
  const roll = createDice(7);
  const pause = () =>
    new Promise((resolve) => (roll(2) === 0 ? setTimeout(resolve, roll(7)) : setImmediate(resolve)));
  const { groups, batches } = scripted(async () => void (await pause()));
  const answers: Promise<Outcome>[] = [];
  for (let at = 0; at < 600; at += 1) {
    answers.push(groups.submit(call(String(at)), { mayWait: roll(2) === 0, isAlone: roll(4) === 0 }));
    if (roll(3) > 0) await pause();
  }
  await Promise.all(answers);
  expect(
    batches
      .flat()
      .map(Number)
      .toSorted((a, b) => a - b),
  ).toEqual(answers.map((_, at) => at));
});

test("a transaction carries at most 512", async () => {
  const { groups, batches } = scripted(() => undefined);
  await Promise.all(Array.from({ length: 1_100 }, (_, index) => groups.submit(call(String(index)))));
  expect(batches.map((batch) => batch.length)).toEqual([512, 512, 76]);
});

test.each(["busy", "lost"] as const)("tries the whole group again when it was %s", async (kind) => {
  const { groups, batches } = scripted((_batch, turn) => (turn <= 2 ? fail(kind) : undefined));
  expect(await Promise.all([groups.submit(call("a")), groups.submit(call("b"), { isOwed: true })])).toEqual([
    reserved,
    reserved,
  ]);
  expect(batches).toEqual([
    ["a", "b"],
    ["a", "b"],
    ["a", "b"],
  ]);
});

test("a caller that is answered first goes on first, and its operation does not run again when the others fail", async () => {
  const batches: string[][] = [];
  const waits: (() => void)[] = [];
  const backend = {
    async run({ operations }: Batch, tell: Tell) {
      batches.push(operations.map(({ requestId }) => requestId));
      for (const [index, { kind }] of operations.entries()) if (kind === "reserve") tell(index, reserved);
      await new Promise<void>((resolve) => waits.push(resolve));
      if (batches.length === 1) throw new StoreError("lost", "lost");
      for (const [index, { kind }] of operations.entries())
        if (kind === "release") tell(index, { kind: "release" });
      // An index outside of the batch belongs to no operation.
      tell(operations.length, reserved);
    },
  } as unknown as LedgerBackend;
  const groups = createGroupCommit({ backend, clock: fakeClock(), node: "n" });
  const released = groups.submit(call("a", "release"), { isOwed: true });
  const first = groups.submit(call("b"));
  expect(await first).toEqual(reserved);
  const second = groups.submit(call("c"));
  expect(batches).toEqual([["a", "b"]]);
  waits.shift()?.();
  expect(await second).toEqual(reserved);
  expect(batches).toEqual([
    ["a", "b"],
    ["a", "c"],
  ]);
  waits.shift()?.();
  expect(await released).toEqual({ kind: "release" });
});

test("what failed goes before what came later", async () => {
  let fails = () => {};
  const { groups, batches } = scripted((_batch, turn) =>
    turn === 1
      ? new Promise((_, reject) => (fails = () => reject(new StoreError("busy", "busy"))))
      : undefined,
  );
  const first = groups.submit(call("a"));
  await expect.poll(() => batches).toHaveLength(1);
  const later = groups.submit(call("b"));
  fails();
  await Promise.all([first, later]);
  expect(batches).toEqual([["a"], ["a", "b"]]);
});

test("takes no more callers than can wait while it fails", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  let isBroken = true;
  const { groups, batches, givenUp } = scripted(() => (isBroken ? fail("busy") : undefined));
  const waiting = Array.from({ length: 1_600 }, (_, index) => groups.submit(call(String(index))));
  await expect.poll(() => batches.length).toBeGreaterThan(0);
  await expect(groups.submit(call("too many"))).rejects.toThrow("does not keep up");
  isBroken = false;
  await vi.advanceTimersByTimeAsync(1_000);
  await Promise.all(waiting);
  // Nothing of what was never tried can have been stored.
  expect(givenUp).toEqual([]);
  vi.useRealTimers();
});

test("gives up after some tries, but not on what is owed", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  let isBroken = true;
  const { groups, batches, givenUp } = scripted(() => (isBroken ? fail("busy") : undefined));
  const outcome = groups.submit(call("a")).catch((error: unknown) => error);
  const owed = groups.submit(call("b", "release"), { isOwed: true }).catch((error: unknown) => error);
  const advance = vi.waitFor(async () => {
    await vi.advanceTimersByTimeAsync(1_000);
    expect(batches.length).toBeGreaterThan(10);
  }, 10_000);
  await advance;
  expect(await outcome).toMatchObject({ kind: "busy" });
  expect(await owed).toMatchObject({ kind: "busy" });
  expect(batches[7]).toEqual(["a", "b"]);
  expect(batches[8]).toEqual(["b"]);
  expect(givenUp).toEqual(["a"]);
  isBroken = false;
  const later = groups.submit(call("c"));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await later).toEqual(reserved);
  expect(batches.at(-1)).toEqual(["b", "c"]);
  vi.useRealTimers();
});

const settlement: Operation = {
  kind: "settle",
  requestId: "s",
  userId: 1,
  tokenId: 0,
  channelId: 0,
  charge: 1n,
  usage: { promptTokens: 1, completionTokens: 1, cachedTokens: 0 },
  log: null,
};

test.each(["busy", "lost", "full"] as const)(
  "no caller is told that a settlement failed while it may be booked: %s",
  async (kind) => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    let isBroken = true;
    const { groups, batches } = scripted(() => (isBroken ? fail(kind) : undefined));
    const heard = vi.fn();
    const settled = groups.submit(settlement, { isOwed: true }).finally(heard);
    await vi.waitFor(async () => {
      await vi.advanceTimersByTimeAsync(1_000);
      expect(batches.length).toBeGreaterThan(20);
    }, 10_000);
    expect(heard).not.toHaveBeenCalled();
    isBroken = false;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await settled).toEqual(reserved);
    vi.useRealTimers();
  },
);

test("closing tells the caller of a settlement that it is not known to be booked", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const { groups } = scripted(() => fail("lost"));
  const settled = groups.submit(settlement, { isOwed: true }).catch((error: unknown) => error);
  const closed = groups.close();
  for (let step = 0; step < 20; step += 1) await vi.advanceTimersByTimeAsync(1_000);
  await closed;
  expect(await settled).toMatchObject({ kind: "lost" });
  vi.useRealTimers();
});

test("a full disk refuses at once, and what is owed is booked when there is space", async () => {
  const { groups, batches } = scripted((_batch, turn) => (turn === 1 ? fail("full") : undefined));
  const refused = groups.submit(call("a"));
  const owed = groups.submit(call("b", "release"), { isOwed: true });
  await expect(refused).rejects.toMatchObject({ kind: "full" });
  await expect(owed).rejects.toMatchObject({ kind: "full" });
  await expect.poll(() => batches).toEqual([["a", "b"], ["b"]]);
});

test("one operation that cannot be stored does not stop the others", async () => {
  const { groups, batches } = scripted((batch) =>
    batch.operations.some((operation) => operation.requestId === "bad") ? fail("constraint") : undefined,
  );
  const ids = ["a", "b", "c", "bad", "d", "e", "f", "g"];
  const outcomes = await Promise.allSettled(
    ids.map((id) => groups.submit(call(id), { isOwed: id === "bad" })),
  );
  expect(outcomes.map((outcome) => outcome.status === "fulfilled")).toEqual(ids.map((id) => id !== "bad"));
  expect(batches.flat().filter((id) => id === "g").length).toBeLessThan(5);
  // Groups grow again.
  await Promise.all(ids.slice(4).map((id) => groups.submit(call(id))));
  expect(batches.at(-1)).toEqual(["d", "e", "f", "g"]);
});

test("an answer that lacks an outcome is an error for the operation it lacks", async () => {
  const run = async (_: Batch, tell: Tell) => tell(0, reserved);
  const backend = { run } as unknown as LedgerBackend;
  const groups = createGroupCommit({ backend, clock: fakeClock(), node: "n" });
  const [first, second] = await Promise.allSettled([groups.submit(call("a")), groups.submit(call("b"))]);
  expect(first).toMatchObject({ status: "fulfilled" });
  expect(second).toMatchObject({ status: "rejected" });
});

test("takes no more callers than can wait while the database is stuck, but everything that is owed", async () => {
  let release = () => {};
  const { groups, clock, batches } = scripted((_batch, turn) =>
    turn === 1 ? new Promise((resolve) => (release = () => resolve())) : undefined,
  );
  const first = groups.submit(call("first"));
  await expect.poll(() => batches).toHaveLength(1);
  const waiting = Array.from({ length: 1_000 }, (_, index) => groups.submit(call(String(index))));
  waiting.push(groups.submit(call("one more while it is quick")));
  clock.advance(1_001);
  await expect(groups.submit(call("too many"))).rejects.toMatchObject({ kind: "busy" });
  waiting.push(groups.submit(call("owed", "release"), { isOwed: true }));
  release();
  await Promise.all([first, ...waiting]);
});

test("closing books what is queued and takes no more", async () => {
  const { groups, batches } = scripted(() => undefined);
  const last = groups.submit(call("a"));
  await groups.close();
  expect(await last).toEqual(reserved);
  expect(batches).toEqual([["a"]]);
  await expect(groups.submit(call("b"), { isOwed: true })).rejects.toMatchObject({ kind: "lost" });
});

test("closing ends even when the database is gone; recovery will find what is owed", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const { groups, batches } = scripted(() => fail("lost"));
  const owed = groups.submit(call("a", "release"), { isOwed: true }).catch((error: unknown) => error);
  const closed = groups.close();
  for (let step = 0; step < 20; step += 1) await vi.advanceTimersByTimeAsync(1_000);
  await closed;
  expect(await owed).toMatchObject({ kind: "lost" });
  expect(batches).toHaveLength(8);
  vi.useRealTimers();
});
