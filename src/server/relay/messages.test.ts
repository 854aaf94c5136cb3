// Messages clients through the relay: the official SDK with Anthropic's wire (bytes pass) and with OpenAI's (translated), and
// traffic of Claude Code's shape.
import Anthropic from "@anthropic-ai/sdk";
import type { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { poem, startPoet, upstreamKey } from "#test/emulators/aimock.ts";
import { chatReply, json, raw, sse } from "#test/emulators/fake-upstream.ts";
import { CHANNEL_KEY, createRelayWorld } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const model = "claude-sonnet-4-6";
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

let mock: LLMock;

beforeAll(async () => {
  mock = await startPoet();
});

afterAll(() => mock.stop());

function sdk(): Anthropic {
  return new Anthropic({
    baseURL: world.url,
    authToken: `sk-${world.token.key}`,
    apiKey: null,
    maxRetries: 0,
  });
}

const weather: Anthropic.Tool = {
  name: "get_weather",
  description: "Tells the weather.",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

describe.each([
  ["Anthropic's wire", 14, model],
  ["OpenAI's wire", 1, "gpt-4o-mini"],
])("the official SDK with %s", (_, type, upstreamModel) => {
  beforeEach(async () => {
    await world.addChannel({
      type,
      key: upstreamKey,
      baseUrl: mock.url,
      models: model,
      ...(upstreamModel !== model && { mapping: { [model]: upstreamModel } }),
    });
  });

  it("gets an answer that is charged by its usage", async () => {
    const { charged, open, log } = await world.costOf(async () => {
      const answer = await sdk().messages.create({
        model,
        max_tokens: 200,
        system: "Be kind.",
        messages: [{ role: "user", content: "write a poem" }],
      });
      expect(answer).toMatchObject({
        type: "message",
        role: "assistant",
        content: [{ type: "text", text: poem }],
        stop_reason: "end_turn",
      });
      expect(answer.usage.output_tokens).toBeGreaterThan(0);
    });
    expect(charged).toBeGreaterThan(0);
    expect(open).toBe(0);
    expect(log).toMatchObject({ model_name: model, is_stream: 0, estimated: 0 });
  });

  it("gets the same streamed", async () => {
    const { charged, log } = await world.costOf(async () => {
      const stream = sdk().messages.stream({
        model,
        max_tokens: 200,
        messages: [{ role: "user", content: "write a poem" }],
      });
      const types: string[] = [];
      for await (const event of stream) types.push(event.type);
      expect(types[0]).toBe("message_start");
      expect(types.slice(-2)).toEqual(["message_delta", "message_stop"]);
      const answer = await stream.finalMessage();
      expect(answer.content).toMatchObject([{ type: "text", text: poem }]);
      expect(answer.stop_reason).toBe("end_turn");
    });
    expect(charged).toBeGreaterThan(0);
    expect(log).toMatchObject({ is_stream: 1, estimated: 0 });
  });

  it("runs a tool, whole and streamed, and answers with its result", async () => {
    const request = {
      model,
      max_tokens: 200,
      tools: [weather],
      messages: [{ role: "user" as const, content: "weather in Hangzhou?" }],
    };
    const plain = await sdk().messages.create(request);
    const streamed = await sdk().messages.stream(request).finalMessage();
    for (const answer of [plain, streamed]) {
      expect(answer.stop_reason).toBe("tool_use");
      expect(answer.content).toMatchObject([
        { type: "tool_use", name: "get_weather", input: { city: "Hangzhou" } },
      ]);
    }
    const [call] = plain.content;
    if (call?.type !== "tool_use") throw new Error("no call");
    const last = await sdk().messages.create({
      ...request,
      messages: [
        ...request.messages,
        { role: "assistant", content: plain.content },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: call.id, content: "21C" },
            { type: "text", text: "so, a poem" },
          ],
        },
      ],
    });
    expect(last.content).toMatchObject([{ type: "text", text: poem }]);
  });

  it("sends a picture", async () => {
    const answer = await sdk().messages.create({
      model,
      max_tokens: 20,
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "what is this?" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
          ],
        },
      ],
    });
    expect(answer.content).toMatchObject([{ type: "text", text: "Hello from the upstream." }]);
    // aimock keeps only the text of a Messages request.
    if (type === 1) expect(JSON.stringify(mock.getLastRequest()?.body)).toContain(PNG);
  });

  it("gets errors as the SDK's own classes", async () => {
    mock.nextRequestError(429, { message: "slow down please", type: "rate_limit_error" });
    const call = sdk().messages.create({
      model,
      max_tokens: 20,
      messages: [{ role: "user", content: "hi" }],
    });
    await expect(call).rejects.toBeInstanceOf(Anthropic.RateLimitError);
  });
});

