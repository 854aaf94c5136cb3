// The system texts and the messages of a Messages request → the hub (vendors/claude-messages, requirements T18.3).

import {
  type HubMessage,
  type HubPart,
  type HubThought,
  type HubToolCall,
  type MediaSource,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import { asList, asObject, asText, type JsonRecord } from "#server/upstream/json/values.ts";
import { cacheMark } from "./client.ts";

/** Claude Code's attribution; only Anthropic removes it itself. Source: vendors/claude-code. */
const ATTRIBUTION = "x-anthropic-billing-header:";

export interface History {
  readonly messages: readonly HubMessage[];
  /** Dropped hints. */
  readonly dropped: readonly string[];
}

/** Throws: Unmappable. */
export function parseHistory(body: JsonRecord): History {
  const reader = new HistoryReader();
  reader.system(body["system"]);
  for (const item of asList(body["messages"])) reader.message(asObject(item) ?? {});
  return { messages: reader.messages, dropped: [...reader.dropped] };
}

class HistoryReader {
  readonly messages: HubMessage[] = [];
  readonly dropped = new Set<string>();
  /** The tool name of every call so far, looked up by its result. */
  readonly #callNames = new Map<string, string>();

  system(value: unknown): void {
    const parts = blocksOf(value)
      .flatMap((block) => this.#parts(block))
      .flatMap(withoutAttribution);
    if (parts.length > 0) this.messages.push({ role: "system", parts });
  }

  message({ role, content }: JsonRecord): void {
    switch (role) {
      case "user":
        this.#user(blocksOf(content));
        return;
      case "assistant":
        this.#assistant(blocksOf(content));
        return;
      case "system":
        this.system(content);
        return;
      default:
        throw new Unmappable("messages[].role", "只能是 user、assistant 或 system");
    }
  }

  /** Results go before the rest of the user's turn: they answer the turn before. */
  #user(blocks: readonly JsonRecord[]): void {
    const parts: HubPart[] = [];
    for (const block of blocks) {
      if (block["type"] === "tool_result") this.messages.push(this.#result(block));
      else parts.push(...this.#parts(block));
    }
    const hasResults = blocks.some(({ type }) => type === "tool_result");
    if (parts.length > 0 || !hasResults) this.messages.push({ role: "user", parts });
  }

  #result(block: JsonRecord): HubMessage {
    const callId = asText(block["tool_use_id"]) ?? "";
    return {
      role: "tool",
      callId,
      name: this.#callNames.get(callId),
      parts: blocksOf(block["content"]).flatMap((item) => this.#parts(item)),
      isError: block["is_error"] === true,
      cache: cacheMark(block),
    };
  }

  #assistant(blocks: readonly JsonRecord[]): void {
    const parts: HubPart[] = [];
    const thoughts: HubThought[] = [];
    const toolCalls: HubToolCall[] = [];
    for (const block of blocks) {
      switch (block["type"]) {
        case "thinking":
          thoughts.push({ text: asText(block["thinking"]) ?? "", signature: asText(block["signature"]) });
          break;
        case "redacted_thinking":
          thoughts.push({ text: "", signature: undefined, redacted: asText(block["data"]) ?? "" });
          break;
        case "tool_use":
          toolCalls.push(this.#call(block));
          break;
        default:
          parts.push(...this.#parts(block));
      }
    }
    this.messages.push({ role: "assistant", parts, thoughts, toolCalls });
  }

  #call(block: JsonRecord): HubToolCall {
    const id = asText(block["id"]) ?? "";
    const name = asText(block["name"]) ?? "";
    this.#callNames.set(id, name);
    if (block["cache_control"] !== undefined) this.dropped.add("messages[].content[].cache_control");
    return { id, name, arguments: JSON.stringify(asObject(block["input"]) ?? {}) };
  }

  #parts(block: JsonRecord): readonly HubPart[] {
    const type = asText(block["type"]) ?? "";
    const cache = cacheMark(block);
    if (asObject(block["citations"])?.["enabled"] === true)
      this.dropped.add("messages[].content[].citations");
    switch (type) {
      case "text":
        return [{ kind: "text", text: asText(block["text"]) ?? "", cache }];
      case "image":
        return [{ kind: "image", source: mediaOf(block, "image"), cache }];
      case "document":
        return this.#document(block);
      case "search_result":
        return [{ kind: "text", text: searchText(block), cache }];
      case "compaction":
        return [{ kind: "text", text: asText(block["content"]) ?? "", cache }];
      case "tool_reference":
        return [{ kind: "text", text: `[tool: ${asText(block["tool_name"]) ?? ""}]` }];
      default:
        return this.#unknown(type);
    }
  }

  /** Results of Anthropic's own tools are dropped: only Anthropic can read them. Source: requirements T18.3. */
  #unknown(type: string): readonly HubPart[] {
    if (!/^(server_tool_use|mcp_tool_use|[a-z_]+_tool_result)$/.test(type))
      throw new Unmappable("messages[].content[].type", `该渠道不支持 ${type.slice(0, 60)} 内容`);
    this.dropped.add(`messages[].content[].${type}`);
    return [];
  }

  #document(block: JsonRecord): readonly HubPart[] {
    const source = asObject(block["source"]) ?? {};
    const cache = cacheMark(block);
    const about = [asText(block["title"]), asText(block["context"])].filter((text) => text !== undefined);
    if (source["type"] === "text")
      return [{ kind: "text", text: [...about, asText(source["data"]) ?? ""].join("\n"), cache }];
    if (source["type"] === "content") {
      const title: HubPart[] = about.length === 0 ? [] : [{ kind: "text", text: about.join("\n") }];
      return [...title, ...blocksOf(source["content"]).flatMap((item) => this.#parts(item))];
    }
    return [{ kind: "file", source: mediaOf(block, "document"), filename: asText(block["title"]), cache }];
  }
}

/** A text counts as one block of text. */
function blocksOf(content: unknown): readonly JsonRecord[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return asList(content)
    .map(asObject)
    .filter((block) => block !== undefined);
}

function withoutAttribution(part: HubPart): readonly HubPart[] {
  if (part.kind !== "text" || !part.text.startsWith(ATTRIBUTION)) return [part];
  const end = part.text.indexOf("\n");
  const rest = end < 0 ? "" : part.text.slice(end + 1).trimStart();
  return rest === "" ? [] : [{ ...part, text: rest }];
}

/** Throws: Unmappable for files stored at Anthropic. */
function mediaOf(block: JsonRecord, kind: "image" | "document"): MediaSource {
  const source = asObject(block["source"]) ?? {};
  const { type, url, data, media_type: mime } = source;
  if (type === "url" && typeof url === "string") return { kind: "url", url };
  if (type === "base64" && typeof data === "string") {
    const standard = kind === "image" ? "image/png" : "application/pdf";
    return { kind: "data", mime: typeof mime === "string" ? mime : standard, base64: data };
  }
  if (type === "file")
    throw new Unmappable("messages[].content[].source.file_id", "文件编号只在原厂商有效，请直接发送文件内容");
  throw new Unmappable("messages[].content[].source", "无法识别的内容来源");
}

function searchText(block: JsonRecord): string {
  const texts = blocksOf(block["content"]).map(({ text }) => asText(text) ?? "");
  return [asText(block["title"]), asText(block["source"]), ...texts].filter(Boolean).join("\n");
}
