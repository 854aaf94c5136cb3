// The operator's account at a vendor has run out of money: another channel may answer, and the client is told nothing of whose money it was.
import { describe, expect, it } from "vitest";
import { chatReply, chunk, json, sse } from "#test/fake-upstream.ts";
import { createRelayWorld, QUESTION } from "#test/relay-world.ts";

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

  it("says nothing of it within a stream either", async () => {
    const event = (type: string, fields: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 0, ...fields })}\n\n`;
    const created = event("response.created", {
      response: { id: "r", object: "response", status: "in_progress" },
    });
    const failed = event("error", { error: EMPTY });
    const text = event("response.output_text.delta", { delta: "hello" });
    const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
    const cases = [
      ["/v1/responses", created, failed],
      ["/v1/responses", created, text, failed],
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

  it("lets another channel answer, when it is told as the first event of a stream, too", async () => {
    await world.setOption("RetryTimes", "1");
    await world.addChannel({ priority: 2 });
    await world.addChannel({ priority: 1 });
    const refused = sse(`data: ${JSON.stringify({ error: EMPTY })}\n\n`);
    world.upstream.script(refused, json(chatReply("hello")));
    const response = await world.ask({ ...QUESTION, stream: true });
    expect(await response.text()).toContain("hello");
  });
});
