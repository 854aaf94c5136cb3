// The hub → an OpenAI chat body: for openai, azure and every wire that uses OpenAI's messages, for clients of other formats
// (requirements T18.3). Pure.
import type { JsonRecord } from "#server/upstream/json/values.ts";
import {
  effortFor,
  type HubMessage,
  type HubPart,
  type HubRequest,
  type HubTool,
  type HubToolChoice,
  hintsWithin,
  lostThoughts,
  mediaUrl,
  shortName,
  ToolNames,
  textOf,
  Unmappable,
} from "./request.ts";

export interface ChatBodyOptions {
  /** Thinking of earlier turns is sent back as `reasoning_content`: some vendors require it, most refuse it. */
  readonly keepsThoughts: boolean;
  /** Files in a tool result follow the results, like images. Absent = a placeholder text replaces them. */
  readonly showsFiles?: boolean;
}

export interface ChatBody {
  readonly body: JsonRecord;
  readonly dropped: readonly string[];
  readonly toolNames: ReadonlyMap<string, string>;
}

type Assistant = HubMessage & { role: "assistant" };

/** Source: requirements T18.3. */
const TOOL_NAME_LIMIT = 64;
/** OpenAI refuses longer ids, which other vendors use. Unit: characters. */
const CALL_ID_LIMIT = 40;
const STOP_LIMIT = 4;
/** Models that refuse the field itself. */
const WITHOUT_REASONING = /^(gpt-3|gpt-4|chatgpt|text-)/;

/** Models that search the web by `web_search_options`; others refuse the field (vendors/openai-chat). */
const SEARCHING = /search|sonar|:online$/;

/** Writes a chat body. Throws: Unmappable for media that a chat body cannot hold. */
export function chatBody(request: HubRequest, options: ChatBodyOptions): ChatBody {
  const names = new ToolNames(TOOL_NAME_LIMIT);
  const { extras, stop, n, logprobs } = request;
  // A chat body can express names and image details.
  const dropped: string[] = hintsWithin(request).filter((name) => name === "cache_control");
  dropped.push(...mediaInResults(request, isShown));
  if (!options.keepsThoughts) dropped.push(...lostThoughts(request, () => false));
  const effort = request.reasoning && effortFor(request.model, request.reasoning);
  const takesEffort = effort !== undefined && !WITHOUT_REASONING.test(request.model);
  if (effort !== undefined && effort !== "none" && !takesEffort) dropped.push("reasoning_effort");
  if (request.topK !== undefined) dropped.push("top_k");
  if (stop !== undefined && stop.length > STOP_LIMIT) dropped.push("stop");
  const searches = request.tools?.some(({ kind }) => kind === "web-search") === true;
  if (searches && !SEARCHING.test(request.model)) dropped.push("web_search_options");
  const body: Record<string, unknown> = {
    model: request.model,
    messages: chatMessages(request.messages, names, { ...options, showsFiles: true }),
    ...(request.isStream && { stream: true, stream_options: { include_usage: true } }),
    max_tokens: request.maxTokens,
    temperature: request.temperature,
    top_p: request.topP,
    stop: stop?.slice(0, STOP_LIMIT),
    seed: request.seed,
    presence_penalty: request.presencePenalty,
    frequency_penalty: request.frequencyPenalty,
    n,
    ...(logprobs !== undefined && { logprobs: true, top_logprobs: logprobs.top }),
    ...toolsOf(request, names),
    response_format: formatOf(request),
    ...(takesEffort && { reasoning_effort: effort }),
    verbosity: request.verbosity,
    service_tier: request.serviceTier,
    user: request.user,
    prompt_cache_key: request.cacheKey,
    ...extras,
  };
  // JSON leaves out what is undefined.
  return { body, dropped, toolNames: names.changed };
}

