// Embeddings and rerank answers whose upstream reported no usage (Gemini's API, Cohere's rerank, many self-hosted servers) get the usage
// that was booked: a client sees what it pays for. Pure.
import type { EndpointName } from "#contract/providers.ts";
import type { WholeReply } from "#server/upstream/call/call.ts";
import { editObject, findMember, wholeObject } from "#server/upstream/json/object.ts";
import { asNumber } from "#server/upstream/json/values.ts";
import type { TokenUsage } from "#server/upstream/usage.ts";
import { TEXT_ENDPOINTS } from "./endpoints.ts";

/** An answer that tells its usage with the tokens it was charged for; any other answer, and one that has its usage, is unchanged. */
export function withUsage(
  reply: WholeReply,
  endpoint: EndpointName,
  { promptTokens }: TokenUsage,
): WholeReply {
  const place = TEXT_ENDPOINTS[endpoint]?.usage;
  if (place === undefined || (asNumber(reply.usage?.[place.tokens]) ?? 0) > 0) return reply;
  const object = wholeObject(reply.body);
  if (object === undefined || findMember(object, place.result) === undefined) return reply;
  const usage = { ...reply.usage, prompt_tokens: promptTokens, total_tokens: promptTokens };
  const set = new Map([["usage", JSON.stringify(usage)]]);
  return { ...reply, body: editObject(reply.body, object, { set }) };
}
