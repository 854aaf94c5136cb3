// Clients that were given the gateway's address without `/v1`: the commonest slip of all, and what several vendors allow.
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { expect, it } from "vitest";
import { chatReply, json } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, MODEL, QUESTION } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const EMBEDDING = "text-embedding-3-small";

it("are served as if they had it", async () => {
  await world.addChannel({ models: `${MODEL},${EMBEDDING}` });
  const list = [{ object: "embedding", index: 0, embedding: [1] }];
  world.upstream.script(
    json(chatReply("hi")),
    json({ object: "list", data: list, usage: { prompt_tokens: 2 } }),
  );
  const sdk = new OpenAI({ apiKey: `sk-${world.token.key}`, baseURL: world.url, maxRetries: 0 });
  const { entries } = await world.costOf(async () => {
    const answer = await sdk.chat.completions.create({
      model: MODEL,
      messages: [{ role: "user", content: "hello" }],
    });
    expect(answer.choices[0]?.message.content).toBe("hi");
    const { data } = await sdk.embeddings.create({
      model: EMBEDDING,
      input: "hello",
      encoding_format: "float",
    });
    expect(data[0]?.embedding).toEqual([1]);
  });
  expect(entries).toBe(2);
  expect((await sdk.models.list()).data.map(({ id }) => id)).toContain(MODEL);
  expect(await sdk.models.retrieve(MODEL)).toMatchObject({ id: MODEL });
});

it("get errors in the client's own format", async () => {
  const ask = (path: string) =>
    fetch(`${world.url}${path}`, { method: "POST", body: JSON.stringify(QUESTION) }).then((answer) =>
      answer.json(),
    );
  expect(await ask("/messages")).toMatchObject({ type: "error", error: { type: "authentication_error" } });
  expect(await ask("/chat/completions?a=1")).toMatchObject({ error: { type: "one_api_error" } });
  const twice = new Anthropic({ apiKey: `sk-${world.token.key}`, baseURL: `${world.url}/v1`, maxRetries: 0 });
  await expect(
    twice.messages.create({ model: "none", max_tokens: 5, messages: [{ role: "user", content: "hi" }] }),
  ).rejects.toMatchObject({ status: 503 });
});

it("are known for everything that is served by POST, with a slash or a query after them too", async () => {
  const text = [
    "chat/completions",
    "completions",
    "edits",
    "embeddings",
    "responses",
    "messages",
    "moderations",
  ];
  const tasks = ["images/generations", "images/edits", "images/variations", "audio/speech"];
  const others = ["audio/transcriptions", "audio/translations", "rerank", "messages/count_tokens"];
  for (const path of [...text, ...tasks, ...others])
    for (const end of ["", "/", "?a=1", "/?a=1"]) {
      const answer = await fetch(`${world.url}/${path}${end}`, { method: "POST", body: "{}" });
      expect([path, end, answer.status]).toEqual([path, end, 401]);
    }
});

it("are not recognised with anything else after them", async () => {
  for (const path of ["/chat", "/completions/x", "/embeddingsx", "/images", "/audio/none"]) {
    const answer = await fetch(`${world.url}${path}`, { method: "POST", body: "{}" });
    expect([path, answer.status]).toEqual([path, 404]);
  }
});
