// The hub → a Converse body (vendors/bedrock). Pure.

import { functionOf } from "#server/upstream/hub/chat-body.ts";
import { CallIds, within } from "#server/upstream/hub/plain.ts";
import {
  type Ability,
  argumentsOf,
  type HubMessage,
  type HubPart,
  type HubRequest,
  type HubThought,
  type HubToolCall,
  hintsBeyond,
  isToolForced,
  lostThoughts,
  type MediaSource,
  shortName,
  systemText,
  ToolNames,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import type { Encoded } from "./dialect.ts";

const ABILITIES: ReadonlySet<Ability> = new Set(["thoughts"]);
const TOOL_NAME_LIMIT = 64;
/** Characters that a call id must not contain. */
const CALL_ID_LIMIT = 64;

/** Throws: Unmappable. */
export function encodeRequest(request: HubRequest): Encoded {
  const { format, maxTokens, temperature, topP } = request;
  if (format !== undefined && format.kind !== "text") throw new Unmappable("response_format");
  const names = new ToolNames(TOOL_NAME_LIMIT);
  const system = systemText(request.messages) ?? "";
  const stop = request.stop?.filter((text) => text !== "") ?? [];
  const settings = {
    maxTokens,
    temperature: within(temperature, 0, 1),
    topP: within(topP, 0, 1),
    ...(stop.length > 0 && { stopSequences: stop }),
  };
  const body = {
    ...(system !== "" && { system: [{ text: system }] }),
    messages: turnsOf(request.messages, names),
    ...(Object.values(settings).some((value) => value !== undefined) && { inferenceConfig: settings }),
    toolConfig: toolConfigOf(request, names),
  };
  return { body, dropped: droppedOf(request), toolNames: names.changed };
}

function droppedOf(request: HubRequest): string[] {
  const searches = request.tools?.some(({ kind }) => kind === "web-search") === true;
  return [
    ...hintsBeyond(request, ABILITIES),
    ...lostThoughts(request, ({ signature }) => signature !== undefined),
    // Each model family has its own member for it.
    ...(request.reasoning === undefined ? [] : ["reasoning_effort"]),
    ...(searches ? ["web_search_options"] : []),
  ];
}

/** Neutral text where the API requires text. */
const FILLER = { text: "…" };

interface Turn {
  readonly role: "user" | "assistant";
  readonly content: JsonRecord[];
}

/** Roles alternate: adjacent turns of one role are joined, and the user begins. Throws: Unmappable. */
function turnsOf(messages: readonly HubMessage[], names: ToolNames): Turn[] {
  const turns: Turn[] = [];
  const known = {
    names,
    ids: new CallIds((id) => shortName(id || "call", CALL_ID_LIMIT)),
    documents: new DocumentNames(),
  };
  for (const message of messages) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const content = contentOf(message, known);
    if (content.length === 0) continue;
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...content);
    else turns.push({ role, content });
  }
  return completed(turns, messages.at(-1)?.role === "user");
}

/** Adds text where the API requires it: before an answer, in an empty user turn, with a document. */
function completed(turns: Turn[], endsWithUser: boolean): Turn[] {
  if (turns[0]?.role === "assistant") turns.unshift({ role: "user", content: [FILLER] });
  if (turns.length === 0 || (endsWithUser && turns.at(-1)?.role !== "user"))
    turns.push({ role: "user", content: [FILLER] });
  for (const { content } of turns) {
    const isRead = content.some(({ document }) => document !== undefined);
    if (isRead && !content.some(({ text }) => text !== undefined)) content.push(FILLER);
  }
  return turns;
}

/** The names of calls, tools and documents of one request. */
interface Names {
  readonly names: ToolNames;
  readonly ids: CallIds;
  readonly documents: DocumentNames;
}

/** undefined for system texts, which are sent elsewhere. Throws: Unmappable. */
function contentOf(message: HubMessage, { names, ids, documents }: Names): JsonRecord[] {
  const said = message.parts.flatMap((part) => blockOf(part, documents));
  switch (message.role) {
    case "system":
    case "developer":
      return [];
    case "user":
      return said;
    case "assistant":
      return [
        ...thoughtsOf(message.thoughts),
        ...said,
        ...message.toolCalls.map((call) => callOf(call, names, ids)),
      ];
    case "tool": {
      const toolUseId = ids.ofResult(message.callId);
      return [{ toolResult: { toolUseId, content: said, ...(message.isError && { status: "error" }) } }];
    }
    default:
      throw new Error(`unknown role ${JSON.stringify(message satisfies never)}`);
  }
}

