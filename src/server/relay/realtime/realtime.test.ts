// Realtime conversations through the relay: a real WebSocket client, a provider by script.
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import OpenAI from "openai";
import { OpenAIRealtimeWS } from "openai/realtime/ws";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { Script, Talk } from "#test/emulators/fake-realtime.ts";
import { createFakeRealtime, type FakeRealtime } from "#test/emulators/fake-realtime.ts";
import { openClient, type RealtimeClient } from "#test/emulators/realtime-client.ts";
import { tunnel } from "#test/emulators/tls-tunnel.ts";
import { dropLimits, seedLimit } from "#test/worlds/limits.ts";
import { CHANNEL_KEY, createRelayWorld } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const model = "gpt-realtime";
let provider: FakeRealtime;
const clients: RealtimeClient[] = [];

/** Model ratio 2, output 4 times, sound 8 times: 20 + 10 × 4 tokens. */
const USAGE = {
  total_tokens: 30,
  input_tokens: 20,
  output_tokens: 10,
  input_token_details: { text_tokens: 20, audio_tokens: 0, cached_tokens: 0 },
  output_token_details: { text_tokens: 10, audio_tokens: 0 },
};

function done(id: string, usage: object | undefined = USAGE) {
  return { type: "response.done", event_id: "e", response: { id, status: "completed", usage } };
}

const hello: Script = (talk) => talk.say({ type: "session.created", session: { model } });

/** Greets, and answers each `response.create`. */
const answers: Script = (talk) => {
  hello(talk);
  talk.socket.on("message", (data, isBinary) => {
    if (isBinary || !data.toString().includes("response.create")) return;
    talk.say({ type: "response.created", response: { id: "resp_1" } });
    talk.say({ type: "response.output_text.delta", response_id: "resp_1", delta: "Hello" });
    talk.say(done("resp_1"));
  });
};

function open({ query = `?model=${model}`, base = world.url, ...more }: Handshake = {}): RealtimeClient {
  const { headers = { authorization: `Bearer sk-${world.token.key}` }, protocols = [] } = more;
  const client = openClient(`${base.replace("http", "ws")}/v1/realtime${query}`, protocols, headers);
  clients.push(client);
  return client;
}

interface Handshake {
  readonly query?: string;
  readonly headers?: Record<string, string>;
  readonly protocols?: string[];
  readonly base?: string;
}

function say(client: RealtimeClient, event: object): void {
  client.socket.send(JSON.stringify(event));
}

function lastTalk(): Talk {
  const talk = provider.talks.at(-1);
  if (talk === undefined) throw new Error("no client called");
  return talk;
}

beforeAll(async () => {
  provider = await createFakeRealtime();
});

afterAll(() => provider.close());

beforeEach(() => {
  provider.script(answers);
  provider.talks.length = 0;
});

afterEach(() => {
  for (const { socket } of clients.splice(0)) socket.terminate();
});

function addChannel(seed: Parameters<typeof world.addChannel>[0] = {}): Promise<number> {
  return world.addChannel({ type: 1, baseUrl: provider.url, models: model, ...seed });
}

