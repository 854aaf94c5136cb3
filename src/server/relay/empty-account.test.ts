// The operator's account at a vendor is empty: another channel may answer, and the client never learns whose account it was.
import { describe, expect, it } from "vitest";
import { chatReply, chunk, json, sse } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, QUESTION } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();

describe("an account without money", () => {
  const EMPTY = {
    message: "You exceeded your current quota, please check your plan and billing details.",
    type: "insufficient_quota",
    code: "insufficient_quota",
  };

  it.each([
    [1, "/v1/chat/completions", json({ error: EMPTY }, 429)],
    [1, "/v1/responses", json({ error: EMPTY }, 429)],
    [1, "/v1/messages", json({ error: EMPTY }, 429)],
    [1, "/v1/chat/completions", json({ error: { ...EMPTY, type: "exceeded_current_quota_error" } }, 429)],
  ] as const)("says nothing of the operator's empty account: %i %s", async (type, path, step) => {
    await world.addChannel({ type });
    world.upstream.script(step);
    const response = await world.ask({ ...QUESTION, input: "hi" }, { path });
    const text = await response.text();
    expect(response.status).toBe(429);
    expect(text).toContain("饱和");
    expect(text).not.toMatch(/quota|billing/);
  });

  it("is not mentioned within a stream either", async () => {
    const event = (type: string, fields: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 0, ...fields })}\n\n`;
    const created = event("response.created", {
      response: { id: "r", object: "response", status: "in_progress" },
    });
    const failed = event("error", { error: EMPTY });
    const failure = event("response.failed", {
      response: { id: "r", object: "response", status: "failed", error: EMPTY, output: [] },
    });
    const text = event("response.output_text.delta", { delta: "hello" });
    const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
    const cases = [
      ["/v1/responses", created, failed],
      ["/v1/responses", created, text, failed],
      ["/v1/responses", created, failure],
      ["/v1/chat/completions", chunk({ content: "hello" }), data({ error: EMPTY })],
    ] as const;
    await world.addChannel({ type: 1 });
    for (const [path, ...events] of cases) {
      world.upstream.script(sse(...events));
      const response = await world.ask({ ...QUESTION, input: "hi", stream: true }, { path });
      const told = await response.text();
      expect(told).toContain("饱和");
      expect(told).not.toMatch(/quota|billing/);
    }
  });

  it.each([
    ["/v1/responses", json({ id: "r", object: "response", status: "failed", error: EMPTY, output: [] })],
    ["/v1/chat/completions", json({ error: { ...EMPTY, code: null, type: "exceeded_current_quota_error" } })],
    ["/v1/embeddings", json({ error: EMPTY })],
    ["/v1/moderations", json({ error: EMPTY })],
    ["/v1/images/generations", json({ error: EMPTY })],
    ["/v1/audio/speech", json({ error: EMPTY }, 429)],
    ["/v1/rerank", json({ error: EMPTY })],
    ["/v1/images/generations", json({ error: { ...EMPTY, code: "billing_hard_limit_reached" } }, 400)],
  ] as const)("says nothing of it in whatever answer it comes: %s", async (path, step) => {
    const model = "gpt-image-1";
    await world.addChannel({ models: model });
    world.upstream.script(step);
    const response = await world.ask(
      { ...QUESTION, model, input: "hi", prompt: "hi", query: "a", documents: ["b"], voice: "alloy" },
      { path },
    );
    const text = await response.text();
    expect(response.status, text).toBeGreaterThanOrEqual(429);
    expect(text).toMatch(/饱和|凭证/);
    expect(text).not.toMatch(/quota|billing/);
  });

  it("is not mentioned amid a stream of pictures", async () => {
    const model = "gpt-image-1";
    await world.addChannel({ models: model });
    const piece = { type: "image_generation.partial_image", partial_image_index: 0, b64_json: "aaaa" };
    const events = [piece, { type: "error", error: EMPTY }];
    world.upstream.script(sse(...events.map((event) => `data: ${JSON.stringify(event)}\n\n`)));
    const response = await world.ask(
      { model, prompt: "hi", stream: true },
      { path: "/v1/images/generations" },
    );
    const text = await response.text();
    expect(text).toContain("饱和");
    expect(text).not.toMatch(/quota|billing/);
  });

  it("lets another channel answer, when it is reported as the first event of a stream, too", async () => {
    await world.setOption("RetryTimes", "1");
    await world.addChannel({ priority: 2 });
    await world.addChannel({ priority: 1 });
    const refused = sse(`data: ${JSON.stringify({ error: EMPTY })}\n\n`);
    world.upstream.script(refused, json(chatReply("hello")));
    const response = await world.ask({ ...QUESTION, stream: true });
    expect(await response.text()).toContain("hello");
  });
});
