// Requests of Messages clients besides answers: counts of tokens, the list of models, keep-alives.
import { createServer } from "node:http";
import Anthropic from "@anthropic-ai/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { addKeys, newKey } from "#server/store/channel-keys.ts";
import { setChannelLimits } from "#server/store/channel-limits.ts";
import { statusFault } from "#server/upstream/errors/fault.ts";
import { json, silence, sse } from "#test/emulators/fake-upstream.ts";
import { CHANNEL_KEY, createRelayWorld } from "#test/worlds/relay-world.ts";
import { createRelay } from "./relay.ts";

const world = createRelayWorld();
const model = "claude-sonnet-4-6";
const messages = [{ role: "user" as const, content: "hello world" }];

function sdk(baseURL = world.url): Anthropic {
  return new Anthropic({ baseURL, apiKey: `sk-${world.token.key}`, maxRetries: 0 });
}

describe("the SDK's tool runner, which relies on state at the server", () => {
  it("is told that no state is kept, and sends the whole conversation", async () => {
    await world.addChannel({ type: 14, models: model });
    const reply = (content: object, stop_reason: string) =>
      json({
        id: "msg_1",
        type: "message",
        role: "assistant",
        model,
        content: [content],
        stop_reason,
        usage: { input_tokens: 9, output_tokens: 3 },
      });
    world.upstream.script(
      reply({ type: "tool_use", id: "toolu_1", name: "add", input: { a: 1 } }, "tool_use"),
      reply({ type: "text", text: "two" }, "end_turn"),
    );
    const add = {
      type: "custom" as const,
      name: "add",
      input_schema: { type: "object" as const },
      parse: (input: unknown) => input,
      run: () => "2",
    };
    const { entries } = await world.costOf(async () => {
      const last = await sdk().beta.messages.toolRunner({ model, max_tokens: 100, messages, tools: [add] });
      expect(last.content).toMatchObject([{ type: "text", text: "two" }]);
    });
    expect(entries).toBe(2);
    const asked = world.upstream.journal.map(({ json: body }) => body);
    expect(asked.map(({ thread, messages: sent }) => [thread, sent.length])).toEqual([
      [undefined, 1],
      [undefined, 3],
    ]);
  });

  it("by a refusal that it recognises", async () => {
    await world.addChannel({ type: 14, models: model });
    const thread = { type: "continue", previous_message_id: "msg_1" };
    const body = { model, max_tokens: 9, messages, thread };
    const answer = await world.ask(body, { path: "/v1/messages" });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      type: "error",
      error: { type: "invalid_request_error", details: { error_code: "thread_unsupported_request" } },
    });
    expect(world.upstream.journal).toHaveLength(0);
  });
});

