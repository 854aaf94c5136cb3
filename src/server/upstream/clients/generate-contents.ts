// Gemini's `contents` as messages of the hub (vendors/gemini-clients, requirements T18.6). Pure.

import {
  type HubMessage,
  type HubPart,
  type HubToolCall,
  type MediaSource,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import { asText, type JsonRecord } from "#server/upstream/json/values.ts";
import { member, objectMember, objectsMember } from "./generate-fields.ts";

type ToolResult = HubMessage & { role: "tool" };

const PART = "contents[].parts[]";

/** A `systemInstruction`: a content, a part, or just a text. */
export function systemMessage(value: unknown, instruction: JsonRecord | undefined): HubMessage | undefined {
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
export function messagesOf(contents: readonly JsonRecord[]): HubMessage[] {
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
