// Normalizes replies on OpenAI's wire from vendors that deviate from it: content as a list of parts, other finish reasons. Everything
// else stays unchanged. Pure.
import type { Quirks } from "#contract/providers.ts";
import { FINISHES, splitContent } from "#server/upstream/hub/chat-reply.ts";
import { asList, asObject, type JsonRecord } from "#server/upstream/json/values.ts";

/** The normalized reply or chunk; undefined = no change needed, its bytes may pass. */
export function tidied(reply: JsonRecord, quirks: Quirks | undefined): JsonRecord | undefined {
  if (quirks?.ownWords !== true) return undefined;
  const choices = asList(reply["choices"]);
  const next = choices.map(tidiedChoice);
  return next.some((choice, at) => choice !== choices[at]) ? { ...reply, choices: next } : undefined;
}

function tidiedChoice(item: unknown): unknown {
  const choice = asObject(item);
  if (choice === undefined) return item;
  const word = choice["finish_reason"];
  const finish = typeof word === "string" ? FINISHES[word] : undefined;
  const isForeign = finish !== undefined && finish !== word;
  const renamed = isForeign ? { ...choice, finish_reason: finish } : choice;
  return withPlainContent(withPlainContent(renamed, "delta"), "message");
}

function withPlainContent(choice: JsonRecord, member: "delta" | "message"): JsonRecord {
  const message = asObject(choice[member]);
  if (message === undefined || !Array.isArray(message["content"])) return choice;
  const { text, thought } = splitContent(message["content"]);
  const plain = { ...message, content: text, ...(thought !== "" && { reasoning_content: thought }) };
  return { ...choice, [member]: plain };
}
