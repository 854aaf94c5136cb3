// Refusals that no second call would change: the SDKs, which call again upon any 5xx, report them at once.
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { createRelayWorld, errorOf, MODEL } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();

/** The calls of one client with the retries that SDKs have by default. */
function counted() {
  const calls: string[] = [];
  const fetch: typeof globalThis.fetch = (url, init) => {
    calls.push(String(url));
    return globalThis.fetch(url, init);
  };
  return { calls, options: { apiKey: `sk-${world.token.key}`, fetch } };
}

const messages = [{ role: "user" as const, content: "hi" }];

describe("a model without a channel", () => {
  it("is reported by OpenAI's SDK at once", async () => {
    const { calls, options } = counted();
    const openai = new OpenAI({ ...options, baseURL: `${world.url}/v1` });
    await expect(openai.chat.completions.create({ model: MODEL, messages })).rejects.toMatchObject({
      status: 503,
      code: "no_available_channel",
    });
    expect(calls).toHaveLength(1);
  });

  it("is reported by Anthropic's SDK at once", async () => {
    const { calls, options } = counted();
    const anthropic = new Anthropic({ ...options, baseURL: world.url });
    await expect(anthropic.messages.create({ model: MODEL, max_tokens: 5, messages })).rejects.toMatchObject({
      status: 503,
    });
    expect(calls).toHaveLength(1);
  });
});

it("an endpoint that is not implemented is not called again", async () => {
  const { calls, options } = counted();
  const openai = new OpenAI({ ...options, baseURL: `${world.url}/v1` });
  await expect(openai.files.list()).rejects.toMatchObject({ status: 501 });
  expect(calls).toHaveLength(1);
});

it("a channel that fails is called again", async () => {
  await world.addChannel();
  world.upstream.script((res) => {
    res.writeHead(503).end();
  });
  const { calls, options } = counted();
  const openai = new OpenAI({ ...options, baseURL: `${world.url}/v1`, maxRetries: 1 });
  await expect(openai.chat.completions.create({ model: MODEL, messages })).rejects.toBeInstanceOf(
    OpenAI.APIError,
  );
  expect(calls).toHaveLength(2);
});

it.each([
  ["/v1/images/generations", { prompt: "p" }, "dall-e-2"],
  ["/v1/moderations", { input: "p" }, "omni-moderation-latest"],
])("a client that names no model is told which one was meant: %s", async (path, body, model) => {
  await world.addChannel();
  const response = await world.ask(body, { path });
  const refused = await errorOf(response);
  expect(refused).toMatchObject({ status: 503, code: "no_available_channel", param: "model" });
  expect(refused.message).toMatch(`请求未指定 model，按默认模型 ${model} 处理：`);
  // A named one is refused as ever.
  const named = await errorOf(await world.ask({ ...body, model }, { path }));
  expect(named.message).toMatch(/^当前分组/);
});
