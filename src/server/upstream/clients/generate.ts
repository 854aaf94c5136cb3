// Gemini's generateContent as a client format (vendors/gemini-clients): parses bodies into the hub, renders replies and streams from it.

import { usageOf } from "#server/upstream/dialects/gemini-reply.ts";
import { asList, asNumber, asObject, asText, type JsonRecord } from "#server/upstream/json/values.ts";
import type { ClientDialect, NativeFormat, NativeNews } from "./client.ts";
import { GenerateRenderer, renderReply } from "./generate-reply.ts";
import { parseGenerate } from "./generate-request.ts";

export const generate: ClientDialect = {
  parse: parseGenerate,
  render: renderReply,
  renderer: (context) => new GenerateRenderer(context),
};

// How Gemini's own answers are observed while they pass through unchanged (vendors/gemini-reply). Pure.

export const generateNative: NativeFormat = {
  name: "generate",
  keys: {
    text: ["text"],
    finish: ["finishReason", "blockReason"],
    usage: ["usageMetadata"],
    error: ["error"],
  },
  shortBytes: 0,
  repeatsUsage: true,
  holdsFinish: true,

  news(event): NativeNews {
    const isFinish =
      asText(asObject(event["promptFeedback"])?.["blockReason"]) !== undefined ||
      asList(event["candidates"]).some((one) => asText(asObject(one)?.["finishReason"]) !== undefined);
    return { usage: asObject(event["usageMetadata"]), isFinish, error: errorOf(event) };
  },

  calls: (body) => asList(body["candidates"]).flatMap(partsOf).map(callIn).join(""),

  isReply: (body) =>
    Array.isArray(body["candidates"]) ||
    asObject(body["promptFeedback"]) !== undefined ||
    asObject(body["usageMetadata"]) !== undefined,

  usage: (raw) => usageOf(raw) ?? {},
};

/** Answers of countTokens. */
export const generateCount: NativeFormat = {
  ...generateNative,
  isReply: (body) => asNumber(body["totalTokens"]) !== undefined,
};

function partsOf(candidate: unknown): readonly unknown[] {
  return asList(asObject(asObject(candidate)?.["content"])?.["parts"]);
}

function callIn(part: unknown): string {
  const call = asObject(asObject(part)?.["functionCall"]);
  return call === undefined ? "" : JSON.stringify(call["args"] ?? {});
}

function errorOf(event: JsonRecord): NativeNews["error"] {
  const error = asObject(event["error"]);
  if (error === undefined) return undefined;
  const status = asNumber(error["code"]) ?? 500;
  const code = asText(error["status"]) ?? status;
  return { status, message: asText(error["message"]) ?? "", code, type: "gemini_error" };
}
