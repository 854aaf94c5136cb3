// Clients that build their addresses as Azure wants them, with the deployment in the path; with the SDK's class for Azure.
import { AzureOpenAI, toFile } from "openai";
import { beforeEach, describe, expect, it } from "vitest";
import { chatReply, chunk, json, sse, usageChunk } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, MODEL, QUESTION } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const VERSION = "2025-04-01-preview";
const messages = [{ role: "user" as const, content: "hello world" }];

function sdkFor(deployment?: string): AzureOpenAI {
  return new AzureOpenAI({
    endpoint: world.url,
    apiKey: `sk-${world.token.key}`,
    apiVersion: VERSION,
    maxRetries: 0,
    ...(deployment === undefined ? {} : { deployment }),
  });
}

const asked = () => world.upstream.journal.map(({ path, json: body }) => [path, body?.model]);

beforeEach(() =>
  world.addChannel({
    models: `${MODEL},text-embedding-3-small,gpt-image-1,whisper-1,o4/mini`,
    mapping: { "o4/mini": MODEL },
  }),
);

describe("a deployment in the address", () => {
  it("is the model of a chat, whatever the body names, streamed or not", async () => {
    world.upstream.script(
      json(chatReply("hi")),
      sse(
        chunk({ content: "hi" }),
        chunk({}, "stop"),
        usageChunk({ prompt_tokens: 9, completion_tokens: 1 }),
      ),
    );
    const { entries } = await world.costOf(async () => {
      const whole = await sdkFor(MODEL).chat.completions.create({ model: "", messages });
      expect(whole.choices[0]?.message.content).toBe("hi");
      const stream = await sdkFor().chat.completions.create({ model: MODEL, messages, stream: true });
      let text = "";
      for await (const { choices } of stream) text += choices[0]?.delta.content ?? "";
      expect(text).toBe("hi");
    });
    expect(entries).toBe(2);
    expect(asked()).toEqual([
      ["/v1/chat/completions", MODEL],
      ["/v1/chat/completions", MODEL],
    ]);
  });

  it("may be written as a part of a path", async () => {
    world.upstream.script(json(chatReply("hi")));
    await sdkFor("o4/mini").chat.completions.create({ model: "a name of theirs", messages });
    expect(asked()).toEqual([["/v1/chat/completions", MODEL]]);
  });

  it("is that of embeddings, pictures and recordings too", async () => {
    world.upstream.script(
      json({
        object: "list",
        data: [{ object: "embedding", index: 0, embedding: [1] }],
        usage: { prompt_tokens: 2, total_tokens: 2 },
      }),
      json({
        created: 1,
        data: [{ b64_json: "aGk=" }],
        usage: { input_tokens: 5, output_tokens: 7, total_tokens: 12 },
      }),
      json({ text: "hello" }),
    );
    await sdkFor().embeddings.create({
      model: "text-embedding-3-small",
      input: "hi",
      encoding_format: "float",
    });
    await sdkFor("gpt-image-1").images.generate({ prompt: "a cat" });
    const file = await toFile(Buffer.from("RIFF0000WAVE"), "a.wav");
    await sdkFor("whisper-1").audio.transcriptions.create({ model: "", file });
    expect(asked().slice(0, 2)).toEqual([
      ["/v1/embeddings", "text-embedding-3-small"],
      ["/v1/images/generations", "gpt-image-1"],
    ]);
    expect(world.upstream.journal[2]?.text).toMatch(/name="model"\s+whisper-1/);
  });

  it("is that of a moderation that names none, also where no channel serves it", async () => {
    await world.addChannel({ models: "omni-moderation-latest" });
    const answer = await fetch(`${world.url}/openai/deployments/none/moderations?api-version=${VERSION}`, {
      method: "POST",
      headers: { "api-key": `sk-${world.token.key}` },
      body: JSON.stringify({ input: "hi" }),
    });
    expect(answer.status).toBe(503);
    expect(await answer.text()).toContain("模型 none ");
    expect(world.upstream.journal).toEqual([]);
  });
});

it("serves what Azure has without a deployment, at its new address too", async () => {
  world.upstream.script(json(chatReply("hi")));
  const list = await sdkFor().models.list();
  expect(list.data.map(({ id }) => id)).toContain(MODEL);
  const headers = { "api-key": `sk-${world.token.key}`, "content-type": "application/json" };
  const body = JSON.stringify(QUESTION);
  // The last one is an endpoint that was given with a version of its own.
  for (const path of ["/openai/v1", `/openai/deployments/${MODEL}`, `/v1/openai/deployments/${MODEL}`]) {
    const answer = await fetch(`${world.url}${path}/chat/completions`, { method: "POST", headers, body });
    expect(await answer.json(), path).toMatchObject({ object: "chat.completion" });
  }
});

it("sends errors in the client's own format", async () => {
  const wrong = new AzureOpenAI({
    endpoint: world.url,
    apiKey: "sk-none",
    apiVersion: VERSION,
    maxRetries: 0,
  });
  await expect(wrong.chat.completions.create({ model: MODEL, messages })).rejects.toMatchObject({
    status: 401,
  });
  await expect(sdkFor("none").chat.completions.create({ model: MODEL, messages })).rejects.toMatchObject({
    status: 503,
    message: expect.stringContaining("none"),
  });
  await expect(sdkFor().responses.create({ model: "none", input: "hi" })).rejects.toMatchObject({
    status: 503,
  });
});
