import { describe, expect, it } from "vitest";
import { providerOf } from "#contract/providers.ts";
import { clients } from "#server/upstream/clients/index.ts";
import type { HubMessage, HubReasoning, HubRequest } from "#server/upstream/hub/request.ts";
import { asObject } from "#server/upstream/json/values.ts";
import { anthropic } from "./anthropic.ts";

const question: HubMessage = { role: "user", parts: [{ kind: "text", text: "hi" }] };

function encode(request: Partial<HubRequest>) {
  const whole: HubRequest = { model: "claude-sonnet-4-6", isStream: false, messages: [question], ...request };
  const target = { baseUrl: "", other: "", model: whole.model, apiVersion: "", isStream: false };
  return anthropic.encode(whole, { wire: providerOf(14) ?? fail(), target });
}

function fail(): never {
  throw new Error("no row for Anthropic");
}

function budget(tokens: number) {
  return { type: "enabled", budget_tokens: tokens };
}

function thought(effort: HubReasoning["effort"]): HubReasoning {
  return { effort, budgetTokens: undefined, isShown: undefined };
}

describe("settings", () => {
  it.each([
    ["claude-sonnet-4-6", true, 32_000],
    ["anthropic.claude-opus-5", true, 32_000],
    ["claude-sonnet-4-6", false, 8192],
    // These think by default.
    ["claude-sonnet-5", false, 32_000],
    ["claude-opus-5-5", false, 32_000],
    ["claude-sonnet-4-20250514", true, 8192],
    ["claude-3-opus-20240229", true, 4096],
    ["glm-4.7", true, 8192],
  ])("%s has a default limit (streaming: %s) of %i tokens", (model, isStream, limit) => {
    expect(encode({ model, isStream }).body).toMatchObject({ max_tokens: limit });
  });

  it.each<[model: string, reasoning: Partial<HubReasoning>, maxTokens: number | undefined, body: object]>([
    ["claude-3-5-haiku-20241022", { effort: "high" }, 500, { max_tokens: 500 }],
    ["claude-sonnet-4-20250514", { effort: "low" }, 8000, { max_tokens: 8000, thinking: budget(1280) }],
    ["claude-opus-4-5", { effort: "high" }, undefined, { max_tokens: 32_000, thinking: budget(4096) }],
    ["claude-haiku-4-5", { effort: "high" }, 2000, { max_tokens: 2000, thinking: budget(1600) }],
    ["claude-haiku-4-5", { effort: "high" }, 100, { max_tokens: 100 }],
    ["claude-haiku-4-5", { effort: "minimal" }, 100, { max_tokens: 100, thinking: { type: "disabled" } }],
    [
      "claude-sonnet-4-6",
      { effort: "max" },
      9,
      { max_tokens: 9, thinking: { type: "adaptive" }, output_config: { effort: "max" } },
    ],
    ["claude-sonnet-4-6", { budgetTokens: 3000 }, 9000, { max_tokens: 9000, thinking: budget(3000) }],
    [
      "claude-opus-4-6",
      { effort: "max" },
      9,
      { max_tokens: 9, thinking: { type: "adaptive" }, output_config: { effort: "max" } },
    ],
    [
      "us.anthropic.claude-opus-4-8",
      { budgetTokens: 3000, isShown: true },
      9,
      {
        max_tokens: 9,
        thinking: { type: "adaptive", display: "summarized" },
        output_config: { effort: "medium" },
      },
    ],
    ["claude-opus-5", { budgetTokens: -1 }, 9, { max_tokens: 9, thinking: { type: "adaptive" } }],
    ["claude-opus-5", { effort: "none" }, 9, { max_tokens: 9, thinking: { type: "disabled" } }],
    ["claude-haiku-5-5", { effort: "minimal" }, 9, { max_tokens: 9, thinking: { type: "disabled" } }],
    ["claude-sonnet-5-5", { effort: "none" }, 9, { max_tokens: 9, thinking: { type: "between_tools" } }],
    [
      "claude-opus-5-5",
      { budgetTokens: 0 },
      undefined,
      { max_tokens: 32_000, thinking: { type: "adaptive" }, output_config: { effort: "low" } },
    ],
    [
      "claude-fable-5-2",
      { effort: "xhigh", isShown: true },
      9,
      {
        max_tokens: 9,
        thinking: { type: "adaptive", display: "summarized" },
        output_config: { effort: "xhigh" },
      },
    ],
    ["glm-4.7", { effort: "medium" }, 9000, { max_tokens: 9000, thinking: budget(2048) }],
  ])("%s gets the thinking of its generation: %j of %s", (model, reasoning, maxTokens, expected) => {
    const { body } = encode({
      model,
      maxTokens,
      reasoning: { effort: undefined, budgetTokens: undefined, isShown: undefined, ...reasoning },
    });
    const { model: _, messages: __, ...rest } = body;
    expect(rest).toEqual(expected);
  });

  const tool = {
    kind: "function",
    name: "t",
    description: undefined,
    parameters: undefined,
    strict: undefined,
  } as const;
  const summarized = { type: "adaptive", display: "summarized" };

  it.each<[model: string, request: Partial<HubRequest>, thinking: unknown]>([
    // 5.5 sends as thoughts what older models send as text between tool calls.
    ["claude-opus-5-5", { tellsThoughts: true }, summarized],
    ["claude-sonnet-5-5", { tellsThoughts: true, reasoning: thought("high") }, summarized],
    ["claude-opus-4-8", { tellsThoughts: true, reasoning: thought("high") }, summarized],
    ["claude-fable-5-1", { tellsThoughts: true, tools: [tool], toolChoice: { kind: "any" } }, summarized],
    // The client set it itself, or its format has no thoughts.
    ["claude-opus-5-5", { tellsThoughts: false }, undefined],
    ["claude-opus-5-5", {}, undefined],
    ["claude-opus-5-5", { reasoning: thought("high") }, { type: "adaptive" }],
    [
      "claude-opus-5-5",
      { tellsThoughts: true, reasoning: { ...thought("high"), isShown: false } },
      { type: "adaptive", display: "omitted" },
    ],
    // These do not think by default, send their thoughts anyway, or would refuse a forced tool.
    ["claude-opus-4-8", { tellsThoughts: true }, undefined],
    ["claude-sonnet-4-6", { tellsThoughts: true, reasoning: thought("high") }, { type: "adaptive" }],
    ["claude-sonnet-5-5", { tellsThoughts: true, reasoning: thought("none") }, { type: "between_tools" }],
    ["claude-fable-5", { tellsThoughts: true, tools: [tool], toolChoice: { kind: "any" } }, undefined],
    ["glm-4.7", { tellsThoughts: true }, undefined],
  ])("%s is asked to send its thoughts to clients that show them: %j", (model, request, thinking) => {
    expect(encode({ model, ...request }).body["thinking"]).toEqual(thinking);
  });

  it.each([
    ["chat", {}, "summarized"],
    ["chat", { reasoning: { exclude: true } }, undefined],
    ["responses", {}, "summarized"],
    ["responses", { reasoning: { summary: "none" } }, undefined],
    ["completions", { prompt: "hi" }, undefined],
    ["generate", {}, undefined],
    ["generate", { generationConfig: { thinkingConfig: { includeThoughts: true } } }, "summarized"],
    ["messages", { max_tokens: 9 }, undefined],
  ] as const)("a client of %s that says %j gets what Claude 5.5 thinks %s", (format, fields, display) => {
    const model = "claude-opus-5-5";
    const contents = [{ role: "user", parts: [{ text: "hi" }] }];
    const body = { model, input: "hi", contents, messages: [{ role: "user", content: "hi" }], ...fields };
    const request = clients[format].parse(body, { model, isStream: true });
    const thinking = asObject(encode({ ...request, messages: [question] }).body["thinking"]);
    expect(thinking?.["display"]).toBe(display);
  });

  it("reads an effort off the model's name", () => {
    const { body } = encode({ model: "claude-opus-4-7-xhigh" });
    expect(body).toMatchObject({ model: "claude-opus-4-7", output_config: { effort: "xhigh" } });
  });

  it("sends new models no sampling, and no other model what thinking forbids", () => {
    const sampling = { temperature: 0.5, topP: 0.9, topK: 5 };
    expect(encode({ ...sampling, model: "claude-opus-4-7" }).dropped).toEqual([
      "temperature",
      "top_p",
      "top_k",
    ]);
    expect(encode({ ...sampling, model: "claude-3-opus-20240229" }).body).toMatchObject({
      temperature: 0.5,
      top_p: 0.9,
      top_k: 5,
      max_tokens: 4096,
    });
    const reasoning = { effort: "low", budgetTokens: undefined, isShown: undefined } as const;
    expect(encode({ ...sampling, reasoning }).dropped).toEqual(["temperature", "top_p", "top_k"]);
  });

  it("does not think by a budget in a tool turn whose thinking the client dropped", () => {
    const reasoning = { effort: "low", budgetTokens: undefined, isShown: undefined } as const;
    const turn = (signature: string | undefined): HubMessage[] => [
      question,
      {
        role: "assistant",
        parts: [],
        thoughts: [{ text: "T", signature }],
        toolCalls: [{ id: "c", name: "f", arguments: "{}" }],
      },
      { role: "tool", callId: "c", name: "f", parts: [], isError: false },
    ];
    const ask = (model: string, signature?: string) =>
      encode({ model, reasoning, messages: turn(signature) }).body["thinking"];
    expect(ask("claude-haiku-4-5")).toBeUndefined();
    expect(ask("claude-haiku-4-5", "S")).toEqual(budget(1280));
    expect(ask("claude-opus-5")).toEqual({ type: "adaptive" });
  });
});
