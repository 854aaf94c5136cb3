// OpenAI chat replies and stream chunks → the hub: for openai, azure and every wire that uses them (vendors/openai-chat,
// vendors/openai-stream). Pure.
import type { Quirks } from "#contract/provider.ts";
import { asObject, type JsonRecord, readJson } from "#server/upstream/json/values.ts";
import { ownCachedOf } from "#server/upstream/usage.ts";
import { madeCallId } from "./plain.ts";
import type { FinishReason, HubChunk } from "./reply.ts";

/** An error as the upstream reported it. */
export interface ChatError {
  readonly kind: "error";
  readonly status: number;
  readonly message: string;
  readonly code: string | number | null;
  readonly type: string;
}

/** A whole chat reply as hub chunks, or the error that came with status 200. */
export function chatChunks(
  body: JsonRecord,
  quirks: Quirks | undefined,
  seed: string,
): readonly HubChunk[] | ChatError {
  const error = chatError(body, quirks);
  if (error !== undefined) return error;
  return new ChatStream(quirks, seed).takeReply(body);
}

/** Decodes a stream of chunks, with the deviations of vendors. */
export class ChatStream {
  readonly #quirks: Quirks | undefined;
  readonly #seed: string;
  #hasHead = false;
  /** Per answer: ids of calls → their positions, for vendors that repeat or omit indexes (vendors/openai-stream). */
  readonly #calls = new Map<
    number,
    { readonly ids: Map<string, number>; readonly byIndex: Map<number, number> }
  >();

  /** Calls without an id get one made from the seed, which is unique in the conversation. */
  constructor(quirks: Quirks | undefined, seed: string) {
    this.#quirks = quirks;
    this.#seed = seed;
  }

  /** One event's payload. */
  take(data: string): readonly HubChunk[] | ChatError {
    if (data.trim() === "[DONE]") return [{ kind: "end" }];
    const chunk = readJson(data);
    if (chunk === undefined) return data.trim() === "" ? [] : unreadable();
    const error = chatError(chunk, this.#quirks);
    if (error !== undefined) return error;
    // A whole reply at the end of a stream repeats its text (MiniMax).
    const isRepeated = chunk["object"] === "chat.completion" && this.#quirks?.endsWithWholeReply === true;
    return this.#pieces(chunk, isRepeated ? "nothing" : "delta");
  }

  takeReply(body: JsonRecord): readonly HubChunk[] {
    return this.#pieces(body, "message");
  }

  #pieces(chunk: JsonRecord, member: "delta" | "message" | "nothing"): HubChunk[] {
    const out: HubChunk[] = [];
    if (!this.#hasHead) {
      this.#hasHead = true;
      out.push({
        kind: "head",
        id: textOr(chunk["id"], undefined),
        model: textOr(chunk["model"], undefined),
        created: numberOr(chunk["created"], undefined),
      });
    }
    const choices = Array.isArray(chunk["choices"]) ? chunk["choices"] : [];
    for (const [position, item] of choices.entries()) {
      const choice = asObject(item);
      if (choice === undefined) continue;
      const index = numberOr(choice["index"], position) ?? position;
      // Some vendors send `message` in their stream chunks.
      const message =
        asObject(choice[member]) ?? (member === "delta" ? asObject(choice["message"]) : undefined);
      if (message !== undefined) this.#addMessage(out, index, message);
      addLogprobs(out, index, choice);
      const reason = finishOf(choice["finish_reason"]);
      if (reason !== undefined) out.push({ kind: "finish", index, reason });
    }
    const usage = this.#usageIn(chunk, asObject(choices[0]));
    if (usage !== undefined) out.push({ kind: "usage", usage });
    return out;
  }

