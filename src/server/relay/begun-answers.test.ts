// Streams that begin and fail before any output: no caller is charged for them, in any format (requirements M13).
import { describe, expect, it } from "vitest";
import { chunk, type Step, sse } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, QUESTION } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const model = "gpt-4o";
const PATHS = ["/v1/chat/completions", "/v1/responses", "/v1/messages", "GEMINI"] as const;

const event = (type: string, fields: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
const broken = { message: "The server had an error", type: "server_error", code: null };
const usage = { input_tokens: 900, output_tokens: 4 };
const response = { id: "r", object: "response", status: "in_progress", output: [] };

/** Channel type, how an answer begins, how it fails, and a piece of its output. */
const WIRES: readonly (readonly [number, string, string, string])[] = [
  [31, chunk({ role: "assistant" }), data({ error: broken }), chunk({ content: "hello there" })],
  [
    14,
    event("message_start", { message: { id: "m", type: "message", role: "assistant", content: [], usage } }),
    event("error", { error: { type: "overloaded_error", message: "Overloaded" } }),
    event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }) +
      event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "hello there" } }),
  ],
  [
    24,
    data({ usageMetadata: { promptTokenCount: 900, totalTokenCount: 900 }, responseId: "r" }),
    data({ error: { code: 503, status: "UNAVAILABLE", message: "overloaded" } }),
    data({ candidates: [{ content: { role: "model", parts: [{ text: "hello there" }] }, index: 0 }] }),
  ],
];

function ask(path: string): Promise<Response> {
  const body = { ...QUESTION, model, input: "hi", max_tokens: 100, stream: true };
  if (path !== "GEMINI") return world.ask(body, { path });
  const contents = [{ role: "user", parts: [{ text: "hi" }] }];
  return world.ask({ contents }, { path: `/v1beta/models/${model}:streamGenerateContent?alt=sse` });
}

async function costOf(path: string, type: number, step: Step) {
  await world.addChannel({ type, models: model });
  world.upstream.script(step);
  let text = "";
  const cost = await world.costOf(async () => {
    text = await (await ask(path)).text();
  });
  return { text, cost };
}

describe.each(PATHS)("%s", (path) => {
  it.each(WIRES)(
    "costs nothing before channel type %i, by an error or by a break",
    async (type, begin, error) => {
      for (const step of [sse(begin, error), sse(begin, "cut")]) {
        const { text, cost } = await costOf(path, type, step);
        expect(text).toContain("error");
        expect(cost, text).toMatchObject({ charged: 0, entries: 0, open: 0 });
      }
    },
  );

  it.each(WIRES)(
    "costs what came once channel type %i has sent output",
    async (type, begin, error, piece) => {
      const { cost } = await costOf(path, type, sse(begin, piece, error));
      expect(cost).toMatchObject({ entries: 1, open: 0 });
      expect(cost.charged).toBeGreaterThan(0);
    },
  );
});

it("a response that failed in OpenAI's own format costs nothing", async () => {
  const failed = { ...response, status: "failed", error: { code: "server_error", message: "sorry" } };
  const step = sse(
    event("response.created", { sequence_number: 0, response }),
    event("response.failed", { sequence_number: 1, response: failed }),
  );
  const { text, cost } = await costOf("/v1/responses", 1, step);
  expect(text).toContain("sorry");
  expect(cost).toMatchObject({ charged: 0, entries: 0, open: 0 });
});

const picture = "A".repeat(2_000);
const image = { type: "image_url", image_url: { url: `data:image/png;base64,${picture}` } };
const inlineData = { mimeType: "image/png", data: picture };

it.each([
  ["/v1/chat/completions", 31, chunk({ images: [image] })],
  ["/v1/chat/completions", 31, chunk({ audio: { data: picture } })],
  ["/v1/responses", 1, event("response.image_generation_call.partial_image", { partial_image_b64: picture })],
  [
    "/v1/responses",
    1,
    event("response.output_item.done", { item: { type: "image_generation_call", result: picture } }),
  ],
  [
    "/v1/messages",
    24,
    data({ candidates: [{ content: { role: "model", parts: [{ inlineData }] }, index: 0 }] }),
  ],
  ["/v1/responses", 31, chunk({ images: [image] })],
])("%s on channel type %i: a picture and a sound are output too", async (path, type, piece) => {
  const { cost } = await costOf(path, type, sse(piece, "cut"));
  expect(cost).toMatchObject({ entries: 1, open: 0 });
});

it("a client that leaves before the first word pays for its prompt, as ever", async () => {
  await world.addChannel({ type: 1, models: model });
  world.upstream.script(sse(chunk({ role: "assistant" }), 5_000, "cut"));
  const { entries } = await world.costOf(async () => {
    const answer = await ask("/v1/chat/completions");
    await answer.body?.cancel();
  });
  expect(entries).toBe(1);
});
