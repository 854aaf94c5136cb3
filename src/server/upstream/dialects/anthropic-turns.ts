// The history in Anthropic's format: alternating turns of user and assistant, tool results first and together (vendors/claude-request).
import { CallIds } from "#server/upstream/hub/plain.ts";
import {
  argumentsOf,
  type CacheMark,
  type HubMessage,
  type HubPart,
  type HubRequest,
  type HubThought,
  type HubTool,
  type HubToolCall,
  lostThoughts,
  systemText,
  textOf,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";

interface Turns {
  readonly system: string | readonly JsonRecord[] | undefined;
  readonly messages: readonly JsonRecord[];
  /** Dropped hints. */
  readonly dropped: readonly string[];
}

interface Turn {
  readonly role: "user" | "assistant";
  /** Tool results, which come first in a user turn. */
  readonly results: JsonRecord[];
  readonly blocks: JsonRecord[];
}

/** Neutral text for an empty turn, which would be refused. Source: vendors/claude-request. */
const PLACEHOLDER = { type: "text", text: "..." } as const;
/** User text after a prefill that the model would refuse (vendor docs, Claude 4.6 and newer). */
const GO_ON = { type: "text", text: "Continue." } as const;
const PDF = "application/pdf";

/** Settings that depend on the request and its model. */
interface Manner {
  /** Added to the system texts. */
  readonly hint: string | undefined;
  readonly takesPrefill: boolean;
  /** Whether thoughts of earlier turns are sent. */
  readonly takesThoughts: boolean;
}

/** `nameOf` returns a tool's name on the wire. Throws: Unmappable. */
export function turnsOf(
  messages: readonly HubMessage[],
  nameOf: (name: string) => string,
  { hint, takesPrefill, takesThoughts }: Manner,
): Turns {
  const turns: Turn[] = [];
  const dropped = new Set<string>();
  const ids = new CallIds(toolId);
  const turnOf = (role: Turn["role"]): Turn => {
    const last = turns.at(-1);
    if (last?.role === role) return last;
    const turn: Turn = { role, results: [], blocks: [] };
    turns.push(turn);
    return turn;
  };
  for (const message of messages) {
    if (message.role !== "tool" && message.name !== undefined) dropped.add("messages[].name");
    switch (message.role) {
      case "system":
      case "developer":
        break;
      case "user":
        turnOf("user").blocks.push(...message.parts.flatMap(blockOf));
        break;
      case "tool":
        turnOf("user").results.push(resultOf(message, ids.ofResult(message.callId)));
        break;
      case "assistant":
        if (takesThoughts) addThoughts(turnOf("assistant").blocks, message);
        addAssistant(turnOf("assistant").blocks, message, (call) => toolUseOf(call, ids, nameOf));
        break;
      default:
        throw new Error(`unknown message ${JSON.stringify(message satisfies never)}`);
    }
  }
  const isKept = ({ signature, redacted }: HubThought) => takesThoughts && Boolean(signature || redacted);
  for (const name of lostThoughts({ messages }, isKept)) dropped.add(name);
  trimLast(turns.at(-1));
  for (const turn of turns) dropLastThoughts(turn);
  const last = turns.at(-1);
  if (!takesPrefill && last?.role === "assistant" && last.blocks.at(-1)?.["type"] === "text")
    turnOf("user").blocks.push(GO_ON);
  return { system: systemOf(messages, hint), messages: alternating(turns), dropped: [...dropped] };
}

/** Removes empty turns, joins adjacent turns of one role, and lets the user begin. */
function alternating(turns: readonly Turn[]): readonly JsonRecord[] {
  const messages: { role: string; content: JsonRecord[] }[] = [];
  for (const { role, results, blocks } of turns) {
    const content = [...results, ...blocks];
    if (content.length === 0) continue;
    const last = messages.at(-1);
    if (last?.role === role) last.content.push(...content);
    else messages.push({ role, content });
  }
  if (messages[0]?.role !== "user") messages.unshift({ role: "user", content: [PLACEHOLDER] });
  return messages;
}

/** Trailing blanks of a prefill are refused. Source: vendors/claude-request. */
function trimLast(turn: Turn | undefined): void {
  const last = turn?.role === "assistant" ? turn.blocks.at(-1) : undefined;
  if (last?.["type"] !== "text") return;
  turn?.blocks.pop();
  const text = String(last["text"]).trimEnd();
  if (text !== "") turn?.blocks.push({ ...last, text });
}

/**
 * A turn that ends with a thought makes the whole request invalid: an answer that was aborted before its text ends so. Source: Anthropic's
 * 400 "The final block in an assistant message cannot be `thinking`".
 */
function dropLastThoughts({ blocks }: Turn): void {
  while (String(blocks.at(-1)?.["type"]).endsWith("thinking")) blocks.pop();
}

function systemOf(messages: readonly HubMessage[], hint: string | undefined): Turns["system"] {
  const parts = messages.flatMap((message) =>
    message.role === "system" || message.role === "developer" ? message.parts : [],
  );
  if (parts.some(({ kind }) => kind !== "text" && kind !== "refusal"))
    throw new Unmappable("messages[].content", "系统消息只能是文本");
  const hints = hint === undefined ? [] : [hint];
  if (parts.some((part) => part.kind === "text" && part.cache !== undefined))
    return [...parts.flatMap(blockOf), ...hints.map((text) => ({ type: "text", text }))];
  const texts = [systemText(messages) ?? "", ...hints].filter((text) => text !== "");
  return texts.length === 0 ? undefined : texts.join("\n\n");
}

/** Thinking without a signature is refused (vendors/claude-request). */
function addThoughts(blocks: JsonRecord[], { thoughts }: HubMessage & { role: "assistant" }): void {
  for (const { text, signature, redacted } of thoughts) {
    if (redacted !== undefined) blocks.push({ type: "redacted_thinking", data: redacted });
    else if (signature !== undefined && signature !== "")
      blocks.push({ type: "thinking", thinking: text, signature });
  }
}

function addAssistant(
  blocks: JsonRecord[],
  message: HubMessage & { role: "assistant" },
  toolUse: (call: HubToolCall) => JsonRecord,
): void {
  blocks.push(...message.parts.flatMap(blockOf));
  blocks.push(...message.toolCalls.map(toolUse));
}

function toolUseOf(call: HubToolCall, ids: CallIds, nameOf: (name: string) => string): JsonRecord {
  return { type: "tool_use", id: ids.ofCall(call.id), name: nameOf(call.name), input: argumentsOf(call) };
}

function resultOf({ parts, isError, cache }: HubMessage & { role: "tool" }, id: string): JsonRecord {
  const isText = parts.every((part) => part.kind === "text" && part.cache === undefined);
  const content = isText ? textOf(parts) : parts.flatMap(blockOf);
  return {
    type: "tool_result",
    tool_use_id: id,
    // An error result must have text.
    content: isError && content.length === 0 ? [PLACEHOLDER] : content,
    ...(isError && { is_error: true }),
    ...cacheControl(cache),
  };
}

/** Ids of other vendors may contain characters that this wire refuses; the mapping is stable. */
function toolId(id: string): string {
  return id === "" ? "toolu_0" : id.replace(/[^A-Za-z0-9_-]/g, "_");
}

/** A part as a block; blank texts would be refused, so they are dropped. Throws: Unmappable. */
function blockOf(part: HubPart): JsonRecord[] {
  switch (part.kind) {
    case "text":
      return isBlank(part.text) ? [] : [{ type: "text", text: part.text, ...cacheControl(part.cache) }];
    case "refusal":
      return isBlank(part.text) ? [] : [{ type: "text", text: part.text }];
    case "image":
      return [{ type: "image", source: sourceOf(part.source), ...cacheControl(part.cache) }];
    case "file":
      return [fileOf(part)];
    case "audio":
      throw new Unmappable("messages[].content[].input_audio", "该渠道不支持音频输入");
    case "video":
      throw new Unmappable("messages[].content[].video_url", "该渠道不支持视频输入");
    default:
      throw new Error(`unknown part ${JSON.stringify(part satisfies never)}`);
  }
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}

function sourceOf(source: (HubPart & { kind: "image" })["source"]): JsonRecord {
  return source.kind === "url"
    ? { type: "url", url: source.url }
    : { type: "base64", media_type: source.mime, data: source.base64 };
}

function fileOf({ source, filename, cache }: HubPart & { kind: "file" }): JsonRecord {
  if (source.kind === "id")
    throw new Unmappable("messages[].content[].file.file_id", "文件编号只在原厂商有效，请直接发送文件内容");
  const more = { ...(filename !== undefined && { title: filename }), ...cacheControl(cache) };
  if (source.kind === "url") return { type: "document", source: { type: "url", url: source.url }, ...more };
  if (source.mime.startsWith("image/"))
    return { type: "image", source: sourceOf(source), ...cacheControl(cache) };
  if (source.mime === PDF) return { type: "document", source: sourceOf(source), ...more };
  if (!source.mime.startsWith("text/"))
    throw new Unmappable("messages[].content[].file", "该渠道只支持 PDF 和文本文件");
  const data = Buffer.from(source.base64, "base64").toString();
  return { type: "document", source: { type: "text", media_type: "text/plain", data }, ...more };
}

/** The member `cache_control` of a block. */
function cacheControl(cache: CacheMark | undefined): JsonRecord {
  if (cache === undefined) return {};
  return { cache_control: { type: "ephemeral", ...(cache.ttl !== undefined && { ttl: cache.ttl }) } };
}

// Tools and tool choice in Anthropic's format (vendors/claude-request, requirements T18.2).

/** Number of searches by the requested context size. Source: vendors/claude-request (New API). */
const SEARCH_USES: Readonly<Record<string, number>> = { low: 1, medium: 5, high: 10 };

/** The members `tools` and `tool_choice`; none where there are no tools. `forces`: a call may be forced. Throws: Unmappable. */
export function toolsOf(request: HubRequest, nameOf: (name: string) => string, forces: boolean): JsonRecord {
  const choice = request.toolChoice;
  // The wire has no choice among several tools: the other tools are dropped.
  const offered = (request.tools ?? []).filter(
    (tool) => choice?.kind !== "subset" || tool.kind === "web-search" || choice.names.includes(tool.name),
  );
  if (offered.length === 0) {
    if (choice !== undefined && choice.kind !== "auto" && choice.kind !== "none")
      throw new Unmappable("tool_choice", "没有可用的工具");
    return {};
  }
  const toolChoice = choiceOf(request, nameOf, forces);
  return {
    tools: offered.map((tool) => toolOf(tool, nameOf)),
    ...(toolChoice !== undefined && { tool_choice: toolChoice }),
  };
}

function toolOf(tool: HubTool, nameOf: (name: string) => string): JsonRecord {
  switch (tool.kind) {
    case "function":
      return {
        name: nameOf(tool.name),
        ...(tool.description !== undefined && { description: tool.description }),
        input_schema: { ...tool.parameters, type: "object" },
        ...(tool.strict !== undefined && { strict: tool.strict }),
        ...cacheControl(tool.cache),
      };
    case "custom":
      return {
        name: nameOf(tool.name),
        description: [tool.description ?? "", grammarOf(tool.format)]
          .filter((text) => text !== "")
          .join("\n\n"),
        input_schema: { type: "object", properties: { input: { type: "string" } }, required: ["input"] },
      };
    case "web-search":
      return searchOf(tool.options);
    default:
      throw new Error(`unknown tool ${JSON.stringify(tool satisfies never)}`);
  }
}

/** A grammar cannot be enforced on this wire; it is put into the description. */
function grammarOf(format: JsonRecord | undefined): string {
  const grammar = asObject(format?.["grammar"]) ?? format;
  const definition = grammar?.["definition"];
  return typeof definition === "string" ? `The input must match this grammar:\n${definition}` : "";
}

function searchOf(options: JsonRecord): JsonRecord {
  const size = options["search_context_size"];
  const uses = options["max_uses"] ?? (typeof size === "string" ? SEARCH_USES[size] : undefined);
  const place = asObject(options["user_location"]);
  const filters = asObject(options["filters"]);
  const allowed = filters?.["allowed_domains"];
  const blocked = filters?.["blocked_domains"];
  return {
    type: "web_search_20250305",
    name: "web_search",
    ...(typeof uses === "number" && { max_uses: uses }),
    ...(Array.isArray(allowed) && { allowed_domains: allowed }),
    ...(Array.isArray(blocked) && { blocked_domains: blocked }),
    // OpenAI's location is nested one level deeper.
    ...(place !== undefined && {
      user_location: { type: "approximate", ...(asObject(place["approximate"]) ?? place) },
    }),
  };
}

function choiceOf(
  request: HubRequest,
  nameOf: (name: string) => string,
  forces: boolean,
): JsonRecord | undefined {
  const { toolChoice, parallelToolCalls } = request;
  const alone = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  switch (toolChoice?.kind) {
    case undefined:
      return parallelToolCalls === false ? { type: "auto", ...alone } : undefined;
    case "none":
      return { type: "none" };
    case "auto":
      return { type: "auto", ...alone };
    case "any":
      return { type: forces ? "any" : "auto", ...alone };
    case "tool":
      return forces ? { type: "tool", name: nameOf(toolChoice.name), ...alone } : { type: "auto", ...alone };
    case "subset":
      return { type: forces && toolChoice.isRequired ? "any" : "auto", ...alone };
    default:
      throw new Error(`unknown choice ${JSON.stringify(toolChoice satisfies never)}`);
  }
}
