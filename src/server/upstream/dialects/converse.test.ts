// Bedrock's Converse: unsupported members are refused by name, roles alternate, whole and streamed answers are the same, unknown events
// never throw.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { providerOf } from "#contract/providers.ts";
import { foldReply } from "#server/upstream/hub/reply.ts";
import type { HubMessage, HubPart, HubRequest, HubTool } from "#server/upstream/hub/request.ts";
import { converse } from "./converse.ts";

const wire = providerOf(33) ?? expect.fail("no row");
const model = "amazon.nova-lite-v1:0";
const target = { baseUrl: "https://a.example", other: "", model, apiVersion: "", isStream: true };
const DECODE = { wire, model, seed: "seed" };
const TOOL: HubTool = { kind: "function", name: "files.read", description: undefined, parameters: undefined };
const CALLED: HubMessage = {
  role: "assistant",
  parts: [],
  thoughts: [
    { text: "proved", signature: "s" },
    { text: "unproved", signature: undefined },
  ],
  toolCalls: [{ id: "call:1", name: "files.read", arguments: "{}" }],
};

function encode(change: Partial<HubRequest>) {
  return converse.encode(
    { model, isStream: true, messages: [said("user", "hi")], ...change },
    { wire, target },
  );
}

function said(role: "user" | "assistant", text: string): HubMessage {
  const parts: HubPart[] = [{ kind: "text", text }];
  return role === "user" ? { role, parts } : { role, parts, thoughts: [], toolCalls: [] };
}

function withPart(part: HubPart): Partial<HubRequest> {
  return { messages: [{ role: "user", parts: [part] }] };
}

describe("requests", () => {
  const address = { kind: "url", url: "https://a.example/a" } as const;
  it.each<[string, Partial<HubRequest>]>([
    ["response_format", { format: { kind: "json" } }],
    ["n", { n: 2 }],
    ["logprobs", { logprobs: { top: 1 } }],
    ["tool_choice", { messages: [CALLED] }],
    ["tool_choice", { messages: [CALLED], tools: [TOOL], toolChoice: { kind: "none" } }],
    ["messages[].content[].audio", withPart({ kind: "audio", base64: "", format: "wav" })],
    ["messages[].content[].video", withPart({ kind: "video", source: address })],
    ["messages[].content[].image_url", withPart({ kind: "image", source: address })],
    [
      "messages[].content[].image_url",
      withPart({ kind: "image", source: { kind: "data", mime: "image/tiff", base64: "" } }),
    ],
    ["messages[].content[].file", withPart({ kind: "file", source: address, filename: undefined })],
    [
      "messages[].content[].file",
      withPart({ kind: "file", source: { kind: "id", id: "f" }, filename: undefined }),
    ],
  ])("refuse %s by name", (what, change) => {
    expect(() => encode(change)).toThrow(expect.objectContaining({ what }));
  });

  it("alternate roles, the user first, without blank texts", () => {
    const messages = [said("assistant", "a"), said("user", " "), said("assistant", "b"), said("user", "c")];
    expect(encode({ messages }).body["messages"]).toEqual([
      { role: "user", content: [{ text: "…" }] },
      { role: "assistant", content: [{ text: "a" }, { text: "b" }] },
      { role: "user", content: [{ text: "c" }] },
    ]);
  });

  it("have unique call ids", () => {
    const result: HubMessage = { role: "tool", callId: "call:1", name: "f", parts: [], isError: false };
    const messages = [said("user", "x"), CALLED, result, CALLED, result];
    const text = JSON.stringify(encode({ messages, tools: [TOOL] }).body["messages"]);
    const ids = [...text.matchAll(/"toolUseId":"([^"]*)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(2);
    expect(ids).toEqual([ids[0], ids[0], ids[2], ids[2]]);
  });

  it("have settings in range, and documents with unique names and a text", () => {
    const source = { kind: "data", mime: "application/pdf", base64: "" } as const;
    const filed = (...filenames: (string | undefined)[]): HubMessage => ({
      role: "user",
      parts: filenames.map((filename) => ({ kind: "file", source, filename })),
    });
    const { body } = encode({
      temperature: 1.5,
      topP: 2,
      stop: ["", "END"],
      messages: [
        filed("a.pdf", "a.txt", undefined),
        said("assistant", "b"),
        filed("a (2).md", "a", "文件.pdf"),
      ],
    });
    expect(body["inferenceConfig"]).toEqual({ temperature: 1, topP: 1, stopSequences: ["END"] });
    const text = JSON.stringify(body["messages"]);
    const names = [...text.matchAll(/"name":"([^"]*)"/g)].map(([, name]) => name);
    expect(names).toEqual(["a", "a (2)", "document", "a (2) (2)", "a (3)", "document (2)"]);
    expect(text.split('{"text":"…"}')).toHaveLength(3);
  });

  it("send back thinking only with its signature, and names the API accepts", () => {
    const result: HubMessage = {
      role: "tool",
      callId: "call:1",
      name: "files.read",
      parts: [],
      isError: true,
    };
    const { body, toolNames } = encode({ messages: [said("user", "hi"), CALLED, result], tools: [TOOL] });
    const name = expect.stringMatching(/^[\w-]+$/);
    expect(body["messages"]).toEqual([
      { role: "user", content: [{ text: "hi" }] },
      {
        role: "assistant",
        content: [
          { reasoningContent: { reasoningText: { text: "proved", signature: "s" } } },
          { toolUse: { toolUseId: name, name, input: {} } },
        ],
      },
      { role: "user", content: [{ toolResult: { toolUseId: name, content: [], status: "error" } }] },
    ]);
    expect([...(toolNames ?? [])]).toEqual([[name, "files.read"]]);
  });
});

