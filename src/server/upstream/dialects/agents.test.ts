// Wires of agents, Coze and Dify: unsupported members are refused by name, unknown events never throw, no text is sent twice.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { providerOf } from "#contract/providers.ts";
import { foldReply, type HubChunk } from "#server/upstream/hub/reply.ts";
import { type HubMessage, type HubPart, type HubRequest, Unmappable } from "#server/upstream/hub/request.ts";
import { coze } from "./coze.ts";
import type { Dialect, EncodeContext, WireError } from "./dialect.ts";
import { dify } from "./dify.ts";

const wire = providerOf(34) ?? expect.fail("no row");
const target = { baseUrl: "https://a.example", other: "", model: "bot-7", apiVersion: "", isStream: true };
const context: EncodeContext = { wire, target };
const DECODE = { wire, model: "bot-7", seed: "seed" };

function request(change: Partial<HubRequest> = {}): HubRequest {
  const messages: HubMessage[] = [{ role: "user", parts: [{ kind: "text", text: "hi" }] }];
  return { model: "bot-7", isStream: true, messages, ...change };
}

function say(dialect: Dialect, events: readonly (readonly [name: string, data: unknown])[]) {
  const decoder = dialect.decoder(DECODE);
  const found: (HubChunk | WireError)[] = [];
  for (const [name, data] of events) {
    const taken = decoder.take({
      data: typeof data === "string" ? data : JSON.stringify(data),
      field: (field) => (field === "event" ? name : ""),
    });
    found.push(...("kind" in taken ? [taken] : taken));
  }
  return found;
}

function answerOf(found: readonly (HubChunk | WireError)[]) {
  return foldReply(found.flatMap((chunk) => (chunk.kind === "error" ? [] : [chunk]))).answers[0];
}

describe.each([
  ["coze", coze],
  ["dify", dify],
] as const)("%s", (_, dialect) => {
  const call = { id: "c", name: "f", arguments: "{}" };
  it.each<[string, Partial<HubRequest>]>([
    ["tools", { tools: [{ kind: "function", name: "f", description: undefined, parameters: undefined }] }],
    ["response_format", { format: { kind: "json" } }],
    ["stop", { stop: ["x"] }],
    ["n", { n: 2 }],
    ["logprobs", { logprobs: { top: 1 } }],
    [
      "messages[].tool_calls",
      { messages: [{ role: "assistant", parts: [], thoughts: [], toolCalls: [call] }] },
    ],
    [
      "messages[].content",
      { messages: [{ role: "user", parts: [{ kind: "audio", base64: "", format: "wav" }] }] },
    ],
  ])("refuses %s by name", (what, change) => {
    expect(() => dialect.encode(request(change), context)).toThrow(expect.objectContaining({ what }));
  });

  it("reports which settings it leaves to the agent", () => {
    const { dropped } = dialect.encode(
      request({ temperature: 1, maxTokens: 5, seed: 1, user: "u" }),
      context,
    );
    expect(dropped).toEqual(["max_tokens", "temperature", "seed"]);
  });

  it("throws only Unmappable, for any conversation", () => {
    const part: fc.Arbitrary<HubPart> = fc.oneof(
      fc.record({ kind: fc.constant("text" as const), text: fc.string() }),
      fc.record({
        kind: fc.constant("image" as const),
        source: fc.constantFrom(
          { kind: "url" as const, url: "https://x.example/a.png" },
          { kind: "data" as const, mime: "image/png", base64: "" },
        ),
      }),
    );
    const parts = fc.array(part, { maxLength: 3 });
    const message: fc.Arbitrary<HubMessage> = fc.oneof(
      fc.record({ role: fc.constantFrom("system" as const, "developer" as const, "user" as const), parts }),
      parts.map((items) => ({ role: "assistant" as const, parts: items, thoughts: [], toolCalls: [] })),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 5 }), (messages) => {
        try {
          expect(JSON.stringify(dialect.encode(request({ messages }), context).body)).toContain("tollgate");
        } catch (error) {
          expect(error).toBeInstanceOf(Unmappable);
        }
      }),
    );
  });

  it("never throws at unknown or incomplete events", () => {
    const names = fc.constantFrom(
      ...["conversation.chat.created", "conversation.message.delta", "conversation.message.completed"],
      ...["conversation.chat.completed", "conversation.chat.failed", "conversation.chat.requires_action"],
      ...["message", "message_replace", "message_end", "error", "done", "new"],
    );
    const fields = fc.dictionary(
      fc.constantFrom(
        "type",
        "content",
        "answer",
        "usage",
        "metadata",
        "last_error",
        "code",
        "status",
        "msg",
      ),
      fc.jsonValue(),
    );
    const event = fc.tuple(names, fields).map(([name, body]) => [name, { event: name, ...body }] as const);
    fc.assert(fc.property(fc.array(event), (events) => void say(dialect, events)));
    expect(say(dialect, [["message", "no json"]])).toEqual([]);
  });
});

describe("a Coze bot", () => {
  const message = (content: string) => ({ type: "answer", content });

  it("that never streams is read at the end, one that streams is read once", () => {
    const done = ["conversation.message.completed", message("Hi")] as const;
    expect(answerOf(say(coze, [done, ["done", '"[DONE]"']]))).toMatchObject({ text: "Hi", finish: "stop" });
    const delta = ["conversation.message.delta", message("Hi")] as const;
    expect(answerOf(say(coze, [delta, done, ["done", '"[DONE]"']]))?.text).toBe("Hi");
  });

  it("that wants the client to act is a fault, not an empty answer", () => {
    expect(say(coze, [["conversation.chat.requires_action", {}]])).toMatchObject([
      { kind: "error", status: 400 },
    ]);
  });
});

describe("a Dify application", () => {
  it("has the same reply whole and streamed", () => {
    const metadata = { usage: { prompt_tokens: 3, completion_tokens: 2 } };
    const whole = dify.decode({ message_id: "m", answer: "Hi 你", metadata }, DECODE);
    if ("kind" in whole) throw new Error("an answer");
    const streamed = say(dify, [
      ["", { event: "message", message_id: "m", answer: "Hi" }],
      ["", { event: "message", message_id: "m", answer: " 你" }],
      ["", { event: "message_end", message_id: "m", metadata }],
    ]);
    expect(answerOf(streamed)).toEqual(answerOf(whole));
    expect(streamed.at(-2)).toEqual(whole.at(-2));
  });

  it("whose answer was retracted ends as filtered", () => {
    const found = say(dify, [
      ["", { event: "message_replace", answer: "不能回答" }],
      ["", { event: "message_end" }],
    ]);
    expect(answerOf(found)).toMatchObject({ text: "不能回答", finish: "content_filter" });
  });

  it("cannot take inline images", () => {
    const source = { kind: "data", mime: "image/png", base64: "" } as const;
    const messages: HubMessage[] = [{ role: "user", parts: [{ kind: "image", source }] }];
    expect(() => dify.encode(request({ messages }), context)).toThrow(Unmappable);
  });
});
