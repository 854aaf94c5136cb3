// A call that is read and answered without node:http, beside the same call by Node's parser: its client, the books and the operator see
// the same.
import { beforeEach, describe, expect, it } from "vitest";
import { type Ask, BothWays, masked, WAYS } from "#test/both-ways.ts";
import { chatReply, chunk, DONE, json, raw, reset, type Step, sse, usageChunk } from "#test/fake-upstream.ts";
import { createRelayWorld, QUESTION } from "#test/relay-world.ts";
import { createRelay } from "./relay.ts";

const world = createRelayWorld();
const both = new BothWays(world);
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const MODELS = "gpt-4,tts-1,gemini-pro";
let url = "";

beforeEach(async () => {
  both.ways = [];
  await world.addChannel({ models: MODELS });
  if (url === "") url = await both.serve(createRelay(world.ctx, { idleMs: 250 }));
});

const events = (...texts: string[]) => texts.map((content) => chunk({ content }));
const STREAM = { ...QUESTION, stream: true };
const MESSAGE = { model: "gpt-4", max_tokens: 10, messages: [{ role: "user", content: "hi" }] };
const GENERATE = { contents: [{ role: "user", parts: [{ text: "hi" }] }] };
const RESPONSE = { model: "gpt-4", input: "hi" };
const SPEECH = { model: "tts-1", input: "hello", voice: "alloy" };
const GEMINI = "/v1beta/models/gemini-pro";
const SOUND = Buffer.from(Array.from({ length: 50_000 }, (_, at) => (at * 7) & 0xff));
const sound: Step = (res) => {
  res.writeHead(200, { "content-type": "audio/mpeg" });
  res.write(SOUND);
  res.end(SOUND);
};
const refusal = (status: number): Step =>
  json({ error: { message: "no é 写", type: "t", code: "c" } }, status, { "retry-after": "7" });
const OVERFLOW: Step = json(
  { error: { message: "too long", type: "invalid_request_error", code: "context_length_exceeded" } },
  400,
);
/** Headers that clients may see, with all the bytes that a value may have. */
const passed: Step = (res) => {
  res.writeHead(200, {
    "content-type": "application/json",
    "x-request-id": "h\xe9\xff\x80 \t!",
    "x-ratelimit-remaining-tokens": "7",
    "x-secret": "not this one",
  });
  res.end(Buffer.from(JSON.stringify(chatReply("hi"))));
};

describe("the same call in both ways", () => {
  it.each<[string, Step, Ask]>([
    ["a short answer", json(chatReply("hi")), {}],
    ["an answer of 9 KB", json(chatReply("写 é".repeat(2_000))), {}],
    ["an answer of 5 MB", json(chatReply("写é!".repeat(1_000_000))), {}],
    ["headers of its upstream", passed, {}],
    ["an odd type of answer", raw("hello", { "content-type": "text/plain" }), {}],
    ["an empty answer", raw("", { "content-type": "application/json" }), {}],
    ["no answer", reset, {}],
    ["a wrong key", json({}), { key: "sk-wrong" }],
    ["a body that is none", json({}), { body: "{" }],
    ["a model that nobody has", json({}), { body: { ...QUESTION, model: "none" } }],
    ["an unknown path", json({}), { path: "/v1/nothing/here" }],
    ["what is not served here", json({}), { path: "/v1/files" }],
    [
      "a stream of small events",
      sse(...events("a", "写", "é"), chunk({}, "stop"), usageChunk(USAGE), DONE),
      { body: STREAM },
    ],
    [
      "a stream of large events",
      sse(...events("a".repeat(20_000), "b".repeat(300_000)), chunk({}, "stop"), DONE),
      { body: STREAM },
    ],
    [
      "a stream in one piece",
      sse(`${events("a", "b").join("")}${chunk({}, "stop")}${DONE}`),
      { body: STREAM },
    ],
    ["a stream without its terminator", sse(...events("a"), chunk({}, "stop")), { body: STREAM }],
    ["a stream without an end", sse(...events("a", "b")), { body: STREAM }],
    ["a stream that breaks off", sse(...events("a"), 30, "cut"), { body: STREAM }],
    ["a stream that stands still", sse(...events("a"), 60_000), { body: STREAM }],
    ["a stream without a byte", sse(), { body: STREAM }],
    ["a stream that is an error", sse('data: {"error":{"message":"boom"}}\n\n'), { body: STREAM }],
    [
      "a stream with an error in it",
      sse(...events("a"), 'data: {"error":{"message":"boom"}}\n\n'),
      { body: STREAM },
    ],
    [
      "a stream that is told of an overflow",
      OVERFLOW,
      { path: "/v1/responses", body: { ...RESPONSE, stream: true } },
    ],
    [
      "a stream in another format",
      sse(...events("a", "b"), chunk({}, "stop"), DONE),
      { path: "/v1/responses", body: { ...RESPONSE, stream: true } },
    ],
    [
      "a stream that is an array",
      sse(...events("a", "b"), chunk({}, "stop"), DONE),
      { path: `${GEMINI}:streamGenerateContent`, body: GENERATE },
    ],
    [
      "an array that breaks off",
      sse(...events("a"), 30, "cut"),
      { path: `${GEMINI}:streamGenerateContent`, body: GENERATE },
    ],
    ["sound", sound, { path: "/v1/audio/speech", body: SPEECH }],
    ["a count", json({}), { path: "/v1/messages/count_tokens", body: MESSAGE }],
  ])("%s", async (name, step, asking) => {
    const stories: unknown[] = [];
    for (const way of WAYS) {
      world.upstream.script(step);
      const isCalled = !/nothing|files|count_tokens/.test(asking.path ?? "");
      if (isCalled)
        stories.push(
          (await both.storyOf(way, () => both.ask(way, url, asking), name.startsWith("no "))).story,
        );
      else {
        const seen = await both.ask(way, url, asking);
        expect(both.ways.splice(0)).toEqual([way]);
        stories.push(masked(seen, String(seen.headers["x-oneapi-request-id"])));
      }
    }
    expect(stories[0]).toEqual(stories[1]);
    expect(stories).toMatchObject([{}, {}]);
  });

  const faults = [400, 429, 529].flatMap((status) =>
    [
      ["/v1/chat/completions", QUESTION],
      ["/v1/messages", MESSAGE],
      ["/v1/responses", RESPONSE],
      [`${GEMINI}:generateContent`, GENERATE],
      [`${GEMINI}:streamGenerateContent?alt=sse`, GENERATE],
    ].map(([path, body]) => ({ status, path: String(path), body })),
  );
  it.each(faults)("$status at $path", async ({ status, path, body }) => {
    const stories: unknown[] = [];
    for (const way of WAYS) {
      world.upstream.script(refusal(status));
      const { line, story } = await both.storyOf(way, () => both.ask(way, url, { path, body }));
      expect(line).toMatchObject({ attempts: 1, fault: expect.stringMatching(/./) });
      stories.push(story);
    }
    expect(stories[0]).toEqual(stories[1]);
  });
});
