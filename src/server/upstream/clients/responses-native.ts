// OpenAI Responses between a client and an upstream that both speak it: how the passing bytes are observed (vendors/responses-events).

import { statusOfResponsesError, usageFromResponses } from "#server/upstream/hub/responses.ts";
import { asList, asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import type { NativeFormat, NativeNews } from "./client.ts";
import { textIn } from "./read.ts";
import { PROOF_PREFIX } from "./responses-input.ts";

const ENDS: ReadonlySet<unknown> = new Set(["response.completed", "response.incomplete"]);

export const responsesNative: NativeFormat = {
  name: "responses",
  // Events that close an item repeat its text. Events that begin or end an item have a status; the last event usually has usage.
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
    // Documented as flat members; OpenAI sends the error as a nested object.
    if (type === "error") return { error: errorOf(asObject(event["error"]) ?? event) };
    const response = asObject(event["response"]) ?? (event["object"] === "response" ? event : undefined);
    if (response === undefined) {
      const error = asObject(event["error"]);
      return error === undefined ? {} : { error: errorOf(error) };
    }
    const usage = asObject(response["usage"]);
    // The operator's account may be the cause.
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
 * Whether an input item is a thought that its upstream could not read. A thought of another channel carries a signature written here or
 * none: OpenAI refuses the former, and looks up the latter among stored items, of which there are none (vendors/responses-stored). A
 * thought in plain text needs no signature: open models put theirs into the content.
 */
export function isUnreadable(item: JsonRecord): boolean {
  if (item["type"] !== "reasoning") return false;
  const proof = textIn(item, "encrypted_content") ?? "";
  return proof === "" ? asList(item["content"]).length === 0 : proof.startsWith(PROOF_PREFIX);
}
