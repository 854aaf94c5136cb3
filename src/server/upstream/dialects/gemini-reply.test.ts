import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { wireOf } from "#contract/provider.ts";
import { providerOf } from "#contract/providers.ts";
import { foldReply, type HubChunk, ReplyFold } from "#server/upstream/hub/reply.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { gemini } from "./gemini.ts";

const provider = providerOf(24);
if (provider === undefined) throw new Error("no row for Gemini");
const wire = wireOf(provider, { key: "", baseUrl: "", other: "", model: "" });

const decoding = { wire, model: "m", seed: "abc" };

function decode(body: JsonRecord): readonly HubChunk[] {
  const found = gemini.decode(body, decoding);
  if ("kind" in found) throw new Error(found.message);
  return found;
}

function decodeStream(events: readonly JsonRecord[]): readonly HubChunk[] {
  const decoder = gemini.decoder(decoding);
  return events.flatMap((event) => {
    const found = decoder.take({ data: JSON.stringify(event), field: () => "" });
    if ("kind" in found) throw new Error(found.message);
    return found;
  });
}

describe("reply", () => {
  const answer = {
    candidates: [
      {
        content: {
          role: "model",
          parts: [
            { text: "hm", thought: true },
            { functionCall: { name: "get_weather", args: { city: "Rome" } }, thoughtSignature: "c2ln" },
          ],
        },
        finishReason: "STOP",
        index: 0,
      },
    ],
    usageMetadata: {
      promptTokenCount: 60,
      cachedContentTokenCount: 16,
      candidatesTokenCount: 9,
      thoughtsTokenCount: 31,
      totalTokenCount: 100,
    },
    modelVersion: "gemini-2.5-flash",
    responseId: "r",
  };

  it("is the documented example of vendors/gemini", () => {
    const { answers, usage, id } = foldReply(decode(answer));
    expect(id).toBe("r");
    expect(answers).toMatchObject([
      {
        text: "",
        thoughts: [{ text: "hm" }],
        toolCalls: [
          { id: "call_abcx0", name: "get_weather", arguments: '{"city":"Rome"}', signature: "c2ln" },
        ],
        finish: "tool_calls",
      },
    ]);
    expect(usage).toEqual({
      prompt_tokens: 60,
      completion_tokens: 40,
      total_tokens: 100,
      prompt_tokens_details: { cached_tokens: 16 },
      completion_tokens_details: { reasoning_tokens: 31 },
    });
  });

  it("is the same whole and streamed", () => {
    const part = fc.oneof(
      fc.record({ text: fc.string() }),
      fc.record({ text: fc.string(), thought: fc.constant(true) }),
      fc.record({
        functionCall: fc.record({ name: fc.string(), args: fc.dictionary(fc.string(), fc.string()) }),
      }),
      fc.record({ inlineData: fc.constant({ mimeType: "image/png", data: "AA" }) }),
    );
    const candidate = fc.record({
      parts: fc.array(part, { maxLength: 6 }),
      finishReason: fc.constantFrom("STOP", "MAX_TOKENS", "SAFETY", "FUNCTION_CALL"),
    });
    fc.assert(
      fc.property(fc.array(candidate, { minLength: 1, maxLength: 2 }), (candidates) => {
        const told = candidates.map(({ parts, finishReason }, index) => ({
          content: { parts },
          finishReason,
          index,
        }));
        const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 };
        const whole = { responseId: "r", candidates: told, usageMetadata };
        const events = candidates.flatMap(({ parts, finishReason }, index) => [
          ...parts.map((one) => ({ responseId: "r", candidates: [{ content: { parts: [one] }, index }] })),
          { responseId: "r", candidates: [{ content: { parts: [] }, finishReason, index }], usageMetadata },
        ]);
        const fold = new ReplyFold();
        fold.add(decodeStream(events));
        expect(fold.reply()).toEqual(foldReply(decode(whole)));
      }),
    );
  });

  it("never throws at any value of any member", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("candidates", "usageMetadata", "x"), fc.jsonValue()),
        (body) => {
          gemini.decode(body, decoding);
        },
      ),
    );
    const decoder = gemini.decoder(decoding);
    expect(decoder.take({ data: "no json", field: () => "" })).toEqual([]);
    expect(gemini.decode({ candidates: [{ content: null, index: "a" }, null, 3] }, decoding)).toEqual([
      { kind: "head", id: undefined, model: undefined },
    ]);
  });

  it("counts the tokens that the total has beyond its parts, and audio and images by kind", () => {
    const usageMetadata = {
      promptTokenCount: 10,
      toolUsePromptTokenCount: 5,
      totalTokenCount: 40,
      thoughtsTokenCount: 7,
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: 4 },
        { modality: "AUDIO", tokenCount: 6 },
      ],
      candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 12 }],
    };
    expect(foldReply(decode({ usageMetadata })).usage).toEqual({
      prompt_tokens: 15,
      completion_tokens: 25,
      total_tokens: 40,
      prompt_tokens_details: { audio_tokens: 6 },
      completion_tokens_details: { reasoning_tokens: 7, image_tokens: 12 },
    });
  });

  it("cites each web source once", () => {
    const grounded = (uri: string) => ({
      candidates: [{ groundingMetadata: { groundingChunks: [{ web: { uri, title: "t" } }] } }],
    });
    const chunks = decodeStream([grounded("https://a"), grounded("https://a"), grounded("https://b")]);
    expect(foldReply(chunks).answers[0]?.annotations).toMatchObject([
      { type: "url_citation", url_citation: { url: "https://a", title: "t" } },
      { url_citation: { url: "https://b" } },
    ]);
  });

  it("that ends at the limit of one request is truncated", () => {
    const content = { role: "model", parts: [{ text: "a" }] };
    const cut = { candidates: [{ content, finishReason: "CONTINUATION", continuationToken: "AbC=" }] };
    expect(foldReply(decode(cut)).answers).toMatchObject([{ text: "a", finish: "length" }]);
  });

  it.each([
    [{ promptFeedback: { blockReason: "SAFETY" } }, 400, "prompt_blocked"],
    [{ candidates: [{ finishReason: "MALFORMED_FUNCTION_CALL" }] }, 502, "malformed_function_call"],
    [{ error: { code: 503, message: "overloaded", status: "UNAVAILABLE" } }, 503, "UNAVAILABLE"],
  ])("that is none is an error: %j", (body, status, code) => {
    expect(gemini.decode(body, decoding)).toMatchObject({ kind: "error", status, code });
  });

  it("blames a bad key and an unsupported region on the channel", () => {
    const error = (message: string) => ({ error: { code: 400, message, status: "INVALID_ARGUMENT" } });
    expect(gemini.readError?.(400, error("API key not valid. Please pass a valid API key."))?.status).toBe(
      401,
    );
    expect(gemini.readError?.(400, error("User location is not supported for the API use."))?.status).toBe(
      403,
    );
    expect(gemini.readError?.(400, error("Invalid value"))).toBeUndefined();
    expect(gemini.readError?.(429, error("Your prepayment credits are depleted. Please go to"))?.status).toBe(
      402,
    );
    expect(gemini.readError?.(429, error("You exceeded your current quota"))).toBeUndefined();
  });
});
