// Responses clients through the relay: OpenAI's SDK before its own wire (bytes pass), before chat's and Anthropic's (translated), and
// traffic of Codex's shape.
import type { LLMock } from "@copilotkit/aimock";
import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { poem, startPoet, upstreamKey } from "#test/aimock.ts";
import { chunk, DONE, json, sse, usageChunk } from "#test/fake-upstream.ts";
import { createRelayWorld } from "#test/relay-world.ts";

const world = createRelayWorld();
const model = "gpt-4o";
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

let mock: LLMock;

beforeAll(async () => {
  mock = await startPoet();
});

afterAll(() => mock.stop());

function sdk(): OpenAI {
  return new OpenAI({ baseURL: `${world.url}/v1`, apiKey: `sk-${world.token.key}`, maxRetries: 0 });
}

type Item = OpenAI.Responses.ResponseOutputItem;

function isCall(item: Item): item is OpenAI.Responses.ResponseFunctionToolCall {
  return item.type === "function_call";
}

const weather: OpenAI.Responses.FunctionTool = {
  type: "function",
  name: "get_weather",
  description: "Tells the weather.",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  strict: false,
};

describe.each([
  ["its own wire", 1, model],
  ["a wire of chat alone", 31, model],
  ["Anthropic's wire", 14, "claude-sonnet-4-6"],
])("OpenAI's SDK before %s", (_, type, upstreamModel) => {
  beforeEach(async () => {
    await world.addChannel({
      type,
      key: upstreamKey,
      baseUrl: mock.url,
      models: model,
      ...(upstreamModel !== model && { mapping: { [model]: upstreamModel } }),
    });
  });

  it("gets the same whole and streamed, charged alike", async () => {
    const request = { model, instructions: "Be kind.", input: "write a poem", max_output_tokens: 200 };
    const whole = await world.costOf(async () => {
      const answer = await sdk().responses.create(request);
      expect(answer).toMatchObject({ object: "response", status: "completed", output_text: poem });
      expect(answer.usage).toMatchObject({ input_tokens: 12, output_tokens: 30, total_tokens: 42 });
    });
    const streamed = await world.costOf(async () => {
      const stream = sdk().responses.stream(request);
      const types: string[] = [];
      for await (const { type: event } of stream) types.push(event);
      expect(types[0]).toBe("response.created");
      expect(types.at(-1)).toBe("response.completed");
      const answer = await stream.finalResponse();
      expect(answer.output_text).toBe(poem);
      expect(answer.usage).toMatchObject({ input_tokens: 12, output_tokens: 30 });
    });
    expect(whole).toMatchObject({ open: 0, log: { is_stream: 0, estimated: 0, quota: whole.charged } });
    expect(streamed).toMatchObject({ open: 0, log: { is_stream: 1, estimated: 0 }, charged: whole.charged });
  });

  it("calls a tool, whole and streamed, and is told its result", async () => {
    const request = { model, tools: [weather], input: "weather in Hangzhou?" };
    const whole = await sdk().responses.create(request);
    const streamed = await sdk().responses.stream(request).finalResponse();
    const outputs: readonly (readonly Item[])[] = [whole.output, streamed.output];
    for (const output of outputs) {
      const call = output.find(isCall);
      expect(call).toMatchObject({ name: "get_weather" });
      expect(JSON.parse(call?.arguments ?? "")).toEqual({ city: "Hangzhou" });
    }
    const call = whole.output.find(isCall);
    if (call === undefined) throw new Error("no call");
    const answer = await sdk().responses.create({
      ...request,
      input: [
        { role: "user", content: "write a poem" },
        call,
        { type: "function_call_output", call_id: call.call_id, output: "sunny" },
      ],
    });
    expect(answer.status).toBe("completed");
  });

  it("shows a picture", async () => {
    const answer = await sdk().responses.create({
      model,
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text: "write a poem" },
            { type: "input_image", image_url: `data:image/png;base64,${PNG}`, detail: "auto" },
          ],
        },
      ],
    });
    expect(answer.output_text).toBe(poem);
  });

  it("is told of errors as the SDK's own classes", async () => {
    mock.nextRequestError(429, { message: "slow down please", type: "rate_limit_error" });
    await expect(sdk().responses.create({ model, input: "hi" })).rejects.toBeInstanceOf(
      OpenAI.RateLimitError,
    );
    await expect(
      sdk().responses.create({ model, input: "hi", previous_response_id: "resp_1" }),
    ).rejects.toMatchObject({ status: 400, param: "previous_response_id" });
  });
});

/** As Codex sends it, in its own order of members. */
const CODEX = `{"model":"${model}","instructions":"You are Codex.","input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"Be safe."}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"List files"}]},
{"type":"reasoning","id":"rs_1","summary":[],"content":null,"encrypted_content":"gAAAAA=="},{"type":"custom_tool_call","status":"completed","call_id":"c1","name":"apply_patch","input":"*** Begin Patch\\n*** End Patch"},{"type":"custom_tool_call_output","call_id":"c1","output":"Done"}],
"tools":[{"type":"function","name":"exec_command","description":"Runs.","strict":false,"parameters":{"type":"object","properties":{"cmd":{"type":"string"}}}},{"type":"custom","name":"apply_patch","description":"Patches.","format":{"type":"grammar","syntax":"lark","definition":"start: x"}}],
"tool_choice":"auto","parallel_tool_calls":true,"reasoning":{"effort":"medium","summary":"auto"},"store":false,"stream":true,"include":["reasoning.encrypted_content"],"prompt_cache_key":"0199-a","text":{"verbosity":"low"},"client_metadata":{"x":"y"}}`;

