// A whole reply as an Anthropic message, and the parts that streams share with it (vendors/claude-messages, requirements T18.4).

import type { FinishReason, HubAnswer, HubReply } from "#server/upstream/hub/reply.ts";
import { asNumber, asObject, asText, type JsonRecord, readJson } from "#server/upstream/json/values.ts";
import type { RenderContext } from "./client.ts";

/** One message, made of the first answer: this format has only one. */
export function renderMessage(reply: HubReply, context: RenderContext): JsonRecord {
  const answer = reply.answers.find(({ index }) => index === 0);
  const content = answer === undefined ? [] : contentOf(answer, context.seed);
  return {
    id: messageId(reply.id, context.seed),
    type: "message",
    role: "assistant",
    model: context.model,
    content,
    ...stopOf(answer?.finish, answer?.stopSequence, (answer?.toolCalls.length ?? 0) > 0),
    usage: anthropicUsage(reply.usage),
  };
}

function contentOf(answer: HubAnswer, seed: string): readonly JsonRecord[] {
  const texts = [answer.text, answer.refusal, ...answer.images.map(imageText)].filter((text) => text !== "");
  const citations = answer.annotations.flatMap((annotation) => citationOf(annotation, answer.text) ?? []);
  return [
    ...answer.thoughts.map(({ text, signature, redacted }) =>
      redacted === undefined
        ? { type: "thinking", thinking: text, signature: signature ?? "" }
        : { type: "redacted_thinking", data: redacted },
    ),
    ...texts.map((text, at) => ({
      type: "text",
      text,
      ...(at === 0 && citations.length > 0 && { citations }),
    })),
    ...answer.toolCalls.map((call, at) => ({
      type: "tool_use",
      id: call.id === "" ? toolId(seed, at) : call.id,
      name: call.name,
      input: inputOf(call.arguments, call.isCustom === true),
    })),
  ];
}

/** Unfinished arguments reach the client unchanged, under Anthropic's member name. */
function inputOf(text: string, isCustom: boolean): JsonRecord {
  return isCustom ? { input: text } : (readJson(text) ?? { INVALID_JSON: text });
}

/** Source: requirements T18.4. */
export function messageId(id: string | undefined, seed: string): string {
  if (id === undefined || id === "") return `msg_${seed}`;
  return id.startsWith("msg_") ? id : `msg_${id}`;
}

/** The id of a call that came without one. */
export function toolId(seed: string, at: number): string {
  return `toolu_${seed}${at}`;
}

const STOP: Readonly<Record<FinishReason, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
};

/** A turn with calls that ends with "stop" becomes tool_use: otherwise a client would not run the tools. */
export function stopOf(
  finish: FinishReason | undefined,
  sequence: string | undefined,
  hasCalls: boolean,
): { readonly stop_reason: string; readonly stop_sequence: string | null } {
  const isMet = sequence !== undefined && sequence !== "" && (finish === "stop" || finish === undefined);
  const reason =
    finish === undefined || finish === "stop" ? (hasCalls ? "tool_use" : "end_turn") : STOP[finish];
  return {
    stop_reason: isMet && !hasCalls ? "stop_sequence" : reason,
    stop_sequence: isMet ? sequence : null,
  };
}

/** This format has no images in answers: they are sent as Markdown. */
export function imageText({ mime, base64 }: { readonly mime: string; readonly base64: string }): string {
  return `![image](data:${mime};base64,${base64})`;
}

/** A web citation of the text; undefined = the annotation is of another kind. */
export function citationOf(annotation: JsonRecord, text: string): JsonRecord | undefined {
  const place = asObject(annotation["url_citation"]) ?? annotation;
  const url = asText(place["url"]);
  if (url === undefined) return undefined;
  return {
    type: "web_search_result_location",
    url,
    title: asText(place["title"]) ?? url,
    cited_text: text.slice(asNumber(place["start_index"]) ?? 0, asNumber(place["end_index"]) ?? 0),
    encrypted_index: "",
  };
}

/** Usage in Anthropic's format: the input excludes tokens read from or written to the cache (requirements T18.4). */
export function anthropicUsage(usage: JsonRecord | undefined): JsonRecord {
  const input = asObject(usage?.["prompt_tokens_details"]);
  const output = asObject(usage?.["completion_tokens_details"]);
  const prompt = asNumber(usage?.["prompt_tokens"]) ?? 0;
  const cached = Math.min(asNumber(input?.["cached_tokens"]) ?? 0, prompt);
  const written = Math.min(asNumber(input?.["cache_write_tokens"]) ?? 0, prompt - cached);
  const hour = Math.min(asNumber(input?.["cache_write_1h_tokens"]) ?? 0, written);
  const thinking = asNumber(output?.["reasoning_tokens"]) ?? 0;
  return {
    input_tokens: prompt - cached - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    ...(written > 0 && {
      cache_creation: { ephemeral_5m_input_tokens: written - hour, ephemeral_1h_input_tokens: hour },
    }),
    output_tokens: asNumber(usage?.["completion_tokens"]) ?? 0,
    ...(thinking > 0 && { output_tokens_details: { thinking_tokens: thinking } }),
  };
}