describe("a conversation", () => {
  it("goes both ways unchanged, and is charged response by response", async () => {
    await addChannel({ mapping: { [model]: "up stream" } });
    const {
      charged,
      entries,
      open: left,
      log,
    } = await world.costOf(async () => {
      const client = open();
      await client.until("session.created");
      const item = { type: "conversation.item.create", item: { role: "user", content: "你好 " } };
      say(client, item);
      say(client, { type: "session.update", session: { model } });
      say(client, { type: "response.create" });
      await client.until("response.done");
      say(client, { type: "response.create" });
      await client.until("response.done", 2);
      expect(client.events.slice(0, 4).map(({ type }) => type)).toEqual([
        "session.created",
        "response.created",
        "response.output_text.delta",
        "response.done",
      ]);
      expect(client.events[3]).toEqual(done("resp_1"));
      const { req, heard } = lastTalk();
      expect(heard[0]).toBe(JSON.stringify(item));
      expect(heard[1]).toBe('{"type":"session.update","session":{"model":"up stream"}}');
      expect(req.url).toBe("/v1/realtime?model=up%20stream");
      expect(req.headers.authorization).toBe(`Bearer ${CHANNEL_KEY}`);
      expect(req.headers["content-type"]).toBeUndefined();
      client.socket.close(1000, "bye");
      expect(await lastTalk().closed).toEqual([1000, "bye"]);
    });
    expect(left).toBe(0);
    expect(entries).toBe(2);
    expect(charged).toBe(2 * (20 + 10 * 4) * 2);
    expect(log).toMatchObject({ model_name: model, is_stream: 1, estimated: 0, prompt_tokens: 20 });
  });

  it("carries binary messages and large ones", async () => {
    await addChannel();
    provider.script((talk) => {
      hello(talk);
      talk.socket.on("message", (data: Buffer, isBinary) => talk.socket.send(data, { binary: isBinary }));
    });
    const client = open();
    await client.until("session.created");
    const bytes = Buffer.alloc(5 * 1024 * 1024, 7);
    const echo = once(client.socket, "message");
    client.socket.send(bytes);
    const [data, isBinary] = await echo;
    expect(isBinary).toBe(true);
    expect(bytes.equals(data)).toBe(true);
  });

  it("is charged for what came when the client leaves in the middle", async () => {
    await addChannel();
    provider.script((talk) => {
      hello(talk);
      talk.say({ type: "response.created", response: { id: "r" } });
      talk.say({ type: "response.output_text.delta", response_id: "r", delta: "x".repeat(400) });
    });
    const { charged, entries, log } = await world.costOf(async () => {
      const client = open();
      await client.until("response.output_text.delta");
      client.socket.terminate();
      expect((await lastTalk().closed)[0]).toBe(1001);
    });
    expect(entries).toBe(1);
    expect(charged).toBe(100 * 4 * 2);
    expect(log).toMatchObject({ estimated: 1, completion_tokens: 100 });
  });

  it("costs nothing without a response", async () => {
    await addChannel();
    const cost = await world.costOf(async () => {
      const client = open();
      await client.until("session.created");
      client.socket.close();
      await lastTalk().closed;
    });
    expect(cost).toMatchObject({ charged: 0, entries: 0, open: 0 });
  });

  it("charges transcriptions by their model, by tokens or by time", async () => {
    await addChannel();
    const type = "conversation.item.input_audio_transcription.completed";
    provider.script((talk) => {
      const transcription = { model: "whisper-1" };
      talk.say({ type: "session.created", session: { audio: { input: { transcription } } } });
      talk.say({ type, transcript: "hi", usage: { type: "duration", seconds: 6 } });
    });
    const { charged, log } = await world.costOf(async () => {
      const client = open();
      await client.until(type);
      client.socket.close();
      await lastTalk().closed;
    });
    // 200 tokens a minute at ratio 15.
    expect(charged).toBe(300);
    expect(log).toMatchObject({ model_name: "whisper-1", estimated: 0 });
  });

  it("ends with 1008 once the quota is used up, after the last booked response", async () => {
    await addChannel();
    await world.changeToken({ unlimited_quota: 0, remain_quota: 60_000 });
    const usage = { ...USAGE, output_tokens: 7_000, output_token_details: { text_tokens: 7_000 } };
    provider.script((talk) => {
      hello(talk);
      talk.say(done("r", usage));
    });
    const client = open();
    expect(await client.closed).toEqual([1008, "pre_consume_token_quota_failed"]);
    expect(client.events.map(({ type }) => type)).toEqual(["session.created", "response.done", "error"]);
    expect((await lastTalk().closed)[0]).toBe(1001);
  });

  it("counts a conversation that is refused in no limit of calls", async () => {
    await addChannel();
    await seedLimit(world.ctx, { kind: "rpm", amount: 1 });
    await world.changeToken({ unlimited_quota: 0, remain_quota: 1 });
    for (const _ of [1, 2]) expect((await open().closed)[1]).toBe("pre_consume_token_quota_failed");
    await world.changeToken({ remain_quota: 60_000 });
    await open().until("session.created");
    expect((await open().closed)[1]).toBe("rate_limit_exceeded");
    await dropLimits(world.ctx);
  });
});