describe("a count of tokens", () => {
  it("is done by a channel with Messages, under the mapped name, and costs nothing", async () => {
    await world.addChannel({ models: model });
    await world.addChannel({ type: 14, models: model, priority: -5, mapping: { [model]: "claude-opus-5" } });
    world.upstream.script(json({ input_tokens: 2095, context_management: { original_input_tokens: 3000 } }));
    const { charged, entries, open } = await world.costOf(async () => {
      const counted = await sdk().beta.messages.countTokens({ model, messages });
      expect(counted).toMatchObject({
        input_tokens: 2095,
        context_management: { original_input_tokens: 3000 },
      });
    });
    expect([charged, entries, open]).toEqual([0, 0, 0]);
    const [asked] = world.upstream.journal;
    expect(asked?.path).toBe("/v1/messages/count_tokens");
    expect(asked?.json).toEqual({ model: "claude-opus-5", messages });
    // The version is the SDK's own.
    expect(asked?.headers).toMatchObject({
      "x-api-key": CHANNEL_KEY,
      "anthropic-version": expect.stringMatching(/^20\d\d-/),
    });
  });

  it("is done here where no channel can count, or the one that can is in trouble", async () => {
    await world.addChannel({ models: model });
    const own = await sdk().messages.countTokens({ model, messages });
    expect(own.input_tokens).toBeGreaterThan(2);
    expect(world.upstream.journal).toHaveLength(0);
    await world.addChannel({ type: 14, models: model });
    for (const step of [
      json({ error: "x" }, 503),
      json({ type: "error" }, 404),
      json({ id: "no number" }),
      silence,
    ]) {
      world.upstream.script(step);
      const url = step === silence ? world.hastyUrl : world.url;
      expect(await sdk(url).messages.countTokens({ model, messages })).toEqual(own);
    }
  });

  it("is a call of a channel with limits, and is done here when it has no room", async () => {
    await world.addChannel({ type: 8, models: model });
    const own = await sdk().messages.countTokens({ model, messages });
    const id = await world.addChannel({ type: 14, models: model });
    const limits = { subject: "channel", ids: [id] } as const;
    const { db } = world.ctx;
    await db.transaction().execute((tx) => setChannelLimits(tx, limits, { rpm: 2, day_quota: 1 }, 1));
    await world.ctx.candidates.reload();
    world.upstream.script(json({ input_tokens: 4_711 }));
    const told: number[] = [];
    for (let call = 0; call < 4; call += 1)
      told.push((await sdk().messages.countTokens({ model, messages })).input_tokens);
    expect(told).toEqual([4_711, 4_711, own.input_tokens, own.input_tokens]);
    expect(world.upstream.journal).toHaveLength(2);
  });

  it("is asked of no channel that rests, and of a key that does not", async () => {
    await world.addChannel({ type: 8, models: model });
    const own = await sdk().messages.countTokens({ model, messages });
    const id = await world.addChannel({ type: 14, models: model });
    const { db, candidates, health, secrets } = world.ctx;
    const second = "sk-canary-second-key-0123456789";
    const row = {
      ...newKey(1),
      ...{ key_hash: secrets.hash(second), key_sealed: secrets.seal(second, "channels.key") },
    };
    await db.transaction().execute((tx) => addKeys(tx, id, [row], 1));
    await candidates.reload();
    world.upstream.script(json({ input_tokens: 4_711 }));
    const count = async () => (await sdk().messages.countTokens({ model, messages })).input_tokens;
    const live = candidates.byId(id) ?? expect.fail("no channel");
    const [first = 0] = live.keys?.ids ?? [];
    const fault = statusFault({ status: 404, body: undefined, text: "", retryAfterMs: 0, secrets: [] });
    const failure = { model, fault, isDisabling: false, isModelAbsent: true, now: Date.now() };
    live.keys?.failed({ ...live, keyId: first }, failure);
    expect(await count()).toBe(4_711);
    expect(world.upstream.journal.map(({ headers }) => headers["x-api-key"])).toEqual([second]);
    for (let call = 0; call < 3; call += 1)
      health.failed(
        id,
        model,
        { ...fault, blame: "channel", upstreamStatus: 500 },
        health.calling(id, model),
      );
    expect(await count()).toBe(own.input_tokens);
    expect(world.upstream.journal).toHaveLength(1);
  });

  it("is refused like an answer would be", async () => {
    await world.addChannel({ type: 14, models: model });
    const error = {
      type: "error",
      error: { type: "invalid_request_error", message: "messages: roles must alternate" },
    };
    world.upstream.script(json(error, 400));
    await expect(sdk().messages.countTokens({ model, messages })).rejects.toMatchObject({
      status: 400,
      error,
    });
    await expect(sdk().messages.countTokens({ model: "nobody-has-it", messages })).rejects.toMatchObject({
      error: { type: "error" },
    });
    const response = await world.ask(
      { model, messages },
      { path: "/v1/messages/count_tokens", key: "nobody" },
    );
    expect(response.status).toBe(401);
  });
});

describe("the list of models", () => {
  it("comes in the client's format", async () => {
    await world.addChannel({ type: 14, models: `claude-opus-5,${model}` });
    const { data } = await sdk().models.list({ limit: 1000 });
    expect(data).toMatchObject([
      { type: "model", id: "claude-opus-5", display_name: "claude-opus-5" },
      { type: "model", id: model },
    ]);
    expect(Date.parse(data[0]?.created_at ?? "")).toBeGreaterThan(0);
    expect(await sdk().models.retrieve(model)).toMatchObject({
      type: "model",
      id: model,
      display_name: model,
    });
    // The newest SDKs expect a lifecycle stage: every model that the gateway lists is active.
    expect(await sdk().models.retrieve(model)).toMatchObject({ lifecycle: "active" });
    await expect(sdk().models.retrieve("nobody-has-it")).rejects.toMatchObject({ status: 404 });
    const response = await fetch(`${world.url}/v1/models`, {
      headers: { authorization: `Bearer sk-${world.token.key}` },
    });
    expect(await response.json()).toMatchObject({ object: "list", data: [{ object: "model" }, {}] });
  });
});

