// OpenAI Responses as an upstream's wire: clients of every format can use models that exist only there (vendors/openai-reasoning,
// requirements T18.5).

import type { FinishReason, HubChunk } from "#server/upstream/hub/reply.ts";
import { statusOfResponsesError, usageFromResponses } from "#server/upstream/hub/responses.ts";
import { asObject, type JsonRecord, readJson } from "#server/upstream/json/values.ts";
import type { Dialect, StreamDecoder, WireError, WireEvent } from "./dialect.ts";
import { responsesBody } from "./responses-request.ts";

/** A base URL that ends in a version or a gateway's provider segment has the path's first segment. Source: requirements T1.2. */
const VERSIONED_BASE = /\/v\d+\w*$|\/\/gateway\.ai\.cloudflare\.com\//;

export const responses: Dialect = {
  native: "responses",

  address(endpoint, wire, { baseUrl, apiVersion, other }) {
    const path = (wire.paths[endpoint] ?? "").replace("{version}", encodeURIComponent(apiVersion || other));
    return baseUrl + (VERSIONED_BASE.test(baseUrl) ? path.replace(/^\/v\d+(?=\/)/, "") : path);
  },

  encode: (request) => responsesBody(request),

  decode(body) {
    const error = failureOf(body);
    if (error !== undefined) return error;
    const out: HubChunk[] = [headOf(body)];
    let calls = 0;
    for (const item of objects(body["output"])) {
      if (isCall(item)) {
        out.push(
          callStart(item, calls),
          callPiece(calls, textOf(item["arguments"]) ?? textOf(item["input"]) ?? ""),
        );
        calls += 1;
      } else out.push(...itemChunks(item));
    }
    return [...out, ...endOf(body, calls > 0)];
  },

  decoder: () => new ResponsesDecoder(),
};

class ResponsesDecoder implements StreamDecoder {
  /** Call items: id or position → their state. */
  readonly #calls = new Map<string, { readonly at: number; hasArguments: boolean }>();
  /** Items whose text was sent already. */
  readonly #told = new Set<string>();
  /** Items whose logprobs were sent already. */
  readonly #logged = new Set<string>();

  take({ data }: WireEvent): readonly HubChunk[] | WireError {
    const event = readJson(data);
    const type = event === undefined ? undefined : textOf(event["type"]);
    if (event === undefined || type === undefined) return [];
    switch (type) {
      case "response.created":
        return [headOf(asObject(event["response"]) ?? {})];
      case "response.output_text.delta":
        return this.#text("text", event);
      case "response.refusal.delta":
        return this.#text("refusal", event);
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        return this.#text("thought", event);
      case "response.output_item.added":
        return this.#start(event);
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
        return this.#piece(event, textOf(event["delta"]) ?? "");
      case "response.output_item.done":
        return this.#done(event);
      case "response.completed":
      case "response.incomplete":
        return this.#end(asObject(event["response"]) ?? {});
      case "response.failed":
        return failureOf(asObject(event["response"]) ?? {}) ?? errorOf(undefined);
      case "error":
        return errorOf(asObject(event["error"]) ?? event);
      default:
        return [];
    }
  }

