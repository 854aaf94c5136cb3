import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { wireOf } from "#contract/provider.ts";
import { providerOf } from "#contract/providers.ts";
import { type HubMessage, type HubRequest, Unmappable } from "#server/upstream/hub/request.ts";
import type { Target } from "./dialect.ts";
import { gemini } from "./gemini.ts";
import { thinkingConfig } from "./gemini-thinking.ts";

const provider = providerOf(24);
if (provider === undefined) throw new Error("no row for Gemini");
const wire = wireOf(provider, { key: "", baseUrl: "", other: "", model: "" });

function targetFor(model: string, more: Partial<Target> = {}): Target {
  return { baseUrl: wire.baseUrl, other: "v1beta", model, apiVersion: "", isStream: false, ...more };
}

function encode(request: Partial<HubRequest>) {
  const whole: HubRequest = {
    model: "gemini-2.5-flash",
    isStream: false,
    messages: [user("hi")],
    ...request,
  };
  return gemini.encode(whole, { wire, target: targetFor(whole.model) });
}

function user(text: string): HubMessage {
  return { role: "user", parts: [{ kind: "text", text }] };
}

describe("address", () => {
  const address = (endpoint: "chat" | "embeddings", target: Target) => gemini.address(endpoint, wire, target);
  const base = "https://generativelanguage.googleapis.com";

  it("has the model in the path and requests events", () => {
    expect(address("chat", targetFor("gemini-2.5-pro"))).toBe(
      `${base}/v1beta/models/gemini-2.5-pro:generateContent`,
    );
    expect(address("chat", targetFor("tunedModels/a b", { isStream: true, other: "v1" }))).toBe(
      `${base}/v1/tunedModels/a%20b:streamGenerateContent?alt=sse`,
    );
    expect(address("embeddings", targetFor("models/e", { other: "", baseUrl: "https://x.com/v1beta" }))).toBe(
      "https://x.com/v1beta/models/e:batchEmbedContents",
    );
  });
});

