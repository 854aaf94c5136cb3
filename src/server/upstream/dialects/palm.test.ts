import { describe, expect, it } from "vitest";
import { wireOf } from "#contract/provider.ts";
import { providerOf } from "#contract/providers.ts";
import type { HubRequest } from "#server/upstream/hub/request.ts";
import { palm } from "./palm.ts";

const provider = providerOf(11);
if (provider === undefined) throw new Error("no row for PaLM");
const wire = wireOf(provider, { key: "", baseUrl: "", other: "", model: "PaLM-2" });
const target = {
  baseUrl: wire.baseUrl,
  other: "",
  model: "PaLM-2",
  apiVersion: "",
  isStream: true,
};
const request: HubRequest = {
  model: "PaLM-2",
  isStream: true,
  messages: [
    { role: "system", parts: [{ kind: "text", text: "Be brief." }] },
    { role: "user", parts: [{ kind: "text", text: "Hi" }] },
    { role: "user", parts: [{ kind: "text", text: "there" }] },
    { role: "assistant", parts: [{ kind: "text", text: "Hello" }], thoughts: [], toolCalls: [] },
  ],
  temperature: 1.4,
  n: 2,
  maxTokens: 5,
};
const decoding = { wire, model: "PaLM-2", seed: "s" };

describe("PaLM", () => {
  it("sends Google's name of the model and requests no stream", () => {
    expect(palm.address("chat", wire, target)).toBe(
      "https://generativelanguage.googleapis.com/v1beta2/models/chat-bison-001:generateMessage",
    );
  });

  it("takes turns of two authors", () => {
    expect(palm.encode(request, { wire, target })).toEqual({
      body: {
        prompt: {
          context: "Be brief.",
          messages: [
            { author: "0", content: "Hi\nthere" },
            { author: "1", content: "Hello" },
          ],
        },
        temperature: 1,
        candidateCount: 2,
      },
      dropped: ["max_tokens"],
    });
  });

  it("refuses unsupported members", () => {
    expect(() => palm.encode({ ...request, stop: ["x"] }, { wire, target })).toThrow("stop");
    const image = { kind: "image", source: { kind: "url", url: "https://x" } } as const;
    expect(() =>
      palm.encode({ ...request, messages: [{ role: "user", parts: [image] }] }, { wire, target }),
    ).toThrow("messages[].content");
  });

  it("reads answers, filters and errors", () => {
    expect(palm.decode({ candidates: [{ author: "1", content: "A" }, { content: "B" }] }, decoding)).toEqual([
      { kind: "text", index: 0, text: "A" },
      { kind: "finish", index: 0, reason: "stop" },
      { kind: "text", index: 1, text: "B" },
      { kind: "finish", index: 1, reason: "stop" },
    ]);
    expect(palm.decode({ filters: [{ reason: "SAFETY" }] }, decoding)).toMatchObject({ status: 400 });
    expect(palm.decode({}, decoding)).toMatchObject({ status: 502 });
    const error = { code: 404, message: "gone", status: "NOT_FOUND" };
    expect(palm.decode({ error }, decoding)).toMatchObject({ status: 404, message: "gone" });
  });
});
