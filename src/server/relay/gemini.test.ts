// Requests of Gemini clients besides generation: token counts, embeddings, lists of models; with Google's SDK as the client.
import { GoogleGenAI } from "@google/genai";
import { beforeEach, describe, expect, it } from "vitest";
import { json, sse } from "#test/emulators/fake-upstream.ts";
import { CHANNEL_KEY, createRelayWorld } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const GEMINI = "gemini-2.5-flash";
const OPENAI = "gpt-4o-mini";
const EMBEDDING = "gemini-embedding-001";
const OPENAI_EMBEDDING = "text-embedding-3-small";

let sdk: GoogleGenAI;

function post(action: string, body: unknown): Promise<Response> {
  return fetch(`${world.url}/v1beta/models/${action}?key=sk-${world.token.key}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

beforeEach(async () => {
  await world.addChannel({ type: 24, models: `${GEMINI},${EMBEDDING}` });
  await world.addChannel({ type: 1, models: `${OPENAI},${OPENAI_EMBEDDING}` });
  sdk = new GoogleGenAI({ apiKey: `sk-${world.token.key}`, httpOptions: { baseUrl: world.url } });
});

describe("counting tokens", () => {
  it("is done by a Gemini channel, and costs nothing", async () => {
    world.upstream.script(
      json({ totalTokens: 31, promptTokensDetails: [{ modality: "TEXT", tokenCount: 31 }] }),
    );
    const { charged, entries } = await world.costOf(async () => {
      const { totalTokens } = await sdk.models.countTokens({ model: GEMINI, contents: "hello world" });
      expect(totalTokens).toBe(31);
    });
    expect({ charged, entries }).toEqual({ charged: 0, entries: 0 });
    const [asked] = world.upstream.journal;
    expect(asked?.path).toBe(`/v1beta/models/${GEMINI}:countTokens`);
    expect(asked?.headers["x-goog-api-key"]).toBe(CHANNEL_KEY);
    expect(asked?.headers).not.toHaveProperty("anthropic-version");
    expect(asked?.json).toEqual({ contents: [{ role: "user", parts: [{ text: "hello world" }] }] });
  });

  it("passes a wrapped request as it came", async () => {
    world.upstream.script(json({ totalTokens: 7 }));
    const wrapped = {
      generateContentRequest: { model: `models/${GEMINI}`, contents: [{ parts: [{ text: "hi" }] }] },
    };
    const response = await post(`${GEMINI}:countTokens`, wrapped);
    expect(await response.json()).toEqual({ totalTokens: 7 });
    expect(world.upstream.journal[0]?.json).toEqual(wrapped);
  });

  it("is done here for other channels, and where the upstream fails", async () => {
    const { totalTokens } = await sdk.models.countTokens({ model: OPENAI, contents: "hello world" });
    expect(totalTokens).toBe(9);
    expect(world.upstream.journal).toEqual([]);
    world.upstream.script(json({ error: { code: 500, message: "x", status: "INTERNAL" } }, 500));
    const counted = await sdk.models.countTokens({ model: GEMINI, contents: "hello world" });
    expect(counted.totalTokens).toBeGreaterThan(0);
  });
});

describe("embeddings", () => {
  const config = { taskType: "RETRIEVAL_QUERY", outputDimensionality: 2 };

  it("are made by a Gemini channel with all fields, and charged", async () => {
    world.upstream.script(json({ embeddings: [{ values: [1, 2] }, { values: [3, 4] }] }));
    const { charged, open } = await world.costOf(async () => {
      const { embeddings } = await sdk.models.embedContent({
        model: EMBEDDING,
        contents: ["a", "b"],
        config,
      });
      expect(embeddings?.map(({ values }) => values)).toEqual([
        [1, 2],
        [3, 4],
      ]);
    });
    expect(charged).toBeGreaterThan(0);
    expect(open).toBe(0);
    expect(world.upstream.journal[0]?.path).toBe(`/v1beta/models/${EMBEDDING}:batchEmbedContents`);
    expect(world.upstream.journal[0]?.json).toEqual({
      requests: ["a", "b"].map((text) => ({
        model: `models/${EMBEDDING}`,
        content: { parts: [{ text }] },
        taskType: "RETRIEVAL_QUERY",
        outputDimensionality: 2,
      })),
    });
  });

  it.each([
    ["Gemini's API, which reports none", EMBEDDING, { embeddings: [{ values: [1, 2] }] }],
    ["a server that reports none", OPENAI_EMBEDDING, { data: [{ index: 0, embedding: [1, 2] }], model: "m" }],
    [
      "a server that tells half of it",
      OPENAI_EMBEDDING,
      { usage: { total_tokens: 0, cost: 7 }, data: [{ index: 0, embedding: [1, 2] }] },
    ],
  ])("show OpenAI clients the usage they are charged for: %s", async (_, model, reply) => {
    world.upstream.script(json(reply));
    let usage: unknown;
    const { log } = await world.costOf(async () => {
      const response = await world.ask({ model, input: "hello world" }, { path: "/v1/embeddings" });
      const list = await response.json();
      expect(list.data[0].embedding).toEqual([1, 2]);
      usage = list.usage;
    });
    expect(log?.prompt_tokens).toBeGreaterThan(0);
    expect(usage).toMatchObject({ prompt_tokens: log?.prompt_tokens, total_tokens: log?.prompt_tokens });
  });

  it("are translated for an OpenAI channel, and dropped fields are named", async () => {
    world.upstream.script(
      json({
        object: "list",
        data: [{ object: "embedding", index: 0, embedding: [0.5] }],
        model: OPENAI_EMBEDDING,
        usage: { prompt_tokens: 3, total_tokens: 3 },
      }),
    );
    const body = {
      content: { parts: [{ text: "a" }] },
      task_type: "RETRIEVAL_QUERY",
      output_dimensionality: 1,
    };
    const response = await post(`${OPENAI_EMBEDDING}:embedContent`, body);
    expect(await response.json()).toEqual({ embedding: { values: [0.5] } });
    expect(response.headers.get("x-tollgate-dropped")).toBe("taskType");
    expect(world.upstream.journal[0]?.json).toEqual({ model: OPENAI_EMBEDDING, input: ["a"], dimensions: 1 });
  });

  it.each([
    [
      "a batch whose texts differ in more",
      { requests: [{ content: { parts: [{ text: "a" }] } }, { taskType: "X" }] },
    ],
    ["an empty batch", { requests: [] }],
    [
      "pictures",
      { requests: [{ content: { parts: [{ inlineData: { mimeType: "image/png", data: "" } }] } }] },
    ],
  ])("refuse %s in Gemini's error format", async (_, body) => {
    const response = await post(`${EMBEDDING}:batchEmbedContents`, body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 400, status: "INVALID_ARGUMENT" } });
    expect(world.upstream.journal).toEqual([]);
  });
});

it("serves the SDK in each version of Google's interface", async () => {
  world.upstream.script(json({ totalTokens: 7 }));
  for (const apiVersion of ["v1", "v1beta", "v1alpha"]) {
    const apiKey = `sk-${world.token.key}`;
    const versioned = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: world.url, apiVersion } });
    expect(await versioned.models.countTokens({ model: GEMINI, contents: "hi" })).toMatchObject({
      totalTokens: 7,
    });
    expect(await versioned.models.get({ model: OPENAI })).toMatchObject({ name: `models/${OPENAI}` });
    await expect(versioned.models.get({ model: "none" })).rejects.toThrow("does not exist");
  }
});

describe("models", () => {
  it("are listed in Gemini's shape for Gemini's clients", async () => {
    const names: (string | undefined)[] = [];
    for await (const { name } of await sdk.models.list()) names.push(name);
    expect(names).toEqual(
      [EMBEDDING, GEMINI, OPENAI, OPENAI_EMBEDDING].toSorted().map((id) => `models/${id}`),
    );
    const beta = await fetch(`${world.url}/v1beta/models?key=sk-${world.token.key}`);
    // Gemini's list; the fields named here are read.
    const { models } = (await beta.json()) as { models: { name: string }[] };
    expect(models.map(({ name }) => name)).toEqual(names);
  });

  it("are listed in OpenAI's shape at Google's address for OpenAI's clients", async () => {
    const headers = { authorization: `Bearer sk-${world.token.key}` };
    const list = await fetch(`${world.url}/v1beta/openai/models`, { headers });
    expect(await list.json()).toMatchObject({ object: "list", data: expect.any(Array) });
    const one = await fetch(`${world.url}/v1beta/openai/models/${GEMINI}`, { headers });
    expect(await one.json()).toMatchObject({ object: "model", id: GEMINI });
  });

  it("are described one by one, or refused", async () => {
    expect(await sdk.models.get({ model: GEMINI })).toMatchObject({
      name: `models/${GEMINI}`,
      supportedActions: ["generateContent", "streamGenerateContent", "countTokens"],
    });
    const absent = await fetch(`${world.url}/v1beta/models/none?key=sk-${world.token.key}`);
    expect(absent.status).toBe(404);
    expect(await absent.json()).toMatchObject({ error: { code: 404, status: "NOT_FOUND" } });
  });
});

describe("pictures", () => {
  const model = "imagen-4.0-generate-001";
  const path = "/v1/images/generations";

  beforeEach(async () => {
    await world.addChannel({ type: 24, models: `${model},gemini-2.5-flash-image` });
  });

  it("of Imagen are requested in OpenAI's format, and charged", async () => {
    world.upstream.script(json({ predictions: [{ mimeType: "image/png", bytesBase64Encoded: "QQ==" }] }));
    const { charged, open } = await world.costOf(async () => {
      const response = await world.ask({ model, prompt: "a lighthouse", style: "vivid" }, { path });
      expect(await response.json()).toMatchObject({ data: [{ b64_json: "QQ==" }] });
      expect(response.headers.get("x-tollgate-dropped")).toBe("style");
    });
    expect(charged).toBeGreaterThan(0);
    expect(open).toBe(0);
    expect(world.upstream.journal[0]?.path).toBe(`/v1beta/models/${model}:predict`);
  });

  it.each([
    ["response_format", { response_format: "url" }],
    ["n", { n: 5 }],
    ["size", { size: "999x1" }],
    ["stream", { stream: true }],
  ])("that Google cannot draw are refused by the name of %s", async (param, more) => {
    const response = await world.ask({ model, prompt: "a lighthouse", ...more }, { path });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param } });
    expect(world.upstream.journal).toEqual([]);
  });

  it("are one at a time from Gemini's image models", async () => {
    const asked = { model: "gemini-2.5-flash-image", prompt: "a lighthouse", n: 2 };
    const response = await world.ask(asked, { path });
    expect(await response.json()).toMatchObject({ error: { param: "n" } });
  });
});

describe("a Gemini channel in trouble", () => {
  const contents = [{ role: "user", parts: [{ text: "hi" }] }];

  it("has a bad key: the caller gets no blame", async () => {
    const error = {
      code: 400,
      message: "API key not valid. Please pass a valid API key.",
      status: "INVALID_ARGUMENT",
    };
    world.upstream.script(json({ error }, 400));
    const response = await post(`${GEMINI}:generateContent`, { contents });
    expect(response.status).toBe(502);
    expect(await response.text()).not.toContain("API key");
  });

  it("says in its body when to try again", async () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "17s" }];
    const error = { code: 429, message: "quota exceeded", status: "RESOURCE_EXHAUSTED", details };
    world.upstream.script(json({ error }, 429));
    const native = await post(`${GEMINI}:generateContent`, { contents });
    expect([native.status, native.headers.get("retry-after")]).toEqual([429, "17"]);
    const chat = await world.ask({ model: GEMINI, messages: [{ role: "user", content: "hi" }] });
    expect([chat.status, chat.headers.get("retry-after")]).toEqual([429, "17"]);
    // Clients in Rust would not read a number, and then do not try again.
    expect(await chat.json()).toMatchObject({ error: { code: "RESOURCE_EXHAUSTED" } });
  });
});

describe("a stream that Google breaks off, with a bare error over several lines as its SDKs expect it", () => {
  const error = { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" };
  const bare = JSON.stringify({ error }, null, 2);
  const parts = [{ text: "Hello" }];
  const path = `/v1beta/models/${GEMINI}:streamGenerateContent?alt=sse`;
  const start = `data: ${JSON.stringify({ candidates: [{ content: { role: "model", parts } }] })}\r\n\r\n`;
  const contents = [{ role: "user", parts: [{ text: "hi" }] }];

  it("is reported in Google's words to every client", async () => {
    world.upstream.script(sse(start, bare));
    const chat = await world.ask({
      model: GEMINI,
      stream: true,
      messages: [{ role: "user", content: "hi" }],
    });
    expect(await chat.text()).toContain(error.message);
    world.upstream.script(sse(start, bare));
    const stream = await sdk.models.generateContentStream({ model: GEMINI, contents: "hi" });
    let told = "";
    const reading = async () => {
      for await (const { text } of stream) told += text;
    };
    await expect(reading()).rejects.toMatchObject({ status: 503 });
    expect(told).toBe("Hello");
  });

  it("is not an answer when nothing came before it: the next channel is called", async () => {
    await world.setOption("RetryTimes", "1");
    const reply = { candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }] };
    world.upstream.script(sse(bare), sse(`data: ${JSON.stringify(reply)}\r\n\r\n`));
    await world.addChannel({ type: 24, models: GEMINI });
    const response = await world.ask({ contents }, { path });
    expect(await response.text()).toContain('"STOP"');
    expect(world.upstream.journal).toHaveLength(2);
  });

  it("ends bare after the event too: older SDKs overlook an error in an event and take the answer for whole", async () => {
    world.upstream.script(sse(start, "cut"));
    const response = await world.ask({ contents }, { path });
    const events = (await response.text()).split(/(?:\r?\n){2}/);
    const [last, told] = [JSON.parse(events.at(-1) ?? ""), events.at(-2)];
    expect(last).toMatchObject({ error: { code: 502, status: "INTERNAL" } });
    expect(told).toBe(`data: ${JSON.stringify(last)}`);
  });
});

describe("a limit given twice", () => {
  const contents = [{ role: "user", parts: [{ text: "hi" }] }];
  it.each([
    ["in both spellings", { contents, generationConfig: { maxOutputTokens: 1, max_output_tokens: 9_000 } }],
    [
      "in two configurations",
      { contents, generationConfig: {}, generation_config: { maxOutputTokens: 9_000 } },
    ],
  ])("is refused: %s", async (_, body) => {
    const response = await post(`${GEMINI}:generateContent`, body);
    expect(response.status).toBe(400);
    expect(world.upstream.journal).toEqual([]);
  });

  it("in one spelling twice is refused too", async () => {
    const text = `{"contents":${JSON.stringify(contents)},"generationConfig":{"maxOutputTokens":1,"maxOutputTokens":9000}}`;
    const path = `/v1beta/models/${GEMINI}:generateContent`;
    expect((await world.ask(text, { path })).status).toBe(400);
  });
});

it("a continued answer of Gemini 4 is charged for the part that is read again", async () => {
  const candidate = { content: { role: "model", parts: [{ text: "and" }] }, finishReason: "STOP", index: 0 };
  const usageMetadata = { promptTokenCount: 65_600, candidatesTokenCount: 5, totalTokenCount: 65_605 };
  world.upstream.script(json({ candidates: [candidate], usageMetadata }));
  const contents = [{ role: "user", parts: [{ text: "hi" }] }];
  const { log } = await world.costOf(async () => {
    await (await post(`${GEMINI}:generateContent`, { contents, continuationToken: "AbC=" })).text();
  });
  expect(log).toMatchObject({ prompt_tokens: 65_600, completion_tokens: 5 });
});
