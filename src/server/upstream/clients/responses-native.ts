// OpenAI Responses between a client and an upstream that both speak it: what is read of it on the way (vendors/responses-events).

import { statusOfResponsesError, usageFromResponses } from "#server/upstream/hub/responses.ts";
import { asList, asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import type { NativeFormat, NativeNews } from "./client.ts";
import { textIn } from "./read.ts";
import { PROOF_PREFIX } from "./responses-input.ts";

const ENDS: ReadonlySet<unknown> = new Set(["response.completed", "response.incomplete"]);

export const responsesNative: NativeFormat = {
  name: "responses",
  // The events that close an item repeat its text. Those that begin and end anything have a status, the last one usage only mostly.
  keys: {
    text: ["delta"],
    media: ["partial_image_b64", "result"],
    finish: ["status"],
    usage: ["usage"],
    error: ["error"],
  },
  wholeKeys: { text: ["text", "arguments", "input"], finish: [], usage: ["usage"], error: ["error"] },
  shortBytes: 0,
  holdsFinish: false,

  news(event: JsonRecord): NativeNews {
    const type = event["type"];
    // Documented flat, and sent by OpenAI with the error as an object of its own.
    if (type === "error") return { error: errorOf(asObject(event["error"]) ?? event) };
    const response = asObject(event["response"]) ?? (event["object"] === "response" ? event : undefined);
    if (response === undefined) {
      const error = asObject(event["error"]);
      return error === undefined ? {} : { error: errorOf(error) };
    }
    const usage = asObject(response["usage"]);
    // The operator's account may be the reason.
    if (response["status"] === "failed") return { usage, error: errorOf(asObject(response["error"]) ?? {}) };
    const isEnd = ENDS.has(type);
    return { usage, isFinish: isEnd, isEnd };
  },

  isReply: (body) => body["object"] === "response" || Array.isArray(body["output"]),
  usage: usageFromResponses,
};

function errorOf(error: JsonRecord): NonNullable<NativeNews["error"]> {
  const code = textIn(error, "code") ?? null;
  const message = textIn(error, "message") ?? "";
  return { status: statusOfResponsesError(error), message, code, type: "upstream_error" };
}

/**
 * Whether an item of the input is a thought that its upstream could not read. One that another channel has written carries a proof of ours
 * or none: OpenAI refuses the first, and looks for the second among what it has stored, which is nothing (vendors/responses-stored). A
 * thought in clear words needs no proof: models that anybody may run put theirs into the content.
 */
export function isUnreadable(item: JsonRecord): boolean {
  if (item["type"] !== "reasoning") return false;
  const proof = textIn(item, "encrypted_content") ?? "";
  return proof === "" ? asList(item["content"]).length === 0 : proof.startsWith(PROOF_PREFIX);
}