describe("a stream that is silent", () => {
  let close = (): void => undefined;
  afterEach(() => close());

  /** A relay whose pulse a test can wait for. */
  async function quickRelay(): Promise<string> {
    const server = createServer(
      createRelay(world.ctx, { firstByteMs: 20_000, idleMs: 20_000, totalMs: 20_000 }, 40),
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    close = () => {
      server.closeAllConnections();
      server.close();
    };
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    return `http://127.0.0.1:${address.port}`;
  }

  const start = `event: message_start\ndata: ${JSON.stringify({
    type: "message_start",
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model,
      content: [],
      usage: { input_tokens: 1 },
    },
  })}\n\n`;
  const end = [
    '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}',
    '{"type":"message_stop"}',
  ]
    .map((data) => `event: ${data.slice(9, data.indexOf('"', 9))}\ndata: ${data}\n\n`)
    .join("");
  const ping = 'event: ping\ndata: {"type":"ping"}\n\n';

  it("sends keep-alives, before and between the upstream's events", async () => {
    await world.addChannel({ type: 14, models: model });
    const url = await quickRelay();
    world.upstream.script(async (res, asked) => {
      await new Promise((resolve) => setTimeout(resolve, 200));
      await sse(start, 200, end)(res, asked);
    });
    const response = await fetch(`${url}/v1/messages`, {
      method: "POST",
      headers: { "x-api-key": `sk-${world.token.key}` },
      body: JSON.stringify({ model, max_tokens: 5, stream: true, messages }),
    });
    const text = await response.text();
    const [before = "", after = ""] = text.split(start);
    expect(before).toContain(ping);
    expect(before.replaceAll(ping, "")).toBe("");
    expect(after).toContain(ping);
    expect(after.replaceAll(ping, "")).toBe(end);
    const answer = await sdk(url).messages.stream({ model, max_tokens: 5, messages }).finalMessage();
    expect(answer.stop_reason).toBe("end_turn");
  });

  describe("of an upstream are no answer yet", () => {
    const pings = [ping, 100, ping, 100, ping];
    const refusal =
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"no"}}\n\n';
    const asks = [
      ["/v1/messages", { model, max_tokens: 5, stream: true, messages }],
      ["/v1/chat/completions", { model, stream: true, messages }],
    ] as const;

    it.each(asks)("the next channel is called after an error: %s", async (path, body) => {
      await world.setOption("RetryTimes", "1");
      await world.addChannel({ type: 14, models: model, priority: 5 });
      await world.addChannel({ type: 14, models: model });
      world.upstream.script(sse(...pings, refusal), sse(ping, start, ping, end));
      const response = await world.ask(body, { path });
      expect(response.status).toBe(200);
      expect(await response.text()).not.toContain("overloaded");
      expect(world.upstream.journal).toHaveLength(2);
    });

    it.each(asks)("nor are any number of them: %s", async (path, body) => {
      await world.addChannel({ type: 14, models: model });
      world.upstream.script(sse(...Array.from({ length: 30 }, () => pings).flat()));
      const { charged, open } = await world.costOf(async () => {
        expect((await world.ask(body, { path, url: world.hastyUrl })).status).toBe(504);
      });
      expect([charged, open]).toEqual([0, 0]);
    });
  });

  it("ends in an error event when nothing comes of it, and costs nothing", async () => {
    await world.addChannel({ type: 14, models: model });
    const url = await quickRelay();
    world.upstream.script(async (res, asked) => {
      await new Promise((resolve) => setTimeout(resolve, 200));
      await json({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, 529)(
        res,
        asked,
      );
    });
    const { charged, open } = await world.costOf(async () => {
      const stream = sdk(url).messages.stream({ model, max_tokens: 5, messages });
      await expect(stream.finalMessage()).rejects.toThrow(/Overloaded/);
    });
    expect([charged, open]).toEqual([0, 0]);
  });
});

describe("a model's name with a reasoning effort", () => {
  const reply = {
    type: "message",
    role: "assistant",
    content: [{ type: "text", text: "hi" }],
    stop_reason: "end_turn",
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  const messages = [{ role: "user", content: "hello" }];

  it.each([
    [
      "claude-sonnet-4-5-thinking",
      { max_tokens: 10_000, temperature: 0.2, messages },
      {
        model: "claude-sonnet-4-5",
        max_tokens: 10_000,
        messages,
        thinking: { type: "enabled", budget_tokens: 8_000 },
      },
    ],
    [
      "claude-opus-4-7-high",
      { max_tokens: 500, messages, metadata: { user_id: "u" } },
      {
        model: "claude-opus-4-7",
        max_tokens: 500,
        messages,
        metadata: { user_id: "u" },
        thinking: { type: "adaptive" },
        output_config: { effort: "high" },
      },
    ],
    [
      "claude-sonnet-4-5",
      { max_tokens: 500, temperature: 0.2, messages },
      { model: "claude-sonnet-4-5", max_tokens: 500, temperature: 0.2, messages },
    ],
  ])("%s is obeyed where bytes pass", async (name, body, sent) => {
    await world.addChannel({ type: 14, models: model, mapping: { [model]: name } });
    world.upstream.script(json(reply));
    const response = await world.ask({ model, ...body }, { path: "/v1/messages" });
    expect(response.status).toBe(200);
    expect(world.upstream.journal[0]?.json).toEqual(sent);
  });
});
