// An OpenAI chat body → the hub (vendors/openai-chat). Lenient where known clients are; members without a place in the hub are kept as
// extras under their own names.
import {
  effortOf,
  type HubFormat,
  type HubMessage,
  type HubPart,
  type HubReasoning,
  type HubRequest,
  type HubThought,
  type HubTool,
  type HubToolCall,
  type HubToolChoice,
  type MediaSource,
  parseDataUrl,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { cacheMark, flagIn, numberIn, objectsIn, type ParseContext, textIn, textsIn } from "./client.ts";

/** Members with a place in the hub; all others are extras. */
const KNOWN = new Set([
  "model",
  "messages",
  "stream",
  "stream_options",
  "max_tokens",
  "max_completion_tokens",
  "temperature",
  "top_p",
  "top_k",
  "stop",
  "seed",
  "presence_penalty",
  "frequency_penalty",
  "n",
  "logprobs",
  "top_logprobs",
  "tools",
  "functions",
  "tool_choice",
  "function_call",
  "parallel_tool_calls",
  "response_format",
  "reasoning_effort",
  "reasoning",
  "verbosity",
  "service_tier",
  "user",
  "prompt_cache_key",
  "web_search_options",
]);

/** Throws: Unmappable for tools and contents that OpenAI does not define. */
export function parseChat(body: JsonRecord, { model, isStream }: ParseContext): HubRequest {
  const extras = Object.fromEntries(
    Object.entries(body).filter(([name, value]) => !KNOWN.has(name) && value !== null),
  );
  return {
    model,
    isStream,
    messages: parseMessages(objectsIn(body, "messages")),
    maxTokens: numberIn(body, "max_completion_tokens") ?? numberIn(body, "max_tokens"),
    temperature: numberIn(body, "temperature"),
    topP: numberIn(body, "top_p"),
    topK: numberIn(body, "top_k"),
    stop: textsIn(body, "stop"),
    seed: numberIn(body, "seed"),
    presencePenalty: numberIn(body, "presence_penalty"),
    frequencyPenalty: numberIn(body, "frequency_penalty"),
    n: numberIn(body, "n"),
    logprobs: flagIn(body, "logprobs") === true ? { top: numberIn(body, "top_logprobs") } : undefined,
    tools: toolsOf(body),
    toolChoice: choiceOf(body),
    parallelToolCalls: flagIn(body, "parallel_tool_calls"),
    format: formatOf(asObject(body["response_format"])),
    reasoning: reasoningOf(body),
    tellsThoughts: asObject(body["reasoning"])?.["exclude"] !== true,
    verbosity: textIn(body, "verbosity"),
    serviceTier: textIn(body, "service_tier"),
    user: textIn(body, "user"),
    cacheKey: textIn(body, "prompt_cache_key"),
    extras,
  };
}

function toolsOf(body: JsonRecord): HubTool[] | undefined {
  const functions = objectsIn(body, "functions").map((item) => ({ type: "function", function: item }));
  const tools = [...objectsIn(body, "tools"), ...functions].map(toolOf);
  const search = asObject(body["web_search_options"]);
  if (search !== undefined) tools.push({ kind: "web-search", options: search });
  return tools.length > 0 ? tools : undefined;
}

function toolOf(tool: JsonRecord): HubTool {
  const type = textIn(tool, "type") ?? "function";
  const fn = asObject(tool["function"]);
  if (type === "function" && fn !== undefined) {
    return {
      kind: "function",
      name: textIn(fn, "name") ?? "",
      description: textIn(fn, "description"),
      parameters: asObject(fn["parameters"]),
      strict: flagIn(fn, "strict"),
      cache: cacheMark(tool),
    };
  }
  const custom = asObject(tool["custom"]);
  if (type !== "custom" || custom === undefined) throw new Unmappable(`tools[].${type}`);
  return {
    kind: "custom",
    name: textIn(custom, "name") ?? "",
    description: textIn(custom, "description"),
    format: asObject(custom["format"]),
  };
}

function choiceOf(body: JsonRecord): HubToolChoice | undefined {
  const choice = body["tool_choice"] ?? body["function_call"];
  if (choice === "auto" || choice === "none") return { kind: choice };
  if (choice === "required" || choice === "any") return { kind: "any" };
  const object = asObject(choice);
  if (object === undefined) return undefined;
  const allowed = asObject(object["allowed_tools"]);
  if (allowed !== undefined) {
    return {
      kind: "subset",
      names: objectsIn(allowed, "tools").flatMap(toolName),
      isRequired: allowed["mode"] === "required",
    };
  }
  const [name] = toolName(object);
  return name === undefined ? undefined : { kind: "tool", name };
}

/** The name in `{function: {name}}`, `{custom: {name}}` or the old `{name}`. */
function toolName(item: JsonRecord): string[] {
  const name =
    textIn(asObject(item["function"]), "name") ??
    textIn(asObject(item["custom"]), "name") ??
    textIn(item, "name");
  return name === undefined ? [] : [name];
}

function formatOf(format: JsonRecord | undefined): HubFormat | undefined {
  switch (format?.["type"]) {
    case "text":
      return { kind: "text" };
    case "json_object":
      return { kind: "json" };
    case "json_schema": {
      const wanted = asObject(format["json_schema"]);
      return {
        kind: "schema",
        name: textIn(wanted, "name") ?? "answer",
        schema: asObject(wanted?.["schema"]) ?? {},
        strict: flagIn(wanted, "strict"),
        description: textIn(wanted, "description"),
      };
    }
    default:
      return undefined;
  }
}

/** OpenAI's effort, or OpenRouter's object with an effort or a number of tokens. */
function reasoningOf(body: JsonRecord): HubReasoning | undefined {
  const object = asObject(body["reasoning"]);
  const isOff = object?.["enabled"] === false;
  const effort =
    effortOf(body["reasoning_effort"]) ?? effortOf(object?.["effort"]) ?? (isOff ? "none" : undefined);
  const budgetTokens = numberIn(object, "max_tokens");
  if (effort === undefined && budgetTokens === undefined) return undefined;
  return { effort, budgetTokens, isShown: object?.["exclude"] === true ? false : undefined };
}

// The messages of an OpenAI chat body → the hub (vendors/openai-chat).

/** Throws: Unmappable for unknown roles and parts. */
function parseMessages(messages: readonly JsonRecord[]): HubMessage[] {
  const names = new Map<string, string>();
  return messages.map((message) => {
    const parsed = messageOf(message, names);
    if (parsed.role === "assistant") for (const { id, name } of parsed.toolCalls) names.set(id, name);
    return parsed;
  });
}

function messageOf(message: JsonRecord, names: ReadonlyMap<string, string>): HubMessage {
  const role = textIn(message, "role") ?? "user";
  const name = textIn(message, "name");
  const parts = partsOf(message["content"]);
  switch (role) {
    case "system":
    case "developer":
    case "user":
      return { role, parts, name };
    case "assistant":
      return {
        role,
        parts: withRefusal(parts, textIn(message, "refusal")),
        thoughts: thoughtsOf(message),
        toolCalls: callsOf(message),
        name,
      };
    case "tool": {
      const callId = textIn(message, "tool_call_id") ?? "";
      return {
        role,
        callId,
        name: name ?? names.get(callId),
        parts,
        isError: false,
        cache: cacheMark(message),
      };
    }
    case "function":
      return { role: "tool", callId: legacyId(name ?? ""), name, parts, isError: false };
    default:
      throw new Unmappable("messages[].role", `不支持的角色 ${role.slice(0, 40)}`);
  }
}

function withRefusal(parts: HubPart[], refusal: string | undefined): HubPart[] {
  return refusal === undefined || refusal === "" ? parts : [...parts, { kind: "refusal", text: refusal }];
}

function partsOf(content: unknown): HubPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ kind: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return content.flatMap((item: unknown) => {
    if (typeof item === "string") return [{ kind: "text" as const, text: item }];
    const part = asObject(item);
    return part === undefined ? [] : [partOf(part)];
  });
}

