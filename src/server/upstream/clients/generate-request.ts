// Gemini's generateContent bodies into the hub (vendors/gemini-clients, requirements T18.2, T18.6). Pure.
import {
  type Effort,
  type HubFormat,
  type HubMessage,
  type HubPart,
  type HubReasoning,
  type HubRequest,
  type HubTool,
  type HubToolCall,
  type HubToolChoice,
  type MediaSource,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import { asList, asNumber, asText, type JsonRecord } from "#server/upstream/json/values.ts";
import type { ParseContext } from "./client.ts";
import { camel, jsonSchema, member, objectMember, objectsMember } from "./generate-fields.ts";

/** Members that are read, or that do not affect the answer. */
const READ: ReadonlySet<string> = new Set([
  "model",
  "contents",
  "systemInstruction",
  "tools",
  "toolConfig",
  "generationConfig",
  "serviceTier",
]);
const READ_SETTINGS: ReadonlySet<string> = new Set([
  "temperature",
  "topP",
  "topK",
  "candidateCount",
  "maxOutputTokens",
  "stopSequences",
  "presencePenalty",
  "frequencyPenalty",
  "seed",
  "responseMimeType",
  "responseSchema",
  "responseJsonSchema",
  "_responseJsonSchema",
  "responseModalities",
  "responseLogprobs",
  "logprobs",
  "imageConfig",
  "thinkingConfig",
]);

/** Throws: Unmappable. */
export function parseGenerate(body: JsonRecord, { model, isStream }: ParseContext): HubRequest {
  if (member(body, "cachedContent") !== undefined)
    throw new Unmappable("cachedContent", "该渠道无法读取其他服务缓存的内容");
  const settings = objectMember(body, "generationConfig") ?? {};
  const instruction = member(body, "systemInstruction");
  const system = systemMessage(instruction, objectMember(body, "systemInstruction"));
  const messages = messagesOf(objectsMember(body, "contents"));
  if (messages.length === 0) throw new Unmappable("contents", "对话内容不能为空");
  const tools = toolsOf(objectsMember(body, "tools"));
  return {
    model,
    isStream,
    messages: system === undefined ? messages : [system, ...messages],
    ...settingsOf(settings),
    tools: tools.length > 0 ? tools : undefined,
    toolChoice: toolChoiceOf(objectMember(body, "toolConfig")),
    serviceTier: tierOf(asText(member(body, "serviceTier"))),
    dropped: [...unread(body, READ, ""), ...unread(settings, READ_SETTINGS, "generationConfig.")],
  };
}

function unread(record: JsonRecord, read: ReadonlySet<string>, prefix: string): string[] {
  return Object.keys(record)
    .filter((name) => record[name] !== null && !read.has(camel(name)) && !read.has(name))
    .map((name) => prefix + name);
}

function settingsOf(settings: JsonRecord): Partial<HubRequest> {
  const number = (name: string) => asNumber(member(settings, name));
  const stop = asList(member(settings, "stopSequences")).filter((item) => typeof item === "string");
  const hasLogprobs = member(settings, "responseLogprobs") === true;
  return {
    maxTokens: number("maxOutputTokens"),
    temperature: number("temperature"),
    topP: number("topP"),
    topK: number("topK"),
    n: number("candidateCount"),
    seed: number("seed"),
    presencePenalty: number("presencePenalty"),
    frequencyPenalty: number("frequencyPenalty"),
    stop: stop.length > 0 ? stop : undefined,
    logprobs: hasLogprobs ? { top: number("logprobs") } : undefined,
    format: formatOf(settings),
    reasoning: reasoningOf(objectMember(settings, "thinkingConfig")),
    extras: picturesOf(settings),
  };
}

function formatOf(settings: JsonRecord): HubFormat | undefined {
  const mime = asText(member(settings, "responseMimeType")) ?? "";
  const plain = objectMember(settings, "responseJsonSchema") ?? objectMember(settings, "_responseJsonSchema");
  const own = objectMember(settings, "responseSchema");
  const schema = plain ?? (own && jsonSchema(own));
  if (mime === "" || mime === "text/plain") return undefined;
  if (mime !== "application/json") throw new Unmappable("generationConfig.responseMimeType");
  if (schema === undefined) return { kind: "json" };
  return { kind: "schema", name: "response", schema, strict: undefined, description: undefined };
}

const LEVELS: Readonly<Record<string, Effort>> = {
  MINIMAL: "minimal",
  LOW: "low",
  MEDIUM: "medium",
  HIGH: "high",
};

/** Gemini sends thoughts only on request. */
function reasoningOf(config: JsonRecord | undefined): HubReasoning | undefined {
  if (config === undefined) return undefined;
  const level = asText(member(config, "thinkingLevel"))?.toUpperCase() ?? "";
  return {
    effort: LEVELS[level],
    budgetTokens: asNumber(member(config, "thinkingBudget")),
    isShown: member(config, "includeThoughts") === true,
  };
}

/** Images are requested in the format that several gateways share. */
function picturesOf(settings: JsonRecord): JsonRecord | undefined {
  const kinds = asList(member(settings, "responseModalities")).map((kind) => String(kind).toLowerCase());
  if (kinds.some((kind) => kind !== "text" && kind !== "image"))
    throw new Unmappable("generationConfig.responseModalities", "该渠道不支持音频输出");
  const config = objectMember(settings, "imageConfig");
  if (!kinds.includes("image") && config === undefined) return undefined;
  const aspect = config && asText(member(config, "aspectRatio"));
  const size = config && asText(member(config, "imageSize"));
  return {
    ...(kinds.includes("image") && { modalities: kinds }),
    ...(config !== undefined && {
      image_config: {
        ...(aspect !== undefined && { aspect_ratio: aspect }),
        ...(size !== undefined && { image_size: size }),
      },
    }),
  };
}

/** In OpenAI's format. */
function tierOf(tier: string | undefined): string | undefined {
  const word = tier?.toLowerCase().replace(/^service_tier_/, "");
  if (word === undefined || word === "unspecified") return undefined;
  return word === "standard" ? "default" : word;
}

// Gemini's tools and tool choice → the hub (vendors/gemini-clients, requirements T18.6). Pure.

/** Names of the web search tool in all API versions. */
const SEARCHES: ReadonlySet<string> = new Set([
  "googleSearch",
  "googleSearchRetrieval",
  "enterpriseWebSearch",
]);

/** Throws: Unmappable, for tools that only Google runs. */
function toolsOf(tools: readonly JsonRecord[]): HubTool[] {
  return tools.flatMap((tool) =>
    Object.keys(tool).flatMap((given): HubTool[] => {
      const name = camel(given);
      if (tool[given] === null || tool[given] === undefined) return [];
      if (name === "functionDeclarations") return objectsMember(tool, name).map(functionOf);
      if (SEARCHES.has(name)) return [{ kind: "web-search", options: {} }];
      throw new Unmappable(`tools[].${given}`, "该渠道不支持此内置工具");
    }),
  );
}

function functionOf(declaration: JsonRecord): HubTool {
  const own = objectMember(declaration, "parameters");
  return {
    kind: "function",
    name: asText(declaration["name"]) ?? "",
    description: asText(declaration["description"]),
    parameters: objectMember(declaration, "parametersJsonSchema") ?? (own && jsonSchema(own)),
  };
}

function toolChoiceOf(config: JsonRecord | undefined): HubToolChoice | undefined {
  const calling = config && objectMember(config, "functionCallingConfig");
  if (calling === undefined) return undefined;
  const allowed = member(calling, "allowedFunctionNames");
  const names = Array.isArray(allowed) ? allowed.filter((name) => typeof name === "string") : [];
  const [only] = names;
  switch (asText(calling["mode"])?.toUpperCase()) {
    case "NONE":
      return { kind: "none" };
    case "ANY":
      if (only === undefined) return { kind: "any" };
      return names.length === 1 ? { kind: "tool", name: only } : { kind: "subset", names, isRequired: true };
    case "AUTO":
    case "VALIDATED":
      return names.length === 0 ? { kind: "auto" } : { kind: "subset", names, isRequired: false };
    default:
      return undefined;
  }
}

// Gemini's `contents` as messages of the hub (vendors/gemini-clients, requirements T18.6). Pure.

type ToolResult = HubMessage & { role: "tool" };

const PART = "contents[].parts[]";

/** A `systemInstruction`: a content, a part, or just a text. */
function systemMessage(value: unknown, instruction: JsonRecord | undefined): HubMessage | undefined {
  if (typeof value === "string") return { role: "system", parts: [{ kind: "text", text: value }] };
  if (instruction === undefined) return undefined;
  const parts = instruction["parts"] === undefined ? [instruction] : objectsMember(instruction, "parts");
  const texts = parts.map((part): HubPart => {
    const text = asText(part["text"]);
    if (text === undefined) throw new Unmappable("systemInstruction.parts[]", "系统指令只支持文本");
    return { kind: "text", text };
  });
  return texts.length === 0 ? undefined : { role: "system", parts: texts };
}

/** The conversation as hub messages. Throws: Unmappable. */
function messagesOf(contents: readonly JsonRecord[]): HubMessage[] {
  const calls = new Calls();
  return contents.flatMap((content) => {
    const parts = objectsMember(content, "parts");
    return content["role"] === "model" ? modelTurn(parts, calls) : userTurn(parts, calls);
  });
}

/** The calls of a conversation, looked up by their results. */
class Calls {
  #count = 0;
  readonly #open: HubToolCall[] = [];

  add(call: JsonRecord, signature: string | undefined): HubToolCall {
    const name = asText(call["name"]) ?? "";
    const id = asText(call["id"]) || `call_${name}_${this.#count}`;
    this.#count += 1;
    const made = { id, name, arguments: JSON.stringify(objectMember(call, "args") ?? {}), signature };
    this.#open.push(made);
    return made;
  }

  /** By id, else the first unanswered one of that name. */
  answer(response: JsonRecord): HubToolCall {
    const byId = this.#open.findIndex(({ id }) => id === response["id"]);
    const at = byId >= 0 ? byId : this.#open.findIndex(({ name }) => name === response["name"]);
    const [found] = at < 0 ? [] : this.#open.splice(at, 1);
    if (found === undefined) throw new Unmappable(`${PART}.functionResponse`, "找不到与之对应的函数调用");
    return found;
  }
}

/** Thoughts are dropped: only the vendor that made them can use them. */
function modelTurn(parts: readonly JsonRecord[], calls: Calls): HubMessage[] {
  const toolCalls: HubToolCall[] = [];
  const said: HubPart[] = [];
  for (const part of parts) {
    const call = objectMember(part, "functionCall");
    if (call !== undefined) toolCalls.push(calls.add(call, asText(member(part, "thoughtSignature"))));
    else if (part["thought"] !== true) said.push(...partOf(part));
  }
  if (toolCalls.length === 0 && said.length === 0) return [];
  return [{ role: "assistant", parts: said, thoughts: [], toolCalls }];
}

/** Tool results go first, because the calls came last. */
function userTurn(parts: readonly JsonRecord[], calls: Calls): HubMessage[] {
  const results: ToolResult[] = [];
  const said: HubPart[] = [];
  for (const part of parts) {
    const response = objectMember(part, "functionResponse");
    if (response !== undefined) results.push(resultOf(response, calls));
    else said.push(...partOf(part));
  }
  return said.length === 0 ? results : [...results, { role: "user", parts: said }];
}

function resultOf(response: JsonRecord, calls: Calls): ToolResult {
  const call = calls.answer(response);
  const { text, isError } = answerOf(objectMember(response, "response") ?? {});
  const media = objectsMember(response, "parts").flatMap(partOf);
  return {
    role: "tool",
    callId: call.id,
    name: call.name,
    parts: [{ kind: "text", text }, ...media],
    isError,
  };
}

/** Members that wrap a plain text result, Google's own first. */
const WRAPPERS = ["output", "result", "content"];

/** A result that only wraps a text is that text; any other is its JSON. */
function answerOf(response: JsonRecord): { text: string; isError: boolean } {
  const [name, ...others] = Object.keys(response);
  const value = name === undefined || others.length > 0 ? undefined : response[name];
  if (name === "error") return { text: asText(value) ?? JSON.stringify(value), isError: true };
  const isWrapped = name !== undefined && WRAPPERS.includes(name) && typeof value === "string";
  return { text: isWrapped ? value : JSON.stringify(response), isError: false };
}

/** Settings of a part besides its content. */
const MANNERS: ReadonlySet<string> = new Set([
  "thought",
  "thoughtSignature",
  "thought_signature",
  "videoMetadata",
  "video_metadata",
  "mediaResolution",
  "media_resolution",
  "partMetadata",
  "part_metadata",
]);

function partOf(part: JsonRecord): HubPart[] {
  const text = asText(part["text"]);
  if (text !== undefined) return [{ kind: "text", text }];
  const inline = objectMember(part, "inlineData");
  if (inline !== undefined) return [inlinePart(inline)];
  const file = objectMember(part, "fileData");
  if (file !== undefined) return [filePart(file)];
  const code = objectMember(part, "executableCode");
  if (code !== undefined)
    return [fenced((asText(code["language"]) ?? "").toLowerCase(), asText(code["code"]))];
  const result = objectMember(part, "codeExecutionResult");
  if (result !== undefined) return [fenced("", asText(result["output"]))];
  const unknown = Object.keys(part).find((name) => !MANNERS.has(name));
  if (unknown !== undefined) throw new Unmappable(`${PART}.${unknown}`);
  return [];
}

function fenced(language: string, text = ""): HubPart {
  return { kind: "text", text: `\`\`\`${language}\n${text}\n\`\`\`` };
}

/** Audio in OpenAI's format. */
const AUDIO_FORMATS: Readonly<Record<string, string>> = { mpeg: "mp3", "x-wav": "wav", wave: "wav" };

function inlinePart(inline: JsonRecord): HubPart {
  const mime = (asText(member(inline, "mimeType")) ?? "").toLowerCase();
  const base64 = asText(inline["data"]) ?? "";
  const [kind = "", subtype = ""] = mime.split(";", 1)[0]?.split("/") ?? [];
  if (kind === "audio") return { kind: "audio", base64, format: AUDIO_FORMATS[subtype] ?? subtype };
  return mediumPart(kind, { kind: "data", mime, base64 }, asText(member(inline, "displayName")));
}

/** Addresses that only Google's services can read. */
const GOOGLE_ONLY = /^(?!https?:\/\/)|^https:\/\/generativelanguage\.googleapis\.com\//;
const YOUTUBE = /^https:\/\/(([a-z]+\.)?youtube\.com|youtu\.be)\//;

function filePart(file: JsonRecord): HubPart {
  const url = asText(member(file, "fileUri")) ?? "";
  if (GOOGLE_ONLY.test(url))
    throw new Unmappable(`${PART}.fileData`, "该渠道无法读取此文件，请改用 inlineData");
  const kind = YOUTUBE.test(url) ? "video" : (asText(member(file, "mimeType")) ?? "").split("/", 1)[0];
  return mediumPart(kind ?? "", { kind: "url", url }, asText(member(file, "displayName")));
}

function mediumPart(kind: string, source: MediaSource, filename: string | undefined): HubPart {
  if (kind === "image" || kind === "video") return { kind, source };
  return { kind: "file", source, filename };
}