describe("ends", () => {
  it("copies the server's code and reason, but no credential", async () => {
    await addChannel();
    const client = open();
    await client.until("session.created");
    lastTalk().socket.send(Buffer.from(CHANNEL_KEY));
    expect(String((await once(client.socket, "message"))[0])).toMatch(/^\*+$/);
    lastTalk().socket.close(4321, `enough of ${CHANNEL_KEY}`);
    expect(await client.closed).toEqual([4321, "enough of ***"]);
  });

  it("reports a server that breaks off", async () => {
    await addChannel();
    const client = open();
    await client.until("session.created");
    lastTalk().socket.terminate();
    expect((await client.closed)[0]).toBe(1011);
    expect(client.events.at(-1)).toMatchObject({ type: "error", error: { code: "do_request_failed" } });
  });

  it("ends a conversation without any message", async () => {
    await addChannel();
    const client = open({ base: world.hastyUrl });
    expect(await client.closed).toEqual([1001, "session_idle"]);
  });

  it("cuts off a client that answers no pings", async () => {
    await addChannel();
    const client = open({ base: world.hastyUrl });
    await client.until("session.created");
    const timer = setInterval(() => lastTalk().say({ type: "rate_limits.updated" }), 50);
    // It reads nothing any more, though its connection stands.
    client.socket.pause();
    expect((await lastTalk().closed)[0]).toBe(1001);
    clearInterval(timer);
  });

  it("books all conversations and sends each client an error when the process ends", async () => {
    await addChannel();
    provider.script((talk) => {
      hello(talk);
      talk.say({ type: "response.output_text.delta", response_id: "r", delta: "x".repeat(40) });
    });
    const { entries, open: left } = await world.costOf(async () => {
      const client = open();
      await client.until("response.output_text.delta");
      await world.stopRelay();
      expect(await client.closed).toEqual([1001, "server_stopping"]);
      expect(client.events.at(-1)).toMatchObject({ type: "error", error: { code: "server_stopping" } });
    });
    expect({ entries, left }).toEqual({ entries: 1, left: 0 });
  });

  it("closes with 1009 for a message that is too large", async () => {
    await addChannel();
    const client = open();
    await client.until("session.created");
    client.socket.send(Buffer.alloc(16 * 1024 * 1024 + 1));
    expect((await client.closed)[0]).toBe(1009);
  });
});

describe("authentication", () => {
  it("takes the key from the protocols of a browser, and answers with `realtime`", async () => {
    await addChannel();
    const key = `openai-insecure-api-key.sk-${world.token.key}`;
    const client = open({ headers: {}, protocols: ["realtime", key, "openai-beta.realtime-v1"] });
    await client.until("session.created");
    expect(client.socket.protocol).toBe("realtime");
    expect(lastTalk().req.headers).toMatchObject({ "openai-beta": "realtime=v1" });
    expect(lastTalk().req.headers["sec-websocket-protocol"]).toBeUndefined();
  });

  it("takes it from x-api-key", async () => {
    await addChannel();
    const client = open({ headers: { "x-api-key": `sk-${world.token.key}`, "openai-beta": "realtime=v2" } });
    const [answer] = await once(client.socket, "upgrade");
    expect(answer.headers["x-oneapi-request-id"]).toMatch(/^\d{30,}$/);
    await client.until("session.created");
    expect(lastTalk().req.headers["openai-beta"]).toBe("realtime=v2");
  });

  it.each<[string, Handshake, string]>([
    ["no key", { headers: {} }, "missing_key"],
    ["a wrong key", { headers: { authorization: "Bearer sk-wrong" } }, "invalid_key"],
    ["no model", { query: "" }, "invalid_text_request"],
    ["a model without a channel", { query: "?model=gpt-none" }, "no_available_channel"],
  ])("reports %s by an event", async (_, opening, code) => {
    await addChannel();
    // The conversation of the test before is settled after its client has left.
    await expect.poll(async () => (await world.money()).open).toBe(0);
    const client = open(opening);
    const [closeCode, reason] = await client.closed;
    expect(reason).toBe(code);
    expect(closeCode).toBe(code === "no_available_channel" ? 1011 : 1008);
    expect(client.events).toMatchObject([{ type: "error", error: { code } }]);
    expect(provider.talks).toHaveLength(0);
    expect((await world.money()).open).toBe(0);
  });

  it("refuses upgrades elsewhere, and calls without one here", async () => {
    const elsewhere = new WebSocket(`${world.url.replace("http", "ws")}/v1/chat/completions`);
    const [error] = await once(elsewhere, "error");
    expect(String(error)).toContain("400");
    // Where the operator has it off, Codex falls back to HTTP upon this status alone (vendors/codex).
    await world.setOption("ResponsesSocketEnabled", "false");
    const codex = new WebSocket(`${world.url.replace("http", "ws")}/v1/responses`);
    const [declined] = await once(codex, "error");
    expect(String(declined)).toContain("426");
    await world.setOption("ResponsesSocketEnabled", "true");
    const plain = await fetch(`${world.url}/v1/realtime?model=${model}`);
    expect(plain.status).toBe(426);
    expect(plain.headers.get("upgrade")).toBe("websocket");
  });
});

