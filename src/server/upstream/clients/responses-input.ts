// The input of a Responses body → hub messages (vendors/responses-request, requirements T18.5). Calls, which are separate items there,
// become part of the assistant's turn.

import {
  type HubMessage,
  type HubPart,
  type HubThought,
  type HubToolCall,
  type MediaSource,
  parseDataUrl,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { objectsIn, textIn } from "./client.ts";
import { ADDED_TOOLS, callOfItem, FOUND_TOOLS, foundTools, isHostedSearch } from "./responses-tools.ts";

/** Prefix of texts that OpenAI has encrypted. */
const SEALED = /^gAAAA/;

/** Prefix of the thinking signatures written here; OpenAI's own are useless to other vendors. */
export const PROOF_PREFIX = "tollgate:";

/** An assistant's turn under construction. */
interface Turn {
  readonly parts: HubPart[];
  readonly thoughts: HubThought[];
  readonly toolCalls: HubToolCall[];
}

/** Throws: Unmappable for server-side state, and for unknown items. */
export function parseInput(body: JsonRecord): HubMessage[] {
  const instructions = textIn(body, "instructions");
  const system: HubMessage[] =
    instructions === undefined || instructions === ""
      ? []
      : [{ role: "system", parts: [{ kind: "text", text: instructions }] }];
  const input = body["input"];
  if (typeof input === "string") return [...system, { role: "user", parts: [{ kind: "text", text: input }] }];
  const reader = new InputReader();
  for (const item of objectsIn(body, "input")) reader.add(item);
  return [...system, ...reader.end()];
}

class InputReader {
  readonly #messages: HubMessage[] = [];
  readonly #names = new Map<string, string>();
  #turn: Turn | undefined;

  add(item: JsonRecord): void {
    const call = callOfItem(item);
    if (call !== undefined) {
      this.#names.set(call.id, call.name);
      this.#assistant().toolCalls.push(call);
      return;
    }
    if (isHostedSearch(item)) return;
    const type = textIn(item, "type") ?? "message";
    if (type === "message") this.#addMessage(item);
    else if (type === "reasoning") this.#assistantAfterCalls().thoughts.push(thoughtOf(item));
    else if (type.endsWith("_output")) this.#addOutput(item);
    else if (type === "agent_message") this.#addAgentMessage(item);
    else if (type === "compaction" || type === "compaction_summary") this.#addCompaction(item);
    else if (type !== ADDED_TOOLS && !HOSTED.has(type))
      throw new Unmappable(`input[].${type.slice(0, 40)}`, "该渠道不支持此类输入项");
  }

  end(): readonly HubMessage[] {
    this.#closeTurn();
    return this.#messages;
  }

  #addMessage(item: JsonRecord): void {
    const role = textIn(item, "role") ?? "user";
    const parts = partsOf(item["content"]);
    if (role === "assistant") {
      this.#assistantAfterCalls().parts.push(...parts);
      return;
    }
    this.#closeTurn();
    if (role !== "user" && role !== "system" && role !== "developer")
      throw new Unmappable("input[].role", `不支持的角色 ${role.slice(0, 40)}`);
    this.#messages.push({ role, parts });
  }

  #addOutput(item: JsonRecord): void {
    const callId = textIn(item, "call_id") ?? textIn(item, "id") ?? "";
    const name = this.#names.get(callId);
    // An output without its call, which some server would have to store, is useless.
    if (name === undefined)
      throw new Unmappable("input[].call_id", "缺少与该输出对应的调用，请在 input 中携带完整的历史");
    this.#closeTurn();
    this.#messages.push({ role: "tool", callId, name, parts: resultParts(item), isError: false });
  }

  /** A message from another Codex agent becomes a user message. */
  #addAgentMessage(item: JsonRecord): void {
    this.#closeTurn();
    this.#messages.push({ role: "user", parts: partsOf(item["content"]) });
  }

  /** A summary that only OpenAI can read cannot be translated; a readable one replaces the messages it summarizes. */
  #addCompaction(item: JsonRecord): void {
    const text = textIn(item, "summary");
    if (text === undefined) throw new Unmappable("input[].compaction", "该渠道无法读取加密的压缩历史");
    this.#closeTurn();
    this.#messages.push({ role: "user", parts: [{ kind: "text", text }] });
  }

  /** A message or thought of the assistant after calls begins a new turn. */
  #assistantAfterCalls(): Turn {
    if ((this.#turn?.toolCalls.length ?? 0) > 0) this.#closeTurn();
    return this.#assistant();
  }

  #assistant(): Turn {
    this.#turn ??= { parts: [], thoughts: [], toolCalls: [] };
    return this.#turn;
  }

  #closeTurn(): void {
    if (this.#turn === undefined) return;
    this.#messages.push({ role: "assistant", ...this.#turn });
    this.#turn = undefined;
  }
}

