// Anthropic Messages between a client and an upstream that both speak it: how the passing bytes are observed (vendors/claude-messages).
import { errorIn } from "#server/upstream/dialects/anthropic-reply.ts";
import { isZero, openAiUsage } from "#server/upstream/dialects/anthropic-usage.ts";
import { asList, asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import type { NativeFormat, NativeNews } from "./client.ts";

export const messagesNative: NativeFormat = {
  name: "messages",
  keys: {
    text: ["text", "thinking", "partial_json"],
    finish: ["stop_reason"],
    usage: ["usage"],
    error: ["error"],
  },
  // message_stop and content_block_stop; a short delta is parsed in vain.
  shortBytes: 48,
  holdsFinish: false,
  lastEvent: 'event: message_stop\ndata: {"type":"message_stop"}\n\n',
  news,
  calls: (body) => asList(body["content"]).map(callIn).join(""),
  isReply: (body) => body["type"] === "message" || Array.isArray(body["content"]),
  usage: (raw) => openAiUsage(raw) ?? {},
};

/** The answer to a count of tokens: a number, no reply. Source: vendors/claude-count. */
export const messagesCount: NativeFormat = {
  ...messagesNative,
  isReply: (body) => typeof body["input_tokens"] === "number",
};

function callIn(block: unknown): string {
  const input = asObject(block)?.["input"];
  return input === undefined ? "" : JSON.stringify(input);
}

function news(event: JsonRecord): NativeNews {
  switch (event["type"]) {
    case "message_start":
      return { usage: asObject(asObject(event["message"])?.["usage"]) };
    case "message_delta":
      return {
        usage: withoutZeros(asObject(event["usage"])),
        isFinish: typeof asObject(event["delta"])?.["stop_reason"] === "string",
      };
    case "message_stop":
      return { isFinish: true, isEnd: true };
    case "message":
      return { usage: asObject(event["usage"]) };
    default: {
      const error = errorIn(event);
      return error === undefined ? { usage: asObject(event["usage"]) } : { error };
    }
  }
}

/** A zero never overwrites what message_start reported: vendors repeat the object with its input counts empty (vendors/claude-events). */
function withoutZeros(usage: JsonRecord | undefined): JsonRecord | undefined {
  if (usage === undefined) return undefined;
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => !isZero(value)));
}
