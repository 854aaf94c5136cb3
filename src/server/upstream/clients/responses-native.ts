// OpenAI Responses between a client and an upstream that both speak it: what is read of it on the way (providers 17.3.4).
import { asObject, type JsonRecord } from "#server/upstream/hub.ts";
import { usageFromResponses } from "#server/upstream/hub-responses.ts";
import type { NativeFormat, NativeNews } from "./client.ts";
import { textIn } from "./read.ts";

const ENDS: ReadonlySet<unknown> = new Set(["response.completed", "response.incomplete", "response.failed"]);

export const responsesNative: NativeFormat = {
  // The events that close an item repeat its text. Those that begin and end anything have a status, the last one usage only mostly.
  keys: { text: ["delta"], finish: ["status"], usage: ["usage"], error: ["error"] },
  wholeKeys: { text: ["text", "arguments"], finish: [], usage: ["usage"], error: ["error"] },
  shortBytes: 0,
  holdsFinish: false,

  news(event: JsonRecord): NativeNews {
    const type = event["type"];
    if (type === "error") return { error: errorOf(event) };
    const response = asObject(event["response"]) ?? (event["object"] === "response" ? event : undefined);
    if (response === undefined) {
      const error = asObject(event["error"]);
      return error === undefined ? {} : { error: errorOf(error) };
    }
    const usage = asObject(response["usage"]);
    const isEnd = ENDS.has(type);
    return { usage, isFinish: isEnd, isEnd };
  },

  isReply: (body) => body["object"] === "response" || Array.isArray(body["output"]),
  usage: usageFromResponses,
};

function errorOf(error: JsonRecord): NonNullable<NativeNews["error"]> {
  const code = textIn(error, "code") ?? null;
  const message = textIn(error, "message") ?? "";
  const isLimit = code?.includes("rate_limit") === true;
  return { status: isLimit ? 429 : 502, message, code, type: "upstream_error" };
}
