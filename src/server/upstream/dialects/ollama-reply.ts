// Ollama's answers → the hub: a whole answer has the format of one line of a stream (vendors/ollama). Pure.

import { madeCallId } from "#server/upstream/hub/call-ids.ts";
import type { FinishReason, HubChunk } from "#server/upstream/hub/reply.ts";
import {
  asList,
  asNumber,
  asObject,
  asText,
  type JsonRecord,
  readJson,
} from "#server/upstream/json/values.ts";
import type { DecodeContext, WireError } from "./dialect.ts";

const NOTHING: readonly HubChunk[] = [];

export class OllamaDecoder {
  readonly #seed: string;
  #hasHead = false;
  #calls = 0;

  constructor({ seed }: DecodeContext) {
    this.#seed = seed;
  }

  takeLine(line: string): readonly HubChunk[] | WireError {
    const body = readJson(line);
    return body === undefined ? NOTHING : this.take(body);
  }

  take(body: JsonRecord): readonly HubChunk[] | WireError {
    const error = ollamaError(body, 500);
    if (error !== undefined) return error;
    const chunks: HubChunk[] = [];
    if (!this.#hasHead) chunks.push(this.#head(body));
    this.#addMessage(chunks, asObject(body["message"]) ?? {});
    if (body["done"] === true) this.#finish(chunks, body);
    return chunks;
  }

  #head(body: JsonRecord): HubChunk {
    this.#hasHead = true;
    const createdMs = Date.parse(asText(body["created_at"]) ?? "");
    return {
      kind: "head",
      id: undefined,
      model: asText(body["model"]),
      created: Number.isNaN(createdMs) ? undefined : Math.trunc(createdMs / 1000),
    };
  }

  #addMessage(chunks: HubChunk[], message: JsonRecord): void {
    const thought = asText(message["thinking"]) ?? "";
    if (thought !== "") chunks.push({ kind: "thought", index: 0, text: thought });
    const text = asText(message["content"]) ?? "";
    if (text !== "") chunks.push({ kind: "text", index: 0, text });
    for (const item of asList(message["tool_calls"])) {
      const call = asObject(item);
      const fn = asObject(call?.["function"]);
      const name = asText(fn?.["name"]);
      if (name === undefined) continue;
      const at = this.#calls;
      this.#calls += 1;
      chunks.push({
        kind: "tool",
        index: 0,
        at,
        // Only newer servers send ids.
        id: asText(call?.["id"]) || madeCallId(this.#seed, at),
        name,
        arguments: argumentText(fn?.["arguments"]),
      });
    }
  }

  #finish(chunks: HubChunk[], body: JsonRecord): void {
    const usage = usageOf(body);
    chunks.push(
      { kind: "finish", index: 0, reason: this.#reason(asText(body["done_reason"])) },
      ...(usage === undefined ? NOTHING : [{ kind: "usage", usage } as const]),
      { kind: "end" },
    );
  }

  /** `load` and `unload` end an empty answer. */
  #reason(reason: string | undefined): FinishReason {
    if (reason === "length") return "length";
    return this.#calls > 0 ? "tool_calls" : "stop";
  }
}

/** A call is sent whole, its arguments as an object. */
function argumentText(value: unknown): string {
  return asText(value) ?? JSON.stringify(asObject(value) ?? {});
}

/** No usage without the input count: a server that found the prompt in its cache may omit it (vendors/ollama). */
function usageOf(body: JsonRecord): JsonRecord | undefined {
  const prompt_tokens = asNumber(body["prompt_eval_count"]);
  const completion_tokens = asNumber(body["eval_count"]) ?? 0;
  if (prompt_tokens === undefined) return undefined;
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

/** `{"error": text}`, with a status of its own or within a stream. */
export function ollamaError(body: JsonRecord, status: number): WireError | undefined {
  const message = asText(body["error"]) ?? asText(asObject(body["error"])?.["message"]);
  if (message === undefined) return undefined;
  return { kind: "error", status, message, code: "ollama_error", type: "ollama_error" };
}