/** Messages in chat format. Throws: Unmappable for media that it cannot hold. */
export function chatMessages(
  messages: readonly HubMessage[],
  names: ToolNames,
  options: ChatBodyOptions,
): JsonRecord[] {
  const out: JsonRecord[] = [];
  // Media in tool results follow all results of the turn: no message may stand between a call and its result.
  let shown: JsonRecord[] = [];
  for (const message of messages) {
    if (message.role === "assistant" && isSilent(message, options)) continue;
    if (message.role !== "tool" && shown.length > 0) {
      out.push({ role: "user", content: shown });
      shown = [];
    }
    out.push(messageOf(message, names, options));
    if (message.role === "tool")
      shown.push(
        ...message.parts
          .filter((part) => isShown(part) && (part.kind === "image" || options.showsFiles === true))
          .map(partOf),
      );
  }
  if (shown.length > 0) out.push({ role: "user", content: shown });
  return out;
}

/**
 * A turn without text or calls: it was aborted, or has only thoughts that this wire does not take. Many vendors refuse a message without
 * content.
 */
function isSilent({ parts, toolCalls, thoughts }: Assistant, { keepsThoughts }: ChatBodyOptions): boolean {
  const isThinking = keepsThoughts && thoughts.some(({ text }) => text !== "");
  return toolCalls.length === 0 && !isThinking && textOf(parts) === "";
}

/** Whether a chat body can hold this medium of a tool result. */
function isShown(part: HubPart): boolean {
  return part.kind === "image" || (part.kind === "file" && part.source.kind !== "url");
}

/** Media of tool results that are replaced by a placeholder text, as dropped hints. */
export function mediaInResults({ messages }: HubRequest, isShown: (part: HubPart) => boolean): string[] {
  const kinds = messages.flatMap(({ role, parts }) =>
    role === "tool"
      ? parts.flatMap((part) =>
          part.kind === "text" || part.kind === "refusal" || isShown(part) ? [] : [part.kind],
        )
      : [],
  );
  return [...new Set(kinds)].map((kind) => `messages[].content[].${kind}`);
}

function callId(id: string): string {
  return id.length <= CALL_ID_LIMIT ? id : shortName(id, CALL_ID_LIMIT);
}

function messageOf(message: HubMessage, names: ToolNames, { keepsThoughts }: ChatBodyOptions): JsonRecord {
  switch (message.role) {
    case "system":
    case "developer":
      return { role: "system", content: textOf(message.parts, "\n"), name: message.name };
    case "user":
      return { role: "user", content: contentOf(message.parts), name: message.name };
    case "assistant": {
      const thinking = message.thoughts.map(({ text }) => text).join("");
      const text = textOf(message.parts);
      return {
        role: "assistant",
        content: text === "" && message.toolCalls.length > 0 ? null : text,
        name: message.name,
        ...(keepsThoughts && thinking !== "" && { reasoning_content: thinking }),
        ...(message.toolCalls.length > 0 && {
          tool_calls: message.toolCalls.map((call) => ({
            id: callId(call.id),
            type: "function",
            function: {
              name: names.wireName(call.name),
              arguments: call.isCustom === true ? JSON.stringify({ input: call.arguments }) : call.arguments,
            },
          })),
        }),
      };
    }
    case "tool":
      return { role: "tool", tool_call_id: callId(message.callId), content: toolText(message) };
    default:
      throw new Error(`unknown role ${JSON.stringify(message satisfies never)}`);
  }
}

/** The text of a tool result; a placeholder text replaces an image (requirements T18.3). */
export function toolText({ parts, isError }: HubMessage & { role: "tool" }): string {
  const text = resultText(parts);
  return isError ? `Error: ${text}` : text;
}

/** The texts of parts; a placeholder text replaces any other part. */
export function resultText(parts: readonly HubPart[]): string {
  return parts
    .map((part) => (part.kind === "text" || part.kind === "refusal" ? part.text : `[${part.kind}]`))
    .join("\n");
}

function contentOf(parts: readonly HubPart[]): string | JsonRecord[] {
  const isText = parts.every(({ kind }) => kind === "text" || kind === "refusal");
  return isText && parts.length <= 1 ? textOf(parts) : parts.map(partOf);
}

