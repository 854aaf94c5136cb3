// Whole replies in Gemini's format, and the parts of its streams (vendors/gemini-reply, requirements T18.6). Pure.

import type { FinishReason, HubAnswer, HubReply } from "#server/upstream/hub/reply.ts";
import type { HubToolCall } from "#server/upstream/hub/request.ts";
import { asNumber, asObject, asText, type JsonRecord, readJson } from "#server/upstream/json/values.ts";
import type { RenderContext } from "./client.ts";
import { objectsOf } from "./generate-fields.ts";

export function renderReply(reply: HubReply, context: RenderContext): JsonRecord {
  const usage = reply.usage && usageMetadata(reply.usage);
  return {
    candidates: reply.answers.map((answer) => candidateOf(answer, context)),
    ...(usage !== undefined && { usageMetadata: usage }),
    modelVersion: context.model,
    responseId: reply.id ?? context.seed,
  };
}

function candidateOf(answer: HubAnswer, context: RenderContext): JsonRecord {
  const { index, text, refusal, thoughts, images, toolCalls, annotations, logprobs, finish } = answer;
  const thinking = showsThoughts(context) ? thoughts.map((thought) => thought.text).join("") : "";
  const calls = callParts(toolCalls);
  const parts = [
    ...(thinking === "" ? [] : [{ text: thinking, thought: true }]),
    ...(text + refusal === "" ? [] : [{ text: text + refusal }]),
    ...images.map(imagePart),
    ...calls.parts,
  ];
  return {
    content: { role: "model", parts },
    ...finishFields(finish, calls.isBroken),
    index,
    ...groundsOf(annotations),
    ...(logprobs.length > 0 && { logprobsResult: logprobsResult(logprobs) }),
  };
}

/** Gemini sends thoughts only to clients that set `includeThoughts`. */
export function showsThoughts({ request }: RenderContext): boolean {
  return request.reasoning?.isShown === true;
}

export function imagePart({ mime, base64 }: { mime: string; base64: string }): JsonRecord {
  return { inlineData: { mimeType: mime, data: base64 } };
}

/** Calls whose arguments are an object; `isBroken` = some arguments are truncated or invalid. */
export function callParts(calls: readonly HubToolCall[]): { parts: JsonRecord[]; isBroken: boolean } {
  const parts: JsonRecord[] = [];
  for (const { id, name, arguments: text, isCustom, signature } of calls) {
    const args = isCustom === true ? { input: text } : readJson(text === "" ? "{}" : text);
    if (args === undefined) continue;
    const functionCall = { ...(id !== "" && { id }), name, args };
    parts.push({ functionCall, ...(signature !== undefined && { thoughtSignature: signature }) });
  }
  return { parts, isBroken: parts.length < calls.length };
}

/** Tool turns end with STOP: clients break on any other finish reason (requirements T30). */
export function finishFields(finish: FinishReason | undefined, isBroken: boolean): JsonRecord {
  if (finish === "length") return { finishReason: "MAX_TOKENS" };
  if (finish === "content_filter") return { finishReason: "SAFETY" };
  return { finishReason: isBroken ? "MALFORMED_FUNCTION_CALL" : "STOP" };
}

/** Web sources of an answer. */
export function groundsOf(annotations: readonly JsonRecord[]): JsonRecord {
  const chunks = annotations.flatMap((annotation) => {
    const citation = asObject(annotation["url_citation"]);
    const uri = asText(citation?.["url"]);
    return uri === undefined ? [] : [{ web: { uri, title: asText(citation?.["title"]) ?? "" } }];
  });
  return chunks.length > 0 ? { groundingMetadata: { groundingChunks: chunks } } : {};
}

export function logprobsResult(content: readonly unknown[]): JsonRecord {
  const items = objectsOf(content);
  const one = (item: unknown) => {
    const told = asObject(item);
    return { token: asText(told?.["token"]) ?? "", logProbability: asNumber(told?.["logprob"]) ?? 0 };
  };
  return {
    topCandidates: items.map((item) => ({
      candidates: Array.isArray(item["top_logprobs"]) ? item["top_logprobs"].map(one) : [],
    })),
    chosenCandidates: items.map(one),
  };
}

/** OpenAI's usage object in Gemini's format: thoughts are counted outside the candidates. */
export function usageMetadata(usage: JsonRecord): JsonRecord {
  const prompt = asNumber(usage["prompt_tokens"]) ?? 0;
  const completion = asNumber(usage["completion_tokens"]) ?? 0;
  const given = asObject(usage["prompt_tokens_details"]) ?? {};
  const made = asObject(usage["completion_tokens_details"]) ?? {};
  const cached = asNumber(given["cached_tokens"]) ?? 0;
  const thoughts = asNumber(made["reasoning_tokens"]) ?? 0;
  const candidates = Math.max(completion - thoughts, 0);
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: candidates,
    totalTokenCount: prompt + completion,
    ...(cached > 0 && { cachedContentTokenCount: cached }),
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
    ...kindsOf("promptTokensDetails", prompt, given),
    ...kindsOf("candidatesTokensDetails", candidates, made),
  };
}

/** Tokens by kind, where not all of them are text. */
function kindsOf(name: string, total: number, details: JsonRecord): JsonRecord {
  const audio = asNumber(details["audio_tokens"]) ?? 0;
  const image = asNumber(details["image_tokens"]) ?? 0;
  if (audio + image === 0) return {};
  const kinds = { TEXT: Math.max(total - audio - image, 0), AUDIO: audio, IMAGE: image };
  const list = Object.entries(kinds).map(([modality, tokenCount]) => ({ modality, tokenCount }));
  return { [name]: list.filter(({ tokenCount }) => tokenCount > 0) };
}