  #text(kind: "text" | "refusal" | "thought", event: JsonRecord): readonly HubChunk[] {
    const key = keyOf(event);
    this.#told.add(key);
    const logprobs = logprobsIn(event);
    if (logprobs.length > 0) this.#logged.add(key);
    return [{ kind, index: 0, text: textOf(event["delta"]) ?? "" }, ...logprobs];
  }

  #start(event: JsonRecord): readonly HubChunk[] {
    const item = asObject(event["item"]) ?? {};
    if (!isCall(item)) return [];
    const at = this.#calls.size;
    this.#calls.set(keyOf(event), { at, hasArguments: false });
    return [callStart(item, at)];
  }

  #piece(event: JsonRecord, text: string): readonly HubChunk[] {
    const call = this.#calls.get(keyOf(event));
    if (call === undefined || text === "") return [];
    call.hasArguments = true;
    return [callPiece(call.at, text)];
  }

  /** Sends the content that came only with the end of its item. */
  #done(event: JsonRecord): readonly HubChunk[] {
    const item = asObject(event["item"]) ?? {};
    if (!isCall(item)) {
      if (!this.#told.has(keyOf(event))) return itemChunks(item);
      const logprobs = this.#logged.has(keyOf(event)) ? [] : objects(item["content"]).flatMap(logprobsIn);
      return [...logprobs, ...citations(item)];
    }
    const started = this.#calls.has(keyOf(event)) ? [] : this.#start(event);
    const call = this.#calls.get(keyOf(event));
    if (call?.hasArguments !== false) return started;
    return [...started, ...this.#piece(event, textOf(item["arguments"]) ?? textOf(item["input"]) ?? "")];
  }

  #end(response: JsonRecord): readonly HubChunk[] {
    return [...endOf(response, this.#calls.size > 0), { kind: "end" }];
  }
}

/** The item of an event, by position, which every event has. */
function keyOf(event: JsonRecord): string {
  return String(event["output_index"] ?? event["item_id"] ?? "");
}

function headOf(response: JsonRecord): HubChunk {
  const created = response["created_at"];
  return {
    kind: "head",
    id: textOf(response["id"]),
    model: textOf(response["model"]),
    created: typeof created === "number" ? Math.trunc(created) : undefined,
  };
}

function isCall(item: JsonRecord): boolean {
  return item["type"] === "function_call" || item["type"] === "custom_tool_call";
}

function callStart(item: JsonRecord, at: number): HubChunk {
  const id = textOf(item["call_id"]) ?? textOf(item["id"]) ?? `call_${at}`;
  const isCustom = item["type"] === "custom_tool_call";
  return {
    kind: "tool",
    index: 0,
    at,
    id,
    name: textOf(item["name"]) ?? "",
    arguments: "",
    ...(isCustom && { isCustom }),
  };
}

function callPiece(at: number, text: string): HubChunk {
  return { kind: "tool", index: 0, at, arguments: text };
}

/** The chunks of a whole message or thought. */
function itemChunks(item: JsonRecord): HubChunk[] {
  if (item["type"] === "reasoning") {
    return [...objects(item["summary"]), ...objects(item["content"])].flatMap((part): HubChunk[] => {
      const text = textOf(part["text"]) ?? "";
      return text === "" ? [] : [{ kind: "thought", index: 0, text }];
    });
  }
  if (item["type"] !== "message") return [];
  const texts = objects(item["content"]).flatMap((part): HubChunk[] => {
    const refusal = textOf(part["refusal"]);
    if (refusal !== undefined) return [{ kind: "refusal", index: 0, text: refusal }];
    const text = textOf(part["text"]) ?? "";
    return text === "" ? [] : [{ kind: "text", index: 0, text }, ...logprobsIn(part)];
  });
  return [...texts, ...citations(item)];
}

/** The log probabilities of a text in chat's format, which includes the bytes. */
function logprobsIn(text: JsonRecord): HubChunk[] {
  const content = objects(text["logprobs"]).map((item) => ({ bytes: null, ...item }));
  return content.length === 0 ? [] : [{ kind: "logprobs", index: 0, content }];
}

/** Citations of a message in chat's format. */
function citations(item: JsonRecord): HubChunk[] {
  return objects(item["content"]).flatMap((part) =>
    objects(part["annotations"]).flatMap((annotation): HubChunk[] => {
      const { type, ...citation } = annotation;
      if (type !== "url_citation") return [];
      return [{ kind: "annotation", index: 0, annotation: { type, url_citation: citation } }];
    }),
  );
}

function endOf(response: JsonRecord, hasCalls: boolean): HubChunk[] {
  const usage = asObject(response["usage"]);
  return [
    { kind: "finish", index: 0, reason: reasonOf(response, hasCalls) },
    ...(usage === undefined ? [] : [{ kind: "usage", usage: usageFromResponses(usage) } as const]),
  ];
}

function reasonOf(response: JsonRecord, hasCalls: boolean): FinishReason {
  const reason = asObject(response["incomplete_details"])?.["reason"];
  if (reason === "max_output_tokens") return "length";
  if (reason === "content_filter") return "content_filter";
  return hasCalls ? "tool_calls" : "stop";
}

/** A failed response, with any HTTP status. */
function failureOf(response: JsonRecord): WireError | undefined {
  const error = asObject(response["error"]);
  return error === undefined && response["status"] !== "failed" ? undefined : errorOf(error);
}

function errorOf(error: JsonRecord | undefined): WireError {
  const code = textOf(error?.["code"]) ?? null;
  const message = textOf(error?.["message"]) ?? "the response failed";
  return {
    kind: "error",
    status: statusOfResponsesError(error ?? {}),
    message,
    code,
    type: textOf(error?.["type"]) ?? "upstream_error",
  };
}

function objects(value: unknown): JsonRecord[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown) => {
    const object = asObject(item);
    return object === undefined ? [] : [object];
  });
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
