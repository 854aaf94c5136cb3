import { expect, test, vi } from "vitest";
import { DeferredFlush } from "./sqlite-thread.ts";

test("work is done once, by its first caller; callers of that moment wait for it", async () => {
  const deferred = new DeferredFlush();
  expect(deferred.isIdle).toBe(true);
  let done = 0;
  let finish = () => {};
  deferred.schedule(async () => {
    await new Promise<void>((resolve) => (finish = resolve));
    done += 1;
  });
  const callers = [deferred.flush(), deferred.flush()];
  finish();
  await Promise.all(callers);
  expect([done, deferred.isIdle]).toEqual([1, true]);
  await deferred.flush();
  expect(done).toBe(1);
});

test("work scheduled while other work is done is done before a caller of that moment goes on", async () => {
  const deferred = new DeferredFlush();
  const done: string[] = [];
  deferred.schedule(async () => {
    deferred.schedule(async () => void done.push("second"));
    await Promise.resolve();
    done.push("first");
  });
  const first = deferred.flush();
  await deferred.flush();
  await first;
  expect(done).toEqual(["first", "second"]);
});

test("no caller waits for work that is scheduled after its call, however much of it there is", async () => {
  const deferred = new DeferredFlush();
  let done = 0;
  const again = async () => {
    deferred.schedule(again);
    done += 1;
    if (done === 50) throw new Error("it never ends");
    await new Promise(setImmediate);
  };
  deferred.schedule(again);
  const first = deferred.flush();
  await Promise.resolve();
  await Promise.all([first, deferred.flush()]);
  expect(done).toBe(2);
});

test("work that fails hinders no statement, and is tried again after a while", async () => {
  vi.useFakeTimers();
  const deferred = new DeferredFlush();
  let tries = 0;
  deferred.schedule(async () => {
    tries += 1;
    if (tries === 1) throw new Error("the disk is full");
  });
  await deferred.flush();
  await deferred.flush();
  expect(tries).toBe(1);
  vi.advanceTimersByTime(5_000);
  await deferred.flush();
  expect([tries, deferred.isIdle]).toEqual([2, true]);
  vi.useRealTimers();
});

test("callers of one moment try work that fails once between them", async () => {
  const deferred = new DeferredFlush();
  let tries = 0;
  deferred.schedule(async () => {
    tries += 1;
    await Promise.resolve();
    throw new Error("locked");
  });
  await Promise.all(Array.from({ length: 30 }, () => deferred.flush()));
  expect(tries).toBe(1);
});