describe("a Messages client", () => {
  it("is refused in its own format", async () => {
    await world.addChannel({ models: model });
    const ask = { model, max_tokens: 20, messages: [{ role: "user" as const, content: "hi" }] };
    const stranger = new Anthropic({ baseURL: world.url, apiKey: "sk-nobody", maxRetries: 0 });
    await expect(stranger.messages.create(ask)).rejects.toBeInstanceOf(Anthropic.AuthenticationError);
    await expect(sdk().messages.create({ ...ask, messages: [] })).rejects.toMatchObject({
      error: { type: "error", error: { type: "invalid_request_error" } },
    });
    await expect(sdk().messages.create({ ...ask, container: "c" } as typeof ask)).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("container"),
    });
  });

  it("may send its key in x-api-key too", async () => {
    await world.addChannel({ models: model });
    const client = new Anthropic({ baseURL: world.url, apiKey: `sk-${world.token.key}`, maxRetries: 0 });
    const answer = await client.messages.create({
      model,
      max_tokens: 20,
      messages: [{ role: "user", content: "hi" }],
    });
    expect(answer.content).toMatchObject([{ text: "hi" }]);
  });
});

/** What Claude Code sends, with more than any wire but Anthropic's could take. */
const CLAUDE_CODE = `{"model":"${model}","max_tokens":32000,"stream":true,"temperature":1,"metadata":{"user_id":"user_ab_account__session_cd"},
"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.0; cc_entrypoint=cli"},{"type":"text","text":"You are Claude Code.","cache_control":{"type":"ephemeral","ttl":"1h"}}],
"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},
"tools":[{"name":"Bash","description":"Runs a command.","input_schema":{"type":"object","properties":{"command":{"type":"string"}}},"cache_control":{"type":"ephemeral"}}],
"messages":[{"role":"user","content":[{"type":"text","text":"list"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"T\\u00e9","signature":"U2ln+/=="},{"type":"redacted_thinking","data":"UkVE"},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a.txt","cache_control":{"type":"ephemeral"}}]}]}`;

const HEADERS = {
  "anthropic-version": "2023-06-01",
  "anthropic-beta":
    "claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,new-one-2027-01-01",
  "anthropic-dangerous-direct-browser-access": "true",
  "x-app": "cli",
  "x-stainless-lang": "js",
  "user-agent": "claude-cli/2.1.0 (external, cli)",
};

const EVENTS = [
  {
    type: "message_start",
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model,
      content: [],
      stop_reason: null,
      usage: {
        input_tokens: 3,
        cache_read_input_tokens: 100,
        cache_creation_input_tokens: 20,
        output_tokens: 1,
      },
    },
  },
  { type: "ping" },
  { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "hm" } },
  { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "c2ln" } },
  { type: "content_block_stop", index: 0 },
  { type: "content_block_start", index: 1, content_block: { type: "brand_new", secret: 1 } },
  { type: "content_block_stop", index: 1 },
  {
    type: "message_delta",
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage: { output_tokens: 9 },
  },
  { type: "message_stop" },
].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);

