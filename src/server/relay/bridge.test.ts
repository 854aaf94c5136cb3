// Responses by WebSocket (requirements C61): each response is a call like one by HTTP, whatever wire its upstream speaks; what is said wrong is
// answered and closes nothing.
import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { chunk, DONE, json, type Step, silence, sse, usageChunk } from "#test/emulators/fake-upstream.ts";
import { type Event, openResponses, type ResponsesClient } from "#test/emulators/responses-client.ts";
import { type ResponsesEmulator, startResponses } from "#test/emulators/responses-emulator.ts";
import { createRelayWorld } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const model = "gpt-4o";
const clients: ResponsesClient[] = [];

afterEach(() => {
  for (const { socket } of clients.splice(0)) socket.terminate();
});

function open(headers: Record<string, string> = {}): ResponsesClient {
  const client = openResponses(world.url, world.token.key, headers);
  clients.push(client);
  return client;
}

const user = (content: string) => ({ role: "user", content });
const TOOL = {
  type: "function",
  name: "look",
  parameters: { type: "object", properties: {} },
  strict: false,
};
const told = (type: string, fields: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

/** Answers by a call of the tool, or by a text once the tool has said something. */
interface Wire {
  readonly type: number;
  readonly model: string;
  readonly path: string;
  readonly calls: Step;
  readonly says: Step;
}

const responsesStream = (id: string, item: object) => {
  const response = { id, object: "response", created_at: 1, model, output: [] };
  const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
  return sse(
    told("response.created", { sequence_number: 0, response: { ...response, status: "in_progress" } }),
    told("response.output_item.done", { sequence_number: 1, output_index: 0, item }),
    told("response.completed", {
      sequence_number: 2,
      response: { ...response, status: "completed", output: [item], usage },
    }),
  );
};
const CHAT_USAGE = usageChunk({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 });
const claude = (block: object, delta: object, stop: string) =>
  sse(
    told("message_start", {
      message: {
        ...{ id: "m", type: "message", role: "assistant", model: "c", content: [] },
        usage: { input_tokens: 10, output_tokens: 1 },
      },
    }),
    told("content_block_start", { index: 0, content_block: block }),
    told("content_block_delta", { index: 0, delta }),
    told("content_block_stop", { index: 0 }),
    told("message_delta", { delta: { stop_reason: stop }, usage: { output_tokens: 5 } }),
    told("message_stop", {}),
  );

const WIRES: Readonly<Record<string, Wire>> = {
  responses: {
    ...{ type: 1, model, path: "/v1/responses" },
    calls: responsesStream("resp_a", {
      ...{ type: "function_call", id: "fc_1", call_id: "c1", name: "look" },
      ...{ arguments: "{}", status: "completed" },
    }),
    says: responsesStream("resp_b", {
      ...{ type: "message", id: "msg_1", role: "assistant", status: "completed" },
      content: [{ type: "output_text", text: "Done.", annotations: [] }],
    }),
  },
  chat: {
    ...{ type: 31, model, path: "/v1/chat/completions" },
    calls: sse(
      chunk({
        tool_calls: [{ index: 0, id: "c1", type: "function", function: { name: "look", arguments: "{}" } }],
      }),
      ...[chunk({}, "tool_calls"), CHAT_USAGE, DONE],
    ),
    says: sse(chunk({ content: "Done." }), chunk({}, "stop"), CHAT_USAGE, DONE),
  },
  anthropic: {
    ...{ type: 14, model: "claude-sonnet-4-6", path: "/v1/messages" },
    calls: claude(
      { type: "tool_use", id: "c1", name: "look", input: {} },
      { type: "input_json_delta", partial_json: "{}" },
      "tool_use",
    ),
    says: claude({ type: "text", text: "" }, { type: "text_delta", text: "Done." }, "end_turn"),
  },
};

/** The events of the same call by HTTP. */
async function byHttp(body: object): Promise<Event[]> {
  const answer = await world.ask({ ...body, stream: true }, { path: "/v1/responses" });
  const text = await answer.text();
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? ""));
}

const types = (events: readonly Event[]) => events.map(({ type }) => type);
const last = (events: readonly Event[]) => events.at(-1);

