import { describe, expect, it } from "vitest";
import { bodyOf, type Setup, type Turn } from "./use-chat.ts";

const setup: Setup = { key: "sk-x", model: "m", system: "", temperature: null, maxTokens: null };

function said(role: Turn["role"], text: string, state: Turn["state"] = "done"): Turn {
  return { id: 1, role, text, thought: "想", model: "m", state };
}

describe("the call of a conversation", () => {
  it("asks for a stream with its usage, and sets no parameter that was left alone", () => {
    expect(bodyOf(setup, [said("user", "你好")])).toEqual({
      model: "m",
      messages: [{ role: "user", content: "你好" }],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it("carries system prompt and parameters, and leaves failed answers and thoughts out", () => {
    const turns = [
      said("user", "一"),
      said("assistant", "半", "failed"),
      said("assistant", ""),
      said("user", "二"),
    ];
    expect(bodyOf({ ...setup, system: " 简短 ", temperature: 0, maxTokens: 16 }, turns)).toMatchObject({
      messages: [
        { role: "system", content: "简短" },
        { role: "user", content: "一" },
        { role: "user", content: "二" },
      ],
      temperature: 0,
      max_tokens: 16,
    });
  });

  it("never carries the key", () => {
    expect(JSON.stringify(bodyOf(setup, [said("user", "x")]))).not.toContain("sk-");
  });
});
