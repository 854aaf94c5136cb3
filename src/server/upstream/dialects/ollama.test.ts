// Ollama's wire: unsupported members are refused by name, whole and streamed answers are the same, unknown lines never throw.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { providerOf } from "#contract/providers.ts";
import { foldReply, type HubChunk } from "#server/upstream/hub/reply.ts";
import type { HubPart, HubRequest, HubTool } from "#server/upstream/hub/request.ts";
import type { EncodeContext, WireError } from "./dialect.ts";
import { ollama } from "./ollama.ts";

const wire = providerOf(30) ?? expect.fail("no row");
const model = "llama3.3";
const target = { baseUrl: "http://a.example", other: "", model, apiVersion: "", isStream: true };
const context: EncodeContext = { wire, target };
const DECODE = { wire, model, seed: "seed" };
const TOOL: HubTool = { kind: "function", name: "files.read", description: undefined, parameters: undefined };

function request(change: Partial<HubRequest> = {}): HubRequest {
  return {
    model,
    isStream: true,
    messages: [{ role: "user", parts: [{ kind: "text", text: "hi" }] }],
    ...change,
  };
}

function chunksOf(found: readonly HubChunk[] | WireError): readonly HubChunk[] {
  return "kind" in found ? expect.fail(found.message) : found;
}

describe("requests", () => {
  const media: [string, HubPart][] = [
    ["audio", { kind: "audio", base64: "", format: "wav" }],
    ["video", { kind: "video", source: { kind: "url", url: "https://a.example/v" } }],
    ["file", { kind: "file", source: { kind: "id", id: "f" }, filename: undefined }],
  ];
  it.each<[string, Partial<HubRequest>]>([
    ["tool_choice", { tools: [TOOL], toolChoice: { kind: "any" } }],
    ["tool_choice", { tools: [TOOL], toolChoice: { kind: "tool", name: "files.read" } }],
    [
      "tool_choice",
      { tools: [TOOL], toolChoice: { kind: "subset", names: ["files.read"], isRequired: true } },
    ],
    ["n", { n: 2 }],
    ["logprobs", { logprobs: { top: 1 } }],
    ...media.map(([kind, part]): [string, Partial<HubRequest>] => [
      `messages[].content[].${kind}`,
      { messages: [{ role: "user", parts: [part] }] },
    ]),
  ])("refuse %s by name", (what, change) => {
    expect(() => ollama.encode(request(change), context)).toThrow(expect.objectContaining({ what }));
  });

  it("have no tools where none may be called, and return the mapping of shortened names", () => {
    const none = ollama.encode(request({ tools: [TOOL], toolChoice: { kind: "none" } }), context);
    expect(none.body["tools"]).toBeUndefined();
    const { toolNames } = ollama.encode(request({ tools: [TOOL] }), context);
    expect([...(toolNames ?? [])]).toEqual([[expect.stringMatching(/^[\w-]+$/), "files.read"]]);
  });

  it.each([
    ["gpt-oss:20b", "minimal", "low"],
    ["gpt-oss:20b", "xhigh", "high"],
    ["gpt-oss:20b", "none", false],
    ["qwen3:8b", "high", true],
    ["qwen3:8b", "none", false],
  ] as const)("make %s think %s as %s", (name, effort, think) => {
    const reasoning = { effort, budgetTokens: undefined, isShown: undefined };
    expect(ollama.encode(request({ model: name, reasoning }), context).body["think"]).toBe(think);
  });

  it("pass on Ollama's own options and report unsupported members", () => {
    const extras = { options: { mirostat: 1, top_k: 1 }, num_ctx: 4096, min_p: 0.1, logit_bias: {} };
    const { body, dropped } = ollama.encode(
      request({ extras, topK: 9, user: "u", tools: [{ kind: "web-search", options: {} }] }),
      context,
    );
    expect(body["options"]).toEqual({ mirostat: 1, top_k: 9, num_ctx: 4096, min_p: 0.1 });
    expect(dropped).toEqual(["user", "logit_bias", "web_search_options"]);
  });
});

describe("answers", () => {
  it("are the same whole and streamed", () => {
    const call = fc.record({
      name: fc.string({ minLength: 1 }),
      arguments: fc.dictionary(fc.string(), fc.string()),
    });
    const texts = fc.array(fc.string({ minLength: 1 }), { maxLength: 4 });
    fc.assert(
      fc.property(texts, texts, fc.array(call, { maxLength: 3 }), (thoughts, pieces, calls) => {
        const end = { done: true, done_reason: "stop", prompt_eval_count: 2, eval_count: 1 };
        const tool_calls = calls.map((fn) => ({ function: fn }));
        const whole = { thinking: thoughts.join(""), content: pieces.join(""), tool_calls };
        const decoder = ollama.decoder(DECODE);
        const lines = [
          ...thoughts.map((thinking) => ({ message: { content: "", thinking } })),
          ...pieces.map((content) => ({ message: { content } })),
          ...tool_calls.map((one) => ({ message: { content: "", tool_calls: [one] } })),
          { message: { content: "" }, ...end },
        ];
        const streamed = lines.flatMap((line) =>
          chunksOf(decoder.take({ data: JSON.stringify(line), field: () => "" })),
        );
        expect(foldReply(streamed)).toEqual(
          foldReply(chunksOf(ollama.decode({ message: whole, ...end }, DECODE))),
        );
      }),
    );
  });

  it("never throw", () => {
    fc.assert(
      fc.property(fc.array(fc.json()), (lines) => {
        const decoder = ollama.decoder(DECODE);
        for (const data of lines) decoder.take({ data, field: () => "" });
      }),
    );
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("message", "done", "created_at", "eval_count"), fc.jsonValue()),
        (body) => {
          ollama.decode(body, DECODE);
        },
      ),
    );
  });
});
