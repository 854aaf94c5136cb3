// Ollama's own wire (vendors/ollama): /api/chat with one JSON text per line, /api/embed.

import { mediaInResults, toolsOf, toolText } from "#server/upstream/hub/chat-body.ts";
import { madeCallId, ownExtras } from "#server/upstream/hub/plain.ts";
import type { FinishReason, HubChunk } from "#server/upstream/hub/reply.ts";
import {
  type Ability,
  argumentsOf,
  effortWord,
  type HubMessage,
  type HubPart,
  type HubRequest,
  hintsBeyond,
  isToolForced,
  ToolNames,
  textOf,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import {
  asList,
  asNumber,
  asObject,
  asText,
  type JsonRecord,
  readJson,
} from "#server/upstream/json/values.ts";
import type { DecodeContext, Dialect, Embedded, EmbeddingWire, Encoded, WireError } from "./dialect.ts";

const embeddings: EmbeddingWire = {
  hints: ["truncate", "options", "keep_alive"],

  encode({ model, inputs, dimensions, user, hints = {} }) {
    const { truncate, options, keep_alive } = hints;
    const body = { model, input: inputs, truncate, dimensions, options, keep_alive };
    return { body, dropped: user === undefined ? [] : ["user"] };
  },

  decode(body): Embedded | WireError {
    const error = ollamaError(body, 500);
    if (error !== undefined) return error;
    // Older servers answer with a single vector.
    const found = body["embedding"] === undefined ? asList(body["embeddings"]) : [body["embedding"]];
    const vectors = found.map((vector) => asList(vector).filter((value) => typeof value === "number"));
    const count = asNumber(body["prompt_eval_count"]);
    const usage = count === undefined ? undefined : { prompt_tokens: count, total_tokens: count };
    return { kind: "embedded", vectors, usage };
  },
};

export const ollama: Dialect = {
  native: undefined,
  frames: "lines",
  // It opens no URLs.
  inlinesMedia: true,
  embeddings,

  // The base URL may contain the `/api` that every path begins with.
  address: (endpoint, wire, { baseUrl }) => baseUrl.replace(/\/api$/, "") + (wire.paths[endpoint] ?? ""),

  encode: encodeRequest,
  decode: (body, context) => new OllamaDecoder(context).take(body),

  decoder(context) {
    const decoder = new OllamaDecoder(context);
    return { take: ({ data }) => decoder.takeLine(data) };
  },

  readError: (status, body) => (asText(body["error"]) === undefined ? undefined : ollamaError(body, status)),
};

// The hub → an Ollama chat body (vendors/ollama). Pure.

const ABILITIES: ReadonlySet<Ability> = new Set(["seed", "penalties", "top_k", "thoughts"]);
const TOOL_NAME_LIMIT = 64;
/** Ollama's own settings that a client may send in addition to OpenAI's: they become options. */
const OPTION_EXTRAS = ["min_p", "repeat_penalty", "num_ctx"] as const;
/** Ollama's own settings that are top-level members. */
const BODY_EXTRAS = ["keep_alive"] as const;
/** More options, in Ollama's format. */
const OPTIONS = "options";
/** Models with levels of thinking; others only switch it on or off. */
const LEVELLED = /gpt-oss/;

/** Throws: Unmappable. */
function encodeRequest(request: HubRequest): Encoded {
  const { toolChoice, model, isStream } = request;
  if (isToolForced(toolChoice)) throw new Unmappable("tool_choice", "该渠道不能强制模型调用工具");
  const names = new ToolNames(TOOL_NAME_LIMIT);
  const { own, rest } = ownExtras(request, [...OPTION_EXTRAS, ...BODY_EXTRAS, OPTIONS]);
  const { tools } = toolChoice?.kind === "none" ? {} : toolsOf(request, names);
  const body = {
    model,
    stream: isStream,
    options: optionsOf(request, own),
    think: thinkOf(request),
    format: formatOf(request),
    ...Object.fromEntries(BODY_EXTRAS.map((name) => [name, own[name]])),
    messages: request.messages.map((message) => messageOf(message, names)),
    tools,
  };
  const searches = request.tools?.some(({ kind }) => kind === "web-search") === true;
  const dropped = [
    ...hintsBeyond(rest, ABILITIES),
    ...mediaInResults(request, ({ kind }) => kind === "image"),
    ...(searches ? ["web_search_options"] : []),
  ];
  return { body, dropped, toolNames: names.changed };
}

/** undefined = the defaults of Ollama and the model apply. */
function optionsOf(request: HubRequest, own: JsonRecord): JsonRecord | undefined {
  const options = {
    temperature: request.temperature,
    top_p: request.topP,
    top_k: request.topK,
    num_predict: request.maxTokens,
    stop: request.stop,
    seed: request.seed,
    presence_penalty: request.presencePenalty,
    frequency_penalty: request.frequencyPenalty,
    ...Object.fromEntries(OPTION_EXTRAS.map((name) => [name, own[name]])),
  };
  const said = Object.entries(options).filter(([, value]) => value !== undefined);
  const all = { ...asObject(own[OPTIONS]), ...Object.fromEntries(said) };
  return Object.keys(all).length > 0 ? all : undefined;
}

function thinkOf({ reasoning, model }: HubRequest): boolean | string | undefined {
  const effort = reasoning && effortWord(reasoning);
  if (effort === undefined) return undefined;
  if (effort === "none") return false;
  if (!LEVELLED.test(model)) return true;
  if (effort === "minimal") return "low";
  return effort === "xhigh" ? "high" : effort;
}

function formatOf({ format }: HubRequest): string | JsonRecord | undefined {
  if (format?.kind === "schema") return format.schema;
  return format?.kind === "json" ? "json" : undefined;
}

function messageOf(message: HubMessage, names: ToolNames): JsonRecord {
  const { role, parts } = message;
  switch (role) {
    case "system":
    case "developer":
      return { role: "system", content: textOf(parts, "\n") };
    case "user":
      return { role, content: textOf(parts, "\n"), images: imagesOf(parts) };
    case "assistant": {
      const thinking = message.thoughts.map(({ text }) => text).join("");
      const calls = message.toolCalls.map((call) => ({
        function: { name: names.wireName(call.name), arguments: argumentsOf(call) },
      }));
      return {
        role,
        content: textOf(parts),
        ...(thinking !== "" && { thinking }),
        ...(calls.length > 0 && { tool_calls: calls }),
      };
    }
    case "tool": {
      const { name } = message;
      return {
        role,
        ...(name !== undefined && { tool_name: names.wireName(name) }),
        content: toolText(message),
        images: imagesOf(parts.filter(({ kind }) => kind === "image")),
      };
    }
    default:
      throw new Error(`unknown role ${JSON.stringify(message satisfies never)}`);
  }
}

/** Images as base64 without the prefix of a data URL. Throws: Unmappable for any other medium. */
function imagesOf(parts: readonly HubPart[]): readonly string[] | undefined {
  const images = parts.flatMap((part) => {
    if (part.kind === "text" || part.kind === "refusal") return [];
    if (part.kind !== "image" || part.source.kind !== "data")
      throw new Unmappable(`messages[].content[].${part.kind}`, "该渠道只支持文本与图片");
    return [part.source.base64];
  });
  return images.length === 0 ? undefined : images;
}

// Ollama's answers → the hub: a whole answer has the format of one line of a stream (vendors/ollama). Pure.

const NOTHING: readonly HubChunk[] = [];

class OllamaDecoder {
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
function ollamaError(body: JsonRecord, status: number): WireError | undefined {
  const message = asText(body["error"]) ?? asText(asObject(body["error"])?.["message"]);
  if (message === undefined) return undefined;
  return { kind: "error", status, message, code: "ollama_error", type: "ollama_error" };
}
