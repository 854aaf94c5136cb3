// What Cursor sends to Chat in the format of other APIs: read as it was meant, answered as Chat, charged as any chat.
import { beforeEach, describe, expect, it } from "vitest";
import { wholeObject } from "#server/upstream/json/object.ts";
import { json, sse } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, MODEL } from "#test/worlds/relay-world.ts";
import { chatFrom } from "./cursor-compat.ts";

const world = createRelayWorld();

beforeEach(async () => {
  await world.addChannel();
});

const PARAMETERS = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };

/** As Cursor asks OpenAI's models. */
const AS_RESPONSES = {
  model: MODEL,
  stream: true,
  input: [
    { role: "system", content: "You are a coding assistant." },
    { role: "user", content: [{ type: "input_text", text: "read it" }] },
    { type: "function_call", call_id: "call_1", name: "read_file", arguments: '{"path":"a.ts"}' },
    { type: "function_call_output", call_id: "call_1", output: "const a = 1;" },
  ],
  tools: [
    { type: "function", name: "read_file", description: "reads", parameters: PARAMETERS, strict: false },
  ],
  tool_choice: "auto",
  reasoning: { effort: "medium", summary: "auto" },
  text: { verbosity: "low" },
  include: ["reasoning.encrypted_content"],
  store: false,
  max_output_tokens: 900,
  stream_options: { include_usage: true },
};

/** As Cursor asks Claude's. */
const AS_MESSAGES = {
  model: MODEL,
  stream: true,
  max_tokens: 900,
  system: "You are a coding assistant.",
  messages: [
    { role: "user", content: "read it" },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm", signature: "c2ln" },
        { type: "text", text: "I look." },
        { type: "tool_use", id: "toolu_1", name: "read_file", input: { path: "a.ts" } },
      ],
    },
    {
      role: "user",
      content: [
        { type: "text", text: "and now?" },
        {
          type: "tool_result",
          tool_use_id: "toolu_1",
          content: [
            { type: "text", text: "const a = 1;" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } },
          ],
        },
      ],
    },
  ],
  tools: [{ name: "read_file", description: "reads", input_schema: PARAMETERS }],
  tool_choice: { type: "auto" },
};

