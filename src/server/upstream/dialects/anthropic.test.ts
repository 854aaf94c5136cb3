import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { wireOf } from "#contract/provider.ts";
import { providerOf } from "#contract/providers.ts";
import { type HubMessage, type HubRequest, Unmappable } from "#server/upstream/hub/request.ts";
import { asList, asObject } from "#server/upstream/json/values.ts";
import { anthropic } from "./anthropic.ts";
import type { Target } from "./dialect.ts";

const provider = providerOf(14);
if (provider === undefined) throw new Error("no row for Anthropic");
const wire = wireOf(provider, { key: "", baseUrl: "", other: "", model: "" });
const target: Target = { baseUrl: wire.baseUrl, other: "", model: "m", apiVersion: "", isStream: false };

function user(text: string): HubMessage {
  return { role: "user", parts: [{ kind: "text", text }] };
}

function encode(request: Partial<HubRequest>) {
  const whole: HubRequest = {
    model: "claude-sonnet-4-6",
    isStream: false,
    messages: [user("hi")],
    ...request,
  };
  return anthropic.encode(whole, { wire, target });
}

const assistant = { role: "assistant", parts: [], thoughts: [], toolCalls: [] } as const;

describe("address", () => {
  it("adds the path once, whether the base URL ends in a version or not", () => {
    expect(anthropic.address("chat", wire, target)).toBe("https://api.anthropic.com/v1/messages");
    const versioned = { ...target, baseUrl: "https://api.deepseek.com/anthropic/v1" };
    expect(anthropic.address("chat", wire, versioned)).toBe("https://api.deepseek.com/anthropic/v1/messages");
  });
});