/** Items of tools that OpenAI ran itself: their results are in the text that follows. */
const HOSTED = new Set([
  "web_search_call",
  "file_search_call",
  "code_interpreter_call",
  "image_generation_call",
  "mcp_call",
  "mcp_list_tools",
]);

function thoughtOf(item: JsonRecord): HubThought {
  const texts = [...objectsIn(item, "summary"), ...objectsIn(item, "content")].map(
    (part) => textIn(part, "text") ?? "",
  );
  const proof = textIn(item, "encrypted_content");
  const signature = proof?.startsWith(PROOF_PREFIX) === true ? proof.slice(PROOF_PREFIX.length) : undefined;
  return { text: texts.join("\n"), signature };
}

function partsOf(content: unknown): HubPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ kind: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return content.flatMap((item: unknown) => {
    const part = asObject(item);
    return part === undefined ? [] : [partOf(part)];
  });
}

function partOf(part: JsonRecord): HubPart {
  const type = textIn(part, "type") ?? "input_text";
  switch (type) {
    case "input_text":
    case "output_text":
    case "text":
      return { kind: "text", text: textIn(part, "text") ?? "" };
    case "encrypted_content":
      return { kind: "text", text: openText(part) };
    case "refusal":
      return { kind: "refusal", text: textIn(part, "refusal") ?? "" };
    case "input_image":
      return { kind: "image", source: imageSource(part), detail: textIn(part, "detail") };
    case "input_file":
      return { kind: "file", source: fileSource(part), filename: textIn(part, "filename") };
    case "input_audio": {
      const audio = asObject(part["input_audio"]);
      return { kind: "audio", base64: textIn(audio, "data") ?? "", format: textIn(audio, "format") ?? "wav" };
    }
    default:
      throw new Unmappable(`input[].content[].${type.slice(0, 40)}`, "不支持的内容类型");
  }
}

/** OpenAI's models encrypt messages to another agent; other models write plain text. Throws: Unmappable. */
function openText(part: JsonRecord): string {
  const text = textIn(part, "encrypted_content") ?? "";
  if (SEALED.test(text))
    throw new Unmappable("input[].content[].encrypted_content", "该渠道无法读取加密的消息");
  return text;
}

function imageSource(part: JsonRecord): MediaSource {
  const url = textIn(part, "image_url") ?? textIn(asObject(part["image_url"]), "url");
  if (url === undefined)
    throw new Unmappable("input[].content[].input_image.file_id", "不支持以文件 ID 引用图片");
  return parseDataUrl(url) ?? { kind: "url", url };
}

function fileSource(part: JsonRecord): (HubPart & { kind: "file" })["source"] {
  const data = textIn(part, "file_data");
  if (data !== undefined)
    return parseDataUrl(data) ?? { kind: "data", mime: "application/pdf", base64: data };
  const url = textIn(part, "file_url");
  if (url !== undefined) return { kind: "url", url };
  const id = textIn(part, "file_id");
  if (id === undefined) throw new Unmappable("input[].content[].input_file", "缺少 file_data");
  return { kind: "id", id };
}

function resultParts(item: JsonRecord): HubPart[] {
  return outputParts(item["type"] === FOUND_TOOLS ? foundTools(item) : item["output"]);
}

/** Outputs are texts, parts, or the result of a shell. */
function outputParts(output: unknown): HubPart[] {
  if (typeof output === "string") return [{ kind: "text", text: output }];
  const isParts =
    Array.isArray(output) && output.every((item) => typeof asObject(item)?.["type"] === "string");
  return isParts ? partsOf(output) : [{ kind: "text", text: JSON.stringify(output ?? "") }];
}
