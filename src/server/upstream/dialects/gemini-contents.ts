// A conversation as Gemini's `contents` and `systemInstruction` (vendors/gemini-request, vendors/gemini-thinking). Pure.
import {
  argumentsOf,
  type HubMessage,
  type HubPart,
  type HubRequest,
  type HubTool,
  type HubToolCall,
  type HubToolChoice,
  type MediaSource,
  systemText,
  textOf,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import { asObject, type JsonRecord, readJson } from "#server/upstream/json/values.ts";
import { cleanParameters, type SchemaBudget, toolsBudget } from "./gemini-schema.ts";
import { generationOf, isSelfWilled } from "./gemini-thinking.ts";

type Assistant = HubMessage & { role: "assistant" };
type ToolResult = HubMessage & { role: "tool" };

/** Replaces an unknown signature of a call, which Gemini 3 requires. Source: vendors/gemini-thinking. */
const NO_SIGNATURE = "skip_thought_signature_validator";

interface Conversation {
  readonly contents: readonly JsonRecord[];
  readonly systemInstruction: JsonRecord | undefined;
}

interface Turn {
  readonly role: "user" | "model";
  readonly parts: JsonRecord[];
}

/** The model and the API version that the contents are encoded for. */
interface Recipient {
  /** Upstream name. */
  readonly model: string;
  /** The API in use knows `systemInstruction`: v1 does not. */
  readonly takesSystem: boolean;
  wireName(name: string): string;
}

/** The messages in Gemini's format. Throws: Unmappable. */
export function conversation(messages: readonly HubMessage[], recipient: Recipient): Conversation {
  const system = systemText(messages) ?? "";
  const turns = new Turns();
  const calls = new Map<string, HubToolCall>();
  for (const message of messages) {
    switch (message.role) {
      case "system":
      case "developer":
        for (const part of message.parts)
          if (part.kind !== "text") throw new Unmappable(PART_NAMES[part.kind]);
        break;
      case "user":
        turns.add("user", partsOf(message.parts));
        break;
      case "assistant":
        for (const call of message.toolCalls) calls.set(call.id, call);
        turns.add("model", [...partsOf(message.parts), ...callsOf(message, recipient)]);
        break;
      case "tool":
        turns.add("user", resultOf(message, calls.get(message.callId), recipient));
        break;
    }
  }
  if (isSelfWilled(recipient.model)) turns.handBack();
  return placed(system, turns.list, recipient);
}

/** Joins adjacent turns of one role; Gemini requires alternating roles, and results of parallel calls together. */
class Turns {
  readonly list: Turn[] = [];

  add(role: Turn["role"], parts: readonly JsonRecord[]): void {
    if (parts.length === 0) return;
    const last = this.list.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else this.list.push({ role, parts: [...parts] });
  }

  /** Adds a user turn after a prefill, so that the model continues it. */
  handBack(): void {
    const last = this.list.at(-1);
    if (last?.role === "model" && last.parts.every((part) => part["functionCall"] === undefined))
      this.add("user", [{ text: "Continue." }]);
  }
}

/** Puts the system text where this model reads it. Old models: a turn of its own with a confirming answer (as in One API). */
function placed(system: string, turns: readonly Turn[], recipient: Recipient): Conversation {
  const contents: JsonRecord[] = turns.map(({ role, parts }) => ({ role, parts }));
  // A call may only follow a user turn: a truncated history may begin anywhere.
  if (turns[0]?.role === "model" && (recipient.takesSystem || system === ""))
    contents.unshift({ role: "user", parts: [{ text: "..." }] });
  if (system === "") return { contents, systemInstruction: undefined };
  const instruction = { parts: [{ text: system }] };
  if (contents.length === 0)
    return { contents: [{ role: "user", ...instruction }], systemInstruction: undefined };
  if (recipient.takesSystem) return { contents, systemInstruction: instruction };
  const nod = { role: "model", parts: [{ text: "Okay" }] };
  return { contents: [{ role: "user", ...instruction }, nod, ...contents], systemInstruction: undefined };
}

const PART_NAMES: Readonly<Record<HubPart["kind"], string>> = {
  text: "messages[].content[].text",
  image: "messages[].content[].image_url",
  audio: "messages[].content[].input_audio",
  video: "messages[].content[].video_url",
  file: "messages[].content[].file",
  refusal: "messages[].content[].refusal",
};

function partsOf(parts: readonly HubPart[]): JsonRecord[] {
  return parts.filter((part) => !("text" in part && part.text === "")).map(partOf);
}

function partOf(part: HubPart): JsonRecord {
  switch (part.kind) {
    case "text":
    case "refusal":
      return { text: part.text };
    case "image":
    case "video":
      return mediaPart(part.source, PART_NAMES[part.kind]);
    case "audio":
      return { inlineData: { mimeType: `audio/${part.format}`, data: part.base64 } };
    case "file":
      if (part.source.kind !== "id") return mediaPart(part.source, PART_NAMES.file);
      throw new Unmappable(`${PART_NAMES.file}.file_id`, "上游渠道无法读取其他服务中的文件");
  }
}

/** Addresses that Gemini opens itself: its Files API, Cloud Storage, YouTube. */
const OPENED_BY_GEMINI =
  /^(gs:\/\/|https:\/\/generativelanguage\.googleapis\.com\/|https:\/\/((www|m)\.)?youtube\.com\/|https:\/\/youtu\.be\/)/;

export function isOpenedByGemini(url: string): boolean {
  return OPENED_BY_GEMINI.test(url);
}

function mediaPart(source: MediaSource, name: string): JsonRecord {
  if (source.kind === "data") return { inlineData: { mimeType: source.mime, data: source.base64 } };
  if (isOpenedByGemini(source.url)) return { fileData: { fileUri: source.url } };
  throw new Unmappable(name, "上游渠道无法打开该地址，请改用 base64 内容");
}

function callsOf({ toolCalls }: Assistant, { model, wireName }: Recipient): JsonRecord[] {
  const isThird = generationOf(model) >= 3;
  return toolCalls.map((call, at) => {
    // Only the first call of a step has a signature.
    const signature = call.signature ?? (isThird && at === 0 ? NO_SIGNATURE : undefined);
    return {
      functionCall: { ...(isThird && { id: call.id }), name: wireName(call.name), args: argumentsOf(call) },
      ...(signature !== undefined && { thoughtSignature: signature }),
    };
  });
}

/** A tool result and its media, in the same turn. */
function resultOf(message: ToolResult, call: HubToolCall | undefined, recipient: Recipient): JsonRecord[] {
  const name = message.name ?? call?.name;
  if (name === undefined) throw new Unmappable("messages[].tool_call_id", "找不到与之对应的工具调用");
  const isThird = generationOf(recipient.model) >= 3;
  const response = {
    functionResponse: {
      ...(isThird && { id: message.callId }),
      name: recipient.wireName(name),
      response: responseOf(textOf(message.parts, "\n"), message.isError),
    },
  };
  const media = message.parts.filter(({ kind }) => kind !== "text" && kind !== "refusal");
  return [response, ...partsOf(media)];
}

function responseOf(text: string, isError: boolean): JsonRecord {
  if (isError) return { error: text };
  const object = text.startsWith("{") ? asObject(readJson(text)) : undefined;
  return object ?? { content: text };
}

// Tools and tool choice in Gemini's format (vendors/gemini-request). Pure.

interface ToolBox {
  readonly tools: readonly JsonRecord[] | undefined;
  readonly toolConfig: JsonRecord | undefined;
}

type FunctionTool = HubTool & { kind: "function" };

/** Functions of these names request Gemini's built-in tools (a convention of One API). Source: vendors/gemini-request. */
const BUILT_IN: ReadonlySet<string> = new Set(["googleSearch", "codeExecution", "urlContext"]);

/** Throws: Unmappable. */
export function toolBox(request: HubRequest, wireName: (name: string) => string): ToolBox {
  const { tools = [], toolChoice } = request;
  if (tools.length === 0) return { tools: undefined, toolConfig: undefined };
  const builtIn: JsonRecord[] = [];
  const declarations: JsonRecord[] = [];
  const budget = toolsBudget();
  for (const tool of tools) {
    if (tool.kind === "web-search") builtIn.push({ googleSearch: {} });
    else if (isBuiltIn(tool)) builtIn.push({ [tool.name]: {} });
    else if (isOffered(tool.name, toolChoice)) declarations.push(declared(tool, wireName, budget));
  }
  if (builtIn.length > 0 && declarations.length > 0 && generationOf(request.model) < 3)
    throw new Unmappable("tools", "该模型不能同时使用内置工具与函数工具");
  if (declarations.length === 0)
    return { tools: builtIn.length > 0 ? builtIn : undefined, toolConfig: undefined };
  // The mode that enforces the schema of arguments. Older models do not know it.
  const isStrict =
    generationOf(request.model) >= 2.5 && tools.some((tool) => "strict" in tool && tool.strict === true);
  return {
    tools: [...builtIn, { functionDeclarations: declarations }],
    toolConfig: configOf(toolChoice, isStrict, wireName),
  };
}

function isBuiltIn(tool: HubTool): tool is FunctionTool {
  return (
    tool.kind === "function" && BUILT_IN.has(tool.name) && cleanParameters(tool.parameters) === undefined
  );
}

/** With a free choice among a subset, the other tools are not sent. */
function isOffered(name: string, choice: HubToolChoice | undefined): boolean {
  return choice?.kind !== "subset" || choice.isRequired || choice.names.includes(name);
}

function declared(
  tool: Exclude<HubTool, { kind: "web-search" }>,
  wireName: (name: string) => string,
  budget: SchemaBudget,
): JsonRecord {
  const parameters = tool.kind === "custom" ? CUSTOM_INPUT : cleanParameters(tool.parameters, budget);
  return {
    name: wireName(tool.name),
    ...(tool.description !== undefined && { description: tool.description }),
    ...(parameters !== undefined && { parameters }),
  };
}

/** A custom tool becomes a function with one text. */
const CUSTOM_INPUT = { type: "object", properties: { input: { type: "string" } }, required: ["input"] };

function configOf(
  choice: HubToolChoice | undefined,
  isStrict: boolean,
  wireName: (name: string) => string,
): JsonRecord | undefined {
  const config = (mode: string, names?: readonly string[]) => ({
    functionCallingConfig: {
      mode,
      ...(names !== undefined && { allowedFunctionNames: names.map(wireName) }),
    },
  });
  switch (choice?.kind) {
    case undefined:
      return isStrict ? config("VALIDATED") : undefined;
    case "auto":
      return config(isStrict ? "VALIDATED" : "AUTO");
    case "none":
      return config("NONE");
    case "any":
      return config("ANY");
    case "tool":
      return config("ANY", [choice.name]);
    case "subset":
      return choice.isRequired ? config("ANY", choice.names) : config("AUTO");
  }
}
