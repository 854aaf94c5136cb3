// Pictures, sound, moderation and rerank: the request, the answer, the charge (requirements W12).
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { json, raw, type Step, silence, sse } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, errorOf } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const MODELS =
  "dall-e-2,dall-e-3,gpt-image-1,tts-1,voice-by-tokens,whisper-1,gpt-4o-transcribe,text-moderation-stable,bge-reranker";

beforeEach(async () => {
  await world.setOption(
    "ModelRatio",
    JSON.stringify({ "bge-reranker": 1, "text-moderation-stable": 0.1, "voice-by-tokens": 1 }),
  );
  await world.addChannel({ models: MODELS });
});

/** A second of silence as 16-bit mono WAV at 8 kHz. */
function wav(seconds: number): Uint8Array<ArrayBuffer> {
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8_000, 24);
  head.writeUInt32LE(16_000, 28);
  head.writeUInt16LE(16, 34);
  head.write("data", 36);
  head.writeUInt32LE(16_000 * seconds, 40);
  return Uint8Array.from(Buffer.concat([head, Buffer.alloc(16_000 * seconds)]));
}

function upload(path: string, fields: Record<string, string | Blob>): Promise<Response> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  return fetch(world.url + path, {
    method: "POST",
    headers: { authorization: `Bearer sk-${world.token.key}` },
    body: form,
  });
}

