// Zhipu's third version, for the models named chatglm_* (vendors/zhipu-v3): a prompt of turns, answers as named events. Today's models
// speak OpenAI's wire.

import { alternated, isBlank, within } from "#server/upstream/hub/plain.ts";
import type { HubChunk } from "#server/upstream/hub/reply.ts";
import {
  type Ability,
  type HubMessage,
  type HubRequest,
  hintsBeyond,
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
import type { Dialect, Encoded, StreamDecoder, WireError, WireEvent } from "./dialect.ts";

/** The statuses of its codes; the first match counts. Source: vendors/zhipu. */
const STATUS: readonly (readonly [code: RegExp, status: number])[] = [
  [/^100\d$/, 401],
  [/^1113$/, 402],
  [/^11\d\d$/, 401],
  [/^12[12]\d$|^1261$|^130[01]$/, 400],
  [/^123\d$/, 500],
  [/^13\d\d$/, 429],
];
const ABILITIES: ReadonlySet<Ability> = new Set();
const NOTHING: readonly HubChunk[] = [];

interface Turn {
  readonly role: "user" | "assistant";
  readonly content: string;
}

export const zhipu: Dialect = {
  native: undefined,

  address(endpoint, wire, { baseUrl, model, isStream }) {
    const path = (wire.paths[endpoint] ?? "").replace("{model}", encodeURIComponent(model));
    return baseUrl + (isStream ? path.replace(/\/invoke$/, "/sse-invoke") : path);
  },

  encode(request): Encoded {
    refuse(request);
    const { temperature, topP, isStream } = request;
    const body = {
      prompt: promptOf(request.messages),
      temperature: within(temperature, 0.01, 1),
      top_p: within(topP, 0.01, 0.99),
      ...(isStream && { incremental: true }),
    };
    const dropped = hintsBeyond(request, ABILITIES);
    if (request.maxTokens !== undefined) dropped.push("max_tokens");
    if (request.reasoning !== undefined) dropped.push("reasoning_effort");
    return { body, dropped };
  },

  decode(body) {
    const error = errorIn(body);
    if (error !== undefined) return error;
    const data = asObject(body["data"]);
    const text = asText(asObject(asList(data?.["choices"])[0])?.["content"]) ?? "";
    return [
      { kind: "head", id: asText(data?.["request_id"]) },
      { kind: "text", index: 0, text: unquoted(text) },
      { kind: "finish", index: 0, reason: "stop" },
      ...usageIn(data),
    ];
  },

  decoder: () => new ZhipuDecoder(),
  readError: (status, body) => errorIn(body, status),
};

class ZhipuDecoder implements StreamDecoder {
  #hasHead = false;

  take(event: WireEvent): readonly HubChunk[] | WireError {
    switch (event.field("event")) {
      case "add":
        return [...this.#head(event), { kind: "text", index: 0, text: event.data }];
      case "finish":
        return [
          ...this.#head(event),
          { kind: "finish", index: 0, reason: "stop" },
          ...usageIn(readJson(event.field("meta"))),
          { kind: "end" },
        ];
      case "error":
      case "interrupted": {
        const body = readJson(event.data);
        return (body && errorIn(body)) ?? failure(502, null, event.data);
      }
      default: {
        // An error may come as an event without a name.
        const body = readJson(event.data);
        return (body && errorIn(body)) ?? NOTHING;
      }
    }
  }

  #head(event: WireEvent): readonly HubChunk[] {
    if (this.#hasHead) return NOTHING;
    this.#hasHead = true;
    return [{ kind: "head", id: event.field("id") || undefined }];
  }
}

/** Throws: Unmappable. */
function refuse({ tools = [], format, stop = [] }: HubRequest): void {
  if (tools.length > 0) throw new Unmappable("tools");
  if (format !== undefined && format.kind !== "text") throw new Unmappable("response_format");
  if (stop.length > 0) throw new Unmappable("stop");
}

/** System texts become turns of their own, each with an answer. */
function promptOf(messages: readonly HubMessage[]): readonly Turn[] {
  const turns = messages.flatMap((message): Turn[] => {
    const { role, parts } = message;
    if (role === "tool" || (role === "assistant" && message.toolCalls.length > 0))
      throw new Unmappable("messages[].tool_calls");
    const other = parts.find(({ kind }) => kind !== "text" && kind !== "refusal");
    if (other !== undefined)
      throw new Unmappable(`messages[].content[].${other.kind}`, "该渠道只支持文本内容");
    const content = textOf(parts, "\n");
    if (role === "user" || role === "assistant") return [{ role, content }];
    return [
      { role: "user", content },
      { role: "assistant", content: "Okay" },
    ];
  });
  return alternated(turns, {
    isAnswer: ({ role }) => role === "assistant",
    isBlank: ({ content }) => isBlank(content),
    join: (one, other): Turn => ({ ...other, content: `${one.content}\n${other.content}` }),
    say: (role, content): Turn => ({ role, content }),
  });
}

/** The text of a whole answer is a JSON string inside the JSON. */
function unquoted(text: string): string {
  if (!(text.length >= 2 && text.startsWith('"') && text.endsWith('"'))) return text;
  try {
    const inner: unknown = JSON.parse(text);
    return typeof inner === "string" ? inner : text;
  } catch {
    return text.slice(1, -1);
  }
}

function usageIn(holder: JsonRecord | undefined): readonly HubChunk[] {
  const usage = asObject(holder?.["usage"]);
  return asNumber(usage?.["total_tokens"]) === undefined || usage === undefined
    ? NOTHING
    : [{ kind: "usage", usage }];
}

/** `success: false`, or today's error object. */
function errorIn(body: JsonRecord, httpStatus = 200): WireError | undefined {
  const error = asObject(body["error"]);
  if (body["success"] !== false && error === undefined) return undefined;
  const code = error?.["code"] ?? body["code"];
  const message = asText(error?.["message"]) ?? asText(body["msg"]) ?? "";
  return failure(httpStatus, typeof code === "string" || typeof code === "number" ? code : null, message);
}

function failure(httpStatus: number, code: string | number | null, message: string): WireError {
  const known = STATUS.find(([pattern]) => pattern.test(String(code)))?.[1];
  const status = known ?? (httpStatus >= 400 ? httpStatus : 500);
  return { kind: "error", status, message: message || "上游返回错误", code, type: "zhipu_error" };
}