describe("request", () => {
  it("is the documented example of vendors/gemini", () => {
    const call = { id: "call_a", name: "get_weather", arguments: '{"city":"Paris"}' };
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const { body, dropped } = encode({
      temperature: 1.2,
      topP: 0.9,
      maxTokens: 100,
      stop: ["END"],
      user: "u1",
      messages: [
        { role: "system", parts: [{ kind: "text", text: "You are brief." }] },
        user("Weather in Paris?"),
        { role: "assistant", parts: [], thoughts: [], toolCalls: [call] },
        {
          role: "tool",
          callId: "call_a",
          name: undefined,
          parts: [{ kind: "text", text: "21C" }],
          isError: false,
        },
        user("Thanks. Now Rome"),
      ],
      tools: [
        {
          kind: "function",
          name: "get_weather",
          description: "d",
          parameters: { ...schema, additionalProperties: false },
        },
      ],
      toolChoice: { kind: "auto" },
    });
    const { safetySettings: _, ...rest } = body;
    expect(rest).toEqual({
      systemInstruction: { parts: [{ text: "You are brief." }] },
      contents: [
        { role: "user", parts: [{ text: "Weather in Paris?" }] },
        { role: "model", parts: [{ functionCall: { name: "get_weather", args: { city: "Paris" } } }] },
        {
          role: "user",
          parts: [
            { functionResponse: { name: "get_weather", response: { content: "21C" } } },
            { text: "Thanks. Now Rome" },
          ],
        },
      ],
      tools: [{ functionDeclarations: [{ name: "get_weather", description: "d", parameters: schema }] }],
      toolConfig: { functionCallingConfig: { mode: "AUTO" } },
      generationConfig: { temperature: 1.2, topP: 0.9, maxOutputTokens: 100, stopSequences: ["END"] },
    });
    expect(dropped).toEqual(["user"]);
  });

  it("has the signature of the first call of a step for Gemini 3, or its placeholder", () => {
    const calls = [
      { id: "a", name: "f", arguments: "{}", signature: "c2ln" },
      { id: "b", name: "g", arguments: "" },
    ];
    const messages = (toolCalls: typeof calls): HubMessage[] => [
      user("x"),
      { role: "assistant", parts: [], thoughts: [], toolCalls },
    ];
    const partsOf = (toolCalls: typeof calls) =>
      encode({ model: "gemini-3-pro-preview", messages: messages(toolCalls) }).body["contents"];
    expect(partsOf(calls)).toMatchObject([
      {},
      {
        parts: [
          { thoughtSignature: "c2ln", functionCall: { id: "a" } },
          { functionCall: { id: "b", args: {} } },
        ],
      },
    ]);
    expect(partsOf(calls.slice(1))).toMatchObject([
      {},
      { parts: [{ thoughtSignature: "skip_thought_signature_validator" }] },
    ]);
  });

  it("takes media inline and refuses URLs that Gemini does not open", () => {
    const withUrl = (url: string): HubMessage => ({
      role: "user",
      parts: [
        { kind: "image", source: { kind: "data", mime: "image/png", base64: "AA" } },
        { kind: "audio", base64: "BB", format: "wav" },
        { kind: "video", source: { kind: "url", url } },
      ],
    });
    const { contents } = encode({ messages: [withUrl("https://youtu.be/x")] }).body;
    expect(contents).toEqual([
      {
        role: "user",
        parts: [
          { inlineData: { mimeType: "image/png", data: "AA" } },
          { inlineData: { mimeType: "audio/wav", data: "BB" } },
          { fileData: { fileUri: "https://youtu.be/x" } },
        ],
      },
    ]);
    expect(() => encode({ messages: [withUrl("https://example.com/x.mp4")] })).toThrow(Unmappable);
  });

  it("reports every dropped hint", () => {
    const { body, dropped } = encode({
      model: "gemini-2.0-flash",
      seed: 2 ** 40,
      verbosity: "low",
      parallelToolCalls: false,
      serviceTier: "scale",
      cacheKey: "k",
      messages: [
        {
          role: "user",
          name: "ann",
          parts: [
            { kind: "text", text: "hi", cache: { ttl: undefined } },
            { kind: "image", source: { kind: "data", mime: "image/png", base64: "AA" }, detail: "high" },
          ],
        },
      ],
      reasoning: { effort: "high", budgetTokens: undefined, isShown: undefined },
      extras: { logit_bias: {}, modalities: ["text"] },
    });
    expect(dropped?.toSorted()).toEqual([
      "cache_control",
      "logit_bias",
      "messages[].content[].image_url.detail",
      "messages[].name",
      "parallel_tool_calls",
      "prompt_cache_key",
      "reasoning_effort",
      "seed",
      "service_tier",
      "verbosity",
    ]);
    expect(body).not.toHaveProperty("generationConfig");
  });

  it.each([
    ["gemini-3.5-flash", true],
    ["gemini-3.1-pro-preview", true],
    ["gemini-3.5-flash-lite", false],
    ["gemini-3.6-flash", false],
    ["gemini-3.8-flash", false],
    ["gemini-flash-latest", false],
    ["gemini-4-flash", false],
  ])("sends %s sampling and a prefill only if it takes them: %s", (model, takes) => {
    const penalties = { presencePenalty: 0.5, frequencyPenalty: 0 };
    const begun: HubMessage = {
      role: "assistant",
      parts: [{ kind: "text", text: "So" }],
      thoughts: [],
      toolCalls: [],
    };
    const { body, dropped } = encode({
      ...{ model, temperature: 0.2, topP: 0.9, topK: 5, ...penalties },
      messages: [user("hi"), begun],
    });
    const sampling = { temperature: 0.2, topP: 0.9, topK: 5, presencePenalty: 0.5 };
    expect(body["generationConfig"]).toEqual(takes ? sampling : undefined);
    expect(dropped).toEqual(takes ? [] : ["temperature", "top_p", "top_k", "presence_penalty"]);
    const turns = [
      { role: "user", parts: [{ text: "hi" }] },
      { role: "model", parts: [{ text: "So" }] },
    ];
    const word = { role: "user", parts: [{ text: "Continue." }] };
    expect(body["contents"]).toEqual(takes ? turns : [...turns, word]);
  });

  it("gives functions names that Gemini accepts, and returns the mapping", () => {
    const names = ["ok_name", "a/b", `long${"x".repeat(80)}`, "天气"];
    const { body, toolNames } = encode({
      tools: names.map((name) => ({ kind: "function", name, description: undefined, parameters: undefined })),
      toolChoice: { kind: "tool", name: "a/b" },
    });
    const wireNames = JSON.stringify(body["tools"]).match(/"name":"[^"]+"/g) ?? [];
    expect(wireNames.every((name) => /^"name":"[A-Za-z_][\w.:-]{0,63}"$/.test(name))).toBe(true);
    expect(new Set(wireNames).size).toBe(4);
    expect([...(toolNames ?? new Map()).values()]).toEqual(expect.arrayContaining(names.slice(1)));
    const [allowed] = [...(toolNames ?? new Map()).entries()].find(([, name]) => name === "a/b") ?? [];
    expect(body["toolConfig"]).toEqual({
      functionCallingConfig: { mode: "ANY", allowedFunctionNames: [allowed] },
    });
  });

  it("stays small although each of many tools expands to very many nodes", () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => {
        const next = { $ref: `#/$defs/d${at + 1}` };
        return [`d${at}`, { type: "object", properties: { l: next, r: next } }];
      }),
    );
    const parameters = { type: "object", properties: { a: { $ref: "#/$defs/d0" } }, $defs };
    const tools = Array.from({ length: 200 }, (_, at) => ({
      kind: "function" as const,
      name: `f${at}`,
      description: undefined,
      parameters,
    }));
    expect(JSON.stringify(encode({ tools }).body).length).toBeLessThan(4e6);
  });

  it("begins with the user and starts function names with a letter", () => {
    const call = { id: "a", name: "1st", arguments: "{}" };
    const messages: HubMessage[] = [
      { role: "assistant", parts: [], thoughts: [], toolCalls: [call] },
      { role: "tool", callId: "a", name: "1st", parts: [], isError: false },
    ];
    const { body, toolNames } = encode({ messages });
    expect(body["contents"]).toMatchObject([
      { role: "user", parts: [{ text: "..." }] },
      { role: "model", parts: [{ functionCall: { name: "_1st" } }] },
      { role: "user", parts: [{ functionResponse: { name: "_1st" } }] },
    ]);
    expect(toolNames).toEqual(new Map([["_1st", "1st"]]));
  });

  it("fails only with Unmappable, naming the member", () => {
    const text = fc.string({ maxLength: 8 });
    const source = fc.oneof(
      fc.record({ kind: fc.constant("data" as const), mime: text, base64: text }),
      fc.record({ kind: fc.constant("url" as const), url: fc.webUrl() }),
    );
    const part = fc.oneof(
      fc.record({ kind: fc.constant("text" as const), text }),
      fc.record({ kind: fc.constant("image" as const), source }),
      fc.record({ kind: fc.constant("file" as const), source, filename: fc.constant(undefined) }),
    );
    const parts = fc.array(part, { maxLength: 3 });
    const call = fc.record({ id: text, name: text, arguments: fc.oneof(text, fc.json()) });
    const message: fc.Arbitrary<HubMessage> = fc.oneof(
      fc.record({ role: fc.constant("system" as const), parts }),
      fc.record({ role: fc.constant("user" as const), parts }),
      fc.record({
        role: fc.constant("assistant" as const),
        parts,
        thoughts: fc.constant([]),
        toolCalls: fc.array(call, { maxLength: 2 }),
      }),
      fc.record({
        role: fc.constant("tool" as const),
        callId: text,
        name: fc.option(text, { nil: undefined }),
        parts,
        isError: fc.boolean(),
      }),
    );
    const request = fc.record({
      model: fc.constantFrom("gemini-2.5-pro", "gemini-3-flash", "gemini-pro", "x"),
      messages: fc.array(message, { maxLength: 6 }),
      n: fc.option(fc.nat(20), { nil: undefined }),
      extras: fc.option(fc.dictionary(text, fc.jsonValue()), { nil: undefined }),
    });
    fc.assert(
      fc.property(request, (some) => {
        try {
          JSON.stringify(encode(some).body);
        } catch (error) {
          expect(error).toBeInstanceOf(Unmappable);
        }
      }),
    );
  });
});