describe("answers", () => {
  const block = fc.oneof(
    fc.record({ text: fc.string({ minLength: 1 }) }),
    fc.record({
      toolUse: fc.record({
        toolUseId: fc.uuid(),
        name: fc.string(),
        input: fc.dictionary(fc.string(), fc.string()),
      }),
    }),
  );

  it("are the same whole and streamed", () => {
    fc.assert(
      fc.property(fc.array(block, { minLength: 1 }), (content) => {
        const end = { usage: { inputTokens: 2, outputTokens: 1, cacheWriteInputTokens: 3 } };
        const whole = converse.decode(
          { output: { message: { content } }, stopReason: "tool_use", ...end },
          DECODE,
        );
        const decoder = converse.decoder(DECODE);
        const events: [name: string, data: object][] = [
          ...content.flatMap((item, contentBlockIndex): [string, object][] => {
            if ("text" in item) return [["contentBlockDelta", { contentBlockIndex, delta: item }]];
            const { input, ...start } = item.toolUse;
            const delta = { toolUse: { input: JSON.stringify(input) } };
            return [
              ["contentBlockStart", { contentBlockIndex, start: { toolUse: start } }],
              ["contentBlockDelta", { contentBlockIndex, delta }],
            ];
          }),
          ["messageStop", { stopReason: "tool_use" }],
          ["metadata", end],
        ];
        const streamed = events.flatMap(([name, data]) => {
          const taken = decoder.take({
            data: JSON.stringify(data),
            field: (field) => (field === "event" ? name : ""),
          });
          return "kind" in taken ? expect.fail(taken.message) : taken;
        });
        expect(foldReply(streamed)).toEqual("kind" in whole ? whole : foldReply(whole));
      }),
    );
  });

  it("never throw", () => {
    const names = ["contentBlockStart", "contentBlockDelta", "messageStop", "metadata", "else", ""];
    const event = fc.tuple(fc.constantFrom(...names), fc.json());
    fc.assert(
      fc.property(fc.array(event), (events) => {
        const decoder = converse.decoder(DECODE);
        for (const [name, data] of events)
          decoder.take({ data, field: (field) => (field === "event" ? name : "") });
      }),
    );
  });
});
