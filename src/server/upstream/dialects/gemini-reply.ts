// Gemini's answers, whole or streamed: each stream event is a whole answer with the new parts only (vendors/gemini-reply). Pure.
import { madeCallId } from "#server/upstream/hub/plain.ts";
import type { FinishReason, HubChunk } from "#server/upstream/hub/reply.ts";
import {
  asList,
  asNumber,
  asObject,
  asText,
  type JsonRecord,
  readJson,
} from "#server/upstream/json/values.ts";
import type { DecodeContext, StreamDecoder, WireError, WireEvent } from "./dialect.ts";

/** The state of one candidate. */
interface Candidate {
  toolCalls: number;
  hasOutput: boolean;
  readonly sources: Set<string>;
}

/** Source: vendors/gemini-reply. Unlisted reasons are an ordinary end. */
const FILTERED: ReadonlySet<string> = new Set([
  "SAFETY",
  "RECITATION",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "LANGUAGE",
  "IMAGE_SAFETY",
  "IMAGE_PROHIBITED_CONTENT",
  "IMAGE_RECITATION",
]);
/** The model failed: partial output counts as an answer, no output is a failure. */
const FAILED: ReadonlySet<string> = new Set([
  "MALFORMED_FUNCTION_CALL",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
  "OTHER",
  "NO_IMAGE",
  "IMAGE_OTHER",
]);

const NOTHING: readonly HubChunk[] = [];

/** Decodes one answer. */
export class GeminiDecoder implements StreamDecoder {
  readonly #seed: string;
  readonly #candidates = new Map<number, Candidate>();
  #hasHead = false;

  constructor({ seed }: DecodeContext) {
    this.#seed = seed;
  }

  take(event: WireEvent): readonly HubChunk[] | WireError {
    const body = readJson(event.data);
    return body === undefined ? NOTHING : this.read(body);
  }

  /** One whole body, or one event of a stream. */
  read(body: JsonRecord): readonly HubChunk[] | WireError {
    const error = errorIn(body) ?? blockIn(body);
    if (error !== undefined) return error;
    const chunks: HubChunk[] = [];
    this.#head(body, chunks);
    for (const [at, item] of asList(body["candidates"]).entries()) {
      const failed = this.#candidate(asObject(item) ?? {}, at, chunks);
      if (failed !== undefined) return failed;
    }
    this.#tellUsage(body, chunks);
    return chunks;
  }

  #head(body: JsonRecord, chunks: HubChunk[]): void {
    if (this.#hasHead) return;
    const id = asText(body["responseId"]);
    const model = asText(body["modelVersion"]);
    this.#hasHead = true;
    chunks.push({ kind: "head", id, model });
  }