describe("thinking", () => {
  const config = (model: string, effort: "none" | "minimal" | "low" | "medium" | "high") =>
    thinkingConfig(model, { effort, budgetTokens: undefined, isShown: false });

  it.each([
    ["gemini-2.5-pro", "none", { thinkingBudget: 128 }],
    ["gemini-2.5-pro", "high", { thinkingBudget: 32_768 }],
    ["gemini-2.5-flash", "none", { thinkingBudget: 0 }],
    ["gemini-2.5-flash", "medium", { thinkingBudget: 8_192 }],
    ["gemini-2.5-flash-lite", "minimal", { thinkingBudget: 512 }],
    ["gemini-flash-latest", "none", { thinkingLevel: "LOW" }],
    ["gemini-flash-lite-latest", "none", { thinkingLevel: "MINIMAL" }],
    ["gemini-pro-latest", "medium", { thinkingLevel: "MEDIUM" }],
    ["gemini-3-pro-preview", "none", { thinkingLevel: "LOW" }],
    ["gemini-3-pro-preview", "medium", { thinkingLevel: "HIGH" }],
    ["gemini-3.1-pro-preview", "medium", { thinkingLevel: "MEDIUM" }],
    ["gemini-3.6-flash", "none", { thinkingLevel: "MINIMAL" }],
    ["gemini-3.7-flash", "none", { thinkingLevel: "LOW" }],
    ["gemini-3.8-flash", "minimal", { thinkingLevel: "LOW" }],
    ["gemini-3.8-flash", "medium", { thinkingLevel: "MEDIUM" }],
    ["gemini-4-argon", "none", { thinkingLevel: "LOW" }],
    ["gemini-4-argon", "medium", { thinkingLevel: "MEDIUM" }],
    ["gemini-4-argon", "high", { thinkingLevel: "HIGH" }],
    ["gemini-3.5-flash-lite", "none", { thinkingLevel: "MINIMAL" }],
    ["gemini-4-flash", "none", { thinkingLevel: "LOW" }],
    ["gemini-4-pro-preview", "medium", { thinkingLevel: "MEDIUM" }],
    ["gemini-2.0-flash", "none", {}],
    ["gemini-2.0-flash", "high", undefined],
    ["gemini-2.5-flash-image", "high", undefined],
  ] as const)("%s, %s", (model, effort, expected) => {
    expect(config(model, effort)).toEqual(expected);
  });

  it("converts tokens to levels where the model takes levels, and shows thoughts by default", () => {
    const wish = (budgetTokens: number) => ({ effort: undefined, budgetTokens, isShown: undefined });
    expect(thinkingConfig("gemini-3.5-flash", wish(16_000))).toEqual({
      thinkingLevel: "MEDIUM",
      includeThoughts: true,
    });
    expect(thinkingConfig("gemini-2.5-flash", wish(-1))).toEqual({
      thinkingBudget: -1,
      includeThoughts: true,
    });
    expect(thinkingConfig("gemini-2.5-flash", wish(99_999))).toMatchObject({ thinkingBudget: 24_576 });
  });
});

it("embeds texts in one batch", () => {
  const request = { model: "gemini-embedding-001", inputs: ["a", "b"], dimensions: 768, user: undefined };
  const { body } = gemini.embeddings?.encode(request, { wire, target: targetFor(request.model) }) ?? {};
  expect(body).toEqual({
    requests: ["a", "b"].map((text) => ({
      model: "models/gemini-embedding-001",
      content: { parts: [{ text }] },
      outputDimensionality: 768,
    })),
  });
  expect(gemini.embeddings?.decode({ embeddings: [{ values: [1, 2] }, { values: [3] }] })).toEqual({
    kind: "embedded",
    vectors: [[1, 2], [3]],
    usage: undefined,
  });
});
