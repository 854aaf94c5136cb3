import { expect, it } from "vitest";
import { providerOf } from "#contract/providers.ts";
import { dialects } from "#server/upstream/dialects/index.ts";
import { effortFor, effortWord, type HubRequest } from "./request.ts";

// Everything that is dropped is reported.
it.each([
  ["openai", true],
  ["azure", true],
  ["responses", true],
  ["anthropic", true],
  ["gemini", true],
  ["converse", true],
  ["cohere", true],
  ["zhipu", true],
  ["ali", true],
  ["ollama", false],
] as const)("thoughts of earlier turns that stay behind are named: before %s %s", (name, isLost) => {
  const said = [{ kind: "text", text: "hi" }] as const;
  const request: HubRequest = {
    model: "m",
    isStream: false,
    messages: [
      { role: "user", parts: said },
      { role: "assistant", parts: said, thoughts: [{ text: "Hm", signature: undefined }], toolCalls: [] },
      { role: "user", parts: said },
    ],
  };
  const wire = providerOf(1) ?? expect.fail("no row for OpenAI");
  const target = { baseUrl: "", other: "", model: "m", apiVersion: "", isStream: false };
  const { dropped = [] } = dialects[name].encode(request, { wire, target });
  expect(dropped.includes("messages[].reasoning_content")).toBe(isLost);
});

const never = { effort: undefined, budgetTokens: 0, isShown: undefined };

// As requirements T18.2 says.
it.each([
  ["gpt-5", "minimal"],
  ["gpt-5-mini", "minimal"],
  ["gpt-5.1", "none"],
  ["gpt-5.6-sol", "none"],
  ["o4-mini", "low"],
  ["gpt-5.2-codex", "low"],
  ["gpt-5-pro", undefined],
  ["gpt-6-astra", "low"],
  ["gpt-6.2-sol", "low"],
  ["gpt-6-sol", "none"],
  ["gpt-6.1-terra", "none"],
  ["deepseek-v4-pro", "none"],
])("%s gets its lowest effort: %s", (model, word) => {
  expect(effortWord(never)).toBe("none");
  expect(effortFor(model, never)).toBe(word);
  expect(effortFor(model, { ...never, budgetTokens: 4096 })).toBe("medium");
});

it.each([
  ["gpt-5", "minimal"],
  ["gpt-5.6-sol", "low"],
  ["gpt-6-astra", "low"],
])("%s knows the least of thinking as %s", (model, word) => {
  expect(effortFor(model, { ...never, effort: "minimal" })).toBe(word);
});
