import { expect, it } from "vitest";
import { effortFor, effortWord } from "./hub-request.ts";

const never = { effort: undefined, budgetTokens: 0, isShown: undefined };

// Providers 18.2.
it.each([
  ["gpt-5", "minimal"],
  ["gpt-5-mini", "minimal"],
  ["gpt-5.1", "none"],
  ["gpt-5.6-sol", "none"],
  ["o4-mini", "low"],
  ["gpt-5.2-codex", "low"],
  ["gpt-5-pro", undefined],
  ["deepseek-v4-pro", "none"],
])("%s is told to think as little as it can: %s", (model, word) => {
  expect(effortWord(never)).toBe("none");
  expect(effortFor(model, never)).toBe(word);
  expect(effortFor(model, { ...never, budgetTokens: 4096 })).toBe("medium");
});