describe("pictures", () => {
  const reply = { created: 1, data: [{ url: "https://x/1.png", revised_prompt: "p" }] };

  it.each([
    [{ model: "dall-e-3", prompt: "p" }, 20_000],
    [{ model: "dall-e-3", prompt: "p", size: "1792x1024", quality: "hd" }, 60_000],
    [{ model: "dall-e-2", prompt: "p", size: "256x256" }, 8_000],
    [{ prompt: "p" }, 10_000],
  ])("charges %j by the piece", async (body, price) => {
    world.upstream.script(json(reply));
    const { charged, log } = await world.costOf(async () => {
      const response = await world.ask(body, { path: "/v1/images/generations" });
      expect([response.status, await response.json()]).toEqual([200, reply]);
    });
    expect(charged).toBe(price);
    expect(log?.content).toContain("按张计费");
    expect(world.upstream.journal[0]?.path).toBe("/v1/images/generations");
  });

  it("charges the pictures that came", async () => {
    world.upstream.script(json({ created: 1, data: [{ b64_json: "a" }, { b64_json: "b" }] }));
    const ask = () => world.ask({ model: "dall-e-2", prompt: "p", n: 3 }, { path: "/v1/images/generations" });
    expect(await world.costOf(ask)).toMatchObject({ charged: 20_000 });
  });

  const half: Step = (res) =>
    void res.writeHead(200, { "content-type": "application/json" }).write('{"data":[');

  it.each([
    ["before", "dall-e-2", silence],
    ["during", "dall-e-2", half],
    ["before", "gpt-image-1", silence],
    ["during", "gpt-image-1", half],
  ] as const)("left %s the answer, three pictures of %s cost what was begun", async (_, model, step) => {
    world.upstream.script(step);
    const { charged, open, entries, log } = await world.costOf(async () => {
      const leaving = new AbortController();
      const init = { path: "/v1/images/generations", signal: leaving.signal };
      const pending = world.ask({ model, prompt: "p", n: 3 }, init).catch(() => undefined);
      while (world.upstream.journal.length === 0) await sleep(5);
      await sleep(50);
      leaving.abort();
      await world.upstream.journal[0]?.aborted;
      await pending;
      await sleep(50);
    });
    const isByPiece = model === "dall-e-2";
    expect({ open, entries }).toEqual({ open: 0, entries: 1 });
    // One picture, or the prompt.
    expect(log).toMatchObject({ prompt_tokens: isByPiece ? 0 : 1, completion_tokens: 0 });
    expect(log?.content).toContain("客户端在结果返回前断开");
    expect(charged).toBe(isByPiece ? 10_000 : log?.quota);
    expect(charged).toBeGreaterThan(0);
  });

  it("charges token models by the usage they report, streamed or not", async () => {
    const usage = {
      input_tokens: 100,
      output_tokens: 1_000,
      total_tokens: 1_100,
      input_tokens_details: { text_tokens: 40, image_tokens: 60 },
    };
    world.upstream.script(
      json({ created: 1, data: [{ b64_json: "a" }], usage }),
      sse(
        'event: image_generation.partial_image\ndata: {"type":"image_generation.partial_image","b64_json":"aa"}\n\n',
        `event: image_generation.completed\ndata: ${JSON.stringify({ type: "image_generation.completed", b64_json: "bb", usage })}\n\n`,
      ),
    );
    const body = { model: "gpt-image-1", prompt: "p" };
    const plain = await world.costOf(() => world.ask(body, { path: "/v1/images/generations" }));
    const streamed = await world.costOf(async () => {
      const response = await world.ask({ ...body, stream: true }, { path: "/v1/images/generations" });
      expect((await response.text()).match(/^event: .*/gm)).toEqual([
        "event: image_generation.partial_image",
        "event: image_generation.completed",
      ]);
    });
    expect(plain.charged).toBeGreaterThan(0);
    expect(streamed.charged).toBe(plain.charged);
    expect(plain.log).toMatchObject({ prompt_tokens: 100, completion_tokens: 1_000, estimated: 0 });
  });

  it("passes a whole answer on though a stream was requested, and charges the pictures that came", async () => {
    world.upstream.script(json(reply));
    const { charged } = await world.costOf(async () => {
      const body = { model: "dall-e-2", prompt: "p", n: 2, stream: true };
      const response = await world.ask(body, { path: "/v1/images/generations" });
      expect(response.headers.get("content-type")).toContain("application/json");
      expect([response.status, await response.json()]).toEqual([200, reply]);
    });
    expect(charged).toBe(10_000);
  });

  it.each([
    [{ model: "dall-e-3", prompt: "p", size: "7x7" }, "size_not_supported"],
    [{ model: "dall-e-3", prompt: "p", n: 2 }, "n_not_within_range"],
    [{ model: "dall-e-2", prompt: "x".repeat(1_001) }, "prompt_too_long"],
    [{ model: "dall-e-2" }, "prompt_missing"],
  ])("refuses %j before anything is reserved", async (body, code) => {
    const { charged } = await world.costOf(async () => {
      const response = await world.ask(body, { path: "/v1/images/generations" });
      expect(await errorOf(response)).toMatchObject({ status: 400, code });
    });
    expect([charged, world.upstream.journal.length]).toEqual([0, 0]);
  });

  it("passes forms on as they came, or with the model's upstream name", async () => {
    world.upstream.script(json(reply));
    const picture = new Blob([Buffer.from("png-bytes")], { type: "image/png" });
    const { charged } = await world.costOf(() =>
      upload("/v1/images/edits", { model: "dall-e-2", prompt: "p", image: picture, size: "512x512" }),
    );
    expect(charged).toBe(9_000);
    await world.clearChannels();
    await world.addChannel({ models: "mine", mapping: { mine: "dall-e-2" } });
    await upload("/v1/images/variations", { model: "mine", image: picture });
    const [first, second] = world.upstream.journal;
    expect([first?.path, second?.path]).toEqual(["/v1/images/edits", "/v1/images/variations"]);
    expect(first?.text).toContain("png-bytes");
    expect(second?.text).toMatch(/name="model"\r\n\r\ndall-e-2\r\n/);
    expect(second?.text).toContain("png-bytes");
    expect(second?.text).not.toContain("mine");
  });

  it("releases the reservation when the upstream refuses", async () => {
    world.upstream.script(
      json({ error: { message: "blocked", type: "x", code: "moderation_blocked" } }, 400),
    );
    const { charged, open } = await world.costOf(async () => {
      const response = await world.ask(
        { model: "dall-e-3", prompt: "p" },
        { path: "/v1/images/generations" },
      );
      expect(await errorOf(response)).toMatchObject({ status: 400, code: "moderation_blocked" });
    });
    expect([charged, open]).toEqual([0, 0]);
  });
});

