// An error that comes as the first event of a stream with status 200 is sent as with status 500, in every format, passed or translated:
// without the upstream's internals, and only after other channels (requirements R11, P02).
import { beforeEach, describe, expect, it } from "vitest";
import { chunk, DONE, json, raw, type Step, sse } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const messages = [{ role: "user", content: "hi" }];
const MODELS = { 1: "gpt-4", 14: "claude-sonnet-4-6", 24: "gemini-2.5-flash" } as const;
const EVENTS = "?alt=sse";

const asks = {
  chat: ["/v1/chat/completions", { messages, stream: true }],
  completions: ["/v1/completions", { prompt: "hi", stream: true }],
  messages: ["/v1/messages", { max_tokens: 10, messages, stream: true }],
  responses: ["/v1/responses", { input: "hi", stream: true }],
  generate: [
    `/v1beta/models/MODEL:streamGenerateContent${EVENTS}`,
    { contents: [{ role: "user", parts: [{ text: "hi" }] }] },
  ],
  speech: ["/v1/audio/speech", { model: "tts-1", input: "hi", voice: "a", stream_format: "sse" }],
  images: ["/v1/images/generations", { model: "gpt-image-1", prompt: "hi", stream: true }],
} as const;
type Format = keyof typeof asks;

/** What no client may read. */
const INSIDE = "/srv/canary/app.py";

/** An event that is no JSON object may be called that. */
const UNREADABLE: ReadonlySet<string> = new Set([
  "上游返回了无法识别的响应",
  "a stream event is no JSON object",
]);

const errors: Readonly<Record<string, unknown>> = {
  "an object of OpenAI's": { error: { message: `boom ${INSIDE}`, type: INSIDE, param: null, code: null } },
  "an object of Anthropic's": { type: "error", error: { type: "api_error", message: `boom ${INSIDE}` } },
  "a flat event of Responses": { type: "error", code: null, message: `boom ${INSIDE}`, sequence_number: 0 },
  "a response that failed": { type: "response.failed", response: { error: { message: `boom ${INSIDE}` } } },
  "a text": { error: `boom ${INSIDE}` },
  "what vLLM says": { object: "error", message: `boom ${INSIDE}`, type: "InternalServerError", code: 500 },
  "what FastAPI says": { detail: `boom ${INSIDE}` },
  "a code and words": { code: 500, msg: `boom ${INSIDE}` },
  "unknown words": { failure: `boom ${INSIDE}` },
  "a list": [`boom ${INSIDE}`],
  "no JSON": `boom ${INSIDE}`,
};

const ways = Object.keys(MODELS).flatMap((type) =>
  (Object.keys(asks) as Format[]) // the keys of this table
    .filter((format) => type === "1" || (format !== "speech" && format !== "images"))
    .map((format) => [format, Number(type) as keyof typeof MODELS] as const),
);

function ask(format: Format, type: keyof typeof MODELS): Promise<Response> {
  const [path, body] = asks[format];
  const model = MODELS[type];
  return world.ask({ model, ...body }, { path: path.replace("MODEL", model) });
}

/** The message of an error answer; the default status for none is another one. */
async function wordsOf(response: Response): Promise<string> {
  const { error } = (await response.json()) as { error: { message: string } | string }; // every format's
  const message = typeof error === "string" ? error : error.message;
  return message.replace(/ \(request id: \w+\)$/, "").replace(/ 50[02]$/, "");
}

describe("an error as the first event of a stream", () => {
  beforeEach(async () => {
    for (const [type, model] of Object.entries(MODELS))
      await world.addChannel({ type: Number(type), models: `${model},tts-1,gpt-image-1` });
  });

  const shapes = Object.keys(errors);
  it.each(ways)("is sent to %s clients of type %i as with status 500", async (format, type) => {
    for (const shape of shapes) {
      const error = errors[shape];
      const text = typeof error === "string" ? error : JSON.stringify(error);
      const told = async (step: Step) => {
        world.upstream.script(step);
        const response = await ask(format, type);
        expect(response.status, shape).toBeGreaterThanOrEqual(400);
        expect(await response.clone().text(), shape).not.toContain("canary");
        return wordsOf(response);
      };
      const plain = { "content-type": typeof error === "string" ? "text/plain" : "application/json" };
      const withStatus = await told(raw(text, plain, 500));
      const name = text.startsWith('{"type":"error"') ? "event: error\n" : "";
      const { charged, open } = await world.costOf(async () => {
        const first = await told(sse(`${name}data: ${text}\n\n`));
        if (!UNREADABLE.has(first)) expect(first, shape).toBe(withStatus);
      });
      expect([charged, open], shape).toEqual([0, 0]);
    }
  });

  it("lets another channel be tried", async () => {
    await world.clearChannels();
    await world.addChannel({ priority: 2 });
    await world.addChannel({ priority: 1 });
    await world.setOption("RetryTimes", "1");
    world.upstream.script(
      sse('data: {"object":"error","message":"boom"}\n\n'),
      sse(chunk({ content: "hi" }, "stop"), DONE),
    );
    const response = await ask("chat", 1);
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"hi"')]);
    expect(world.upstream.journal).toHaveLength(2);
  });

  it("blames the key where the event's message says so", async () => {
    world.upstream.script(sse('data: {"message":"account 12 is closed","code":401}\n\n'));
    const text = await (await ask("chat", 1)).text();
    expect(text).toContain("上游拒绝了本服务的凭证");
    expect(text).not.toContain("account");
  });

  it.each([
    ["a content filter", '{"choices":[],"prompt_filter_results":[]}'],
    ["usage", '{"id":"1","usage":{"prompt_tokens":1,"completion_tokens":0,"total_tokens":1}}'],
    ["a bare head", '{"id":"1","object":"chat.completion.chunk","model":"m"}'],
    ["a ping", '{"type":"ping"}'],
  ])("is not %s", async (_, first) => {
    world.upstream.script(sse(`data: ${first}\n\n`, chunk({ content: "hi" }, "stop"), DONE));
    const response = await ask("chat", 1);
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"hi"')]);
  });

  it("is not an event with a name of its own", async () => {
    const status = 'event: flowNodeStatus\ndata: {"status":"running","name":"search"}\n\n';
    world.upstream.script(sse(status, chunk({ content: "hi" }, "stop"), DONE));
    expect(await (await ask("chat", 1)).text()).toContain("flowNodeStatus");
  });
});

it("sends a code that is no name neither as a message nor beside it", async () => {
  await world.addChannel({ type: 14, models: MODELS[14] });
  world.upstream.script(json({ type: "error", error: { type: "no name at all", message: "" } }));
  const response = await world.ask({ model: MODELS[14], messages });
  expect(await wordsOf(response)).toBe("bad response status code");
});
