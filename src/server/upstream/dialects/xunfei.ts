// iFlytek Spark's WebSocket service (vendors/spark-socket): one request message, frames as the answer, the last one has status 2. It only
// streams.

import { mediaInResults, toolText } from "#server/upstream/hub/chat-body.ts";
import {
  alternated,
  isBlank,
  madeCallId,
  offerOf,
  ownExtras,
  plainSchema,
  usageIn,
  within,
} from "#server/upstream/hub/plain.ts";
import type { HubChunk } from "#server/upstream/hub/reply.ts";
import {
  type Ability,
  type HubMessage,
  type HubRequest,
  hintsBeyond,
  systemText,
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
import type {
  DecodeContext,
  Dialect,
  Encoded,
  StreamDecoder,
  Target,
  WireError,
  WireEvent,
} from "./dialect.ts";

const NOTHING: readonly HubChunk[] = [];
/** The status of the last frame. */
const LAST = 2;

export const xunfei: Dialect = {
  native: undefined,
  frames: "lines",
  onlyStreams: true,
  address: (_, __, target) => target.baseUrl + versionOf(target).path,
  encode: (request, { target }) => encodeRequest(request, target),
  // Whole bodies are errors of the handshake: answers come as frames.
  decode: (body, context) => errorIn(body, context) ?? NOTHING,
  decoder: (context) => new XunfeiDecoder(context),
};

class XunfeiDecoder implements StreamDecoder {
  readonly #context: DecodeContext;
  #hasHead = false;
  #hasCall = false;

  constructor(context: DecodeContext) {
    this.#context = context;
  }

  take({ data }: WireEvent): readonly HubChunk[] | WireError {
    const frame = readJson(data);
    if (frame === undefined) return NOTHING;
    return errorIn(frame, this.#context) ?? this.#read(frame);
  }

  #read(frame: JsonRecord): readonly HubChunk[] {
    const header = asObject(frame["header"]);
    const payload = asObject(frame["payload"]);
    const choices = asObject(payload?.["choices"]);
    const chunks: HubChunk[] = [];
    if (!this.#hasHead) {
      this.#hasHead = true;
      chunks.push({ kind: "head", id: asText(header?.["sid"]) });
    }
    for (const item of asList(choices?.["text"])) this.#say(asObject(item), chunks);
    const usage = usageIn(asObject(asObject(payload?.["usage"])?.["text"]));
    if (usage !== undefined) chunks.push(usage);
    if ((choices?.["status"] ?? header?.["status"]) === LAST) {
      const reason = this.#hasCall ? "tool_calls" : "stop";
      chunks.push({ kind: "finish", index: 0, reason }, { kind: "end" });
    }
    return chunks;
  }

  #say(piece: JsonRecord | undefined, chunks: HubChunk[]): void {
    const thought = asText(piece?.["reasoning_content"]) ?? "";
    if (thought !== "") chunks.push({ kind: "thought", index: 0, text: thought });
    const text = asText(piece?.["content"]) ?? "";
    if (text !== "") chunks.push({ kind: "text", index: 0, text });
    const call = asObject(piece?.["function_call"]);
    const name = asText(call?.["name"]) ?? "";
    if (name === "" || this.#hasCall) return;
    this.#hasCall = true;
    const id = madeCallId(this.#context.seed, 0);
    chunks.push({
      kind: "tool",
      index: 0,
      at: 0,
      id,
      name,
      arguments: asText(call?.["arguments"]) ?? "",
    });
  }
}

function errorIn({ header }: JsonRecord, { wire }: Pick<DecodeContext, "wire">): WireError | undefined {
  const code = asNumber(asObject(header)?.["code"]);
  if (code === undefined || code === 0) return undefined;
  const status = wire.quirks?.faultStatus?.[String(code)] ?? 500;
  const message = asText(asObject(header)?.["message"]) ?? "";
  return { kind: "error", status, message, code, type: "xunfei_error" };
}

// The hub → the request message of Spark's WebSocket service (vendors/spark-socket): texts only, past calls as text.

interface Version {
  readonly domain: string;
  readonly path: string;
  readonly maxTokens: number;
  readonly hasFunctions?: true;
  readonly hasSystem?: true;
}

const VERSIONS: Readonly<Record<string, Version>> = {
  "v1.1": { domain: "lite", path: "/v1.1/chat", maxTokens: 4096 },
  "v2.1": { domain: "generalv2", path: "/v2.1/chat", maxTokens: 4096 },
  "v3.1": {
    domain: "generalv3",
    path: "/v3.1/chat",
    maxTokens: 8192,
    hasFunctions: true,
    hasSystem: true,
  },
  "v3.1-128K": { domain: "pro-128k", path: "/chat/pro-128k", maxTokens: 8192, hasSystem: true },
  "v3.5": {
    domain: "generalv3.5",
    path: "/v3.5/chat",
    maxTokens: 8192,
    hasFunctions: true,
    hasSystem: true,
  },
  "v3.5-32K": {
    domain: "max-32k",
    path: "/chat/max-32k",
    maxTokens: 32_768,
    hasFunctions: true,
    hasSystem: true,
  },
  "v4.0": { domain: "4.0Ultra", path: "/v4.0/chat", maxTokens: 8192, hasFunctions: true, hasSystem: true },
  x1: { domain: "x1", path: "/v1/x1", maxTokens: 32_768, hasSystem: true },
};

const NAMES: Readonly<Record<string, string>> = {
  "spark-lite": "v1.1",
  "spark-pro": "v3.1",
  "spark-pro-128k": "v3.1-128K",
  "spark-max": "v3.5",
  "spark-max-32k": "v3.5-32K",
  "spark-4.0-ultra": "v4.0",
  "spark-x1": "x1",
  ...Object.fromEntries(
    Object.entries(VERSIONS).map(([version, { domain }]) => [domain.toLowerCase(), version]),
  ),
};
const FALLBACK_VERSION = "v1.1";
const ABILITIES: ReadonlySet<Ability> = new Set(["top_k", "parallel_tool_calls"]);
const NAME_LIMIT = 64;

/** The API version of a model: by its name, by the client's query, by the channel. */
function versionOf({ model, apiVersion, other }: Target): Version {
  const name = NAMES[model.toLowerCase()] ?? /-(v\d.*)$/i.exec(model)?.[1];
  const version = name ?? (apiVersion || other || FALLBACK_VERSION);
  return (
    VERSIONS[version] ?? {
      domain: `general${version}`,
      path: `/${encodeURIComponent(version)}/chat`,
      maxTokens: 4096,
    }
  );
}

/** Throws: Unmappable. */
function encodeRequest(request: HubRequest, target: Target): Encoded {
  const version = versionOf(target);
  const { own, rest } = ownExtras(request, ["auditing"]);
  const names = new ToolNames(NAME_LIMIT);
  const { functions, searches } = functionsOf(request, version, names);
  const { maxTokens, topP, stop = [], reasoning, format } = request;
  if (format !== undefined && format.kind !== "text") throw new Unmappable("response_format");
  const dropped = [...hintsBeyond(rest, ABILITIES), ...mediaInResults(request, () => false)];
  if (maxTokens !== undefined && maxTokens > version.maxTokens) dropped.push("max_tokens");
  if (topP !== undefined) dropped.push("top_p");
  if (stop.length > 0) dropped.push("stop");
  if (reasoning !== undefined) dropped.push("reasoning_effort");
  if (searches) dropped.push("web_search_options");
  const body = {
    header: { app_id: target.account },
    parameter: {
      chat: {
        domain: version.domain,
        temperature: within(request.temperature, 0.01, 1),
        top_k: within(request.topK, 1, 6),
        max_tokens: within(maxTokens, 1, version.maxTokens),
        ...own,
      },
    },
    payload: {
      message: { text: textsOf(request.messages, version, names) },
      ...(functions.length > 0 && { functions: { text: functions } }),
    },
  };
  return { body, dropped, toolNames: names.changed };
}

function functionsOf(request: HubRequest, { hasFunctions, domain }: Version, names: ToolNames) {
  const { functions, forced, searches } = offerOf(request, names);
  if (forced !== undefined) throw new Unmappable("tool_choice", "该渠道不支持指定工具");
  if (functions.length > 0 && hasFunctions !== true)
    throw new Unmappable("tools", `星火 ${domain} 不支持工具调用`);
  const texts = functions.map(({ name, description, parameters }): JsonRecord => {
    return { name, description: description ?? name, parameters: plainSchema(parameters) };
  });
  return { functions: texts, searches };
}

interface Said {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

function textsOf(messages: readonly HubMessage[], version: Version, names: ToolNames): readonly Said[] {
  const system = systemText(messages) ?? "";
  const said = messages.flatMap((message) => saidIn(message, names));
  const greeting: Said[] =
    system === "" || version.hasSystem === true
      ? []
      : [
          { role: "user", content: system },
          { role: "assistant", content: "好的" },
        ];
  const turns = alternated([...greeting, ...said], {
    isAnswer: ({ role }) => role === "assistant",
    isBlank: ({ content }) => isBlank(content),
    join: (one, other): Said => ({ ...other, content: `${one.content}\n${other.content}` }),
    say: (role, content) => ({ role, content }),
  });
  return system !== "" && version.hasSystem === true
    ? [{ role: "system", content: system }, ...turns]
    : turns;
}

/** The wire cannot express past calls and their results: they become text (vendors/spark-socket). */
function saidIn(message: HubMessage, names: ToolNames): Said[] {
  switch (message.role) {
    case "user": {
      const other = message.parts.find(({ kind }) => kind !== "text" && kind !== "refusal");
      if (other !== undefined)
        throw new Unmappable(`messages[].content[].${other.kind}`, "该渠道只支持文本内容");
      return [{ role: "user", content: textOf(message.parts, "\n") }];
    }
    case "assistant": {
      const calls = message.toolCalls.map((call) => `[call ${names.wireName(call.name)} ${call.arguments}]`);
      const content = [textOf(message.parts), ...calls].filter((text) => text !== "").join("\n");
      return [{ role: "assistant", content }];
    }
    case "tool":
      return [{ role: "user", content: `[result] ${toolText(message)}` }];
    default:
      return [];
  }
}