function partOf(part: JsonRecord): HubPart {
  const type = textIn(part, "type") ?? "text";
  const cache = cacheMark(part);
  switch (type) {
    case "text":
    case "input_text":
    case "output_text":
      return { kind: "text", text: textIn(part, "text") ?? "", cache };
    case "refusal":
      return { kind: "refusal", text: textIn(part, "refusal") ?? "" };
    case "image_url": {
      const { url, detail } = linkOf(part["image_url"], type);
      return { kind: "image", source: sourceOf(url), detail, cache };
    }
    case "video_url":
      return { kind: "video", source: sourceOf(linkOf(part["video_url"], type).url) };
    case "input_audio": {
      const audio = asObject(part["input_audio"]);
      return { kind: "audio", base64: textIn(audio, "data") ?? "", format: textIn(audio, "format") ?? "wav" };
    }
    case "file":
      return filePart(asObject(part["file"]) ?? {}, cache);
    default:
      throw new Unmappable(`messages[].content[].${type.slice(0, 40)}`, "不支持的内容类型");
  }
}

/** `{url, detail}`, or the bare URL that lenient servers accept. */
function linkOf(value: unknown, type: string): { url: string; detail: string | undefined } {
  if (typeof value === "string") return { url: value, detail: undefined };
  const link = asObject(value);
  const url = textIn(link, "url");
  if (url === undefined) throw new Unmappable(`messages[].content[].${type}`, "缺少 url");
  return { url, detail: textIn(link, "detail") };
}

