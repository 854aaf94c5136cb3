// Fields by which a caller would be served at another price than ours do not reach the provider, in any format (requirements M02, M18).
import { describe, expect, it } from "vitest";
import { chatReply, json } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, errorOf } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const OPENAI = 1;
const ANTHROPIC = 14;
const OPENROUTER = 20;
const GEMINI = 24;
const MOONSHOT = 25;

const messages = [{ role: "user", content: "hi" }];
const usage = { input_tokens: 3, output_tokens: 1, total_tokens: 4 };
const text = { type: "text", text: "hi" };
const output = [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "hi" }] }];

const formats = {
  chat: { path: "/v1/chat/completions", model: "gpt-4", said: { messages }, reply: chatReply("hi") },
  completions: {
    path: "/v1/completions",
    model: "gpt-4",
    said: { prompt: "hi" },
    reply: { ...chatReply("hi"), object: "text_completion", choices: [{ index: 0, text: "hi" }] },
  },
  embeddings: {
    path: "/v1/embeddings",
    model: "text-embedding-3-small",
    said: { input: "hi" },
    reply: { object: "list", data: [{ embedding: [1] }], usage: { prompt_tokens: 3, total_tokens: 3 } },
  },
  responses: {
    path: "/v1/responses",
    model: "gpt-4",
    said: { store: false, input: "hi" },
    reply: { id: "resp_1", object: "response", status: "completed", output, usage },
  },
  messages: {
    path: "/v1/messages",
    model: "claude-sonnet-4-6",
    said: { max_tokens: 9, messages },
    reply: { id: "m", type: "message", role: "assistant", content: [text], stop_reason: "end_turn", usage },
  },
  generate: {
    path: "/v1beta/models/gemini-2.5-flash:generateContent",
    model: "gemini-2.5-flash",
    said: { contents: [{ role: "user", parts: [{ text: "hi" }] }] },
    reply: {
      candidates: [{ content: { role: "model", parts: [{ text: "hi" }] }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1, totalTokenCount: 4 },
    },
  },
} as const;

type Format = keyof typeof formats;

/** Calls a channel of this type with more fields; returns what the provider got, and which fields were reported as dropped. */
async function asked(format: Format, type: number, more: object, speaks = format) {
  const { path, model, said } = formats[format];
  await world.addChannel({ type, models: model });
  world.upstream.script(json(formats[speaks].reply));
  const sent = JSON.stringify({ ...(format === "generate" ? {} : { model }), ...said, ...more });
  const response = await world.ask(sent, { path });
  expect(response.status, await response.clone().text()).toBe(200);
  const { text: seen = "" } = world.upstream.journal.at(-1) ?? {};
  return { sent, seen, dropped: response.headers.get("x-tollgate-dropped") };
}

describe("fields that change the price", () => {
  const dear: readonly (readonly [Format, number, object])[] = [
    ["chat", OPENAI, { service_tier: "priority" }],
    ["chat", OPENAI, { service_tier: "fast" }],
    ["chat", OPENAI, { service_tier: { name: "priority" } }],
    ["completions", OPENAI, { service_tier: "priority" }],
    ["embeddings", OPENAI, { service_tier: "scale" }],
    ["responses", OPENAI, { service_tier: "ultrafast" }],
    ["chat", OPENAI, { prompt_cache_options: { mode: "explicit", ttl: "12h" } }],
    ["chat", OPENAI, { prompt_cache_options: "12h" }],
    ["chat", OPENAI, { prompt_cache_options: [{ ttl: "12h" }] }],
    ["chat", OPENAI, { prompt_cache_options: { TTL: "12h" } }],
    ["messages", ANTHROPIC, { service_tier: "priority", speed: "fast" }],
    ["generate", GEMINI, { serviceTier: "SERVICE_TIER_PRIORITY" }],
    ["generate", GEMINI, { service_tier: "priority" }],
    ["chat", OPENROUTER, { models: ["gpt-4", "dear"], route: "fallback", plugins: [{ id: "web" }] }],
    ["responses", OPENROUTER, { models: ["dear"], service_tier: "priority" }],
    ["messages", OPENROUTER, { models: ["dear"], speed: "fast" }],
    ["chat", MOONSHOT, { prompt_cache_options: { ttl: "1h" } }],
  ];

  it.each(dear)("%s of type %i does not pass %j on, and says so", async (format, type, more) => {
    const plain = await asked(format, type, {});
    const { seen, dropped } = await asked(format, type, more);
    expect(seen).toBe(plain.seen);
    expect(plain.dropped).toBeNull();
    expect(dropped).toBe(Object.keys(more).join(", "));
  });

  it.each([
    ["chat", GEMINI, "generate"],
    ["responses", GEMINI, "generate"],
    ["generate", OPENAI, "chat"],
  ] as const)("%s translated for type %i loses them too", async (format, type, speaks) => {
    const plain = await asked(format, type, {}, speaks);
    const { seen, dropped } = await asked(format, type, { service_tier: "priority" }, speaks);
    expect(seen).toBe(plain.seen);
    expect(dropped).toBe("service_tier");
  });

  const listed: readonly (readonly [Format, number, object])[] = [
    ["chat", OPENAI, { service_tier: "flex" }],
    ["chat", OPENAI, { service_tier: null, speed: "fast", models: ["another provider's word"] }],
    ["chat", OPENAI, { prompt_cache_options: { mode: "explicit", ttl: "30m" } }],
    ["responses", OPENAI, { service_tier: "default", prompt_cache_options: { ttl: "12h" } }],
    ["messages", ANTHROPIC, { service_tier: "standard_only", speed: "standard", inference_geo: "global" }],
    ["generate", GEMINI, { serviceTier: "SERVICE_TIER_FLEX" }],
  ];

  it.each(listed)("%s of type %i passes %j as it came", async (format, type, more) => {
    const { sent, seen, dropped } = await asked(format, type, more);
    expect(JSON.parse(seen)).toEqual(JSON.parse(sent));
    if (format !== "responses") expect(seen).toBe(sent);
    expect(dropped).toBeNull();
  });

  it("a region of inference is refused: a client that names one accepts no other", async () => {
    const { path, model, said } = formats.messages;
    await world.addChannel({ type: ANTHROPIC, models: model });
    const { charged, entries } = await world.costOf(async () => {
      const response = await world.ask({ model, ...said, inference_geo: "us" }, { path });
      expect(await errorOf(response)).toMatchObject({ status: 400, message: /inference_geo/ });
    });
    expect({ charged, entries }).toEqual({ charged: 0, entries: 0 });
    expect(world.upstream.journal).toEqual([]);
  });

  it.each<[Format, number, string]>([
    ["chat", OPENAI, '"Service_Tier":"priority"'],
    ["generate", GEMINI, '"ServiceTier":"priority"'],
    ["messages", ANTHROPIC, '"Speed":"fast"'],
    ["messages", ANTHROPIC, '"Inference_Geo":"us"'],
    ["chat", OPENAI, '"Prompt_Cache_Options":{"ttl":"12h"}'],
    ["chat", OPENAI, '"prompt_cache_options":{"ttl":"12h","ttl":"30m"}'],
  ])("%s of type %i refuses what only some parsers read as the field: %s", async (format, type, more) => {
    const { path, model, said } = formats[format];
    await world.addChannel({ type, models: model });
    const body = JSON.stringify({ ...(format === "generate" ? {} : { model }), ...said });
    const response = await world.ask(`${body.slice(0, -1)},${more}}`, { path });
    expect(response.status).toBe(400);
    expect(world.upstream.journal).toEqual([]);
  });

  it("a form loses them too", async () => {
    await world.addChannel({ type: OPENAI, models: "dall-e-2" });
    const ask = async (more: Record<string, string>) => {
      world.upstream.script(json({ created: 1, data: [{ url: "https://x/1.png" }] }));
      const form = new FormData();
      for (const [name, value] of Object.entries({ model: "dall-e-2", prompt: "p", ...more }))
        form.append(name, value);
      form.append("image", new File(["png"], "a.png"));
      const headers = { authorization: `Bearer sk-${world.token.key}` };
      return fetch(`${world.url}/v1/images/edits`, { method: "POST", headers, body: form });
    };
    const dear = await ask({ service_tier: "priority", user: "u" });
    expect([dear.status, dear.headers.get("x-tollgate-dropped")]).toEqual([200, "service_tier"]);
    expect(world.upstream.journal[0]?.text).not.toContain("service_tier");
    expect(world.upstream.journal[0]?.text).toContain('name="user"');
    const listed = await ask({ service_tier: "flex" });
    expect([listed.status, listed.headers.get("x-tollgate-dropped")]).toEqual([200, null]);
    expect(world.upstream.journal[1]?.text).toContain('name="service_tier"');
    expect((await ask({ Service_Tier: "priority" })).status).toBe(400);
    expect(world.upstream.journal).toHaveLength(2);
  });
});