describe("speech", () => {
  const path = "/v1/audio/speech";

  it("passes sound on as it comes and charges characters, not bytes", async () => {
    world.upstream.script(raw("ID3-sound", { "content-type": "audio/mpeg" }));
    const { charged, log } = await world.costOf(async () => {
      const response = await world.ask({ model: "tts-1", input: "你好世界", voice: "alloy" }, { path });
      expect([response.headers.get("content-type"), await response.text()]).toEqual([
        "audio/mpeg",
        "ID3-sound",
      ]);
    });
    // 4 × 7.5
    expect(charged).toBe(30);
    expect(log?.content).toContain("按字符计费");
  });

  it("refuses long texts, and answers that are no sound", async () => {
    const long = await world.ask({ model: "tts-1", input: "字".repeat(4_097), voice: "alloy" }, { path });
    expect(await errorOf(long)).toMatchObject({ status: 400, code: "text_too_long" });
    world.upstream.script(raw("<html>", { "content-type": "text/html" }));
    const { charged } = await world.costOf(async () => {
      const response = await world.ask({ model: "tts-1", input: "a", voice: "alloy" }, { path });
      expect(await errorOf(response)).toMatchObject({ status: 502, code: "bad_response" });
    });
    expect(charged).toBe(0);
  });

  it("passes speech events and charges their usage", async () => {
    world.upstream.script(
      sse(
        'data: {"type":"speech.audio.delta","audio":"aa"}\n\n',
        'data: {"type":"speech.audio.done","usage":{"input_tokens":10,"output_tokens":100,"total_tokens":110}}\n\n',
      ),
    );
    const { charged, log } = await world.costOf(async () => {
      const body = { model: "voice-by-tokens", input: "hi", voice: "alloy", stream_format: "sse" };
      expect(await (await world.ask(body, { path })).text()).toContain("speech.audio.done");
    });
    expect(log).toMatchObject({ prompt_tokens: 10, completion_tokens: 100, estimated: 0 });
    expect(charged).toBe(10 + 100);
  });
});

describe("transcription", () => {
  const path = "/v1/audio/transcriptions";
  const file = new File([wav(60)], "a.wav", { type: "audio/wav" });

  it.each<[string, Record<string, string>, () => Step, number]>([
    ["by its usage", {}, () => json({ text: "hi", usage: { type: "duration", seconds: 30 } }), 1_500],
    ["by the verbose form", {}, () => json({ text: "hi", duration: 120.0 }), 6_000],
    ["by the file's own head", {}, () => json({ text: "hi" }), 3_000],
    [
      "the same where it ignores a request for a stream",
      { stream: "true" },
      () => json({ text: "hi" }),
      3_000,
    ],
    [
      "by the last subtitle",
      { response_format: "srt" },
      () => raw("1\n00:00:00,000 --> 00:00:20,000\nhi\n", { "content-type": "text/plain" }),
      1_000,
    ],
  ])("charges whisper %s", async (_, fields, step, price) => {
    world.upstream.script(step());
    const { charged } = await world.costOf(async () => {
      const response = await upload(path, { file, model: "whisper-1", ...fields });
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("hi")]);
    });
    expect(charged).toBe(price);
    expect(world.upstream.journal[0]?.headers["content-type"]).toMatch(/^multipart\/form-data; boundary=/);
  });

  it("charges token models by their usage", async () => {
    const usage = {
      type: "tokens",
      input_tokens: 50,
      output_tokens: 10,
      input_token_details: { audio_tokens: 50 },
    };
    world.upstream.script(json({ text: "hi", usage }));
    const { log } = await world.costOf(() => upload(path, { file, model: "gpt-4o-transcribe" }));
    expect(log).toMatchObject({ prompt_tokens: 50, completion_tokens: 10 });
  });

  it.each<[string, () => Step, number]>([
    ["a duration that the file cannot hold", () => json({ text: "hi", duration: 900_000 }), 3_800],
    ["a duration of nothing", () => json({ text: "hi", duration: 0 }), 100],
    ["a text that took longer", () => raw("word ".repeat(500), { "content-type": "text/plain" }), 5_000],
    [
      "stamps without a request",
      () => raw("00:00:00,001 --> 00:00:00,001", { "content-type": "text/plain" }),
      100,
    ],
  ])("charges a plausible length: %s", async (_, step, price) => {
    world.upstream.script(step());
    const small = new File([Buffer.alloc(8_000)], "a.opus");
    const fields = { file: small, model: "whisper-1", response_format: "text" };
    const { charged } = await world.costOf(async () => {
      const response = await upload(path, fields);
      expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
    });
    expect(Math.round(charged / 100) * 100).toBe(price);
  });

  it("refuses a body that is no form", async () => {
    const contentType = "multipart/form-data; boundary=x";
    const response = await world.ask("--x", { path, headers: { "content-type": contentType } });
    expect(await errorOf(response)).toMatchObject({ status: 400, message: expect.stringContaining("表单") });
  });

  it("refuses a form that two parsers could read differently", async () => {
    const form = new FormData();
    form.append("file", new File(["a"], "a.wav"));
    form.append("file", file);
    form.append("model", "whisper-1");
    const init = { method: "POST", headers: { authorization: `Bearer sk-${world.token.key}` } };
    expect((await fetch(world.url + path, { ...init, body: form })).status).toBe(400);
    const picture = new FormData();
    for (const [name, value] of [
      ["image", file],
      ["prompt", "p"],
      ["n", "1"],
      ["n", "10"],
    ] as const)
      picture.append(name, value);
    const edits = await fetch(`${world.url}/v1/images/edits`, { ...init, body: picture });
    expect(edits.status).toBe(400);
    const odd = { model: "dall-e-2", prompt: "p", N: 10 };
    expect((await world.ask(odd, { path: "/v1/images/generations" })).status).toBe(400);
    expect(world.upstream.journal).toHaveLength(0);
  });

  it("has no model named like a member of every object", async () => {
    for (const model of ["constructor", "__proto__"]) {
      const response = await world.ask({ model, prompt: "p" }, { path: "/v1/images/generations" });
      expect(response.status).toBe(503);
    }
  });

  it("names what is wrong with a form", async () => {
    expect(await errorOf(await upload(path, { model: "whisper-1" }))).toMatchObject({
      status: 400,
      param: "file",
    });
    const wrong = await upload(path, { file, model: "whisper-1", response_format: "mp3" });
    expect(await errorOf(wrong)).toMatchObject({ status: 400, param: "response_format" });
  });
});

