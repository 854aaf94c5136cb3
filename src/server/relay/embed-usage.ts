// Vectors whose upstream told no usage (Gemini's API, PaLM, many a server of one's own) come with what they were booked with: a client
// sees what it pays for. Pure.
import type { WholeReply } from "#server/upstream/call.ts";
import { asNumber, type TokenUsage } from "#server/upstream/hub.ts";
import { findMember, wholeObject } from "#server/upstream/json.ts";
import { editObject } from "#server/upstream/json-edit.ts";

/** An answer in OpenAI's shape with the tokens it was charged for; any other answer, and one that tells them already, is as it was. */
export function withUsage(reply: WholeReply, { promptTokens }: TokenUsage): WholeReply {
  if ((asNumber(reply.usage?.["prompt_tokens"]) ?? 0) > 0) return reply;
  const object = wholeObject(reply.body);
  if (object === undefined || findMember(object, "data") === undefined) return reply;
  const usage = { ...reply.usage, prompt_tokens: promptTokens, total_tokens: promptTokens };
  const set = new Map([["usage", JSON.stringify(usage)]]);
  return { ...reply, body: editObject(reply.body, object, { set }) };
}