/** The source of a medium: inline data, or a URL. */
function sourceOf(url: string): MediaSource {
  return parseDataUrl(url) ?? { kind: "url", url };
}

function filePart(file: JsonRecord, cache: { ttl: "5m" | "1h" | undefined } | undefined): HubPart {
  const filename = textIn(file, "filename");
  const data = textIn(file, "file_data");
  if (data !== undefined) {
    // Some clients send the bare base64 text.
    const source = parseDataUrl(data) ?? { kind: "data" as const, mime: "application/pdf", base64: data };
    return { kind: "file", source, filename, cache };
  }
  const url = textIn(file, "file_url");
  if (url !== undefined) return { kind: "file", source: { kind: "url", url }, filename, cache };
  const id = textIn(file, "file_id");
  if (id === undefined) throw new Unmappable("messages[].content[].file", "缺少 file_data");
  return { kind: "file", source: { kind: "id", id }, filename, cache };
}

function callsOf(message: JsonRecord): HubToolCall[] {
  const calls = objectsIn(message, "tool_calls").map((call, index) => callOf(call, index));
  const legacy = asObject(message["function_call"]);
  if (legacy === undefined) return calls;
  const name = textIn(legacy, "name") ?? "";
  return [...calls, { id: legacyId(name), name, arguments: textIn(legacy, "arguments") || "{}" }];
}

/** Old function calls have no id: their name is used as the id. */
function legacyId(name: string): string {
  return `call_${name}`;
}

function callOf(call: JsonRecord, index: number): HubToolCall {
  const id = textIn(call, "id") ?? `call_${index}`;
  const signature = textIn(asObject(asObject(call["extra_content"])?.["google"]), "thought_signature");
  const custom = asObject(call["custom"]);
  if (custom !== undefined) {
    const input = textIn(custom, "input") ?? "";
    return { id, name: textIn(custom, "name") ?? "", arguments: input, isCustom: true, signature };
  }
  const fn = asObject(call["function"]);
  return { id, name: textIn(fn, "name") ?? "", arguments: textIn(fn, "arguments") || "{}", signature };
}

/** Thinking that the client sends back: with its signature if it has one, else as the vendors' plain text. */
function thoughtsOf(message: JsonRecord): HubThought[] {
  const details = objectsIn(message, "reasoning_details").flatMap((detail): HubThought[] => {
    const data = textIn(detail, "data");
    if (detail["type"] === "reasoning.encrypted" && data !== undefined)
      return [{ text: "", signature: undefined, redacted: data }];
    const text = textIn(detail, "text");
    return text === undefined ? [] : [{ text, signature: textIn(detail, "signature") }];
  });
  const text = textIn(message, "reasoning_content") ?? textIn(message, "reasoning");
  if (details.length > 0) return withText(merged(details), text);
  return text === undefined || text === "" ? [] : [{ text, signature: undefined }];
}

/** Streaming clients keep a signature and its text apart: if no thought has text, the first one gets the plain text. */
function withText(thoughts: readonly HubThought[], text: string | undefined): HubThought[] {
  const isBare = thoughts.every((thought) => thought.text === "");
  const first = thoughts.findIndex(({ redacted }) => redacted === undefined);
  return thoughts.map((thought, at) => (isBare && at === first ? { ...thought, text: text ?? "" } : thought));
}

/** Streams deliver a thought and its signature separately; this joins them. */
function merged(details: readonly HubThought[]): HubThought[] {
  const thoughts: HubThought[] = [];
  for (const detail of details) {
    const last = thoughts.at(-1);
    const goesOn = last !== undefined && last.signature === undefined && last.redacted === undefined;
    if (!goesOn || detail.redacted !== undefined) thoughts.push(detail);
    else thoughts[thoughts.length - 1] = { text: last.text + detail.text, signature: detail.signature };
  }
  return thoughts;
}
