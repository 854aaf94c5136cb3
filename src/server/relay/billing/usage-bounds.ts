// The most that a call of text can honestly have used: what an upstream tells beyond it cannot be (requirements M17). Pure.

import { type IncomingRequest, WITHOUT_OUTPUT } from "#server/relay/text/incoming.ts";
import type { StreamReply, WholeReply } from "#server/upstream/call/call.ts";
import { asNumber, asObject } from "#server/upstream/json/values.ts";
import type { UsageBounds } from "#server/upstream/usage.ts";
import { estimatePrompt } from "./estimate.ts";

/** The most that is believed of an upstream that was given no limit. */
const MAX_BELIEVED_OUTPUT = 1_000_000;
/** A prompt cannot have more tokens than bytes, but for instructions that an upstream adds: Grok's have some 700, resellers' a few thousand. */
const PROMPT_SLACK = 4_096;
/** What a picture, a sound or a document comes to that stands at an address, or packed. */
const MEDIA_TOKENS = 16_384;
/** Reasoning that is told and not shown, and that a vendor may count beyond the client's limit. */
const MOST_REASONING = 131_072;
/** Documents at addresses, and what an upstream looks up by itself, can fill all of a context. */
const FOUND_TOKENS = 1_048_576;
/** What is counted roughly is at most so many times as much. */
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
 * The bounds for a usage that is beyond the first ones: an upstream may not keep the client's limit, and has then put out what came;
 * and what it reads of documents and the web is not in the request.
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
/** Begins of the names by which requests point to documents and let upstreams look things up, in all formats. */
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
