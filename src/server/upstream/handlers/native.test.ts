// Streams that pass in their own format: the text, usage and end that are read from them.
import { describe, expect, it } from "vitest";
import type { NativeFormat } from "#server/upstream/clients/client.ts";
import { generateNative } from "#server/upstream/clients/generate.ts";
import { messagesNative } from "#server/upstream/clients/messages.ts";
import { responsesNative } from "#server/upstream/clients/responses.ts";
import { NativeHandler } from "./native.ts";

function observerAfter(format: NativeFormat, events: readonly object[]) {
  const handler = new NativeHandler({
    format,
    quirks: undefined,
    secrets: [],
    isArray: false,
    readError: undefined,
    translated: () => handler,
  });
  const reader = handler.reader();
  const observer = handler.observer();
  for (const event of events)
    for (const one of reader.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`))) observer.take(one);
  return { handler, observer };
}

describe("Responses", () => {
  it("counts a text once, though the closing events repeat it", () => {
    const part = { type: "output_text", text: "Hello" };
    const item = { type: "message", content: [part] };
    const { observer } = observerAfter(responsesNative, [
      { type: "response.output_text.delta", delta: "Hel" },
      { type: "response.output_text.delta", delta: "lo" },
      { type: "response.output_text.done", text: "Hello" },
      { type: "response.content_part.done", part },
      { type: "response.output_item.done", item },
    ]);
    expect(observer.output.text()).toBe("Hello");
    expect(observer.output.textPieces).toBe(2);
  });

  it.each(["completed", "incomplete"])("is finished by its last event, %s, even without usage", (status) => {
    const response = { object: "response", status, output: [], usage: null };
    const { observer } = observerAfter(responsesNative, [
      { type: "response.created", response: { ...response, status: "in_progress" } },
      { type: "response.output_text.delta", delta: "Hello" },
    ]);
    expect(observer.isFinished).toBe(false);
    const end = observerAfter(responsesNative, [{ type: `response.${status}`, response }]);
    expect(end.observer.isFinished).toBe(true);
  });

  it("reads the text of a whole reply", () => {
    const { handler } = observerAfter(responsesNative, []);
    const item = { type: "message", content: [{ type: "output_text", text: "Hello" }] };
    const whole = handler.whole(Buffer.from(JSON.stringify({ object: "response", output: [item] })));
    expect(whole.kind === "body" && whole.text()).toBe("Hello");
  });
});

const call = { city: "Paris" };

it.each<[string, NativeFormat, object, string]>([
  [
    "Anthropic",
    messagesNative,
    {
      type: "message",
      content: [
        { type: "text", text: "Hm" },
        { type: "tool_use", id: "t", name: "w", input: call },
      ],
    },
    'Hm{"city":"Paris"}',
  ],
  [
    "Gemini",
    generateNative,
    { candidates: [{ content: { parts: [{ text: "Hm" }, { functionCall: { name: "w", args: call } }] } }] },
    'Hm{"city":"Paris"}',
  ],
  [
    "Responses",
    responsesNative,
    {
      object: "response",
      output: [
        { type: "function_call", name: "w", arguments: JSON.stringify(call) },
        { type: "custom_tool_call", name: "p", input: "patch" },
      ],
    },
    '{"city":"Paris"}patch',
  ],
])(
  "%s: tool call arguments of a whole reply are observed, in case usage is missing",
  (_, format, reply, text) => {
    const { handler } = observerAfter(format, []);
    const whole = handler.whole(Buffer.from(JSON.stringify(reply)));
    expect(whole.kind === "body" && whole.text()).toBe(text);
  },
);

describe("Anthropic", () => {
  it("does not let zeros overwrite reported usage, in an object or not", () => {
    const usage = {
      input_tokens: 5,
      cache_creation_input_tokens: 9,
      cache_creation: { ephemeral_1h_input_tokens: 9 },
    };
    const zeros = { input_tokens: 0, cache_creation: { ephemeral_1h_input_tokens: 0 }, output_tokens: 7 };
    const { observer } = observerAfter(messagesNative, [
      { type: "message_start", message: { usage } },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: zeros },
    ]);
    expect(observer.usage).toMatchObject({
      prompt_tokens: 14,
      completion_tokens: 7,
      prompt_tokens_details: { cache_write_tokens: 9, cache_write_1h_tokens: 9 },
    });
  });
});

describe("Gemini", () => {
  const event = (text: string, usageMetadata: object) => ({
    candidates: [{ content: { parts: [{ text }] } }],
    usageMetadata,
  });

  it("reports the usage of the last event, with fields that only the first one had", () => {
    const { observer } = observerAfter(generateNative, [
      event("a", { promptTokenCount: 9, cachedContentTokenCount: 4, candidatesTokenCount: 1 }),
      event("b", { promptTokenCount: 9, candidatesTokenCount: 2 }),
      event("c", { promptTokenCount: 9, candidatesTokenCount: 3 }),
    ]);
    const usage = {
      prompt_tokens: 9,
      completion_tokens: 3,
      prompt_tokens_details: { cached_tokens: 4 },
    };
    expect(observer.usage).toMatchObject(usage);
    expect(observer.usage).toMatchObject(usage);
  });

  it("takes the final usage from the event with the finish reason", () => {
    const last = event("c", { promptTokenCount: 9, candidatesTokenCount: 7 });
    const { observer } = observerAfter(generateNative, [
      event("a", { promptTokenCount: 9, candidatesTokenCount: 1 }),
      event("b", { promptTokenCount: 9, candidatesTokenCount: 2 }),
      { ...last, candidates: [{ finishReason: "STOP" }] },
    ]);
    expect(observer.isFinished).toBe(true);
    expect(observer.usage).toMatchObject({ completion_tokens: 7 });
  });
});