function partOf(part: HubPart): JsonRecord {
  switch (part.kind) {
    case "text":
    case "refusal":
      return { type: "text", text: part.text };
    case "image":
      return { type: "image_url", image_url: { url: mediaUrl(part.source), detail: part.detail } };
    case "audio":
      return { type: "input_audio", input_audio: { data: part.base64, format: part.format } };
    case "video":
      return { type: "video_url", video_url: { url: mediaUrl(part.source) } };
    case "file":
      return { type: "file", file: fileOf(part) };
    default:
      throw new Error(`unknown part ${JSON.stringify(part satisfies never)}`);
  }
}

function fileOf({ source, filename }: HubPart & { kind: "file" }): JsonRecord {
  if (source.kind === "id") return { file_id: source.id };
  if (source.kind === "url") throw new Unmappable("file_url", "该渠道不支持以网址引用文件");
  return { filename: filename ?? "file", file_data: mediaUrl(source) };
}

/** `tools`, `tool_choice` and `parallel_tool_calls`, as far as the request has them; of an allowed subset only its tools are sent. */
export function toolsOf(request: HubRequest, names: ToolNames): JsonRecord {
  const { tools, toolChoice, parallelToolCalls } = request;
  if (tools === undefined || tools.length === 0) return {};
  const search = SEARCHING.test(request.model) ? tools.find((tool) => tool.kind === "web-search") : undefined;
  const callable = tools.filter((tool) => tool.kind !== "web-search");
  const wanted = toolChoice?.kind === "subset" ? new Set(toolChoice.names) : undefined;
  const offered = wanted === undefined ? callable : callable.filter(({ name }) => wanted.has(name));
  return {
    ...(search !== undefined && { web_search_options: search.options }),
    ...(offered.length > 0 && {
      tools: offered.map((tool) => toolOf(tool, names)),
      tool_choice: choiceOf(toolChoice, names),
      parallel_tool_calls: parallelToolCalls,
    }),
  };
}

function toolOf(tool: Exclude<HubTool, { kind: "web-search" }>, names: ToolNames): JsonRecord {
  return { type: "function", function: functionOf(tool, names) };
}

/** A function in chat format. */
export interface ChatFunction {
  readonly name: string;
  readonly description: string | undefined;
  readonly parameters: JsonRecord;
  readonly strict?: boolean | undefined;
}

/** A custom tool becomes a function with one text: only OpenAI's newest chat wire knows custom tools (requirements T18.5). */
export function functionOf(tool: Exclude<HubTool, { kind: "web-search" }>, names: ToolNames): ChatFunction {
  const { name, description } = tool;
  if (tool.kind === "function") {
    const parameters = tool.parameters ?? { type: "object", properties: {} };
    return { name: names.wireName(name), description, parameters, strict: tool.strict };
  }
  const definition = tool.format?.["definition"];
  const hint = typeof definition === "string" ? `\n\nThe input follows this grammar:\n${definition}` : "";
  const parameters = {
    type: "object",
    properties: { input: { type: "string" } },
    required: ["input"],
    additionalProperties: false,
  };
  return { name: names.wireName(name), description: `${description ?? ""}${hint}`, parameters };
}

function choiceOf(choice: HubToolChoice | undefined, names: ToolNames): unknown {
  switch (choice?.kind) {
    case undefined:
      return undefined;
    case "any":
      return "required";
    case "tool":
      return { type: "function", function: { name: names.wireName(choice.name) } };
    case "subset":
      return choice.isRequired ? "required" : "auto";
    default:
      return choice?.kind;
  }
}

function formatOf({ format }: HubRequest): JsonRecord | undefined {
  if (format?.kind !== "schema") return format?.kind === "json" ? { type: "json_object" } : undefined;
  const { name, schema, strict, description } = format;
  return { type: "json_schema", json_schema: { name, schema, strict, description } };
}