function askAsClaudeCode(): Promise<Response> {
  return world.ask(CLAUDE_CODE, { path: "/v1/messages?beta=true", headers: HEADERS });
}

describe("Claude Code", () => {
  it("to Anthropic's wire: every byte passes, there and back", async () => {
    await world.addChannel({ type: 14, models: model });
    world.upstream.script(sse(...EVENTS));
    const { log, charged } = await world.costOf(async () => {
      const response = await askAsClaudeCode();
      expect(response.status).toBe(200);
      expect(await response.text()).toBe(EVENTS.join(""));
    });
    const [asked] = world.upstream.journal;
    expect(asked?.path).toBe("/v1/messages");
    expect(asked?.text).toBe(CLAUDE_CODE);
    expect(asked?.headers).toMatchObject({
      "anthropic-version": HEADERS["anthropic-version"],
      "anthropic-beta": HEADERS["anthropic-beta"],
      "x-api-key": CHANNEL_KEY,
    });
    expect(asked?.headers.authorization ?? "").not.toContain(world.token.key);
    expect(log).toMatchObject({ prompt_tokens: 123, completion_tokens: 9, estimated: 0 });
    expect(charged).toBeGreaterThan(0);
  });

  it("to Anthropic's wire: gets errors word for word", async () => {
    await world.addChannel({ type: 14, models: model });
    const error = {
      type: "error",
      error: {
        type: "invalid_request_error",
        message: "messages.1.content.0: Invalid `signature` in `thinking` block",
      },
      request_id: "req_011",
    };
    world.upstream.script(json(error, 400));
    const { charged } = await world.costOf(async () => {
      const response = await askAsClaudeCode();
      expect(response.status).toBe(400);
      expect(await response.json()).toEqual(error);
    });
    expect(charged).toBe(0);
  });

  it("to OpenAI's wire: fields with a counterpart are kept, others are reported as dropped", async () => {
    await world.addChannel({ models: model, mapping: { [model]: "gpt-5-mini" } });
    world.upstream.script(json(chatReply("done")));
    const response = await askAsClaudeCode();
    const text = await response.text();
    expect(text).toContain('"text":"done"');
    expect(text).toMatch(/event: message_stop\ndata: {"type":"message_stop"}\n\n$/);
    expect(response.headers.get("x-tollgate-dropped")).toBe(
      "context_management, cache_control, messages[].reasoning_content",
    );
    const [asked] = world.upstream.journal;
    expect(asked?.path).toBe("/v1/chat/completions");
    expect(asked?.text).not.toMatch(/billing-header|cache_control|signature/);
    expect(asked?.headers["anthropic-beta"]).toBeUndefined();
    expect(asked?.json.messages).toMatchObject([
      { role: "system", content: "You are Claude Code." },
      { role: "user", content: "list" },
      { role: "assistant", tool_calls: [{ id: "toolu_1", function: { name: "Bash" } }] },
      { role: "tool", tool_call_id: "toolu_1", content: "a.txt" },
    ]);
  });

  it("gets an error event for a stream that broke, and pays for what came", async () => {
    await world.addChannel({ type: 14, models: model });
    const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    world.upstream.script(
      sse(...EVENTS.slice(0, 5), `event: error\ndata: ${JSON.stringify(overloaded)}\n\n`),
    );
    const { open } = await world.costOf(async () => {
      const text = await (await askAsClaudeCode()).text();
      const last = text.trimEnd().split("\n\n").at(-1) ?? "";
      expect(last).toMatch(/^event: error\ndata: /);
      expect(last).toContain("Overloaded");
    });
    expect(open).toBe(0);
  });

  it("never sees a page that is no answer", async () => {
    await world.addChannel({ type: 14, models: model });
    world.upstream.script(raw("<html><title>Bad gateway</title></html>", { "content-type": "text/html" }));
    const response = await askAsClaudeCode();
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({ type: "error", error: { type: "api_error" } });
  });
});