const HEADERS = {
  "user-agent": "codex_cli_rs/0.60.0",
  originator: "codex_cli_rs",
  session_id: "0199-a",
  conversation_id: "0199-a",
  "openai-beta": "responses=experimental",
  "x-codex-turn-metadata": "{}",
};

function askAsCodex(): Promise<Response> {
  return world.ask(CODEX, { path: "/v1/responses", headers: HEADERS });
}

function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

describe("Codex", () => {
  it("before OpenAI's wire: every byte passes, there and back", async () => {
    const response = { id: "resp_1", object: "response", status: "in_progress", output: [] };
    const usage = {
      input_tokens: 50,
      input_tokens_details: { cached_tokens: 40 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 3 },
      total_tokens: 55,
    };
    const events = [
      event("response.created", { sequence_number: 0, response }),
      event("response.brand_new", { sequence_number: 1, secret: "é" }),
      event("response.custom_tool_call_input.delta", { sequence_number: 2, delta: "*** Begin" }),
      event("response.completed", {
        sequence_number: 3,
        response: { ...response, status: "completed", usage },
      }),
    ];
    await world.addChannel({ type: 1, models: model });
    world.upstream.script(sse(...events));
    const { log, open } = await world.costOf(async () => {
      const answer = await askAsCodex();
      expect(answer.status).toBe(200);
      expect(await answer.text()).toBe(events.join(""));
    });
    const [asked] = world.upstream.journal;
    expect(asked?.path).toBe("/v1/responses");
    expect(asked?.text).toBe(CODEX);
    expect(asked?.headers["openai-beta"]).toBe(HEADERS["openai-beta"]);
    expect(asked?.headers["session_id"]).toBeUndefined();
    expect({ log, open }).toMatchObject({
      log: { prompt_tokens: 50, completion_tokens: 5, estimated: 0 },
      open: 0,
    });
  });

  it("before OpenAI's wire after another one: thoughts that only we could read stay behind", async () => {
    await world.addChannel({ type: 1, models: model });
    const summary = [{ type: "summary_text", text: "Hm" }];
    const said = { id: "msg_1", type: "message", role: "assistant", content: [] };
    const sealed = { type: "reasoning", id: "rs_1", summary, encrypted_content: "gAAAAABpX2Zl" };
    const clear = {
      type: "reasoning",
      id: "rs_2",
      summary: [],
      content: [{ type: "reasoning_text", text: "Hm" }],
    };
    const ours = { type: "reasoning", id: "rs_3", summary, encrypted_content: "tollgate:S" };
    const unproven = { type: "reasoning", summary, encrypted_content: null };
    const user = { role: "user", content: "Hi" };
    const ask = (input: readonly object[]) => world.ask({ model, input }, { path: "/v1/responses" });
    world.upstream.script(json({ object: "response", output: [] }));
    await ask([user, sealed, clear, ours, said, unproven, user]);
    expect(world.upstream.journal[0]?.json.input).toEqual([user, sealed, clear, said, user]);
    await ask([user, sealed, said, user]);
    const passed = { model, input: [user, sealed, said, user], store: false };
    expect(world.upstream.journal[1]?.text).toBe(JSON.stringify(passed));
  });

  it("before a wire of chat alone: its patches come back as it knows them", async () => {
    await world.addChannel({ type: 31, models: model });
    const call = (fields: object) => chunk({ tool_calls: [{ index: 0, ...fields }] });
    world.upstream.script(
      sse(
        call({
          id: "t1",
          type: "function",
          function: { name: "apply_patch", arguments: '{"input":"*** Be' },
        }),
        call({ function: { arguments: 'gin Patch"}' } }),
        chunk({}, "tool_calls"),
        usageChunk({ prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 }),
        DONE,
      ),
    );
    const answer = await askAsCodex();
    const text = await answer.text();
    const types = [...text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type);
    expect(types[0]).toBe("response.created");
    expect(types.at(-1)).toBe("response.completed");
    expect(types).toContain("response.custom_tool_call_input.done");
    const last = JSON.parse(text.trimEnd().split("\n\n").at(-1)?.split("data: ")[1] ?? "");
    expect(last.response).toMatchObject({
      output: [{ type: "custom_tool_call", call_id: "t1", name: "apply_patch", input: "*** Begin Patch" }],
      usage: { input_tokens: 9, output_tokens: 3 },
    });
    const [asked] = world.upstream.journal;
    expect(asked?.path).toBe("/v1/chat/completions");
    expect(asked?.text).not.toContain("gAAAAA");
    expect(asked?.json.messages).toMatchObject([
      { role: "system", content: "You are Codex." },
      { role: "system", content: "Be safe." },
      { role: "user", content: "List files" },
      {
        role: "assistant",
        tool_calls: [{ id: "c1", function: { name: "apply_patch" } }],
      },
      { role: "tool", tool_call_id: "c1", content: "Done" },
    ]);
  });

  it("gives its tools in the input, as since 0.150, and is answered by the names it knows", async () => {
    await world.addChannel({ type: 31, models: model });
    const args = JSON.stringify({ input: "text(1)" });
    const tool = { id: "t1", type: "function", function: { name: "functions__exec", arguments: args } };
    world.upstream.script(sse(chunk({ tool_calls: [{ index: 0, ...tool }] }), chunk({}, "tool_calls"), DONE));
    const exec = { type: "custom", name: "exec", description: "Runs JavaScript." };
    const sleeper = { type: "function", name: "sleep", strict: false, parameters: { type: "object" } };
    const body = {
      model,
      input: [
        {
          type: "additional_tools",
          id: "at_1",
          role: "developer",
          tools: [
            { type: "namespace", name: "functions", description: "", tools: [exec] },
            { type: "namespace", name: "clock", description: "Time.", tools: [sleeper] },
          ],
        },
        { type: "message", role: "user", content: [{ type: "input_text", text: "List files" }] },
        { type: "custom_tool_call", call_id: "c1", name: "exec", namespace: "functions", input: "text(0)" },
        { type: "custom_tool_call_output", call_id: "c1", output: "0" },
      ],
      tool_choice: "auto",
      parallel_tool_calls: false,
      reasoning: { effort: "medium", context: "all_turns" },
      store: false,
      stream: true,
    };
    const answer = await world.ask(body, { path: "/v1/responses", headers: HEADERS });
    const text = await answer.text();
    const last = JSON.parse(text.trimEnd().split("\n\n").at(-1)?.split("data: ")[1] ?? "");
    expect(last.response.output).toMatchObject([
      {
        type: "custom_tool_call",
        // OpenAI, which may serve the next turn, takes back no id that begins otherwise.
        id: expect.stringMatching(/^ctc_/),
        call_id: "t1",
        name: "exec",
        namespace: "functions",
        input: "text(1)",
      },
    ]);
    const [asked] = world.upstream.journal;
    expect(asked?.json).toMatchObject({
      parallel_tool_calls: false,
      tools: [{ function: { name: "functions__exec" } }, { function: { name: "clock__sleep" } }],
      messages: [
        { role: "user", content: "List files" },
        { role: "assistant", tool_calls: [{ id: "c1", function: { name: "functions__exec" } }] },
        { role: "tool", tool_call_id: "c1", content: "0" },
      ],
    });
  });

  it("has its agents talk to each other, unless OpenAI has sealed what they say", async () => {
    await world.addChannel({ type: 31, models: model });
    const told = (words: string) => ({
      type: "agent_message",
      id: "amsg_1",
      author: "/root",
      recipient: "/root/helper",
      content: [
        { type: "input_text", text: "Payload:" },
        { type: "encrypted_content", encrypted_content: words },
      ],
    });
    const ask = (words: string) =>
      world.ask(
        { model, input: [{ role: "user", content: "Help" }, told(words)] },
        { path: "/v1/responses", headers: HEADERS },
      );
    expect((await ask("be nice")).status).toBe(200);
    expect(world.upstream.journal[0]?.json.messages).toEqual([
      { role: "user", content: "Help" },
      {
        role: "user",
        content: [
          { type: "text", text: "Payload:" },
          { type: "text", text: "be nice" },
        ],
      },
    ]);
    const sealed = await ask("gAAAAABpX2Zl");
    expect(sealed.status).toBe(400);
    expect(await sealed.json()).toMatchObject({ error: { code: "unsupported_parameter" } });
  });

  it("hears of what it may not have in words, and of a broken stream by an event", async () => {
    await world.addChannel({ type: 31, models: model });
    world.upstream.script(sse(chunk({ content: "Hel" }), "cut"));
    const { open } = await world.costOf(async () => {
      const text = await (await askAsCodex()).text();
      expect(text).toContain('"delta":"Hel"');
      const [error, failed] = text.trimEnd().split("\n\n").slice(-2);
      expect(error).toMatch(/^event: error\ndata: {"type":"error","sequence_number":\d+,"code":"/);
      // Codex takes what broke off without this for a lost connection, and shows none of the words.
      expect(failed).toMatch(
        /^event: response.failed\ndata: {"type":"response.failed","sequence_number":\d+/,
      );
      expect(failed).toContain(
        '"status":"failed","error":{"code":"do_request_failed","message":"上游连接中断',
      );
    });
    expect(open).toBe(0);
    world.upstream.script(json({ error: { message: "Invalid value", type: "invalid_request_error" } }, 400));
    const refused = await askAsCodex();
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { type: "invalid_request_error" } });
  });

  it("falls back from a WebSocket in good order", async () => {
    const { status } = await fetch(`${world.url}/v1/responses`, {
      headers: { authorization: `Bearer sk-${world.token.key}` },
    });
    expect(status).toBe(404);
  });
});
