// Responses clients through the relay: OpenAI's SDK with its own wire (bytes pass), with chat's and Anthropic's (translated).
import type { LLMock } from "@copilotkit/aimock";
import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { poem, startPoet, upstreamKey } from "#test/emulators/aimock.ts";
import { chunk, DONE, sse } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld } from "#test/worlds/relay-world.ts";

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
])("OpenAI's SDK with %s", (_, type, upstreamModel) => {
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

  it("calls a tool, whole and streamed, and sends its result", async () => {
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

  it("gets errors as the SDK's own classes", async () => {
    mock.nextRequestError(429, { message: "slow down please", type: "rate_limit_error" });
    await expect(sdk().responses.create({ model, input: "hi" })).rejects.toBeInstanceOf(
      OpenAI.RateLimitError,
    );
    await expect(
      sdk().responses.create({ model, input: "hi", previous_response_id: "resp_1" }),
    ).rejects.toMatchObject({ status: 400, param: "previous_response_id" });
  });
});

describe("every response that is made here", () => {
  /** Members that OpenAI's schema demands of each. */
  const MEMBERS = [
    ..."id object created_at status error incomplete_details instructions metadata model output".split(" "),
    ..."parallel_tool_calls temperature tool_choice tools top_p access_programs".split(" "),
  ];
  const request = { model, input: "hi", stream: true, instructions: "Be brief", tools: [weather] };

  it.each([
    ["completed", [chunk({ content: "hello" }), chunk({}, "stop"), DONE]],
    ["incomplete", [chunk({ content: "hello" }), chunk({}, "length"), DONE]],
    ["failed", [chunk({ content: "hello" }), "cut"]],
    ["failed", [chunk({ content: "hello" }), 'data: {"error":{"message":"no","code":null}}\n\n']],
  ] as const)("is whole: %s", async (status, parts) => {
    await world.addChannel({ type: 31, models: model });
    world.upstream.script(sse(...parts));
    const text = await (await world.ask(request, { path: "/v1/responses" })).text();
    const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json ?? ""));
    const responses = events.flatMap(({ response }) => (response === undefined ? [] : [response]));
    expect(responses.map((response) => response.status)).toEqual(["in_progress", "in_progress", status]);
    for (const response of responses) {
      expect(Object.keys(response)).toEqual(expect.arrayContaining(MEMBERS));
      expect(response).toMatchObject({ id: responses[0].id, model, instructions: "Be brief" });
      expect(response.tools).toHaveLength(1);
      expect(response.created_at).toBeGreaterThan(1_600_000_000);
    }
    const numbers = events.map(({ sequence_number }) => sequence_number);
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    if (status === "failed") expect(typeof responses.at(-1).error.code).toBe("string");
  });
});
