import { expect, test } from "vitest";
import { KeyedQueue } from "./keyed-queue.ts";

/** Questions that are answered by hand. */
function createDesk() {
  const lines = new KeyedQueue<string>((answer) => answer === "no");
  const asked: { name: string; answer: (text: string) => void; fail: (error: Error) => void }[] = [];
  const ask = (key: string, name: string) =>
    lines.ask(key, () => new Promise((answer, fail) => asked.push({ name, answer, fail })));
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { asked, ask, settle, names: () => asked.map(({ name }) => name) };
}

test("asks a few at once for each key, in order, and other keys at once", async () => {
  const { asked, ask, settle, names } = createDesk();
  const answers = ["1", "2", "3", "4", "5"].map((name) => ask("busy", name));
  void ask("quiet", "other");
  expect(names()).toEqual(["1", "2", "3", "other"]);
  asked[1]?.answer("yes");
  await settle();
  expect(names()).toEqual(["1", "2", "3", "other", "4"]);
  for (const { answer } of asked) answer("yes");
  await settle();
  asked.at(-1)?.answer("yes");
  expect(await Promise.all(answers)).toEqual(Array(5).fill("yes"));
});

test("gives a no to all waiting callers, and asks again for later ones", async () => {
  const { asked, ask, settle, names } = createDesk();
  const answers = ["1", "2", "3", "4", "5"].map((name) => ask("busy", name));
  asked[0]?.answer("no");
  expect(await Promise.all([answers[0], answers[3], answers[4]])).toEqual(["no", "no", "no"]);
  const late = ask("busy", "late");
  await settle();
  expect(names()).toEqual(["1", "2", "3", "late"]);
  for (const { answer } of asked) answer("yes");
  expect(await Promise.all([answers[1], answers[2], late])).toEqual(["yes", "yes", "yes"]);
});

test("gives a failure to all waiting callers, so that no caller waits for many in a row", async () => {
  const { asked, ask } = createDesk();
  const answers = ["1", "2", "3", "4"].map((name) => ask("busy", name));
  for (const { fail } of asked.slice(0, 3)) fail(new Error("lost"));
  expect((await Promise.allSettled(answers)).map(({ status }) => status)).toEqual(Array(4).fill("rejected"));
});
