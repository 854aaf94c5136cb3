// Embeddings and rerank answers whose upstream reported no usage (Gemini's API, Cohere's rerank, many self-hosted servers) get the usage
// that was booked: a client sees what it pays for. Pure.
import type { WholeReply } from "#server/upstream/call/call.ts";
import { editObject, findMember, wholeObject } from "#server/upstream/json/object.ts";
import { asNumber } from "#server/upstream/json/values.ts";
import type { TokenUsage } from "#server/upstream/usage.ts";

/** The member that identifies such an answer, and the one with its tokens: as OpenAI's embeddings, as Jina's rerank (vendors/rerank). */
const SHAPES = {
  embeddings: { substance: "data", told: "prompt_tokens" },
  rerank: { substance: "results", told: "total_tokens" },
} as const;

/** An answer of such a shape with the tokens it was charged for; any other answer, and one that has its usage, is unchanged. */
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
