// Thoughts of earlier turns: from Claude 5.5 and Fable 5.1 on they are bound to the content before them (vendor docs, preserved thinking).
import { describe, expect, it } from "vitest";
import { providerOf } from "#contract/providers.ts";
import type { HubMessage, HubRequest } from "#server/upstream/hub/request.ts";
import { anthropic } from "./anthropic.ts";

const wire = providerOf(14) ?? expect.fail("no row for Anthropic");
const question: HubMessage = { role: "user", parts: [{ kind: "text", text: "hi" }] };
const answer = (signature: string | undefined): HubMessage => ({
  role: "assistant",
  parts: [{ kind: "text", text: "yes" }],
  thoughts: [{ text: "", signature }],
  toolCalls: [],
});
const block = { type: "thinking", thinking: "", signature: "S" };
const text = { type: "text", text: "yes" };

function encode(
  request: Partial<HubRequest> & Pick<HubRequest, "model">,
  signature: string | undefined = "S",
) {
  const messages = [question, answer(signature), question];
  const target = { baseUrl: "", other: "", model: request.model, apiVersion: "", isStream: false };
  return anthropic.encode({ isStream: false, messages, ...request }, { wire, target });
}

const contentOf = ({ body }: ReturnType<typeof encode>) => body["messages"];
const told = (content: object[]) => expect.arrayContaining([{ role: "assistant", content }]);

describe("thoughts of earlier turns", () => {
  it.each([
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
    "claude-fable-5-1",
    "claude-mythos-5-2",
  ])("are left out by %s, and not refused, when something before them has changed", (model) => {
    const encoded = encode({ model });
    expect(encoded.body["thinking"]).toEqual({
      type: "adaptive",
      block_binding: { prefix_mismatch_behavior: "drop_block" },
    });
    expect(encoded.headers).toEqual([
      "anthropic-version",
      "2023-06-01",
      "anthropic-beta",
      "thinking-binding-controls-2026-08-01",
    ]);
    expect(contentOf(encoded)).toEqual(told([block, text]));
  });

  it("keep the client's setting of thinking", () => {
    const reasoning = { effort: "low", budgetTokens: undefined, isShown: true } as const;
    expect(encode({ model: "claude-opus-5-5", reasoning }).body["thinking"]).toEqual({
      type: "adaptive",
      display: "summarized",
      block_binding: { prefix_mismatch_behavior: "drop_block" },
    });
  });

  it.each([
    ["claude-haiku-5-5", "disabled"],
    ["claude-sonnet-5-5", "between_tools"],
  ])("stay behind when %s is told not to think", (model, type) => {
    const reasoning = { effort: "none", budgetTokens: undefined, isShown: undefined } as const;
    const encoded = encode({ model, reasoning });
    expect(encoded.body["thinking"]).toEqual({ type });
    expect(encoded.headers).toHaveLength(2);
    expect(contentOf(encoded)).toEqual(told([text]));
    expect(encoded.dropped).toEqual(["messages[].reasoning_content"]);
  });

  it("need no member where there are none, or the model does not bind them", () => {
    for (const encoded of [encode({ model: "claude-opus-5-5" }, ""), encode({ model: "claude-opus-5" })]) {
      expect(encoded.body).not.toHaveProperty("thinking");
      expect(encoded.headers).toHaveLength(2);
    }
  });
});
