// The most that a call of text can have used: an upstream's usage beyond it is impossible (requirements M17). Pure.

import { type IncomingRequest, WITHOUT_OUTPUT } from "#server/relay/text/incoming.ts";
import type { StreamReply, WholeReply } from "#server/upstream/call/call.ts";
import { asNumber, asObject } from "#server/upstream/json/values.ts";
import type { UsageBounds } from "#server/upstream/usage.ts";
import { estimatePrompt } from "./estimate.ts";

/** The most that is believed of an upstream that was given no limit. */
const MAX_BELIEVED_OUTPUT = 1_000_000;
/** A prompt has no more tokens than bytes, but for instructions that an upstream adds: Grok's have some 700, resellers' a few thousand. */
const PROMPT_SLACK = 4_096;
/** The tokens of a picture, a sound or a document that is given by address, or compressed. */
const MEDIA_TOKENS = 16_384;
/** Reasoning that is reported but not shown, and that a vendor may count beyond the client's limit. */
const MOST_REASONING = 131_072;
/** Documents at addresses, and an upstream's own searches, can fill a whole context. */
const FOUND_TOKENS = 1_048_576;
/** The real count is at most so many times the estimate. */
const REREAD = 3;

export function boundsOf({ endpoint, body, tally, maxTokens, choices }: IncomingRequest): UsageBounds {
  const promptTokens = body.bytes.length + PROMPT_SLACK + MEDIA_TOKENS * tally.media;
  if (WITHOUT_OUTPUT.has(endpoint)) return { promptTokens, completionTokens: 0 };
  const each =
    maxTokens === undefined || maxTokens === 0
      ? MAX_BELIEVED_OUTPUT
      : Math.min(maxTokens, MAX_BELIEVED_OUTPUT);
  return { promptTokens, completionTokens: each * choices };
}

/**
 * The bounds for a usage that is beyond the first ones: an upstream may ignore the client's limit, and then what came counts;
 * and the documents and web pages it reads are not in the request.
 */
export function widened(
  bounds: UsageBounds,
  incoming: IncomingRequest,
  reply: WholeReply | StreamReply,
): UsageBounds {
  const { endpoint, model, body } = incoming;
  const isOpen = FINDERS.test(model) || FINDINGS.some((name) => body.bytes.includes(name));
  const documents = endpoint === "rerank" ? estimatePrompt(incoming) : 0;
  const heard = WITHOUT_OUTPUT.has(endpoint) ? 0 : Buffer.byteLength(reply.text()) + hiddenIn(reply);
  return {
    promptTokens: bounds.promptTokens + (isOpen ? FOUND_TOKENS : 0) + documents * REREAD,
    completionTokens: Math.max(bounds.completionTokens, heard),
  };
}

function hiddenIn({ usage }: WholeReply | StreamReply): number {
  const details =
    asObject(usage?.["completion_tokens_details"]) ?? asObject(usage?.["output_tokens_details"]);
  return Math.min(asNumber(details?.["reasoning_tokens"]) ?? 0, MOST_REASONING);
}

/** Models that search by themselves. */
const FINDERS = /search|research|internet|sonar|compound/i;
/** Begins of the names by which requests refer to documents and allow searches, in all formats. */
const FINDINGS = [
  "file",
  "document",
  "video_url",
  "cachedContent",
  "cached_content",
  // Gemini 4's answer so far, which stays at Google's, is read again (vendor docs, "Long decode").
  "continuation",
  "web_",
  "$web_",
  "googleSearch",
  "google_search",
  "urlContext",
  "url_context",
  "code_",
  "codeExecution",
  "computer",
  "mcp",
  "plugins",
  "enable_search",
  "search_",
  "bash_",
  "text_editor",
  "tool_search",
  "data_sources",
  "knowledge",
  "retrieval",
].map((name) => Buffer.from(`"${name}`));