  /** Each event repeats the usage so far. */
  #tellUsage(body: JsonRecord, chunks: HubChunk[]): void {
    const metadata = asObject(body["usageMetadata"]);
    const usage = metadata && usageOf(metadata);
    if (usage !== undefined) chunks.push({ kind: "usage", usage });
  }

  #candidate(told: JsonRecord, at: number, chunks: HubChunk[]): WireError | undefined {
    const index = asNumber(told["index"]) ?? at;
    const candidate = this.#find(index);
    const before = chunks.length;
    for (const part of asList(asObject(told["content"])?.["parts"]))
      this.#part(asObject(part) ?? {}, { index, candidate }, chunks);
    if (chunks.length > before) candidate.hasOutput = true;
    sourcesIn(told, { index, candidate }, chunks);
    const content = logprobsIn(told["logprobsResult"]);
    if (content.length > 0) chunks.push({ kind: "logprobs", index, content });
    const reason = asText(told["finishReason"]);
    if (reason === undefined || reason === "FINISH_REASON_UNSPECIFIED") return undefined;
    if (FAILED.has(reason) && !candidate.hasOutput) return failure(told, reason);
    chunks.push({ kind: "finish", index, reason: finishOf(reason, candidate) });
    return undefined;
  }

  #find(index: number): Candidate {
    let candidate = this.#candidates.get(index);
    if (candidate === undefined) {
      candidate = { toolCalls: 0, hasOutput: false, sources: new Set() };
      this.#candidates.set(index, candidate);
    }
    return candidate;
  }

  #part(part: JsonRecord, { index, candidate }: CandidateAt, chunks: HubChunk[]): void {
    const text = asText(part["text"]);
    if (text !== undefined) {
      if (text !== "") chunks.push({ kind: part["thought"] === true ? "thought" : "text", index, text });
      return;
    }
    const call = asObject(part["functionCall"]);
    if (call !== undefined) {
      const at = candidate.toolCalls;
      candidate.toolCalls += 1;
      chunks.push({
        kind: "tool",
        index,
        at,
        id: asText(call["id"]) || madeCallId(this.#seed, at, index),
        name: asText(call["name"]) ?? "",
        arguments: JSON.stringify(asObject(call["args"]) ?? {}),
        signature: asText(part["thoughtSignature"]),
      });
      return;
    }
    const data = asObject(part["inlineData"]);
    if (data !== undefined) mediumIn(data, { index, seed: this.#seed }, chunks);
    else codeIn(part, index, chunks);
  }
}

interface CandidateAt {
  readonly index: number;
  readonly candidate: Candidate;
}

/** Gemini 4 ends each request at a limit of its own, and continues with a token that other formats cannot express. */
const SPENT: ReadonlySet<string> = new Set(["MAX_TOKENS", "CONTINUATION"]);

function finishOf(reason: string, { toolCalls }: Candidate): FinishReason {
  if (SPENT.has(reason)) return "length";
  if (FILTERED.has(reason)) return "content_filter";
  return toolCalls > 0 ? "tool_calls" : "stop";
}

function failure(told: JsonRecord, reason: string): WireError {
  const message = asText(told["finishMessage"]) || `模型未能生成有效内容（${reason}）`;
  return { kind: "error", status: 502, message, code: reason.toLowerCase(), type: "gemini_error" };
}

/** An error inside of a 200 answer. */
function errorIn(body: JsonRecord): WireError | undefined {
  const error = asObject(body["error"]);
  if (error === undefined) return undefined;
  const status = asNumber(error["code"]) ?? 500;
  const code = asText(error["status"]) ?? status;
  return { kind: "error", status, message: asText(error["message"]) ?? "", code, type: "gemini_error" };
}

/** The prompt was refused before anything was generated. */
function blockIn(body: JsonRecord): WireError | undefined {
  const feedback = asObject(body["promptFeedback"]);
  const reason = asText(feedback?.["blockReason"]);
  if (reason === undefined || asList(body["candidates"]).length > 0) return undefined;
  const message = asText(feedback?.["blockReasonMessage"]) || `输入内容被上游安全策略拦截（${reason}）`;
  return { kind: "error", status: 400, message, code: "prompt_blocked", type: "gemini_error" };
}

function mediumIn(
  data: JsonRecord,
  { index, seed }: { index: number; seed: string },
  chunks: HubChunk[],
): void {
  const mime = asText(data["mimeType"]) ?? "";
  const base64 = asText(data["data"]);
  if (base64 === undefined) return;
  if (mime.startsWith("image/")) chunks.push({ kind: "image", index, mime, base64 });
  else if (mime.startsWith("audio/"))
    chunks.push({ kind: "audio", index, value: { id: `audio_${seed}`, data: base64, transcript: "" } });
}

/** Code that Gemini ran, and its result, as text for any client. */
function codeIn(part: JsonRecord, index: number, chunks: HubChunk[]): void {
  const code = asObject(part["executableCode"]);
  const result = asObject(part["codeExecutionResult"]);
  if (code !== undefined) {
    const language = (asText(code["language"]) ?? "").toLowerCase();
    chunks.push({ kind: "text", index, text: fenced(language, asText(code["code"]) ?? "") });
  } else if (result !== undefined) {
    chunks.push({ kind: "text", index, text: fenced("", asText(result["output"]) ?? "") });
  }
}

function fenced(language: string, text: string): string {
  return `\n\`\`\`${language}\n${text.replace(/\n$/, "")}\n\`\`\`\n`;
}

/** Web sources of the answer, each once. */
function sourcesIn(told: JsonRecord, { index, candidate }: CandidateAt, chunks: HubChunk[]): void {
  const grounds = asList(asObject(told["groundingMetadata"])?.["groundingChunks"]);
  for (const ground of grounds) {
    const page = asObject(asObject(ground)?.["web"]);
    const url = asText(page?.["uri"]);
    if (url === undefined || candidate.sources.has(url)) continue;
    candidate.sources.add(url);
    const citation = { url, title: asText(page?.["title"]) ?? "", start_index: 0, end_index: 0 };
    chunks.push({ kind: "annotation", index, annotation: { type: "url_citation", url_citation: citation } });
  }
}

/** In OpenAI's format; Gemini sends no bytes. */
function logprobsIn(result: unknown): readonly JsonRecord[] {
  const told = asObject(result);
  const tops = asList(told?.["topCandidates"]);
  return asList(told?.["chosenCandidates"]).map((chosen, at) => ({
    ...logprobOf(chosen),
    top_logprobs: asList(asObject(tops[at])?.["candidates"]).map(logprobOf),
  }));
}

function logprobOf(item: unknown): JsonRecord {
  const told = asObject(item);
  return {
    token: asText(told?.["token"]) ?? "",
    logprob: asNumber(told?.["logProbability"]) ?? 0,
    bytes: null,
  };
}

// Gemini's `usageMetadata` in OpenAI's shape (vendors/gemini-reply). Pure; usage.ts judges the numbers.

/** Unit: tokens. Thoughts are completion, tool results are prompt; missing counts are omitted. */
export function usageOf(metadata: JsonRecord): JsonRecord | undefined {
  const count = (name: string) => asNumber(metadata[name]);
  const told = count("promptTokenCount");
  const total = count("totalTokenCount");
  if (told === undefined && total === undefined) return undefined;
  const prompt = (told ?? 0) + (count("toolUsePromptTokenCount") ?? 0);
  const thoughts = count("thoughtsTokenCount") ?? 0;
  const candidates = count("candidatesTokenCount");
  // The first events of a stream have no candidate count yet; some models never send it.
  const completion =
    candidates === undefined ? Math.max((total ?? prompt) - prompt, thoughts) : candidates + thoughts;
  const cached = count("cachedContentTokenCount");
  const cachedKinds = kindsIn(metadata["cacheTokensDetails"]);
  const given = {
    ...(cached !== undefined && { cached_tokens: cached }),
    ...kindsIn(metadata["promptTokensDetails"]),
    ...(isFilled(cachedKinds) && { cached_tokens_details: cachedKinds }),
  };
  const made = {
    ...(thoughts > 0 && { reasoning_tokens: thoughts }),
    ...kindsIn(metadata["candidatesTokensDetails"]),
  };
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(isFilled(given) && { prompt_tokens_details: given }),
    ...(isFilled(made) && { completion_tokens_details: made }),
  };
}

function isFilled(object: JsonRecord): boolean {
  return Object.keys(object).length > 0;
}

const KINDS: Readonly<Record<string, string>> = { AUDIO: "audio_tokens", IMAGE: "image_tokens" };

/** The audio and image tokens; text, video and documents are priced as text. */
function kindsIn(details: unknown): JsonRecord {
  const kinds: Record<string, number> = {};
  for (const item of asList(details)) {
    const detail = asObject(item);
    const name = KINDS[String(detail?.["modality"])];
    const tokens = asNumber(detail?.["tokenCount"]);
    if (name !== undefined && tokens !== undefined) kinds[name] = (kinds[name] ?? 0) + tokens;
  }
  return kinds;
}