const TOOL = {
  type: "function",
  function: { name: "read_file", description: "reads", parameters: PARAMETERS },
};
const usage = { prompt_tokens: 40, completion_tokens: 3, total_tokens: 43 };
const EVENTS = [
  { id: "chatcmpl-1", choices: [{ index: 0, delta: { role: "assistant", content: "done" } }] },
  { id: "chatcmpl-1", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  { id: "chatcmpl-1", choices: [], usage },
];
const ANSWER = sse(...EVENTS.map((event) => `data: ${JSON.stringify(event)}\n\n`), "data: [DONE]\n\n");

describe("a chat body in the format of Responses", () => {
  it("reaches a chat upstream as a chat body and is charged as one", async () => {
    world.upstream.script(ANSWER);
    const { log } = await world.costOf(async () => {
      const response = await world.ask(AS_RESPONSES);
      expect(response.status).toBe(200);
      const text = await response.text();
      expect(text).toContain('"content":"done"');
      expect(text).toContain("data: [DONE]");
    });
    expect(log).toMatchObject({ prompt_tokens: 40, completion_tokens: 3 });
    const sent = world.upstream.journal[0];
    expect(sent?.path).toBe("/v1/chat/completions");
    expect(sent?.json).toMatchObject({
      model: MODEL,
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 900,
      verbosity: "low",
      tool_choice: "auto",
      tools: [TOOL],
      messages: [
        { role: "system", content: "You are a coding assistant." },
        { role: "user", content: "read it" },
        { role: "assistant", tool_calls: [{ id: "call_1", function: { name: "read_file" } }] },
        { role: "tool", tool_call_id: "call_1", content: "const a = 1;" },
      ],
    });
    expect(Object.keys(sent?.json ?? {})).not.toContain("input");
  });

  it("reaches Claude, and the answer is Chat's", async () => {
    await world.clearChannels();
    await world.addChannel({ type: 14 });
    const content = [{ type: "tool_use", id: "toolu_1", name: "read_file", input: { path: "b.ts" } }];
    world.upstream.script(
      json({
        id: "msg_1",
        type: "message",
        role: "assistant",
        content,
        stop_reason: "tool_use",
        usage: { input_tokens: 40, output_tokens: 3 },
      }),
    );
    const response = await world.ask({ ...AS_RESPONSES, stream: false });
    expect(await response.json()).toMatchObject({
      object: "chat.completion",
      choices: [
        {
          finish_reason: "tool_calls",
          message: { tool_calls: [{ type: "function", function: { arguments: '{"path":"b.ts"}' } }] },
        },
      ],
    });
    expect(world.upstream.journal[0]?.json).toMatchObject({
      tools: [{ name: "read_file" }],
      max_tokens: 900,
    });
  });

  it("is refused where it relies on state that is not kept here, and where it cannot be read", async () => {
    const refused = await world.ask({ ...AS_RESPONSES, previous_response_id: "resp_1" });
    expect(refused.status).toBe(400);
    expect((await refused.json()).error.param).toBe("previous_response_id");
    const unread = await world.ask({ ...AS_RESPONSES, input: [{ type: "nobody_knows" }] });
    expect(unread.status).toBe(400);
    expect(world.upstream.journal).toEqual([]);
  });

  it("may be a bare text", async () => {
    world.upstream.script(ANSWER);
    await (await world.ask({ model: MODEL, input: "hi", stream: true })).text();
    expect(world.upstream.journal[0]?.json).toMatchObject({ messages: [{ role: "user", content: "hi" }] });
  });
});

describe("a chat body with Anthropic's tools", () => {
  it("reaches a chat upstream with Chat's, results before the text beside them", async () => {
    world.upstream.script(ANSWER);
    const response = await world.ask(AS_MESSAGES);
    expect(await response.text()).toContain('"content":"done"');
    expect(world.upstream.journal[0]?.json).toMatchObject({
      tools: [TOOL],
      tool_choice: "auto",
      messages: [
        { role: "system", content: "You are a coding assistant." },
        { role: "user", content: "read it" },
        {
          role: "assistant",
          content: [{ type: "text", text: "I look." }],
          tool_calls: [
            {
              id: "toolu_1",
              type: "function",
              function: { name: "read_file", arguments: '{"path":"a.ts"}' },
            },
          ],
        },
        { role: "tool", tool_call_id: "toolu_1", content: "const a = 1;" },
        {
          role: "user",
          content: [
            { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } },
            { type: "text", text: "and now?" },
          ],
        },
      ],
    });
  });

  it("names a demanded tool in Chat's format", () => {
    const asked = (choice: unknown) => {
      const bytes = Buffer.from(JSON.stringify({ ...AS_MESSAGES, tool_choice: choice }));
      return JSON.parse(String(chatFrom(bytes, wholeObject(bytes) ?? { start: 0, end: 0, members: [] })))
        .tool_choice;
    };
    expect(asked({ type: "any" })).toBe("required");
    expect(asked({ type: "none" })).toBe("none");
    expect(asked({ type: "tool", name: "read_file" })).toEqual({
      type: "function",
      function: { name: "read_file" },
    });
    expect(asked("auto")).toBe("auto");
  });
});

it("a chat body in Chat's own format passes byte by byte, whatever its schemas are called", async () => {
  world.upstream.script(ANSWER);
  const parameters = { type: "object", properties: { input_schema: { type: "string" } } };
  const own = {
    model: MODEL,
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: "user", content: "hi" }],
    tools: [{ type: "function", function: { name: "f", parameters } }],
    input: "no word of Chat's",
  };
  await (await world.ask(own)).text();
  expect(world.upstream.journal[0]?.json).toEqual(own);
});