  #addMessage(out: HubChunk[], index: number, message: JsonRecord): void {
    const thinking =
      textOr(message["reasoning_content"], undefined) ??
      textOr(message["reasoning"], undefined) ??
      detailsText(message["reasoning_details"]);
    if (thinking !== undefined && thinking !== "") out.push({ kind: "thought", index, text: thinking });
    addContent(out, index, message["content"]);
    const refusal = textOr(message["refusal"], "");
    if (refusal !== undefined && refusal !== "") out.push({ kind: "refusal", index, text: refusal });
    const audio = asObject(message["audio"]);
    if (audio !== undefined) out.push({ kind: "audio", index, value: audio });
    for (const item of listOf(message["annotations"])) {
      const annotation = asObject(item);
      if (annotation !== undefined) out.push({ kind: "annotation", index, annotation });
    }
    for (const item of listOf(message["images"])) addImage(out, index, asObject(item));
    for (const [position, item] of listOf(message["tool_calls"]).entries()) {
      const call = asObject(item);
      if (call !== undefined) this.#addCall(out, index, { call, position });
    }
    const legacy = asObject(message["function_call"]);
    if (legacy !== undefined)
      this.#addCall(out, index, { call: { index: 0, function: legacy }, position: 0 });
  }

  #addCall(out: HubChunk[], index: number, { call, position }: { call: JsonRecord; position: number }): void {
    const fn = asObject(call["function"]);
    const custom = asObject(call["custom"]);
    const id = textOr(call["id"], undefined) || undefined;
    const given = numberOr(call["index"], position) ?? position;
    const { at, isNew } = this.#placeOf(index, id, given);
    const name = textOr(fn?.["name"], undefined) ?? textOr(custom?.["name"], undefined);
    const text = fn?.["arguments"] ?? custom?.["input"];
    const signature = textOr(
      asObject(asObject(call["extra_content"])?.["google"])?.["thought_signature"],
      undefined,
    );
    out.push({
      kind: "tool",
      index,
      at,
      ...(isNew && {
        id: id ?? madeCallId(this.#seed, at, index),
        name: name ?? "",
      }),
      // Some vendors send arguments as an object instead of text.
      arguments:
        typeof text === "string" ? text : text === undefined || text === null ? "" : JSON.stringify(text),
      ...(custom !== undefined && { isCustom: true }),
      ...(signature !== undefined && { signature }),
    });
  }

  /** A new id is a new call, whatever its index; chunks without an id are assigned by index. */
  #placeOf(answer: number, id: string | undefined, given: number): { at: number; isNew: boolean } {
    let calls = this.#calls.get(answer);
    if (calls === undefined) {
      calls = { ids: new Map(), byIndex: new Map() };
      this.#calls.set(answer, calls);
    }
    const known = id === undefined ? calls.byIndex.get(given) : calls.ids.get(id);
    if (known !== undefined) return { at: known, isNew: false };
    const at = calls.ids.size;
    calls.ids.set(id ?? `#${given}`, at);
    calls.byIndex.set(given, at);
    return { at, isNew: true };
  }

  #usageIn(chunk: JsonRecord, choice: JsonRecord | undefined): JsonRecord | undefined {
    const usage =
      asObject(chunk["usage"]) ??
      asObject(asObject(chunk["x_groq"])?.["usage"]) ??
      asObject(choice?.["usage"]);
    if (usage === undefined || this.#quirks?.usageUnreliable === true) return undefined;
    return withCached(usage);
  }
}

/** The cached tokens under OpenAI's name, wherever this vendor reports them. */
function withCached(usage: JsonRecord): JsonRecord {
  if (asObject(usage["prompt_tokens_details"])?.["cached_tokens"] !== undefined) return usage;
  const cached = ownCachedOf(usage);
  if (cached === undefined) return usage;
  return {
    ...usage,
    prompt_tokens_details: { ...asObject(usage["prompt_tokens_details"]), cached_tokens: cached },
  };
}

/** Thoughts that are sent only as a list of details (MiniMax, vendors/minimax). */
function detailsText(details: unknown): string {
  return listOf(details)
    .map((item) => textOr(asObject(item)?.["text"], ""))
    .join("");
}

function addContent(out: HubChunk[], index: number, content: unknown): void {
  if (typeof content === "string") {
    if (content !== "") out.push({ kind: "text", index, text: content });
    return;
  }
  const { text, thought } = splitContent(content);
  if (thought !== "") out.push({ kind: "thought", index, text: thought });
  if (text !== "") out.push({ kind: "text", index, text });
}

/** Content as a list of parts: thinking and text (Mistral, vendors/mistral). */
export function splitContent(content: unknown): { readonly text: string; readonly thought: string } {
  let text = "";
  let thought = "";
  for (const item of listOf(content)) {
    const part = asObject(item);
    if (part?.["type"] === "thinking") {
      for (const piece of listOf(part["thinking"])) thought += textOr(asObject(piece)?.["text"], "");
    } else text += textOr(part?.["text"], "");
  }
  return { text, thought };
}

