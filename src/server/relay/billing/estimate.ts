// The tokens of a call without counting: an upper bound for the reservation, a lower one for the charge when its process died and
// the text can no longer be counted. Pure.

import type { IncomingRequest } from "#server/relay/text/incoming.ts";
import { valuesOf } from "#server/upstream/call/body.ts";
import type { ReplyOutput } from "#server/upstream/handlers/handler.ts";
import { approximateTokens, TOKENS_PER_BYTE } from "#server/upstream/tokens/counter.ts";
import { promptParts } from "#server/upstream/tokens/prompt.ts";

/** An image of 1024 × 1024, and any image in low detail (requirements W11.3). */
const IMAGE_TOKENS = 765;
const LEAST_IMAGE_TOKENS = 85;
/** Most text has at least four bytes a token, in whatever language, and at most six; code has fewer. */
const LEAST_BYTES_PER_TOKEN = 4;
const MOST_BYTES_PER_TOKEN = 6;
/** Of text in any language. */
const LEAST_CHARS_PER_TOKEN = 1.2;

/** The most a prompt can have: text by its bytes, media by the cost of an image of common size. Unit: LLM tokens. */
export function estimatePrompt(incoming: IncomingRequest): number {
  const { endpoint, tally, body } = incoming;
  // Its question is read with each document.
  if (endpoint === "rerank") return approximateTokens(promptParts(endpoint, valuesOf(body)));
  return Math.trunc(tally.textBytes * TOKENS_PER_BYTE) + tally.media * IMAGE_TOKENS + given(incoming);
}

/** The least a prompt can have. Unit: LLM tokens. */
export function leastPromptTokens(incoming: IncomingRequest): number {
  const { textBytes, media } = incoming.tally;
  return Math.trunc(textBytes / MOST_BYTES_PER_TOKEN) + media * LEAST_IMAGE_TOKENS + given(incoming);
}

/** The most that text can have: with events of one token each, the events count. Unit: LLM tokens. */
export function estimateOutput({ textPieces, textBytes }: ReplyOutput): number {
  return Math.max(textPieces, Math.ceil(textBytes / LEAST_BYTES_PER_TOKEN));
}

/** The least that text can have: an event has a token or more, unless they come character by character. Unit: LLM tokens. */
export function leastOutputTokens({ textPieces, textChars, textBytes }: ReplyOutput): number {
  const pieces = textChars < textPieces * LEAST_CHARS_PER_TOKEN ? 0 : textPieces;
  return Math.max(pieces, Math.trunc(textBytes / MOST_BYTES_PER_TOKEN));
}

/** A prompt can be given as token numbers. */
function given({ endpoint, tally }: IncomingRequest): number {
  return endpoint === "completions" || endpoint === "embeddings" ? tally.numbers : 0;
}
