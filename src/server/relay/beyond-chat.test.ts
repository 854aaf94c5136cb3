// OpenAI's newer models refuse tools in Chat while they reason: their chat clients get tools all the same, through Responses.
import type { LLMock } from "@copilotkit/aimock";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { poem, startPoet, upstreamKey } from "#test/emulators/aimock.ts";
import { chatReply, json, type Step, sse } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const messages = [{ role: "user" as const, content: "weather in Hangzhou?" }];
const parameters = { type: "object", properties: { city: { type: "string" } } };
const tools = [{ type: "function" as const, function: { name: "get_weather", parameters } }];
const WITH_TOOLS = { messages, tools };

const CHAT = "/v1/chat/completions";
const RESPONSES = "/v1/responses";

const RESPONSE = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  model: "gpt-6-astra",
  status: "completed",
  output: [
    {
      type: "function_call",
      id: "fc_1",
      call_id: "call_1",
      name: "get_weather",
      arguments: '{"city":"Hangzhou"}',
    },
  ],
  usage: {
    input_tokens: 2_000,
    input_tokens_details: {
      cached_tokens: 500,
      cache_write_tokens: 1_000,
      cache_write_tokens_details: { ttl_12h_tokens: 400, ttl_30m_tokens: 600 },
    },
    output_tokens: 100,
    output_tokens_details: { reasoning_tokens: 40 },
    total_tokens: 2_100,
  },
};

/** Answers on both paths in their own format. */
const both: Step = (res, asked) => json(asked.path === RESPONSES ? RESPONSE : chatReply("hi"))(res, asked);

/** The path of a request, and its fields of tools and reasoning. */
async function sentFor(body: object, path = CHAT) {
  world.upstream.script(both);
  const answer = await world.ask(body, { path });
  expect(answer.status, await answer.clone().text()).toBe(200);
  const asked = world.upstream.journal.at(-1);
  return { path: asked?.path, json: asked?.json, dropped: answer.headers.get("x-tollgate-dropped"), answer };
}

describe("which requests go over Responses", () => {
  it.each<[model: string, said: object, path: string]>([
    ["gpt-6-astra", { messages }, CHAT],
    ["gpt-6-astra", { ...WITH_TOOLS, reasoning_effort: "low" }, RESPONSES],
    ["gpt-6-astra", { ...WITH_TOOLS, reasoning_effort: "none" }, RESPONSES],
    ["gpt-6.2-sol", WITH_TOOLS, RESPONSES],
    ["gpt-6.1-terra", { ...WITH_TOOLS, reasoning_effort: "none" }, RESPONSES],
    ["gpt-6-sol", WITH_TOOLS, RESPONSES],
    ["gpt-6-sol", { messages, tools: [] }, CHAT],
    ["gpt-6-sol", { messages, functions: [{ name: "f", parameters }] }, RESPONSES],
    ["gpt-6-luna", { ...WITH_TOOLS, reasoning_effort: "none" }, CHAT],
    ["gpt-6-luna-none", WITH_TOOLS, CHAT],
    ["gpt-6-luna-high", { ...WITH_TOOLS, reasoning_effort: "none" }, RESPONSES],
    ["gpt-6-luna-max", { messages }, RESPONSES],
    ["gpt-5.6-terra", WITH_TOOLS, RESPONSES],
    ["gpt-5.6", { messages, reasoning_effort: "max" }, RESPONSES],
    ["gpt-5.6", { messages, reasoning_effort: "xhigh" }, CHAT],
    ["gpt-5.5", WITH_TOOLS, CHAT],
    ["gpt-5.5", { ...WITH_TOOLS, reasoning_effort: "low" }, RESPONSES],
    ["gpt-5.4-mini", WITH_TOOLS, CHAT],
    ["gpt-5.4-mini", { ...WITH_TOOLS, reasoning_effort: "high" }, RESPONSES],
    ["gpt-5.1", { ...WITH_TOOLS, reasoning_effort: "high" }, CHAT],
    ["gpt-4o", WITH_TOOLS, CHAT],
  ])("%s with %j: %s", async (model, said, path) => {
    await world.addChannel({ type: 1, models: model });
    expect((await sentFor({ model, ...said })).path).toBe(path);
  });

  it("goes by the upstream's name", async () => {
    await world.addChannel({ type: 1, models: "smart", mapping: { smart: "gpt-6-astra" } });
    await world.setOption("ModelRatio", '{"smart":1}');
    const { path, json: sent, answer } = await sentFor({ model: "smart", ...WITH_TOOLS });
    expect(path).toBe(RESPONSES);
    expect(sent).toMatchObject({ model: "gpt-6-astra" });
    expect(await answer.json()).toMatchObject({ model: "smart" });
  });

  it.each([8, 20, 43])("leaves the bytes of type %i alone", async (type) => {
    await world.addChannel({ type, models: "gpt-6-astra" });
    const body = { model: "gpt-6-astra", ...WITH_TOOLS, reasoning_effort: "none", temperature: 0 };
    const { path, json: sent } = await sentFor(body);
    expect(path).toMatch(/chat\/completions$/);
    expect(sent).toEqual(body);
  });

  it("serves Messages and Gemini clients with tools, too", async () => {
    await world.addChannel({ type: 1, models: "gpt-6-sol" });
    const model = "gpt-6-sol";
    const asked = {
      model,
      max_tokens: 99,
      messages,
      tools: [{ name: "get_weather", input_schema: parameters }],
    };
    const thinking = { type: "enabled", budget_tokens: 4_096 };
    const told = await sentFor({ ...asked, thinking }, "/v1/messages");
    expect(told.path).toBe(RESPONSES);
    expect(told.json?.reasoning).toEqual({ effort: "medium" });
    expect((await sentFor(asked, "/v1/messages")).path).toBe(RESPONSES);
    expect((await sentFor({ ...asked, tools: [] }, "/v1/messages")).path).toBe(CHAT);
    const contents = [{ role: "user", parts: [{ text: "weather?" }] }];
    const generate = { contents, tools: [{ functionDeclarations: [{ name: "get_weather", parameters }] }] };
    const path = `/v1beta/models/${model}:generateContent`;
    expect((await sentFor(generate, path)).path).toBe(RESPONSES);
    const generationConfig = { thinkingConfig: { thinkingBudget: 0 } };
    expect((await sentFor({ ...generate, generationConfig }, path)).path).toBe(CHAT);
  });

  it("refuses a body that cannot be read before it chooses", async () => {
    await world.addChannel({ type: 1, models: "gpt-6-sol" });
    const body = { model: "gpt-6-sol", max_tokens: 9, messages: [{ role: "user", content: 7 }], tools: [{}] };
    expect((await world.ask(body, { path: "/v1/messages" })).status).toBe(400);
    expect(world.upstream.journal).toEqual([]);
  });

  it("calls a reseller that has no path for Responses in Chat, at once and from then on", async () => {
    await world.addChannel({ type: 1, models: "gpt-6-sol" });
    world.upstream.script((res, asked) =>
      (asked.path === RESPONSES ? json({ detail: "Not Found" }, 404) : json(chatReply("hi")))(res, asked),
    );
    const body = { model: "gpt-6-sol", ...WITH_TOOLS };
    const { charged, entries } = await world.costOf(async () => {
      expect((await world.ask(body)).status).toBe(200);
    });
    expect(entries).toBe(1);
    expect(charged).toBeGreaterThan(0);
    expect((await world.ask(body)).status).toBe(200);
    expect(world.upstream.journal.map(({ path }) => path)).toEqual([RESPONSES, CHAT, CHAT]);
    expect(world.upstream.journal.at(-1)?.json).toEqual(body);
  });
});

