import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { providerOf } from "#contract/providers.ts";
import { anthropic } from "#server/upstream/dialects/anthropic.ts";
import { type HubRequest, Unmappable } from "#server/upstream/hub/request.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { messages } from "./messages.ts";

function parse(body: JsonRecord): HubRequest {
  const whole = { max_tokens: 10, messages: [{ role: "user", content: "hi" }], ...body };
  return messages.parse(whole, { model: "m", isStream: true });
}

describe("request", () => {
  it("of Claude Code keeps every meaningful member", () => {
    const request = parse({
      model: "claude-opus-5",
      max_tokens: 32_000,
      stream: true,
      system: [
        { type: "text", text: "x-anthropic-billing-header: cc_version=2.1;" },
        { type: "text", text: "You are Claude Code.", cache_control: { type: "ephemeral", ttl: "1h" } },
      ],
      metadata: { user_id: `user_${"a".repeat(64)}_account__session_1` },
      thinking: { type: "adaptive" },
      output_config: { effort: "high" },
      context_management: { edits: [] },
      tools: [
        {
          name: "Bash",
          description: "d",
          input_schema: { type: "object" },
          cache_control: { type: "ephemeral" },
        },
        { type: "bash_20250124", name: "bash" },
        { type: "web_search_20250305", name: "web_search", max_uses: 8, allowed_domains: ["a.com"] },
      ],
      tool_choice: { type: "auto", disable_parallel_tool_use: true },
      messages: [
        { role: "user", content: [{ type: "text", text: "go" }] },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "T", signature: "S" },
            { type: "redacted_thinking", data: "R" },
            { type: "text", text: "A" },
            { type: "tool_use", id: "t1", name: "Bash", input: { command: "ls" } },
            { type: "server_tool_use", id: "s1", name: "web_search", input: {} },
          ],
        },
        {
          role: "user",
          content: [
            { type: "text", text: "<reminder>" },
            {
              type: "tool_result",
              tool_use_id: "t1",
              is_error: true,
              content: [
                { type: "text", text: "no" },
                { type: "image", source: { type: "base64", media_type: "image/png", data: "AA==" } },
              ],
            },
          ],
        },
        { role: "system", content: "be quick" },
      ],
    });
    expect(request.messages).toEqual([
      { role: "system", parts: [{ kind: "text", text: "You are Claude Code.", cache: { ttl: "1h" } }] },
      { role: "user", parts: [{ kind: "text", text: "go" }] },
      {
        role: "assistant",
        parts: [{ kind: "text", text: "A" }],
        thoughts: [
          { text: "T", signature: "S" },
          { text: "", redacted: "R" },
        ],
        toolCalls: [{ id: "t1", name: "Bash", arguments: '{"command":"ls"}' }],
      },
      {
        role: "tool",
        callId: "t1",
        name: "Bash",
        isError: true,
        parts: [
          { kind: "text", text: "no" },
          { kind: "image", source: { kind: "data", mime: "image/png", base64: "AA==" } },
        ],
      },
      { role: "user", parts: [{ kind: "text", text: "<reminder>" }] },
      { role: "system", parts: [{ kind: "text", text: "be quick" }] },
    ]);
    expect(request.reasoning).toEqual({ effort: "high", budgetTokens: -1 });
    expect(request.user).toMatch(/^user_a+_[0-9a-f]{8}$/);
    expect(request.user?.length).toBe(64);
    expect(request.cacheKey).toBe(request.user);
    expect(request.parallelToolCalls).toBe(false);
    expect(request.tools).toMatchObject([
      { kind: "function", name: "Bash", cache: { ttl: undefined } },
      { kind: "function", name: "bash", parameters: { properties: { command: { type: "string" } } } },
      { kind: "web-search", options: { max_uses: 8, filters: { allowed_domains: ["a.com"] } } },
    ]);
    expect(request.dropped).toEqual(["context_management", "messages[].content[].server_tool_use"]);
  });

  it.each([
    [
      { type: "enabled", budget_tokens: 2000 },
      undefined,
      { effort: undefined, budgetTokens: 2000, isShown: true },
    ],
    [{ type: "disabled" }, "high", { effort: "none", budgetTokens: 0 }],
    [{ type: "between_tools" }, "high", { effort: "none", budgetTokens: 0 }],
    [{ type: "adaptive", display: "omitted" }, "max", { effort: "max", budgetTokens: -1, isShown: false }],
    [undefined, "low", { effort: "low" }],
    [undefined, undefined, undefined],
  ])("thinks as told: %j %s", (thinking, effort, expected) => {
    expect(parse({ thinking, output_config: { effort } }).reasoning).toEqual(expected);
  });

  it("reads documents, and schemas as strict where they are closed", () => {
    const content = [
      {
        type: "document",
        title: "a.pdf",
        source: { type: "base64", media_type: "application/pdf", data: "AA==" },
      },
      { type: "document", title: "note", source: { type: "text", media_type: "text/plain", data: "body" } },
    ];
    const closed = {
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
      additionalProperties: false,
    };
    const { messages: history, format } = parse({
      messages: [{ role: "user", content }],
      output_config: { format: { type: "json_schema", schema: closed } },
    });
    expect(history).toEqual([
      {
        role: "user",
        parts: [
          {
            kind: "file",
            filename: "a.pdf",
            source: { kind: "data", mime: "application/pdf", base64: "AA==" },
          },
          { kind: "text", text: "note\nbody" },
        ],
      },
    ]);
    expect(format).toMatchObject({ kind: "schema", strict: true });
    const open = { type: "object", properties: { a: {} } };
    expect(parse({ output_format: { type: "json_schema", schema: open } }).format).toMatchObject({
      strict: undefined,
    });
  });

  it("round trips through Anthropic's wire", () => {
    const body = {
      model: "claude-sonnet-4-5",
      max_tokens: 4000,
      top_k: 5,
      stop_sequences: ["END"],
      stream: true,
      system: [{ type: "text", text: "s", cache_control: { type: "ephemeral", ttl: "1h" } }],
      metadata: { user_id: "u1" },
      service_tier: "standard_only",
      tools: [
        {
          name: "f",
          description: "d",
          input_schema: { type: "object", properties: { a: { type: "string" } } },
          strict: true,
          cache_control: { type: "ephemeral" },
        },
        {
          type: "web_search_20250305",
          name: "web_search",
          max_uses: 3,
          blocked_domains: ["b.com"],
          user_location: { type: "approximate", city: "Hangzhou" },
        },
      ],
      tool_choice: { type: "auto", disable_parallel_tool_use: true },
      output_config: { format: { type: "json_schema", schema: { type: "object" } } },
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "look", cache_control: { type: "ephemeral" } },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "AA==" } },
            { type: "image", source: { type: "url", url: "https://x.com/a.png" } },
            {
              type: "document",
              source: { type: "base64", media_type: "application/pdf", data: "AA==" },
              title: "a",
            },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "T", signature: "S" },
            { type: "redacted_thinking", data: "R" },
            { type: "text", text: "A" },
            { type: "tool_use", id: "t1", name: "f", input: { a: "b" } },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "t1", content: "no", is_error: true },
            { type: "text", text: "go on" },
          ],
        },
      ],
    };
    const request = messages.parse(body, { model: body.model, isStream: true });
    const provider = providerOf(14);
    if (provider === undefined) throw new Error("no row for Anthropic");
    const target = { baseUrl: "", other: "", model: body.model, apiVersion: "", isStream: true };
    expect(anthropic.encode(request, { wire: provider, target }).body).toEqual(body);
    expect(request.dropped).toEqual([]);
  });

  it.each<[string, JsonRecord]>([
    ["tools[].type", { tools: [{ type: "code_execution_20250825", name: "code_execution" }] }],
    ["mcp_servers", { mcp_servers: [{ type: "url", url: "x" }] }],
    [
      "messages[].content[].source.file_id",
      userOf({ type: "image", source: { type: "file", file_id: "f" } }),
    ],
    ["messages[].content[].type", userOf({ type: "container_upload", file_id: "f" })],
    ["messages[].role", { messages: [{ role: "tool", content: "x" }] }],
    ["output_config.format", { output_config: { format: { type: "grammar" } } }],
  ])("refuses %s by name", (what, body) => {
    expect(() => parse(body)).toThrow(expect.objectContaining({ what }));
  });

  it("never throws anything but Unmappable", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("messages", "system", "tools", "thinking", "metadata"), fc.anything()),
        (body) => {
          try {
            messages.parse(body, { model: "m", isStream: false });
          } catch (error) {
            if (!(error instanceof Unmappable)) throw error;
          }
        },
      ),
    );
  });
});

function userOf(block: JsonRecord): JsonRecord {
  return { messages: [{ role: "user", content: [block] }] };
}
