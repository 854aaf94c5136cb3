// A reply as a Responses object and its items (vendors/responses-reply, requirements T18.5): shared by the whole answer and the last event
// of a stream.

import type { FinishReason, HubAnswer } from "#server/upstream/hub/reply.ts";
import type { HubThought } from "#server/upstream/hub/request.ts";
import { usageToResponses } from "#server/upstream/hub/responses.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import type { RenderContext } from "./client.ts";
import { PROOF_PREFIX } from "./responses-input.ts";
import { itemOfCall, type ToolBook } from "./responses-tools.ts";

export interface Outcome {
  readonly output: readonly JsonRecord[];
  readonly finish: FinishReason | undefined;
  readonly usage: JsonRecord | undefined;
}

/**
 * Ids of items: unique in a response, and equal in its whole and its streamed form. Clients send them back, and OpenAI refuses an id
 * without the prefix of its item type.
 */
export const itemIds = {
  thought: (seed: string, at: number) => `rs_${seed}${at}`,
  message: (seed: string, at: number) => `msg_${seed}${at}`,
  call: (seed: string, at: number, isCustom = false) => `${isCustom ? "ctc" : "fc"}_${seed}${at}`,
} as const;

/** Settings that a response repeats, with OpenAI's defaults. */
function settingsOf(body: JsonRecord): JsonRecord {
  const given = (name: string, fallback: unknown) => body[name] ?? fallback;
  return {
    instructions: given("instructions", null),
    max_output_tokens: given("max_output_tokens", null),
    metadata: given("metadata", {}),
    parallel_tool_calls: given("parallel_tool_calls", true),
    previous_response_id: null,
    reasoning: given("reasoning", { effort: null, summary: null }),
    service_tier: given("service_tier", "default"),
    store: false,
    temperature: given("temperature", 1),
    text: given("text", { format: { type: "text" } }),
    tool_choice: given("tool_choice", "auto"),
    tools: given("tools", []),
    top_p: given("top_p", 1),
    truncation: given("truncation", "disabled"),
    user: given("user", null),
  };
}

type Shell = Pick<RenderContext, "seed" | "created" | "model" | "body">;

function shell(context: Shell, status: string): JsonRecord {
  const { seed, created, model, body } = context;
  return {
    id: `resp_${seed}`,
    object: "response",
    created_at: created,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    model,
    access_programs: null,
    ...settingsOf(body),
  };
}

/** A response in progress. */
export function openResponse(context: Shell): JsonRecord {
  return { ...shell(context, "in_progress"), output: [], usage: null };
}

/** A failed response. Strict clients need all members, and a code that is a string. */
export function failedResponse(
  context: Shell,
  { code, message }: { readonly code: string | null; readonly message: string },
): JsonRecord {
  const error = { code: code ?? "server_error", message };
  return { ...shell(context, "failed"), error, output: [], usage: null };
}

/** A finished response. */
export function responseOf(context: Shell, { output, finish, usage }: Outcome): JsonRecord {
  const reason =
    finish === "length" ? "max_output_tokens" : finish === "content_filter" ? "content_filter" : undefined;
  return {
    ...shell(context, reason === undefined ? "completed" : "incomplete"),
    ...(reason !== undefined && { incomplete_details: { reason } }),
    output,
    usage: usage === undefined ? null : usageToResponses(usage),
  };
}

/** The items of a whole answer: thoughts, the message, calls. */
export function itemsOf(answer: HubAnswer, seed: string, book: ToolBook): JsonRecord[] {
  const items: JsonRecord[] = answer.thoughts
    .filter(({ text, signature }) => text !== "" || signature !== undefined)
    .map((thought, at) => thoughtItem(thought, itemIds.thought(seed, at)));
  if (answer.text !== "" || answer.refusal !== "" || items.length + answer.toolCalls.length === 0)
    items.push(messageItem(answer, itemIds.message(seed, items.length)));
  for (const call of answer.toolCalls)
    items.push(itemOfCall(call, itemIds.call(seed, items.length, call.isCustom), book));
  return items;
}

/** A thought as a reasoning item; its signature is in the member that clients send back unchanged. */
export function thoughtItem({ text, signature }: HubThought, id: string): JsonRecord {
  return {
    id,
    type: "reasoning",
    summary: text === "" ? [] : [{ type: "summary_text", text }],
    ...(signature !== undefined && { encrypted_content: PROOF_PREFIX + signature }),
  };
}

/** Text and refusal of an answer as a message item. */
export function messageItem(
  { text, refusal, annotations, logprobs }: Pick<HubAnswer, "text" | "refusal" | "annotations" | "logprobs">,
  id: string,
): JsonRecord {
  const content = [
    ...(text === "" && refusal !== "" ? [] : [textPart(text, annotations, logprobs)]),
    ...(refusal === "" ? [] : [{ type: "refusal", refusal }]),
  ];
  return { id, type: "message", status: "completed", role: "assistant", content };
}

export function textPart(
  text: string,
  annotations: readonly JsonRecord[],
  logprobs: readonly unknown[],
): JsonRecord {
  return { type: "output_text", text, annotations: annotations.map(flatAnnotation), logprobs };
}

/** Chat nests the members of a citation, Responses does not. */
export function flatAnnotation(annotation: JsonRecord): JsonRecord {
  const { url_citation: citation, ...rest } = annotation;
  return typeof citation === "object" && citation !== null ? { ...rest, ...citation } : annotation;
}
