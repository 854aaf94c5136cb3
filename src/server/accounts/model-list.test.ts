// A token's list of models: what it lets in, what the contract refuses, and that models are listed exactly when they can be called.
import fc from "fast-check";
import { expect, test } from "vitest";
import { TokenDraft } from "#contract/token.ts";
import { createRelayWorld, QUESTION } from "#test/worlds/relay-world.ts";
import { modelList } from "./model-list.ts";

const world = createRelayWorld();

test.each([
  ["gpt-4o", "gpt-4o", true],
  ["gpt-4o", "gpt-4o-mini", false],
  ["gpt-4o*", "gpt-4o-mini", true],
  ["gpt-4o*", "GPT-4o-mini", false],
  ["gpt-4o*,!gpt-4o-audio", "gpt-4o-audio", false],
  ["!gpt-4o-audio,gpt-4o*", "gpt-4o-audio", false],
  ["gpt-4o-audio,!gpt-4o*", "gpt-4o-audio", false],
  ["!gpt*", "claude-5", true],
  ["!gpt*", "gpt-4o", false],
  ["*", "anything", true],
  ["*,!*", "anything", false],
  ["!", "anything", true],
])("%s: %s is let in: %s", (list, model, isIn) => {
  expect(modelList(list.split(","))?.has(model)).toBe(isIn);
});

test("a list of names is a set, an empty one lets all in", () => {
  expect(modelList(["a", "b"])).toEqual(new Set(["a", "b"]));
  expect(modelList([])).toBeUndefined();
});

test.each(["*gpt", "g*t", "!", "gpt-4o, ! ", "!!gpt", "**", "!g*t"])("%j is refused", (models) => {
  expect(TokenDraft.safeParse({ name: "t", models }).success).toBe(false);
});

test.each(["", "gpt-4o", "gpt-4o*, !gpt-4o-audio*", "*", "!*", "a,,b,"])("%j is taken", (models) => {
  expect(TokenDraft.safeParse({ name: "t", models }).success).toBe(true);
});

test("models are listed exactly when they can be called, by the name that is asked for", async () => {
  const names = ["gpt-3.5-turbo", "gpt-4", "gpt-4-turbo", "gpt-4o", "gpt-4o-mini"];
  await world.addChannel({ models: names.join(","), mapping: { "my-own": "gpt-4" } });
  const entry = fc
    .tuple(
      fc.constantFrom("", "!"),
      fc.constantFrom(...names, "my-own", "gpt", "x"),
      fc.constantFrom("", "*"),
    )
    .map((parts) => parts.join(""));
  const isCalled = async (model: string) => (await world.ask({ ...QUESTION, model })).status === 200;
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 4 }), async (entries) => {
      await world.changeToken({ models: entries.join(",") });
      const headers = { authorization: `Bearer sk-${world.token.key}` };
      const answer = await fetch(`${world.url}/v1/models`, { headers });
      const { data } = (await answer.json()) as { data: { id: string }[] };
      const called = [];
      for (const name of [...names, "my-own"]) if (await isCalled(name)) called.push(name);
      expect(data.map(({ id }) => id)).toEqual(called);
      expect(called).toEqual([...names, "my-own"].filter((name) => modelList(entries)?.has(name) !== false));
    }),
    { numRuns: 6 },
  );
});