describe.each(Object.entries(WIRES))("to a channel of the wire %s", (_, wire) => {
  const settings = { model: wire.model, instructions: "Be kind.", tools: [TOOL], store: false };

  it("a warm-up, what it goes on with, tools and a whole request are as by HTTP", async () => {
    await world.addChannel({ type: wire.type, models: wire.model });
    const client = open();
    const warm = await world.costOf(async () => {
      const events = await client.create({ ...settings, generate: false, input: [user("hi")] });
      expect(types(events)).toEqual(["response.created", "response.completed"]);
      expect(last(events).response).toMatchObject({ status: "completed", output: [], model: wire.model });
    });
    expect({ ...warm, log: 0 }).toEqual({ charged: 0, open: 0, entries: 0, log: 0 });
    expect(world.upstream.journal).toEqual([]);

    const steps = [wire.calls, wire.says, wire.says];
    world.upstream.script(...steps);
    const turns: Event[][] = [];
    const socket = await world.costOf(async () => {
      const first = last(client.events).response.id;
      turns.push(await client.create({ ...settings, previous_response_id: first, input: [user("go")] }));
      const result = { type: "function_call_output", call_id: "c1", output: "seen" };
      const second = last(turns[0] ?? []).response.id;
      turns.push(await client.create({ ...settings, previous_response_id: second, input: [result] }));
      turns.push(await client.create({ ...settings, input: "alone" }));
    });
    const sent = world.upstream.journal.splice(0).map(({ path, json: body }) => ({ path, body }));

    world.upstream.script(...steps);
    const plain: Event[][] = [];
    const http = await world.costOf(async () => {
      const called = last(turns[0] ?? []).response.output;
      expect(called).toMatchObject([{ type: "function_call", call_id: "c1", name: "look" }]);
      const result = { type: "function_call_output", call_id: "c1", output: "seen" };
      plain.push(await byHttp({ ...settings, input: [user("hi"), user("go")] }));
      plain.push(await byHttp({ ...settings, input: [user("hi"), user("go"), ...called, result] }));
      plain.push(await byHttp({ ...settings, input: "alone" }));
    });
    expect(sent).toEqual(world.upstream.journal.map(({ path, json: body }) => ({ path, body })));
    expect(sent.map(({ path }) => path)).toEqual([wire.path, wire.path, wire.path]);
    expect(turns.map(types)).toEqual(plain.map(types));
    expect(last(turns[1] ?? []).response.output.at(-1)).toMatchObject({ content: [{ text: "Done." }] });
    expect(socket.charged).toBeGreaterThan(0);
    expect({ ...socket, log: 0 }).toEqual({ ...http, log: 0 });
    expect(socket.log).toMatchObject({ is_stream: 1, estimated: 0, prompt_tokens: 10, completion_tokens: 5 });
  });

  it("goes to the next channel when one fails", async () => {
    await world.setOption("RetryTimes", "1");
    for (const priority of [1, 2])
      await world.addChannel({
        type: wire.type,
        models: wire.model,
        priority,
        key: `sk-key-${priority}-0123456789`,
      });
    world.upstream.script(json({ error: { message: "down" } }, 500), wire.says);
    const events = await open().create({ ...settings, input: "hi" });
    expect(last(events).type).toBe("response.completed");
    expect(world.upstream.journal).toHaveLength(2);
  });
});

it("OpenAI's SDK reads its events and errors", async () => {
  await world.addChannel({ type: 31, models: model });
  world.upstream.script(WIRES["chat"]?.says ?? silence);
  const sdk = new OpenAI({ baseURL: `${world.url}/v1`, apiKey: `sk-${world.token.key}` });
  const socket = new ResponsesWS(sdk);
  const errors: string[] = [];
  socket.on("error", (error) => errors.push(error.message));
  const completed = (body: object) =>
    new Promise<OpenAI.Responses.Response>((resolve) => {
      socket.once("response.completed", ({ response }) => resolve(response));
      socket.send({ type: "response.create", model, ...body });
    });
  const warm = await completed({ generate: false, input: [user("hi")] });
  const first = await completed({ previous_response_id: warm.id, input: "go" });
  expect(first.output).toMatchObject([{ type: "message", content: [{ text: "Done." }] }]);
  const second = await completed({ previous_response_id: first.id, input: "on" });
  expect(world.upstream.journal.at(-1)?.json.messages).toMatchObject([
    user("hi"),
    user("go"),
    { role: "assistant", content: "Done." },
    user("on"),
  ]);
  expect(second.usage).toMatchObject({ input_tokens: 10, output_tokens: 5 });
  socket.send({ type: "response.create", model, input: "x", previous_response_id: "resp_never" });
  await expect.poll(() => errors).toHaveLength(1);
  expect(errors[0]).toContain("resp_never");
  socket.close();
});

it("what the handshake says of the client holds for all of its calls; its beta of sockets goes nowhere", async () => {
  await world.addChannel({ type: 1, models: model });
  world.upstream.script(silence);
  const headers = {
    "openai-beta": "responses_websockets=2026-02-06, responses=experimental",
    session_id: "s1",
  };
  const client = open(headers);
  client.say({ type: "response.create", model, input: "hi" });
  await expect.poll(() => world.upstream.journal.length, { timeout: 10_000 }).toBe(1);
  const [asked] = world.upstream.journal;
  expect(asked?.headers["openai-beta"]).toBe("responses=experimental");
  expect(asked?.headers["upgrade"]).toBeUndefined();
  expect(asked?.json).toEqual({ model, input: "hi", stream: true, store: false });
});

describe("where upstreams keep responses", () => {
  let maker: ResponsesEmulator;
  beforeEach(async () => {
    await world.setOption("ResponsesStateEnabled", "true");
    maker = await startResponses("kept");
    await world.addChannel({ type: 1, models: model, baseUrl: maker.url });
  });
  afterEach(async () => {
    await world.setOption("ResponsesStateEnabled", "false");
    await maker.close();
  });

  it("a call goes on from one of another connection, and the next one from that", async () => {
    const made = await (await world.ask({ model, input: "hi" }, { path: "/v1/responses" })).json();
    const client = open();
    const first = (await client.create({ model, input: "and?", previous_response_id: made.id })).at(-1);
    expect(first.response.output[0].content[0].text).toBe("hi and?");
    const second = (await client.create({ model, input: "so?", previous_response_id: first.response.id })).at(
      -1,
    );
    expect(second.response.output[0].content[0].text).toBe("hi and? so?");
    expect(maker.last()).toMatchObject({ previous_response_id: first.response.id, input: "so?" });
    const [lost] = await client.create({ model, input: "hi", previous_response_id: "resp_never" });
    expect(lost).toMatchObject({ status: 400, error: { code: "previous_response_not_found" } });
  });
});