describe("channels", () => {
  it("tries the next one when the first refuses, also by its first event", async () => {
    await world.setOption("RetryTimes", "2");
    const failing = await createFakeRealtime();
    try {
      await addChannel({ priority: 3, baseUrl: "http://127.0.0.1:9", key: "sk-nobody-listens-here" });
      await addChannel({ priority: 2, baseUrl: failing.url, key: "sk-refused-by-its-first-word" });
      await addChannel({ priority: 1 });
      failing.script((talk) =>
        talk.say({ type: "error", error: { type: "invalid_request_error", code: "invalid_api_key" } }),
      );
      const client = open();
      await client.until("session.created");
      expect(client.events.map(({ type }) => type)).toEqual(["session.created"]);
      expect(failing.talks).toHaveLength(1);
    } finally {
      await failing.close();
    }
  });

  it("reports a refusal without the credential", async () => {
    await addChannel();
    provider.refuse(401, { error: { message: `bad key ${CHANNEL_KEY}`, code: "invalid_api_key" } });
    const cost = await world.costOf(async () => {
      const client = open();
      await client.closed;
      expect(client.events).toMatchObject([{ type: "error", error: { code: "upstream_credential" } }]);
      expect(JSON.stringify(client.events)).not.toContain(CHANNEL_KEY);
    });
    expect(cost).toMatchObject({ charged: 0, entries: 0, open: 0 });
  });

  it("waits no longer than a moment for a server that does not send the first event", async () => {
    await addChannel();
    provider.script((talk) => talk.socket.on("message", () => talk.say({ type: "pong" })));
    const client = open();
    await once(client.socket, "open");
    say(client, { type: "ping" });
    await sleep(2_900);
    await client.until("pong");
  });

  it("cannot be one without realtime", async () => {
    await addChannel({ type: 14 });
    const client = open();
    expect((await client.closed)[1]).toBe("unsupported_relay_mode");
  });
});

describe("OpenAI's SDK", () => {
  it("talks", async () => {
    await addChannel();
    const { port, cert, close } = await tunnel(Number(new URL(world.url).port));
    const sdk = new OpenAI({ apiKey: `sk-${world.token.key}`, baseURL: `https://localhost:${port}/v1` });
    const rt = await OpenAIRealtimeWS.create(sdk, { model, options: { ca: cert } });
    const text: string[] = [];
    rt.on("response.output_text.delta", ({ delta }) => text.push(delta));
    const isDone = new Promise((resolve) => rt.on("response.done", resolve));
    rt.on("session.created", () => rt.send({ type: "response.create" }));
    await isDone;
    expect(text).toEqual(["Hello"]);
    rt.close();
    await lastTalk().closed;
    close();
  });
});
