import { expect, test, vi } from "vitest";
import { Chores } from "./chores.ts";

test("work is done once, by whoever comes first; those who come meanwhile wait for it", async () => {
  const chores = new Chores();
  expect(chores.areDone).toBe(true);
  let done = 0;
  let finish = () => {};
  chores.leave(async () => {
    await new Promise<void>((resolve) => (finish = resolve));
    done += 1;
  });
  const callers = [chores.finish(), chores.finish()];
  finish();
  await Promise.all(callers);
  expect([done, chores.areDone]).toEqual([1, true]);
  await chores.finish();
  expect(done).toBe(1);
});

test("work left while other work is done is done before a caller of that moment goes on", async () => {
  const chores = new Chores();
  const done: string[] = [];
  chores.leave(async () => {
    chores.leave(async () => void done.push("second"));
    await Promise.resolve();
    done.push("first");
  });
  const first = chores.finish();
  await chores.finish();
  await first;
  expect(done).toEqual(["first", "second"]);
});

test("nobody waits for work that is left after he came, however much of it there is", async () => {
  const chores = new Chores();
  let done = 0;
  const again = async () => {
    chores.leave(again);
    done += 1;
    if (done === 50) throw new Error("it never ends");
    await new Promise(setImmediate);
  };
  chores.leave(again);
  const first = chores.finish();
  await Promise.resolve();
  await Promise.all([first, chores.finish()]);
  expect(done).toBe(2);
});

test("work that fails hinders nobody, and is tried again after a while", async () => {
  vi.useFakeTimers();
  const chores = new Chores();
  let tries = 0;
  chores.leave(async () => {
    tries += 1;
    if (tries === 1) throw new Error("the disk is full");
  });
  await chores.finish();
  await chores.finish();
  expect(tries).toBe(1);
  vi.advanceTimersByTime(5_000);
  await chores.finish();
  expect([tries, chores.areDone]).toEqual([2, true]);
  vi.useRealTimers();
});

test("many who come at once try work that fails once between them", async () => {
  const chores = new Chores();
  let tries = 0;
  chores.leave(async () => {
    tries += 1;
    await Promise.resolve();
    throw new Error("locked");
  });
  await Promise.all(Array.from({ length: 30 }, () => chores.finish()));
  expect(tries).toBe(1);
});
