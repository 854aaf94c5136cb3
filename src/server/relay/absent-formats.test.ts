// Channels on OpenAI's wire whose upstream has no path for the client's own format: the call is translated, and so are all later ones.
import { describe, expect, it } from "vitest";
import { chatReply, json, raw, type Step } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, MODEL } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();

/** Serves chat; all other paths get this answer. */
function onlyChat(absent: Step): Step {
  const chat = json(chatReply("hi"));
  return (res, asked) => (asked.path === "/v1/chat/completions" ? chat(res, asked) : absent(res, asked));
}

const FORMATS = {
  messages: {
    path: "/v1/messages",
    body: { model: MODEL, max_tokens: 50, messages: [{ role: "user", content: "hello" }] },
    answer: { type: "message", content: [{ type: "text", text: "hi" }] },
  },
  responses: {
    path: "/v1/responses",
    body: { model: MODEL, input: "hello" },
    answer: { object: "response", status: "completed" },
  },
  generate: {
    path: `/v1beta/models/${MODEL}:generateContent`,
    body: { contents: [{ role: "user", parts: [{ text: "hello" }] }] },
    answer: { candidates: [{ content: { role: "model", parts: [{ text: "hi" }] }, finishReason: "STOP" }] },
  },
} as const;

const HTML = { "content-type": "text/html" };

const ABSENCES: readonly [what: string, Step][] = [
  [
    "OpenAI's words",
    (res, asked) => {
      const message = `Invalid URL (POST ${asked.path})`;
      const error = { message, type: "invalid_request_error", param: "", code: "" };
      return json({ error }, 404)(res, asked);
    },
  ],
  ["FastAPI's words", json({ detail: "Not Found" }, 404)],
  ["a page", raw("<html><title>404 Not Found</title></html>", HTML, 404)],
  ["nothing", raw("", {}, 404)],
  ["405", json({ detail: "Method Not Allowed" }, 405)],
];

describe.each(Object.entries(FORMATS))("%s clients of a channel without that format", (_, format) => {
  const { path, body, answer } = format;

  it.each(ABSENCES)("are served by chat when the path answers %s", async (_, absent) => {
    await world.addChannel({ type: 43 });
    world.upstream.script(onlyChat(absent));
    const first = await world.costOf(async () => {
      const response = await world.ask(body, { path });
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject(answer);
    });
    expect(first).toMatchObject({ entries: 1, open: 0 });
    expect(first.charged).toBeGreaterThan(0);
    expect(world.upstream.journal.map((asked) => asked.path)).toEqual([path, "/v1/chat/completions"]);
    world.upstream.journal.length = 0;
    expect((await world.ask(body, { path })).status).toBe(200);
    expect(world.upstream.journal.map((asked) => asked.path)).toEqual(["/v1/chat/completions"]);
  });
});

describe("a 404 on the client's own format", () => {
  const { path, body } = FORMATS.messages;

  it.each<[string, unknown]>([
    ["OpenAI's words", { error: { message: "no such thing", code: "model_not_found" } }],
    ["Anthropic's words", { type: "error", error: { type: "not_found_error", message: "model: gpt-4" } }],
  ])("is the model's when it says so in %s", async (_, error) => {
    await world.addChannel({ type: 43 });
    world.upstream.script(json(error, 404));
    expect((await world.ask(body, { path })).status).toBe(404);
    expect(world.upstream.journal).toHaveLength(1);
  });

  it("is not remembered while chat is absent too", async () => {
    await world.addChannel({ type: 43 });
    world.upstream.script(json({ detail: "Not Found" }, 404));
    expect((await world.ask(body, { path })).status).toBe(404);
    world.upstream.journal.length = 0;
    world.upstream.script(
      json({ type: "message", content: [], usage: { input_tokens: 1, output_tokens: 1 } }),
    );
    expect((await world.ask(body, { path })).status).toBe(200);
    expect(world.upstream.journal.map((asked) => asked.path)).toEqual([path]);
  });

  it("is forgotten when the channel changes", async () => {
    await world.addChannel({ type: 43 });
    world.upstream.script(onlyChat(json({ detail: "Not Found" }, 404)));
    expect((await world.ask(body, { path })).status).toBe(200);
    await world.clearChannels();
    await world.addChannel({ type: 43 });
    world.upstream.journal.length = 0;
    expect((await world.ask(body, { path })).status).toBe(200);
    expect(world.upstream.journal).toHaveLength(2);
  });
});