describe("moderation and rerank", () => {
  it("charges the input", async () => {
    world.upstream.script(json({ id: "m", model: "text-moderation-007", results: [{ flagged: false }] }));
    const { charged, log } = await world.costOf(async () => {
      const response = await world.ask({ input: "hello world" }, { path: "/v1/moderations" });
      expect(await response.json()).toMatchObject({ results: [{ flagged: false }] });
    });
    expect(charged).toBe(1);
    expect(log).toMatchObject({ prompt_tokens: 2, completion_tokens: 0 });
  });

  it("uses the successor of the model that OpenAI retired, where that one is not served and none is named", async () => {
    const model = "omni-moderation-latest";
    await world.clearChannels();
    await world.addChannel({ models: model });
    world.upstream.script(json({ id: "m", model, results: [{ flagged: false }] }));
    const path = "/v1/moderations";
    const { log } = await world.costOf(async () => {
      expect((await world.ask({ input: "hello world" }, { path })).status).toBe(200);
    });
    expect(log).toMatchObject({ model_name: model, prompt_tokens: 2 });
    expect(world.upstream.journal[0]?.json).toMatchObject({ model, input: "hello world" });
    const named = await world.ask({ input: "hello", model: "text-moderation-stable" }, { path });
    expect(named.status).toBe(503);
  });

  it("charges rerank by the reported total, else by questions and documents", async () => {
    const results = [{ index: 0, relevance_score: 0.9 }];
    world.upstream.script(json({ results, usage: { total_tokens: 40 } }), json({ results }));
    const body = {
      model: "bge-reranker",
      query: "hello",
      documents: ["hello world", { text: "hi" }],
      top_n: 1,
    };
    await world.clearChannels();
    await world.addChannel({ models: "bge-reranker" });
    const told = await world.costOf(() => world.ask(body, { path: "/v1/rerank" }));
    const counted = await world.costOf(() => world.ask(body, { path: "/v1/rerank" }));
    expect(told).toMatchObject({ charged: 40 });
    expect(counted).toMatchObject({ charged: 5, log: expect.objectContaining({ estimated: 1 }) });
  });

  it.each([
    [8, {}, { prompt_tokens: 5, total_tokens: 5 }],
    [8, { usage: { total_tokens: 0, cost: 1 } }, { prompt_tokens: 5, total_tokens: 5, cost: 1 }],
    [8, { usage: { total_tokens: 40 } }, { total_tokens: 40 }],
    // Cohere counts searches, and is translated.
    [35, { id: "r", meta: { billed_units: { search_units: 1 } } }, { prompt_tokens: 5, total_tokens: 5 }],
  ])("shows clients of rerank the tokens they are charged for: type %i, %j", async (type, told, usage) => {
    world.upstream.script(json({ results: [{ index: 0, relevance_score: 0.9 }], ...told }));
    await world.clearChannels();
    await world.addChannel({ type, models: "bge-reranker" });
    const body = { model: "bge-reranker", query: "hello", documents: ["hello world", "hi"] };
    const { charged, log } = await world.costOf(async () => {
      const response = await world.ask(body, { path: "/v1/rerank" });
      expect(await response.json()).toMatchObject({ results: [{ index: 0, relevance_score: 0.9 }], usage });
    });
    expect(charged).toBe(usage.total_tokens);
    expect(log?.prompt_tokens).toBe(usage.total_tokens);
  });
});
