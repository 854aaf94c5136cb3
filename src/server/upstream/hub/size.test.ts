import { expect, it } from "vitest";
import { roughTokens } from "./size.ts";

it("counts text by bytes, media by number, calls and tools by their text", () => {
  const text = "x".repeat(400);
  const source = { kind: "url", url: "https://e.com/a.png" } as const;
  const user = { role: "user", parts: [{ kind: "text", text }] } as const;
  const base = { model: "m", isStream: true } as const;
  expect(roughTokens({ ...base, messages: [user] })).toBe(103);
  const seen = { role: "user", parts: [{ kind: "image", source }] } as const;
  expect(roughTokens({ ...base, messages: [user, seen] })).toBe(103 + 3 + 765);
  const call = { id: "c", name: "look", arguments: `{"at":"${text}"}` };
  const turn = { role: "assistant", parts: [], thoughts: [], toolCalls: [call] } as const;
  expect(roughTokens({ ...base, messages: [turn] })).toBe(3 + Math.ceil((4 + 409) / 4));
  const tool = { kind: "function", name: "look", description: text, parameters: undefined } as const;
  expect(roughTokens({ ...base, messages: [user], tools: [tool] })).toBeGreaterThan(200);
});
