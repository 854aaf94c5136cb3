// Whole replies in Gemini's format, and the parts of its streams (vendors/gemini-reply, requirements T18.6). Pure.
import type { FinishReason, HubAnswer, HubChunk, HubReply } from "#server/upstream/hub/reply.ts";
import type { HubToolCall } from "#server/upstream/hub/request.ts";
import { asNumber, asObject, asText, type JsonRecord, readJson } from "#server/upstream/json/values.ts";
import type { RenderContext, StreamRenderer } from "./client.ts";
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
function showsThoughts({ request }: RenderContext): boolean {
  return request.reasoning?.isShown === true;
}

function imagePart({ mime, base64 }: { mime: string; base64: string }): JsonRecord {
  return { inlineData: { mimeType: mime, data: base64 } };
}

/** Calls whose arguments are an object; `isBroken` = some arguments are truncated or invalid. */
function callParts(calls: readonly HubToolCall[]): { parts: JsonRecord[]; isBroken: boolean } {
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
function finishFields(finish: FinishReason | undefined, isBroken: boolean): JsonRecord {
  if (finish === "length") return { finishReason: "MAX_TOKENS" };
  if (finish === "content_filter") return { finishReason: "SAFETY" };
  return { finishReason: isBroken ? "MALFORMED_FUNCTION_CALL" : "STOP" };
}

/** Web sources of an answer. */
function groundsOf(annotations: readonly JsonRecord[]): JsonRecord {
  const chunks = annotations.flatMap((annotation) => {
    const citation = asObject(annotation["url_citation"]);
    const uri = asText(citation?.["url"]);
    return uri === undefined ? [] : [{ web: { uri, title: asText(citation?.["title"]) ?? "" } }];
  });
  return chunks.length > 0 ? { groundingMetadata: { groundingChunks: chunks } } : {};
}

function logprobsResult(content: readonly unknown[]): JsonRecord {
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
function usageMetadata(usage: JsonRecord): JsonRecord {
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

// Gemini's streamed replies: each event is a reply object with the new parts only; the last one has the finish reasons and the usage
// (requirements T18.6). Framed as events, or as one JSON array for clients without `alt=sse`. JSON texts are concatenated by hand: this
// runs once per generated token.

/** The parts of an answer that are sent at its end. */
interface Rest {
  readonly calls: Map<number, HubToolCall>;
  readonly annotations: JsonRecord[];
  readonly logprobs: unknown[];
  finish: FinishReason | undefined;
}

export class GenerateRenderer implements StreamRenderer {
  readonly #context: RenderContext;
  readonly #showsThoughts: boolean;
  readonly #rests = new Map<number, Rest>();
  /** Closes every object: `,"modelVersion":…,"responseId":…}`. */
  #tail: string;
  #usage: JsonRecord | undefined;
  #isFirst = true;

  constructor(context: RenderContext) {
    this.#context = context;
    this.#showsThoughts = showsThoughts(context);
    this.#tail = this.#tailOf(undefined);
  }

  take(chunks: readonly HubChunk[]): string {
    let out = "";
    for (const chunk of chunks) out += this.#take(chunk);
    return out;
  }

  /** Function calls are sent only here: their arguments must be complete. */
  end(): string {
    if (this.#rests.size === 0) this.#rest(0);
    const candidates = [...this.#rests].sort(([one], [other]) => one - other).map(lastCandidate);
    const usage = this.#usage && `,"usageMetadata":${JSON.stringify(usageMetadata(this.#usage))}`;
    const last = this.#framed(`{"candidates":${JSON.stringify(candidates)}${usage ?? ""}${this.#tail}`);
    return this.#context.isArray ? `${last}]` : last;
  }

  #take(chunk: HubChunk): string {
    switch (chunk.kind) {
      case "text":
      case "refusal":
        return this.#part(chunk.index, `{"text":${JSON.stringify(chunk.text)}}`);
      case "thought":
        if (!this.#showsThoughts) return "";
        return this.#part(chunk.index, `{"text":${JSON.stringify(chunk.text)},"thought":true}`);
      case "image":
        return this.#part(chunk.index, JSON.stringify(imagePart(chunk)));
      case "head":
        this.#tail = this.#tailOf(chunk.id);
        return "";
      case "usage":
        this.#usage = chunk.usage;
        return "";
      case "tool":
        addPiece(this.#rest(chunk.index).calls, chunk);
        return "";
      case "annotation":
        this.#rest(chunk.index).annotations.push(chunk.annotation);
        return "";
      case "logprobs":
        this.#rest(chunk.index).logprobs.push(...chunk.content);
        return "";
      case "finish":
        this.#rest(chunk.index).finish = chunk.reason;
        return "";
      // Signatures of other vendors are useless here, and audio was refused with the request.
      case "signature":
      case "redacted":
      case "audio":
      case "end":
        return "";
    }
  }

  #rest(index: number): Rest {
    let rest = this.#rests.get(index);
    if (rest === undefined) {
      rest = { calls: new Map(), annotations: [], logprobs: [], finish: undefined };
      this.#rests.set(index, rest);
    }
    return rest;
  }

  #part(index: number, part: string): string {
    this.#rest(index);
    const content = `{"role":"model","parts":[${part}]}`;
    return this.#framed(`{"candidates":[{"content":${content},"index":${index}}]${this.#tail}`);
  }

  #framed(object: string): string {
    if (!this.#context.isArray) return `data: ${object}\r\n\r\n`;
    const before = this.#isFirst ? "[" : ",\r\n";
    this.#isFirst = false;
    return before + object;
  }

  #tailOf(id: string | undefined): string {
    const { model, seed } = this.#context;
    return `,"modelVersion":${JSON.stringify(model)},"responseId":${JSON.stringify(id ?? seed)}}`;
  }
}

function addPiece(calls: Map<number, HubToolCall>, piece: HubChunk & { kind: "tool" }): void {
  const known = calls.get(piece.at);
  calls.set(piece.at, {
    id: piece.id ?? known?.id ?? "",
    name: piece.name ?? known?.name ?? "",
    arguments: (known?.arguments ?? "") + piece.arguments,
    isCustom: piece.isCustom ?? known?.isCustom,
    signature: piece.signature ?? known?.signature,
  });
}

function lastCandidate([index, rest]: [number, Rest]): JsonRecord {
  const { parts, isBroken } = callParts([...rest.calls.values()]);
  return {
    content: { role: "model", parts: parts.length > 0 ? parts : [{ text: "" }] },
    ...finishFields(rest.finish, isBroken),
    index,
    ...groundsOf(rest.annotations),
    ...(rest.logprobs.length > 0 && { logprobsResult: logprobsResult(rest.logprobs) }),
  };
}