describe("what they say there", () => {
  it.each<[model: string, said: object, effort: string | undefined]>([
    ["gpt-6-astra", { ...WITH_TOOLS, reasoning_effort: "none" }, "low"],
    ["gpt-6.1-sol", { ...WITH_TOOLS, reasoning_effort: "minimal" }, "low"],
    ["gpt-6.1-terra", { ...WITH_TOOLS, reasoning_effort: "none" }, "none"],
    ["gpt-6-astra", { ...WITH_TOOLS, reasoning_effort: "max" }, "max"],
    ["gpt-5.6", { messages, reasoning_effort: "max" }, "max"],
    ["gpt-5.4", { ...WITH_TOOLS, reasoning_effort: "xhigh" }, "xhigh"],
    ["gpt-6-sol", WITH_TOOLS, undefined],
  ])("%s with %j gets the effort %s", async (model, said, effort) => {
    await world.addChannel({ type: 1, models: model });
    const { json: sent } = await sentFor({ model, ...said });
    expect(sent).toMatchObject({ store: false });
    // A summary of the reasoning, which Chat never shows, is refused to organizations that are not verified.
    expect(sent?.reasoning).toEqual(effort === undefined ? undefined : { effort });
  });

  it("drops fields that a reasoning model refuses, and says so", async () => {
    await world.addChannel({ type: 1, models: "gpt-6-sol" });
    const body = {
      model: "gpt-6-sol",
      ...WITH_TOOLS,
      temperature: 0,
      top_p: 0.5,
      logprobs: true,
      max_tokens: 99,
    };
    const { json: sent, dropped } = await sentFor(body);
    expect(sent).toMatchObject({
      max_output_tokens: 99,
      tools: [{ type: "function", name: "get_weather", parameters, strict: false }],
    });
    expect(dropped).toBe("logprobs, temperature, top_p");
    for (const name of ["temperature", "top_p", "top_logprobs"]) expect(sent).not.toHaveProperty(name);
    expect(sent?.include).toEqual(["reasoning.encrypted_content"]);
  });

  it.each<[model: string, said: object, sent: object, dropped: string | null]>([
    ["gpt-6-astra", { reasoning_effort: "none", temperature: 0 }, { reasoning_effort: "low" }, "temperature"],
    ["gpt-6-astra-none", {}, { reasoning_effort: "low" }, null],
    ["gpt-6-sol", { temperature: 0, logprobs: true }, {}, "temperature, logprobs"],
    [
      "gpt-6-sol",
      { reasoning_effort: "none", temperature: 0 },
      { reasoning_effort: "none", temperature: 0 },
      null,
    ],
    ["gpt-5.6", { reasoning_effort: "minimal" }, { reasoning_effort: "low" }, null],
    ["gpt-5.5", { temperature: 0 }, {}, "temperature"],
    ["gpt-5.4", { temperature: 0 }, { temperature: 0 }, null],
  ])("without tools %s stays in Chat: %j", async (model, said, rest, dropped) => {
    await world.addChannel({ type: 1, models: model });
    const sent = await sentFor({ model, messages, max_tokens: 9, ...said });
    const name = model.replace(/-none$/, "");
    expect(sent).toMatchObject({ path: CHAT, dropped });
    expect(sent.json).toEqual({ model: name, messages, max_completion_tokens: 9, ...rest });
  });
});

