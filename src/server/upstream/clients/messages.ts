// Anthropic Messages as a client format: parses requests into the hub, renders replies from it (vendors/claude-messages, requirements
// T18.3, T18.4).

import { errorIn, isZero, openAiUsage } from "#server/upstream/dialects/anthropic-reply.ts";
import {
  type Effort,
  type HubFormat,
  type HubReasoning,
  type HubRequest,
  shortName,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import { asList, asObject, asText, type JsonRecord } from "#server/upstream/json/values.ts";
import {
  type ClientDialect,
  type NativeFormat,
  type NativeNews,
  numberIn,
  type ParseContext,
} from "./client.ts";
import { parseHistory } from "./messages-history.ts";
import { renderMessage } from "./messages-reply.ts";
import { MessagesRenderer } from "./messages-stream.ts";
import { parseToolChoice, parseTools } from "./messages-tools.ts";

export const messages: ClientDialect = {
  parse: parseMessages,
  render: renderMessage,
  renderer: (context) => new MessagesRenderer(context),
};

/** Members with a place in the hub. */
const KNOWN = new Set(
  "model messages system max_tokens temperature top_p top_k stop_sequences stream tools tool_choice thinking output_config output_format metadata service_tier".split(
    " ",
  ),
);
/** Members that change the answer and work only with Anthropic's own servers. Source: requirements T18.7. */
const VITAL: Readonly<Record<string, string>> = {
  mcp_servers: "该渠道不支持由上游连接 MCP 服务器",
  container: "该渠道不支持容器",
  inference_geo: "该渠道不能指定推理所在地区",
};

/** Unit: characters. */
const USER_LIMIT = 64;

/** Throws: Unmappable. */
function parseMessages(body: JsonRecord, { model, isStream }: ParseContext): HubRequest {
  const dropped = new Set(leftOut(body));
  const history = parseHistory(body);
  for (const name of history.dropped) dropped.add(name);
  const output = asObject(body["output_config"]);
  if (output?.["task_budget"] !== undefined) dropped.add("output_config.task_budget");
  const user = asText(asObject(body["metadata"])?.["user_id"]);
  // Other vendors refuse longer names (requirements T18.3).
  const name = user === undefined ? undefined : shortName(user, USER_LIMIT);
  const stop = asList(body["stop_sequences"]).filter((item) => typeof item === "string");
  return {
    model,
    isStream,
    messages: history.messages,
    maxTokens: numberIn(body, "max_tokens"),
    temperature: numberIn(body, "temperature"),
    topP: numberIn(body, "top_p"),
    topK: numberIn(body, "top_k"),
    stop: stop.length > 0 ? stop : undefined,
    tools: parseTools(body["tools"], (name) => dropped.add(name)),
    ...parseToolChoice(body["tool_choice"]),
    format: formatOf(asObject(output?.["format"]) ?? asObject(body["output_format"])),
    reasoning: reasoningOf(asObject(body["thinking"]), asText(output?.["effort"])),
    serviceTier: tierOf(body["service_tier"]),
    user: name,
    // Claude Code identifies its conversation here: its requests share a prefix (vendors/claude-code).
    cacheKey: name,
    dropped: [...dropped],
  };
}

function leftOut(body: JsonRecord): readonly string[] {
  return Object.entries(body).flatMap(([name, value]) => {
    if (KNOWN.has(name) || value === null || value === undefined) return [];
    if (Array.isArray(value) && value.length === 0) return [];
    const reason = VITAL[name];
    if (reason !== undefined) throw new Unmappable(name, reason);
    return [name];
  });
}

function tierOf(tier: unknown): string | undefined {
  if (tier === "standard_only") return "default";
  return tier === "auto" ? "auto" : undefined;
}

const EFFORTS: ReadonlySet<string> = new Set<Effort>(["low", "medium", "high", "xhigh", "max"]);

/** Source: requirements T18.2. */
function reasoningOf(thinking: JsonRecord | undefined, word: string | undefined): HubReasoning | undefined {
  // The set holds words of Effort only.
  const effort = word !== undefined && EFFORTS.has(word) ? (word as Effort) : undefined;
  switch (thinking?.["type"]) {
    case "disabled":
    // The lowest effort that some models accept.
    case "between_tools":
      return { effort: "none", budgetTokens: 0, isShown: undefined };
    case "enabled":
      return {
        effort,
        budgetTokens: numberIn(thinking, "budget_tokens") ?? -1,
        isShown: shownBy(thinking) ?? true,
      };
    case "adaptive":
      return { effort, budgetTokens: -1, isShown: shownBy(thinking) };
    default:
      return effort && { effort, budgetTokens: undefined, isShown: undefined };
  }
}

function shownBy(thinking: JsonRecord): boolean | undefined {
  const display = thinking["display"];
  return typeof display === "string" ? display !== "omitted" : undefined;
}

function formatOf(format: JsonRecord | undefined): HubFormat | undefined {
  const schema = asObject(format?.["schema"]);
  if (format === undefined) return undefined;
  if (format["type"] !== "json_schema" || schema === undefined)
    throw new Unmappable("output_config.format", "只支持 json_schema 格式");
  // Anthropic enforces every schema; OpenAI's strict mode takes closed ones only.
  const strict = isClosed(schema) ? true : undefined;
  return { kind: "schema", name: "output", schema, strict, description: undefined };
}

/** Whether every object of a schema lists all of its members as required and takes no others. */
function isClosed(schema: JsonRecord): boolean {
  const properties = asObject(schema["properties"]);
  if (properties !== undefined) {
    const required = asList(schema["required"]);
    const isComplete = Object.keys(properties).every((name) => required.includes(name));
    if (!isComplete || schema["additionalProperties"] !== false) return false;
  }
  const parts = [...Object.values(properties ?? {}), schema["items"], ...asList(schema["anyOf"])];
  const shared = Object.values(asObject(schema["$defs"]) ?? {});
  return [...parts, ...shared].every((part) => {
    const inner = asObject(part);
    return inner === undefined || isClosed(inner);
  });
}

// Anthropic Messages between a client and an upstream that both speak it: how the passing bytes are observed (vendors/claude-messages).

export const messagesNative: NativeFormat = {
  name: "messages",
  keys: {
    text: ["text", "thinking", "partial_json"],
    finish: ["stop_reason"],
    usage: ["usage"],
    error: ["error"],
  },
  // message_stop and content_block_stop; a short delta is parsed in vain.
  shortBytes: 48,
  holdsFinish: false,
  lastEvent: 'event: message_stop\ndata: {"type":"message_stop"}\n\n',
  news,
  calls: (body) => asList(body["content"]).map(callIn).join(""),
  isReply: (body) => body["type"] === "message" || Array.isArray(body["content"]),
  usage: (raw) => openAiUsage(raw) ?? {},
};

/** The answer to a count of tokens: a number, no reply. Source: vendors/claude-count. */
export const messagesCount: NativeFormat = {
  ...messagesNative,
  isReply: (body) => typeof body["input_tokens"] === "number",
};

function callIn(block: unknown): string {
  const input = asObject(block)?.["input"];
  return input === undefined ? "" : JSON.stringify(input);
}

function news(event: JsonRecord): NativeNews {
  switch (event["type"]) {
    case "message_start":
      return { usage: asObject(asObject(event["message"])?.["usage"]) };
    case "message_delta":
      return {
        usage: withoutZeros(asObject(event["usage"])),
        isFinish: typeof asObject(event["delta"])?.["stop_reason"] === "string",
      };
    case "message_stop":
      return { isFinish: true, isEnd: true };
    case "message":
      return { usage: asObject(event["usage"]) };
    default: {
      const error = errorIn(event);
      return error === undefined ? { usage: asObject(event["usage"]) } : { error };
    }
  }
}

/** A zero never overwrites what message_start reported: vendors repeat the object with its input counts empty (vendors/claude-events). */
function withoutZeros(usage: JsonRecord | undefined): JsonRecord | undefined {
  if (usage === undefined) return undefined;
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => !isZero(value)));
}
