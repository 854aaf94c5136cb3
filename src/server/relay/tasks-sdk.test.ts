// OpenAI's own SDK for pictures, sound, moderation and embeddings: what it expects of an answer is what it gets.
import OpenAI, { toFile } from "openai";
import { beforeEach, expect, it } from "vitest";
import { json, raw, sse } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
let client: OpenAI;

beforeEach(async () => {
  await world.setOption("ModelRatio", JSON.stringify({ "text-moderation-stable": 0.1 }));
  await world.addChannel({
    models:
      "gpt-image-1,dall-e-2,tts-1,whisper-1,gpt-4o-transcribe,text-moderation-stable,text-embedding-3-small",
  });
  client = new OpenAI({ apiKey: `sk-${world.token.key}`, baseURL: `${world.url}/v1`, maxRetries: 0 });
});

const picture = () => toFile(Buffer.from("png-bytes"), "a.png", { type: "image/png" });
const sound = () => toFile(Buffer.from("mp3-bytes"), "a.mp3", { type: "audio/mpeg" });

it("draws, changes and varies pictures", async () => {
  world.upstream.script(json({ created: 1, data: [{ b64_json: "aGk=" }] }));
  const drawn = await client.images.generate({ model: "dall-e-2", prompt: "a dot" });
  const changed = await client.images.edit({ model: "dall-e-2", image: await picture(), prompt: "a dot" });
  const varied = await client.images.createVariation({ model: "dall-e-2", image: await picture() });
  for (const answer of [drawn, changed, varied]) expect(answer.data?.[0]?.b64_json).toBe("aGk=");
  expect(world.upstream.journal.map(({ path }) => path)).toEqual([
    "/v1/images/generations",
    "/v1/images/edits",
    "/v1/images/variations",
  ]);
});

it("draws in a stream", async () => {
  const usage = { input_tokens: 10, output_tokens: 100, total_tokens: 110 };
  const event = (type: string, more: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
  world.upstream.script(
    sse(
      event("image_generation.partial_image", { b64_json: "aGk=", partial_image_index: 0 }),
      event("image_generation.completed", { b64_json: "aGk=", usage }),
    ),
  );
  const types: string[] = [];
  const { log } = await world.costOf(async () => {
    const stream = await client.images.generate({ model: "gpt-image-1", prompt: "a dot", stream: true });
    for await (const part of stream) types.push(part.type);
  });
  expect(types).toEqual(["image_generation.partial_image", "image_generation.completed"]);
  expect(log).toMatchObject({ prompt_tokens: 10, completion_tokens: 100 });
});

it("speaks, and transcribes speech", async () => {
  world.upstream.script(
    raw("ID3-sound", { "content-type": "audio/mpeg" }),
    json({ text: "hello", usage: { type: "duration", seconds: 2 } }),
    json({ text: "hello" }),
    raw("1\n00:00:00,000 --> 00:00:02,000\nhello\n", { "content-type": "text/plain" }),
  );
  const speech = await client.audio.speech.create({ model: "tts-1", input: "hello", voice: "alloy" });
  expect(Buffer.from(await speech.arrayBuffer()).toString()).toBe("ID3-sound");
  const heard = await client.audio.transcriptions.create({ model: "whisper-1", file: await sound() });
  expect(heard.text).toBe("hello");
  const translated = await client.audio.translations.create({ model: "whisper-1", file: await sound() });
  expect(translated.text).toBe("hello");
  const asked = { model: "whisper-1", file: await sound(), response_format: "srt" } as const;
  expect(String(await client.audio.transcriptions.create(asked))).toContain("hello");
});

it("transcribes in a stream", async () => {
  const usage = { type: "tokens", input_tokens: 20, output_tokens: 2, total_tokens: 22 };
  world.upstream.script(
    sse(
      'data: {"type":"transcript.text.delta","delta":"hel"}\n\n',
      `data: ${JSON.stringify({ type: "transcript.text.done", text: "hello", usage })}\n\n`,
    ),
  );
  const texts: string[] = [];
  const { log } = await world.costOf(async () => {
    const file = await sound();
    const stream = await client.audio.transcriptions.create({
      model: "gpt-4o-transcribe",
      file,
      stream: true,
    });
    for await (const event of stream) texts.push(event.type);
  });
  expect(texts).toEqual(["transcript.text.delta", "transcript.text.done"]);
  expect(log).toMatchObject({ prompt_tokens: 20, completion_tokens: 2 });
});

it("moderates and embeds", async () => {
  world.upstream.script(
    json({ id: "m", model: "text-moderation-007", results: [{ flagged: true, categories: {} }] }),
    json({
      object: "list",
      model: "text-embedding-3-small",
      data: [{ object: "embedding", index: 0, embedding: [0.5, -1] }],
      usage: { prompt_tokens: 2, total_tokens: 2 },
    }),
  );
  const moderated = await client.moderations.create({ model: "text-moderation-stable", input: "hello" });
  expect(moderated.results[0]?.flagged).toBe(true);
  const embedded = await client.embeddings.create({
    model: "text-embedding-3-small",
    input: "hello",
    encoding_format: "float",
  });
  expect(embedded.data[0]?.embedding).toEqual([0.5, -1]);
});
