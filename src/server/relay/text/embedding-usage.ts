// Vectors and orders of documents whose upstream told no usage (Gemini's API, Cohere's rerank, many a server of one's own) come with what
// they were booked with: a client sees what it pays for. Pure.
import type { WholeReply } from "#server/upstream/call/call.ts";
import { editObject } from "#server/upstream/json/edit.ts";
import { findMember, wholeObject } from "#server/upstream/json/scan.ts";
import { asNumber } from "#server/upstream/json/values.ts";
import type { TokenUsage } from "#server/upstream/usage.ts";

/** What makes an answer one, and where its tokens are told: embeddings as OpenAI has them, rerank as Jina does (vendors/rerank). */
const SHAPES = {
  embeddings: { substance: "data", told: "prompt_tokens" },
  rerank: { substance: "results", told: "total_tokens" },
} as const;

/** An answer of such a shape with the tokens it was charged for; any other answer, and one that tells them already, is as it was. */
export function withUsage(
  reply: WholeReply,
  endpoint: keyof typeof SHAPES,
  { promptTokens }: TokenUsage,
): WholeReply {
  const { substance, told } = SHAPES[endpoint];
  if ((asNumber(reply.usage?.[told]) ?? 0) > 0) return reply;
  const object = wholeObject(reply.body);
  if (object === undefined || findMember(object, substance) === undefined) return reply;
  const usage = { ...reply.usage, prompt_tokens: promptTokens, total_tokens: promptTokens };
  const set = new Map([["usage", JSON.stringify(usage)]]);
  return { ...reply, body: editObject(reply.body, object, { set }) };
}
