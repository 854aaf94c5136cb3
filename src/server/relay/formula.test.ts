// Usage as vendors report it, by whichever way a call goes: the charge, and the log's formula that gives the same (requirements T22.2,
// 27.5, 28.1–4).
import { beforeEach, expect, it } from "vitest";
import { json } from "#test/emulators/fake-upstream.ts";
import { recompute } from "#test/seeds/formula.ts";
import { createRelayWorld } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();

const CHAT = {
  path: "/v1/chat/completions",
  body: { messages: [{ role: "user", content: "hi" }] },
};
const MESSAGES = {
  path: "/v1/messages",
  body: { max_tokens: 4000, messages: [{ role: "user", content: "hi" }] },
};
const RESPONSES = { path: "/v1/responses", body: { input: "hi" } };

function claude(usage: object) {
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [{ type: "text", text: "hi" }],
    stop_reason: "end_turn",
    usage,
  };
}

function openai(usage: object) {
  const message = { role: "assistant", content: "hi" };
  return {
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message, finish_reason: "stop" }],
    usage,
  };
}

function gemini(usageMetadata: object) {
  const content = { role: "model", parts: [{ text: "hi" }] };
  return { candidates: [{ content, finishReason: "STOP", index: 0 }], usageMetadata };
}

const CACHED = {
  input_tokens: 100,
  cache_read_input_tokens: 2000,
  cache_creation_input_tokens: 500,
  output_tokens: 200,
};
const HOURLY = {
  ...CACHED,
  cache_creation: { ephemeral_5m_input_tokens: 300, ephemeral_1h_input_tokens: 200 },
};
const THOUGHTS = {
  promptTokenCount: 100,
  candidatesTokenCount: 20,
  thoughtsTokenCount: 30,
  totalTokenCount: 150,
};

interface Told {
  readonly client: { readonly path: string; readonly body: object };
  readonly type: number;
  readonly model: string;
  readonly reply: object;
  readonly prompt: number;
  readonly completion: number;
  readonly charged?: number;
}

const CALLS: readonly (readonly [what: string, Told])[] = [
  ...[CHAT, MESSAGES, RESPONSES].map((client): readonly [string, Told] => [
    `Claude's caches, asked for at ${client.path}`,
    {
      client,
      type: 14,
      model: "claude-sonnet-4-6",
      reply: claude(CACHED),
      prompt: 2600,
      completion: 200,
      // (100 + 2000 × 0.1 + 500 × 1.25 + 200 × 5) × 1.5
      charged: 2888,
    },
  ]),
  [
    "Claude's caches of an hour",
    {
      client: CHAT,
      type: 14,
      model: "claude-sonnet-4-6",
      reply: claude(HOURLY),
      prompt: 2600,
      completion: 200,
      // (100 + 2000 × 0.1 + 300 × 1.25 + 200 × 2 + 200 × 5) × 1.5
      charged: 3113,
    },
  ],
  [
    "OpenAI's cache",
    {
      client: MESSAGES,
      type: 1,
      model: "gpt-4o",
      reply: openai({
        prompt_tokens: 1000,
        completion_tokens: 500,
        total_tokens: 1500,
        prompt_tokens_details: { cached_tokens: 600 },
      }),
      prompt: 1000,
      completion: 500,
      charged: 3375,
    },
  ],
  [
    "Gemini's thoughts beside its answer",
    {
      client: CHAT,
      type: 24,
      model: "gemini-2.5-flash",
      reply: gemini(THOUGHTS),
      prompt: 100,
      completion: 50,
    },
  ],
  [
    "xAI's thoughts beside its answer",
    {
      client: MESSAGES,
      type: 45,
      model: "grok-4.3",
      reply: openai({
        prompt_tokens: 100,
        completion_tokens: 20,
        total_tokens: 150,
        completion_tokens_details: { reasoning_tokens: 30 },
      }),
      prompt: 100,
      completion: 50,
    },
  ],
  [
    "DeepSeek's name of its cache",
    {
      client: RESPONSES,
      type: 36,
      model: "deepseek-chat",
      reply: openai({
        prompt_tokens: 1000,
        completion_tokens: 10,
        prompt_cache_hit_tokens: 900,
        prompt_cache_miss_tokens: 100,
      }),
      prompt: 1000,
      completion: 10,
    },
  ],
  [
    "no usage at all: our own count",
    { client: MESSAGES, type: 31, model: "yi-large", reply: openai({}), prompt: 8, completion: 1 },
  ],
];

beforeEach(() => world.clearChannels());

it.each(CALLS)("%s", async (_, { client, type, model, reply, prompt, completion, charged: wanted }) => {
  await world.addChannel({ type, models: model });
  world.upstream.script(json(reply));
  const { charged, open, log } = await world.costOf(async () => {
    const response = await world.ask({ model, ...client.body }, { path: client.path });
    expect(response.status).toBe(200);
    await response.text();
  });
  expect(log).toMatchObject({ prompt_tokens: prompt, completion_tokens: completion, quota: charged });
  expect(open).toBe(0);
  expect(charged).toBeGreaterThan(0);
  if (wanted !== undefined) expect(charged).toBe(wanted);
  expect(recompute(log?.content ?? "")).toEqual({ claimed: BigInt(charged), computed: BigInt(charged) });
});
