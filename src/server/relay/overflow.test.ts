// Requests that are longer than the model's context: each client gets the error upon which it shortens its conversation.
import { describe, expect, it } from "vitest";
import { json, sse } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, MODEL } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();

const CHAT = { path: "/v1/chat/completions", body: { messages: [{ role: "user", content: "hi" }] } };
const MESSAGES = { path: "/v1/messages", body: { ...CHAT.body, max_tokens: 50 } };
const GENERATE = {
  path: `/v1beta/models/${MODEL}:generateContent`,
  body: { contents: [{ role: "user", parts: [{ text: "hi" }] }] },
};
const RESPONSES = { path: "/v1/responses", body: { input: "hi" } };

/** Sources: Anthropic, Gemini and Bedrock as their clients quote them. */
const WORDS: readonly [type: number, key: string, error: object][] = [
  [
    14,
    "",
    {
      type: "error",
      error: { type: "invalid_request_error", message: "prompt is too long: 208310 tokens > 200000 maximum" },
    },
  ],
  [
    14,
    "",
    {
      type: "error",
      error: {
        type: "invalid_request_error",
        message:
          "input length and `max_tokens` exceed context limit: 198214 + 20000 > 200000, decrease either",
      },
    },
  ],
  [
    24,
    "",
    {
      error: {
        code: 400,
        message: "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
        status: "INVALID_ARGUMENT",
      },
    },
  ],
  [33, "AKIDEXAMPLE|secret-example|us-east-1", { message: "Input is too long for requested model." }],
];

describe("an overflow on another wire", () => {
  it.each(WORDS)("has OpenAI's code for OpenAI's clients: type %i %s", async (type, key, error) => {
    await world.addChannel({ type, ...(key !== "" && { key }) });
    for (const { path, body } of [CHAT, RESPONSES]) {
      world.upstream.script(json(error, 400));
      const response = await world.ask({ model: MODEL, ...body }, { path });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        error: { type: "invalid_request_error", code: "context_length_exceeded" },
      });
    }
  });

  it.each(WORDS)("is an event for Responses clients that stream: type %i %s", async (type, key, error) => {
    await world.addChannel({ type, ...(key !== "" && { key }) });
    world.upstream.script(json(error, 400));
    const ask = { model: MODEL, ...RESPONSES.body, stream: true };
    const response = await world.ask(ask, { path: RESPONSES.path });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const text = await response.text();
    expect(text).toMatch(
      /event: response\.failed\ndata: .*"status":"failed",.*"error":{"code":"context_length_exceeded"/,
    );
  });

  it("is refused by its status where a client streams Chat, and a Responses client for another reason", async () => {
    await world.addChannel({ type: 14 });
    for (const [ask, message] of [
      [CHAT, "prompt is too long: 208310 tokens > 200000 maximum"],
      [RESPONSES, "no"],
    ] as const) {
      const error = { type: "error", error: { type: "invalid_request_error", message } };
      world.upstream.script(json(error, 400));
      const response = await world.ask({ model: MODEL, ...ask.body, stream: true }, { path: ask.path });
      expect(response.status).toBe(400);
      await response.json();
    }
  });

  it.each([
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 150011 tokens.",
    "Your request exceeded model token limit: 262144",
    "Range of input length should be [1, 129024]",
  ])("begins with Anthropic's words for its clients: %s", async (message) => {
    await world.addChannel({ type: 1 });
    world.upstream.script(json({ error: { message, type: "invalid_request_error", code: null } }, 400));
    const response = await world.ask({ model: MODEL, ...MESSAGES.body }, { path: MESSAGES.path });
    expect(response.status).toBe(400);
    const { error } = await response.json();
    expect(error).toEqual({
      type: "invalid_request_error",
      message: `prompt is too long: ${message}`,
    });
  });

  it("begins with Google's words for its clients, which get no code", async () => {
    await world.addChannel({ type: 14 });
    const said = "prompt is too long: 208310 tokens > 200000 maximum";
    world.upstream.script(
      json({ type: "error", error: { type: "invalid_request_error", message: said } }, 400),
    );
    const response = await world.ask(GENERATE.body, { path: GENERATE.path });
    expect(response.status).toBe(400);
    const { error } = await response.json();
    expect(error.status).toBe("INVALID_ARGUMENT");
    expect(error.message).toMatch(
      /^The input token count exceeds the maximum number of tokens allowed: prompt is too long: 208310 tokens/,
    );
  });

  it("is not reported for a request that is refused for another reason", async () => {
    await world.addChannel({ type: 14 });
    const error = { type: "invalid_request_error", message: "messages.0.content: too long a list" };
    world.upstream.script(json({ type: "error", error }, 400));
    const response = await world.ask({ model: MODEL, ...CHAT.body });
    expect(await response.json()).toMatchObject({ error: { code: "invalid_request_error" } });
  });
});

describe("an overflow within a Responses stream", () => {
  const inner = {
    type: "invalid_request_error",
    code: "context_length_exceeded",
    message: "Your input exceeds the context window of this model.",
    param: "input",
  };
  const event = (type: string, fields: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
  const response = { id: "resp_1", object: "response", status: "in_progress", output: [] };
  const refused = sse(
    event("response.created", { sequence_number: 0, response }),
    event("error", { sequence_number: 1, error: inner }),
  );

  it("has its code for them when another wire breaks", async () => {
    await world.addChannel({ type: 14 });
    const message = { id: "m", type: "message", role: "assistant", content: [], model: MODEL, usage: {} };
    const text = { type: "text", text: "" };
    world.upstream.script(
      sse(
        event("message_start", { message }),
        event("content_block_start", { index: 0, content_block: text }),
        event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "hello" } }),
        event("error", { error: { type: "invalid_request_error", message: "prompt is too long: 9 > 8" } }),
      ),
    );
    const ask = { model: MODEL, ...RESPONSES.body, stream: true };
    const told = await (await world.ask(ask, { path: RESPONSES.path })).text();
    expect(told).toMatch(/event: response\.failed\ndata: .*"code":"context_length_exceeded"/);
  });

  it("reaches Responses clients with its code and its message, and is no fault of the channel", async () => {
    await world.addChannel({ type: 1 });
    world.upstream.script(refused);
    const failures: unknown[] = [];
    const stop = world.ctx.events.onChannelFailed((failure) => failures.push(failure));
    const answer = await world.ask(
      { model: MODEL, ...RESPONSES.body, stream: true },
      { path: "/v1/responses" },
    );
    const text = await answer.text();
    stop();
    const [error, failed] = text.trimEnd().split("\n\n").slice(-2);
    for (const last of [error, failed]) {
      expect(last).toContain('"code":"context_length_exceeded"');
      expect(last).toContain(inner.message);
    }
    expect(failures).toEqual([]);
  });
});
