// Cohere's v2: unsupported members are refused by name, whole and streamed answers are the same, unknown events never throw.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { providerOf } from "#contract/providers.ts";
import { foldReply, type HubChunk } from "#server/upstream/hub/reply.ts";
import type { HubPart, HubRequest, HubTool } from "#server/upstream/hub/request.ts";
import { cohere } from "./cohere.ts";
import type { WireError } from "./dialect.ts";

const wire = providerOf(35) ?? expect.fail("no row");
const model = "command-a-reasoning-08-2025";
const target = { baseUrl: "https://a.example", other: "", model, apiVersion: "", isStream: true };
const DECODE = { wire, model, seed: "seed" };
const tool = (name: string): HubTool => ({
  kind: "function",
  name,
  description: undefined,
  parameters: undefined,
});

function encode(change: Partial<HubRequest>) {
  const messages: HubRequest["messages"] = [{ role: "user", parts: [{ kind: "text", text: "hi" }] }];
  return cohere.encode({ model, isStream: true, messages, ...change }, { wire, target });
}

function chunksOf(found: readonly HubChunk[] | WireError): readonly HubChunk[] {
  return "kind" in found ? expect.fail(found.message) : found;
}

describe("requests", () => {
  const withPart = (part: HubPart): Partial<HubRequest> => ({ messages: [{ role: "user", parts: [part] }] });
  it.each<[string, Partial<HubRequest>]>([
    ["n", { n: 2 }],
    ["logprobs", { logprobs: { top: 1 } }],
    ["messages[].content[].audio", withPart({ kind: "audio", base64: "", format: "wav" })],
    [
      "messages[].content[].video",
      withPart({ kind: "video", source: { kind: "url", url: "https://a.example/v" } }),
    ],
    [
      "messages[].content[].file",
      withPart({ kind: "file", source: { kind: "id", id: "f" }, filename: undefined }),
    ],
  ])("refuse %s by name", (what, change) => {
    expect(() => encode(change)).toThrow(expect.objectContaining({ what }));
  });

  it("have a text for an empty tool result", () => {
    const { body } = encode({
      messages: [
        { role: "user", parts: [{ kind: "text", text: "hi" }] },
        { role: "assistant", parts: [], thoughts: [], toolCalls: [{ id: "c", name: "f", arguments: "{}" }] },
        { role: "tool", callId: "c", name: "f", parts: [], isError: false },
      ],
      tools: [tool("f")],
    });
    expect(body["messages"]).toMatchObject([{ role: "user" }, { role: "assistant" }, { content: "OK" }]);
  });

  it.each<[HubRequest["toolChoice"], string | undefined, string[]]>([
    [undefined, undefined, ["f", "g"]],
    [{ kind: "none" }, "NONE", ["f", "g"]],
    [{ kind: "any" }, "REQUIRED", ["f", "g"]],
    [{ kind: "tool", name: "g" }, "REQUIRED", ["g"]],
    [{ kind: "subset", names: ["f"], isRequired: false }, undefined, ["f"]],
  ])("choose among tools: %j", (toolChoice, choice, names) => {
    const { body } = encode({ tools: [tool("f"), tool("g")], toolChoice });
    expect(body["tool_choice"]).toBe(choice);
    expect(body["tools"]).toMatchObject(names.map((name) => ({ function: { name } })));
  });

  it("have penalties and stops that the API accepts", () => {
    const stop = ["a", "b", "c", "d", "e", "f"];
    const { body, dropped } = encode({ frequencyPenalty: 1.5, presencePenalty: -2, stop });
    expect(body).toMatchObject({
      frequency_penalty: 1,
      presence_penalty: 0,
      stop_sequences: stop.slice(0, 5),
    });
    expect(dropped).toEqual(["stop"]);
  });

  it("have a thinking budget only for models that think", () => {
    const reasoning = { effort: undefined, budgetTokens: 500, isShown: undefined };
    expect(encode({ reasoning }).body["thinking"]).toEqual({ type: "enabled", token_budget: 500 });
    const { body, dropped } = encode({ reasoning, model: "command-r-08-2024" });
    expect([body["thinking"], dropped]).toEqual([undefined, ["reasoning_effort"]]);
  });
});

describe("answers", () => {
  it("are the same whole and streamed", () => {
    const part = fc.oneof(
      fc.record({ text: fc.string({ minLength: 1 }) }),
      fc.record({ thinking: fc.string({ minLength: 1 }) }),
    );
    const call = fc.record({ name: fc.string(), arguments: fc.string({ minLength: 1 }) });
    fc.assert(
      fc.property(fc.string(), fc.array(part), fc.array(call), (tool_plan, content, calls) => {
        const end = { finish_reason: "TOOL_CALL", usage: { tokens: { input_tokens: 2, output_tokens: 1 } } };
        const tool_calls = calls.map((fn, index) => ({ id: `c${index}`, type: "function", function: fn }));
        const whole = { id: "c1", message: { tool_plan, content, tool_calls }, ...end };
        const decoder = cohere.decoder(DECODE);
        const events = [
          { type: "message-start", id: "c1" },
          { type: "tool-plan-delta", delta: { message: { tool_plan } } },
          ...content.map((item) => ({ type: "content-delta", delta: { message: { content: item } } })),
          ...tool_calls.flatMap((one, index) => [
            {
              type: "tool-call-start",
              index,
              delta: {
                message: { tool_calls: { ...one, function: { name: one.function.name, arguments: "" } } },
              },
            },
            {
              type: "tool-call-delta",
              index,
              delta: { message: { tool_calls: { function: { arguments: one.function.arguments } } } },
            },
          ]),
          { type: "message-end", delta: end },
        ];
        const streamed = events.flatMap((event) =>
          chunksOf(decoder.take({ data: JSON.stringify(event), field: () => "" })),
        );
        expect(foldReply(streamed)).toEqual(foldReply(chunksOf(cohere.decode(whole, DECODE))));
      }),
    );
  });

  it("never throw", () => {
    const type = fc.constantFrom(
      "message-start",
      "content-delta",
      "tool-call-start",
      "tool-call-delta",
      "message-end",
      "",
    );
    const event = fc.record({ type, index: fc.jsonValue(), delta: fc.jsonValue() });
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            event.map((value) => JSON.stringify(value)),
            fc.json(),
          ),
        ),
        (events) => {
          const decoder = cohere.decoder(DECODE);
          for (const data of events) decoder.take({ data, field: () => "" });
        },
      ),
    );
  });
});