/** Thinking without its signature is refused. */
function thoughtsOf(thoughts: readonly HubThought[]): JsonRecord[] {
  return thoughts.flatMap(({ text, signature }) =>
    signature === undefined ? [] : [{ reasoningContent: { reasoningText: { text, signature } } }],
  );
}

function callOf(call: HubToolCall, names: ToolNames, ids: CallIds): JsonRecord {
  const toolUseId = ids.ofCall(call.id);
  return { toolUse: { toolUseId, name: names.wireName(call.name), input: argumentsOf(call) } };
}

/** Throws: Unmappable. */
function toolConfigOf(request: HubRequest, names: ToolNames): JsonRecord | undefined {
  const { tools = [], toolChoice, messages } = request;
  const called = messages.flatMap((message) =>
    message.role === "assistant" ? message.toolCalls.map(({ name }) => name) : [],
  );
  const wanted = toolChoice?.kind === "subset" ? new Set(toolChoice.names) : undefined;
  const offered = tools.flatMap((tool) =>
    tool.kind === "web-search" || wanted?.has(tool.name) === false ? [] : [functionOf(tool, names)],
  );
  if (toolChoice?.kind === "none" || offered.length === 0) {
    // A history with calls is refused without tools, and tools that are sent may be called.
    if (called.length > 0) throw new Unmappable("tool_choice", "该渠道的工具调用历史必须附带可用的工具");
    return undefined;
  }
  return {
    tools: offered.map(({ name, description, parameters }) => ({
      toolSpec: { name, ...(description && { description }), inputSchema: { json: parameters } },
    })),
    toolChoice: choiceOf(toolChoice, names),
  };
}

function choiceOf(choice: HubRequest["toolChoice"], names: ToolNames): JsonRecord | undefined {
  if (choice?.kind === "tool") return { tool: { name: names.wireName(choice.name) } };
  return isToolForced(choice) ? { any: {} } : undefined;
}

// Parts of messages → Converse's content blocks (vendors/bedrock; AWS API reference, ContentBlock). Pure.

/** Media types → Converse's names of formats. */
const IMAGES: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpeg",
  "image/jpg": "jpeg",
  "image/gif": "gif",
  "image/webp": "webp",
};
const DOCUMENTS: Readonly<Record<string, string>> = {
  "application/pdf": "pdf",
  "text/csv": "csv",
  "text/html": "html",
  "text/plain": "txt",
  "text/markdown": "md",
};

/** No block for a blank text, which would be refused. Throws: Unmappable. */
function blockOf(part: HubPart, names: DocumentNames): JsonRecord[] {
  switch (part.kind) {
    case "text":
    case "refusal":
      return part.text.trim() === "" ? [] : [{ text: part.text }];
    case "image":
      return [{ image: mediumOf("image_url", part.source, IMAGES) }];
    case "file": {
      const { source, filename } = part;
      if (source.kind === "id")
        throw new Unmappable("messages[].content[].file", "该渠道不支持以编号引用文件");
      return [{ document: { name: names.next(filename), ...mediumOf("file", source, DOCUMENTS) } }];
    }
    case "audio":
    case "video":
      throw new Unmappable(`messages[].content[].${part.kind}`, "该渠道只支持文本、图片与文档");
    default:
      throw new Error(`unknown part ${JSON.stringify(part satisfies never)}`);
  }
}

function mediumOf(
  what: string,
  source: MediaSource,
  formats: Readonly<Record<string, string>>,
): { readonly format: string; readonly source: JsonRecord } {
  const format = source.kind === "data" ? formats[source.mime.toLowerCase()] : undefined;
  if (source.kind !== "data" || format === undefined)
    throw new Unmappable(`messages[].content[].${what}`, "该渠道不支持此媒体格式");
  return { format, source: { bytes: source.base64 } };
}

/** Names of the documents of one request: duplicates would be refused. */
class DocumentNames {
  /** How often each name was used. */
  readonly #taken = new Map<string, number>();

  next(filename: string | undefined): string {
    const name = nameOf(filename);
    let count = (this.#taken.get(name) ?? 0) + 1;
    while (count > 1 && this.#taken.has(numbered(name, count))) count += 1;
    this.#taken.set(name, count);
    if (count === 1) return name;
    this.#taken.set(numbered(name, count), 1);
    return numbered(name, count);
  }
}

function numbered(name: string, count: number): string {
  return `${name} (${count})`;
}

/** A document's name may have letters, digits, single blanks, hyphens and brackets only, at most 200 characters. */
function nameOf(filename: string | undefined): string {
  const name = (filename ?? "")
    .replace(/\.\w+$/, "")
    .replace(/[^A-Za-z0-9\-()[\]]+/g, " ")
    .trim();
  return name.slice(0, 180).trim() || "document";
}
