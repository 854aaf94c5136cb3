// A token's list of models: what it lets in, and what is no list.
import { expect, test } from "vitest";
import { modelList } from "./model-list.ts";
import { TokenDraft } from "./token.ts";

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
