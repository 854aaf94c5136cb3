// AI Proxy's library: unsupported members are refused by name, unknown events never throw, documents are listed once.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { providerOf } from "#contract/providers.ts";
import { foldReply } from "#server/upstream/hub/reply.ts";
import type { HubRequest } from "#server/upstream/hub/request.ts";
import { aiproxy } from "./aiproxy.ts";

const wire = providerOf(21) ?? expect.fail("no row");
const target = { baseUrl: "https://a.example", other: "7", model: "m", apiVersion: "", isStream: true };
const DECODE = { wire, model: "m", seed: "seed" };

function encode(change: Partial<HubRequest>) {
  const messages: HubRequest["messages"] = [{ role: "user", parts: [{ kind: "text", text: "hi" }] }];
  return aiproxy.encode({ model: "m", isStream: true, messages, ...change }, { wire, target });
}

describe("a library", () => {
  it.each<[string, Partial<HubRequest>]>([
    ["messages", { messages: [] }],
    ["tools", { tools: [{ kind: "web-search", options: {} }] }],
    ["response_format", { format: { kind: "json" } }],
    ["stop", { stop: ["x"] }],
    [
      "messages[].content",
      {
        messages: [
          { role: "user", parts: [{ kind: "image", source: { kind: "url", url: "https://a.example" } }] },
        ],
      },
    ],
  ])("refuses %s by name", (what, change) => {
    expect(() => encode(change)).toThrow(expect.objectContaining({ what }));
  });

  it("reports what it does not use", () => {
    expect(encode({ user: "u", maxTokens: 5, seed: 1 }).dropped).toEqual(["max_tokens", "seed", "user"]);
  });

  it("lists its documents once, however the stream ends", () => {
    const say = (data: string) => aiproxy.decoder(DECODE).take({ data, field: () => "" });
    expect(say("[DONE]")).toEqual([{ kind: "finish", index: 0, reason: "stop" }, { kind: "end" }]);
    const decoder = aiproxy.decoder(DECODE);
    const events = ['{"content":"a","documents":[{"title":"T","url":"U"}]}', '{"content":"b"}', "[DONE]"];
    const found = events.flatMap((data) => {
      const taken = decoder.take({ data, field: () => "" });
      return "kind" in taken ? expect.fail(taken.message) : taken;
    });
    expect(foldReply(found).answers[0]?.text).toBe("ab\n\n参考文档：\n1. [T](U)\n");
  });

  it("never throws, for any event", () => {
    fc.assert(
      fc.property(fc.array(fc.json()), (events) => {
        const decoder = aiproxy.decoder(DECODE);
        for (const data of events) decoder.take({ data, field: () => "" });
      }),
    );
  });
});
