// Images that are asynchronous tasks at the upstream: they are polled until they are done, and no longer than the client waits.
import { describe, expect, it } from "vitest";
import { providerOf } from "#contract/providers.ts";
import type { EgressRequest, Sink } from "#server/egress/send.ts";
import { attempt } from "#server/upstream/call/attempt.ts";
import { Cancellation } from "#server/upstream/cancellation.ts";
import { createTokenCache } from "#server/upstream/signers/token-cache.ts";
import { clientBody } from "#test/worlds/wire-cases.ts";

const provider = providerOf(17) ?? expect.fail("no row");
const pending = { output: { task_id: "a/1", task_status: "PENDING" } };
const running = { output: { task_id: "a/1", task_status: "RUNNING" } };
const done = {
  output: { task_id: "a/1", task_status: "SUCCEEDED", results: [{ url: "https://x.example/1" }] },
};

/** Requests an image; the upstream gives these replies in turn, the last one repeatedly. */
function draw(answers: readonly object[], cancellation = new Cancellation(), askAgainMs = 1) {
  const sent: EgressRequest[] = [];
  const send = (order: EgressRequest, sink: Sink) => {
    const answer = answers[Math.min(sent.length, answers.length - 1)];
    sent.push(order);
    queueMicrotask(() => {
      sink.onStart(200, { "content-type": "application/json" });
      sink.onData(Buffer.from(JSON.stringify(answer)));
      sink.onEnd();
    });
    return { isSent: true, pause: () => undefined, resume: () => undefined, abort: () => undefined };
  };
  const now = () => 1_760_000_000_000;
  const result = attempt(
    {
      egress: { send },
      credentials: createTokenCache({ egress: { send }, now }),
      now,
      optionText: () => "",
      limits: { firstByteMs: 0, idleMs: 0, totalMs: 0, streamMs: 0 },
      askAgainMs,
    },
    {
      target: { provider, key: "sk-key", baseUrl: "https://dash.example/api/v1", other: "" },
      endpoint: "images",
      body: clientBody(Buffer.from('{"model":"wanx-v1","prompt":"a dot"}')),
      model: "wanx-v1",
      originModel: "wanx-v1",
      isStream: false,
      isArray: false,
      apiVersion: "",
      passHeaders: [],
      seed: "seed",
      cancellation,
      trace: { firstByteMs: 0, isSent: false },
    },
  );
  return { sent, result };
}

describe("an image that is an asynchronous task", () => {
  it("is polled with the same key until it is done", async () => {
    const { sent, result } = draw([pending, running, done]);
    const reply = await result;
    if (reply.kind !== "whole") throw new Error("no picture");
    expect(JSON.parse(reply.body.toString())).toMatchObject({ data: [{ url: "https://x.example/1" }] });
    expect(sent.map(({ method, origin, path }) => `${method} ${origin}${path}`)).toEqual([
      "POST https://dash.example/api/v1/services/aigc/text2image/image-synthesis",
      "GET https://dash.example/api/v1/tasks/a%2F1",
      "GET https://dash.example/api/v1/tasks/a%2F1",
    ]);
    expect(sent.map(({ body }) => body === undefined)).toEqual([false, true, true]);
    for (const { headers } of sent) expect(headers).toContain("Bearer sk-key");
  });

  it("that fails gives the upstream's fault, and one that is never done a timeout", async () => {
    const failed = { output: { task_id: "a", task_status: "FAILED", code: "InternalError", message: "x" } };
    await expect(draw([pending, failed]).result).resolves.toMatchObject({ kind: "fault", status: 500 });
    const { sent, result } = draw([pending]);
    await expect(result).resolves.toMatchObject({ kind: "fault", status: 504 });
    expect(sent.length).toBeLessThanOrEqual(61);
  });

  it("is abandoned when the client has left", async () => {
    const cancellation = new Cancellation();
    const { sent, result } = draw([pending], cancellation, 60_000);
    await expect.poll(() => sent.length).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    cancellation.cancel();
    await expect(result).resolves.toMatchObject({ kind: "fault", status: 499 });
    expect(sent).toHaveLength(1);
  });
});
