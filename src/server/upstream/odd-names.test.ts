// Requests with texts and names like `constructor`: no look-up table may take them for its entries (requirements R06).
import { describe, expect, it } from "vitest";
import { providers, type Wire } from "#contract/providers.ts";
import { FORMATS } from "#test/worlds/matrix.ts";
import { clients } from "./clients/index.ts";
import { dialects } from "./dialects/index.ts";
import { Unmappable } from "./hub/request.ts";
import { asObject, type JsonRecord } from "./json/values.ts";

const parameters = { type: "object", properties: { a: { type: "string", format: "date" } }, required: ["a"] };
const call = { id: "c1", type: "function", function: { name: "f", arguments: '{"a":1}' } };
const PICTURE = "data:image/png;base64,aGk=";

const BODIES: Readonly<Record<(typeof FORMATS)[number], JsonRecord>> = {
  chat: {
    messages: [
      { role: "system", content: "s" },
      {
        role: "user",
        content: [
          { type: "text", text: "t" },
          { type: "image_url", image_url: { url: PICTURE } },
        ],
      },
      { role: "assistant", content: "x", tool_calls: [call] },
      { role: "tool", tool_call_id: "c1", content: "r" },
    ],
    tools: [{ type: "function", function: { name: "f", description: "d", parameters } }],
    tool_choice: { type: "function", function: { name: "f" } },
    response_format: { type: "json_schema", json_schema: { name: "n", schema: parameters } },
    reasoning_effort: "low",
    service_tier: "flex",
    verbosity: "low",
    extra_body: { google: { image_config: { aspect_ratio: "1:1" } } },
    stop: ["x"],
  },
  completions: { prompt: "p", suffix: "s", stop: "x" },
  messages: {
    max_tokens: 4_000,
    system: "s",
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "t" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } },
        ],
      },
      { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "f", input: { a: 1 } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "r" }] },
    ],
    tools: [{ name: "f", description: "d", input_schema: parameters }],
    tool_choice: { type: "tool", name: "f" },
    thinking: { type: "enabled", budget_tokens: 1024 },
    service_tier: "auto",
  },
  generate: {
    systemInstruction: { parts: [{ text: "s" }] },
    contents: [
      { role: "user", parts: [{ text: "t" }, { inlineData: { mimeType: "image/png", data: "aGk=" } }] },
      { role: "model", parts: [{ functionCall: { name: "f", args: { a: 1 } } }] },
      { role: "user", parts: [{ functionResponse: { name: "f", response: { r: "r" } } }] },
    ],
    tools: [{ functionDeclarations: [{ name: "f", description: "d", parameters }] }],
    toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f"] } },
    generationConfig: {
      responseMimeType: "application/json",
      responseSchema: parameters,
      thinkingConfig: { thinkingLevel: "low" },
      imageConfig: { aspectRatio: "1:1" },
    },
  },
  responses: {
    instructions: "s",
    input: [
      {
        role: "user",
        content: [
          { type: "input_text", text: "t" },
          { type: "input_image", image_url: PICTURE },
        ],
      },
      { type: "function_call", call_id: "c1", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "r" },
    ],
    tools: [{ type: "function", name: "f", description: "d", parameters }, { type: "web_search" }],
    tool_choice: { type: "function", name: "f" },
    text: { format: { type: "json_schema", name: "n", schema: parameters }, verbosity: "low" },
    reasoning: { effort: "low", summary: "auto" },
    service_tier: "flex",
  },
};

const ODD = ["constructor", "__proto__", "toString", "hasOwnProperty"] as const;

/** All replacements of one text or one name by an odd name. */
function changed(value: unknown): readonly unknown[] {
  if (typeof value === "string") return ODD;
  if (Array.isArray(value))
    return value.flatMap((item: unknown, index) => changed(item).map((other) => value.with(index, other)));
  const entries = Object.entries(asObject(value) ?? {});
  return entries.flatMap(([name, item], index) => {
    const renamed = ODD.map((odd) => entries.with(index, [odd, item]));
    const refilled = changed(item).map((other) => entries.with(index, [name, other]));
    return [...renamed, ...refilled].map((list) => Object.fromEntries(list));
  });
}

const MODELS = ["gemini-2.5-flash-image", "claude-sonnet-4-6"] as const;
/** One row of each dialect. */
const WIRES = [...new Map(providers.map((row) => [row.dialect, row])).values()];

/** The error of a request, other than a refusal. */
function failureOf(format: (typeof FORMATS)[number], body: JsonRecord, wire: Wire, model: string): string {
  const target = { baseUrl: "https://a.example", other: "", model, apiVersion: "", isStream: false };
  try {
    const request = clients[format].parse(body, { model, isStream: false });
    const text = JSON.stringify(dialects[wire.dialect].encode(request, { wire, target }).body);
    return text.includes("[native code]") ? `${wire.dialect}: a function in ${text}` : "";
  } catch (error) {
    return error instanceof Unmappable ? "" : `${wire.dialect}: ${String(error)}`;
  }
}

describe.each(FORMATS)("a request of %s with odd names", (format) => {
  it("is encoded on every wire, or refused", () => {
    const failures = new Set<string>();
    for (const body of changed(BODIES[format]))
      for (const wire of WIRES)
        for (const model of MODELS) failures.add(failureOf(format, asObject(body) ?? {}, wire, model));
    expect([...failures]).toEqual([""]);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});