describe("what it costs", () => {
  // gpt-6-astra, $10, $1, $12.50, $20 and $50: 500 fresh, 500 from the cache, 600 and 400 into it, 100 written; a dollar is 500,000 quota.
  const COST = (500 * 10 + 500 * 1 + 600 * 12.5 + 400 * 20 + 100 * 50) / 2;

  it("follows the usage of the response, writes to the cache included, whole and streamed", async () => {
    await world.addChannel({ type: 1, models: "gpt-6-astra" });
    const body = { model: "gpt-6-astra", ...WITH_TOOLS };
    const usage = {
      prompt_tokens: 2_000,
      completion_tokens: 100,
      prompt_tokens_details: { cached_tokens: 500, cache_write_tokens: 1_000 },
    };
    const whole = await world.costOf(async () => {
      const { answer } = await sentFor(body);
      expect(await answer.json()).toMatchObject({
        object: "chat.completion",
        choices: [{ finish_reason: "tool_calls", message: { tool_calls: [{ id: "call_1" }] } }],
        usage,
      });
    });
    const item = RESPONSE.output[0];
    const events = [
      { type: "response.created", response: { ...RESPONSE, output: [], usage: null } },
      { type: "response.output_item.added", output_index: 0, item: { ...item, arguments: "" } },
      { type: "response.function_call_arguments.delta", output_index: 0, delta: '{"city":"Hangzhou"}' },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: RESPONSE },
    ];
    world.upstream.script(
      sse(...events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)),
    );
    const streamed = await world.costOf(async () => {
      const answer = await world.ask({ ...body, stream: true, stream_options: { include_usage: true } });
      const text = await answer.text();
      expect(text).toContain('"finish_reason":"tool_calls"');
      expect(text).toContain('"cache_write_tokens":1000');
      expect(text).toMatch(/data: \[DONE\]\n\n$/);
    });
    const fair = { charged: COST, open: 0, entries: 1 };
    expect(whole).toMatchObject({ ...fair, log: { quota: COST, estimated: 0 } });
    expect(streamed).toMatchObject({ ...fair, log: { is_stream: 1, estimated: 0 } });
  });
});

describe("OpenAI's SDK before GPT-6", () => {
  let mock: LLMock;

  beforeAll(async () => {
    mock = await startPoet();
  });
  afterAll(() => mock.stop());

  it("calls a tool in Chat, whole and streamed, and sends its result", async () => {
    await world.addChannel({ type: 1, key: upstreamKey, baseUrl: mock.url, models: "gpt-6.2-sol" });
    const sdk = new OpenAI({ baseURL: `${world.url}/v1`, apiKey: `sk-${world.token.key}`, maxRetries: 0 });
    const request = { model: "gpt-6.2-sol", reasoning_effort: "medium" as const, ...WITH_TOOLS };
    const { choices } = await sdk.chat.completions.create(request);
    const streamed = await sdk.chat.completions.stream(request).finalChatCompletion();
    for (const message of [choices[0]?.message, streamed.choices[0]?.message])
      expect(message?.tool_calls).toMatchObject([
        { type: "function", function: { name: "get_weather", arguments: '{"city":"Hangzhou"}' } },
      ]);
    const message = choices[0]?.message;
    if (message === undefined) throw new Error("no message");
    const tool_call_id = message.tool_calls?.[0]?.id ?? "";
    const result = { role: "tool" as const, tool_call_id, content: "sunny, now a poem" };
    const said = [{ role: "user" as const, content: "a poem on the weather" }, message, result];
    const answer = await sdk.chat.completions.create({ ...request, messages: said });
    expect(answer.choices[0]?.message.content).toBe(poem);
    expect(answer.usage).toMatchObject({ prompt_tokens: 12, completion_tokens: 30 });
    expect(mock.getRequests().every(({ path }) => path === RESPONSES)).toBe(true);
  });
});