function addLogprobs(out: HubChunk[], index: number, choice: JsonRecord): void {
  const content = asObject(choice["logprobs"])?.["content"];
  if (Array.isArray(content) && content.length > 0) out.push({ kind: "logprobs", index, content });
}

function addImage(out: HubChunk[], index: number, image: JsonRecord | undefined): void {
  const url = textOr(asObject(image?.["image_url"])?.["url"], "") ?? "";
  const match = /^data:([^;,]+);base64,/.exec(url.slice(0, 128));
  if (match !== null)
    out.push({ kind: "image", index, mime: match[1] ?? "image/png", base64: url.slice(match[0].length) });
}

/** Finish reasons, including those of vendors (vendors/zhipu, vendors/mistral). */
export const FINISHES: Readonly<Record<string, FinishReason>> = {
  stop: "stop",
  length: "length",
  tool_calls: "tool_calls",
  function_call: "tool_calls",
  content_filter: "content_filter",
  sensitive: "content_filter",
  max_tokens: "length",
  model_length: "length",
  model_context_window_exceeded: "length",
};

/** Finish reasons of a failed answer. */
const FAILED_FINISHES: ReadonlySet<string> = new Set(["error", "network_error"]);

/** The finish reason of a failed answer, in the words of a vendor that has its own; undefined = no answer failed. */
export function failedFinish(reply: JsonRecord): string | undefined {
  for (const choice of listOf(reply["choices"])) {
    const word = asObject(choice)?.["finish_reason"];
    if (typeof word === "string" && FAILED_FINISHES.has(word)) return word;
  }
  return undefined;
}

/** Unknown finish reasons end an answer too; "" and null do not. */
function finishOf(value: unknown): FinishReason | undefined {
  return typeof value === "string" && value !== "" ? (FINISHES[value] ?? "stop") : undefined;
}

function unreadable(): ChatError {
  return {
    kind: "error",
    status: 502,
    message: "a stream event is no JSON object",
    code: null,
    type: "upstream_error",
  };
}

/** An error with status 200 (requirements R11): OpenAI's error object, or a vendor's own form. */
function chatError(body: JsonRecord, quirks: Quirks | undefined): ChatError | undefined {
  const error = body["error"];
  if (error !== undefined && error !== null && error !== false && error !== "") {
    const object = asObject(error);
    const code = codeOf(object?.["code"]);
    return {
      kind: "error",
      status: statusOf(code, quirks, 502),
      message: textOr(object?.["message"], undefined) ?? textOr(error, "") ?? "",
      code,
      type: textOr(object?.["type"], undefined) ?? "upstream_error",
    };
  }
  const word = quirks?.ownWords === true ? failedFinish(body) : undefined;
  if (word !== undefined)
    return { kind: "error", status: 502, message: "上游生成中断", code: word, type: "upstream_error" };
  if (quirks?.errorIn200 === "base-resp") {
    const base = asObject(body["base_resp"]);
    const code = codeOf(base?.["status_code"]);
    if (code === null || code === 0) return undefined;
    const message = textOr(base?.["status_msg"], "") ?? "";
    return { kind: "error", status: statusOf(code, quirks, 500), message, code, type: "upstream_error" };
  }
  if (
    quirks?.errorIn200 !== "status-text" ||
    body["statusText"] === undefined ||
    body["choices"] !== undefined
  )
    return undefined;
  const code = codeOf(body["code"]);
  const message = textOr(body["message"], undefined) ?? textOr(body["statusText"], "") ?? "";
  return { kind: "error", status: statusOf(code, quirks, 500), message, code, type: "upstream_error" };
}

function statusOf(code: string | number | null, quirks: Quirks | undefined, fallback: number): number {
  const status = quirks?.faultStatus?.[String(code)] ?? Number(code ?? Number.NaN);
  return Number.isInteger(status) && status >= 400 && status <= 599 ? status : fallback;
}

function codeOf(value: unknown): string | number | null {
  return typeof value === "string" || typeof value === "number" ? value : null;
}

function textOr<T>(value: unknown, fallback: T): string | T {
  return typeof value === "string" ? value : fallback;
}

function numberOr<T>(value: unknown, fallback: T): number | T {
  return typeof value === "number" && Number.isFinite(value) ? value : fallback;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