describe("request", () => {
  it("is the documented example of vendors/claude", () => {
    const parameters = {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    };
    const call = { id: "call_a", name: "get_weather", arguments: '{"city":"Paris"}' };
    const { body, dropped, headers } = encode({
      temperature: 1.2,
      topP: 0.9,
      maxTokens: 100,
      stop: ["END", "\n"],
      user: "u1",
      messages: [
        { role: "system", parts: [{ kind: "text", text: "You are brief." }] },
        user("Weather in Paris?"),
        { ...assistant, toolCalls: [call] },
        {
          role: "tool",
          callId: "call_a",
          name: "get_weather",
          parts: [{ kind: "text", text: "21C" }],
          isError: false,
        },
        user("Thanks. Now Rome"),
      ],
      tools: [{ kind: "function", name: "get_weather", description: "d", parameters }],
      toolChoice: { kind: "auto" },
    });
    expect(body).toEqual({
      model: "claude-sonnet-4-6",
      max_tokens: 100,
      temperature: 1,
      stop_sequences: ["END"],
      system: "You are brief.",
      metadata: { user_id: "u1" },
      messages: [
        { role: "user", content: [{ type: "text", text: "Weather in Paris?" }] },
        {
          role: "assistant",
          content: [{ type: "tool_use", id: "call_a", name: "get_weather", input: { city: "Paris" } }],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "call_a", content: "21C" },
            { type: "text", text: "Thanks. Now Rome" },
          ],
        },
      ],
      tools: [{ name: "get_weather", description: "d", input_schema: parameters }],
      tool_choice: { type: "auto" },
    });
    expect(dropped).toEqual(["top_p", "stop"]);
    expect(headers).toEqual(["anthropic-version", "2023-06-01"]);
  });

  it("begins with the user, has no empty turns and no trailing blanks in a prefill", () => {
    const messages: HubMessage[] = [
      { ...assistant, parts: [{ kind: "text", text: "hello" }] },
      user(""),
      user("a"),
      user("b"),
      { ...assistant, parts: [{ kind: "text", text: "so \n" }] },
    ];
    const told = [
      { role: "user", content: [{ type: "text", text: "..." }] },
      { role: "assistant", content: [{ type: "text", text: "hello" }] },
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
      { role: "assistant", content: [{ type: "text", text: "so" }] },
    ];
    expect(encode({ model: "claude-sonnet-4-5", messages }).body["messages"]).toEqual(told);
    // From 4.6 on the last turn must be the user's (vendor's 400 "does not support assistant message prefill").
    const word = { role: "user", content: [{ type: "text", text: "Continue." }] };
    expect(encode({ model: "claude-opus-4-6", messages }).body["messages"]).toEqual([...told, word]);
  });

  it("keeps signed thinking, cache breakpoints, errors of tools, images and documents", () => {
    const { body, dropped } = encode({
      messages: [
        { role: "system", parts: [{ kind: "text", text: "s", cache: { ttl: "1h" } }] },
        {
          role: "user",
          parts: [
            { kind: "image", source: { kind: "url", url: "https://x.com/a.png" } },
            {
              kind: "image",
              source: { kind: "data", mime: "image/png", base64: "AA==" },
              cache: { ttl: undefined },
            },
            {
              kind: "file",
              source: { kind: "data", mime: "application/pdf", base64: "BB==" },
              filename: "f.pdf",
            },
          ],
        },
        {
          ...assistant,
          thoughts: [
            { text: "T", signature: "sig" },
            { text: "unproven", signature: undefined },
            { text: "", signature: undefined, redacted: "R" },
          ],
          toolCalls: [{ id: "a.b", name: "f", arguments: "not json" }],
        },
        {
          role: "tool",
          callId: "a.b",
          name: undefined,
          parts: [
            { kind: "text", text: "no" },
            { kind: "image", source: { kind: "data", mime: "image/png", base64: "AA==" } },
          ],
          isError: true,
        },
      ],
    });
    expect(body["system"]).toEqual([
      { type: "text", text: "s", cache_control: { type: "ephemeral", ttl: "1h" } },
    ]);
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AA==" } };
    expect(body["messages"]).toEqual([
      {
        role: "user",
        content: [
          { type: "image", source: { type: "url", url: "https://x.com/a.png" } },
          { ...image, cache_control: { type: "ephemeral" } },
          {
            type: "document",
            source: { type: "base64", media_type: "application/pdf", data: "BB==" },
            title: "f.pdf",
          },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "T", signature: "sig" },
          { type: "redacted_thinking", data: "R" },
          { type: "tool_use", id: "a_b", name: "f", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "a_b",
            content: [{ type: "text", text: "no" }, image],
            is_error: true,
          },
        ],
      },
    ]);
    expect(dropped).toEqual(["messages[].reasoning_content"]);
  });

  it("gives calls unique ids even if the client repeats them, and their results the same", () => {
    // Ids are unique only in a turn where a client or vendor makes them from a position or a name; `a.b` and `a:b` become equal.
    const turns = ["call_f", "call_f", "a.b", "a:b", ""].flatMap((id): HubMessage[] => [
      { ...assistant, toolCalls: [{ id, name: "f", arguments: "{}" }] },
      { role: "tool", callId: id, name: "f", parts: [], isError: false },
    ]);
    const messages = encode({ messages: [user("x"), ...turns] }).body["messages"];
    const ids = (type: string, name: string) =>
      asList(messages).flatMap((turn) =>
        asList(asObject(turn)?.["content"]).flatMap((block) =>
          asObject(block)?.["type"] === type ? [asObject(block)?.[name]] : [],
        ),
      );
    expect(ids("tool_use", "id")).toEqual(["call_f", "call_f_2", "a_b", "a_b_2", "toolu_0"]);
    expect(ids("tool_result", "tool_use_id")).toEqual(ids("tool_use", "id"));
  });

  it("sends no blank text, and no error without text", () => {
    const messages: HubMessage[] = [
      user("x"),
      {
        ...assistant,
        parts: [{ kind: "text", text: "\n\n" }],
        toolCalls: [{ id: "a", name: "f", arguments: "{}" }],
      },
      { role: "tool", callId: "a", name: "f", parts: [], isError: true },
    ];
    expect(encode({ messages }).body["messages"]).toEqual([
      { role: "user", content: [{ type: "text", text: "x" }] },
      { role: "assistant", content: [{ type: "tool_use", id: "a", name: "f", input: {} }] },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: "..." }], is_error: true },
        ],
      },
    ]);
  });

  it("drops the thoughts of an answer that was aborted before its text", () => {
    const thoughts = [
      { text: "T", signature: "sig" },
      { text: "", signature: undefined, redacted: "R" },
    ];
    const parts = [{ kind: "text", text: "well" }] as const;
    const { body } = encode({
      messages: [
        user("a"),
        { ...assistant, thoughts },
        user("b"),
        { ...assistant, thoughts, parts },
        user("c"),
        { ...assistant, thoughts, parts: [{ kind: "text", text: " " }] },
      ],
    });
    // In the wire's format (vendors/claude-request).
    const shape = (body["messages"] as { role: string; content: { type: string }[] }[]).map(
      ({ role, content }) => [role, ...content.map(({ type }) => type)],
    );
    expect(shape).toEqual([
      ["user", "text", "text"],
      ["assistant", "thinking", "redacted_thinking", "text"],
      ["user", "text"],
    ]);
  });

  it("prefers a forced tool to thinking, and filters tools to a subset", () => {
    const tools = ["a", "b"].map(
      (name) => ({ kind: "function", name, description: undefined, parameters: undefined }) as const,
    );
    const reasoning = { effort: "low", budgetTokens: undefined, isShown: undefined } as const;
    const forced = encode({
      tools,
      reasoning,
      toolChoice: { kind: "tool", name: "a" },
      parallelToolCalls: false,
    });
    expect(forced.body["thinking"]).toBeUndefined();
    expect(forced.dropped).toEqual(["reasoning_effort"]);
    expect(forced.body["tool_choice"]).toEqual({ type: "tool", name: "a", disable_parallel_tool_use: true });
    const subset = encode({ tools, toolChoice: { kind: "subset", names: ["b"], isRequired: true } });
    expect(subset.body).toMatchObject({ tools: [{ name: "b" }], tool_choice: { type: "any" } });
    expect(() => encode({ toolChoice: { kind: "any" } })).toThrow(Unmappable);
  });

  it("replaces long or odd tool names everywhere and returns the mapping", () => {
    const name = `mcp.${"x".repeat(140)}`;
    const { body, toolNames } = encode({
      tools: [{ kind: "function", name, description: undefined, parameters: undefined }],
      toolChoice: { kind: "tool", name },
      messages: [{ ...assistant, toolCalls: [{ id: "c", name, arguments: "{}" }] }, user("x")],
    });
    const [short] = [...(toolNames?.keys() ?? [])];
    expect(short).toMatch(/^[A-Za-z0-9_-]{1,128}$/);
    expect(toolNames?.get(short ?? "")).toBe(name);
    expect(JSON.stringify(body).split(`"${short}"`)).toHaveLength(4);
  });

  it("enforces schemas where the model can, else requests them in the prompt", () => {
    const format = {
      kind: "schema",
      name: "n",
      schema: { type: "object" },
      strict: true,
      description: undefined,
    } as const;
    expect(encode({ format }).body["output_config"]).toEqual({
      format: { type: "json_schema", schema: { type: "object" } },
    });
    expect(encode({ format, model: "claude-3-haiku-20240307" }).body["system"]).toContain(
      '{"type":"object"}',
    );
    expect(encode({ format: { kind: "json" } }).body["system"]).toContain("JSON object");
  });

  it("searches the web with OpenAI's options", () => {
    const options = {
      search_context_size: "low",
      user_location: { type: "approximate", approximate: { country: "CN" } },
    };
    expect(encode({ tools: [{ kind: "web-search", options }] }).body["tools"]).toEqual([
      {
        type: "web_search_20250305",
        name: "web_search",
        max_uses: 1,
        user_location: { type: "approximate", country: "CN" },
      },
    ]);
  });

  it("refuses members that would change the answer and reports dropped hints", () => {
    expect(() => encode({ n: 2 })).toThrow(Unmappable);
    expect(() =>
      encode({ messages: [{ role: "user", parts: [{ kind: "audio", base64: "", format: "wav" }] }] }),
    ).toThrow(/input_audio/);
    const { dropped } = encode({ seed: 1, cacheKey: "k", serviceTier: "flex", extras: { logit_bias: {} } });
    expect(dropped).toEqual(["seed", "prompt_cache_key", "logit_bias", "service_tier"]);
  });

  it("never throws anything but Unmappable", () => {
    const text = fc.string();
    const part = fc.oneof(
      fc.record({ kind: fc.constant("text" as const), text }),
      fc.record({ kind: fc.constant("audio" as const), base64: text, format: text }),
      fc.record({
        kind: fc.constant("image" as const),
        source: fc.record({ kind: fc.constant("url" as const), url: text }),
      }),
    );
    const parts = fc.array(part, { maxLength: 3 });
    const message = fc.oneof(
      fc.record({ role: fc.constantFrom("user" as const, "system" as const), parts }),
      fc.record({
        role: fc.constant("assistant" as const),
        parts,
        thoughts: fc.array(fc.record({ text, signature: fc.option(text, { nil: undefined }) })),
        toolCalls: fc.array(fc.record({ id: text, name: text, arguments: text })),
      }),
      fc.record({
        role: fc.constant("tool" as const),
        callId: text,
        name: fc.constant(undefined),
        parts,
        isError: fc.boolean(),
      }),
    );
    const request = fc.record({
      model: fc.constantFrom("claude-opus-5-5", "claude-3-haiku-20240307", "claude-haiku-4-5", "x"),
      messages: fc.array(message, { maxLength: 6 }),
      maxTokens: fc.option(fc.integer(), { nil: undefined }),
      temperature: fc.option(fc.double(), { nil: undefined }),
    });
    fc.assert(
      fc.property(request, (random) => {
        try {
          const { body } = encode(random);
          // fc gives arrays; the body's messages are objects with a role.
          const roles = (body["messages"] as { role: string }[]).map(({ role }) => role);
          expect(roles[0]).toBe("user");
          expect(roles.some((role, at) => role === roles[at - 1])).toBe(false);
        } catch (error) {
          if (!(error instanceof Unmappable)) throw error;
        }
      }),
      { numRuns: 200 },
    );
  });
});
