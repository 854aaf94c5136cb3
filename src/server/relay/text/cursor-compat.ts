// Bodies that are sent to Chat though they are written for another API: Cursor sends OpenAI's models bodies of Responses and Claude's
// bodies with Anthropic's tools, all to the Chat path, and reads Chat's answers. They are translated to chat bodies on arrival. Pure.
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import { textIn } from "#server/upstream/clients/client.ts";
import { responses } from "#server/upstream/clients/responses.ts";
import { unmappableFault } from "#server/upstream/errors/fault.ts";
import { chatBody } from "#server/upstream/hub/chat-body.ts";
import { Unmappable } from "#server/upstream/hub/request.ts";
import { findMember, type JsonObject } from "#server/upstream/json/object.ts";
import { asList, asObject, type JsonRecord, readJson } from "#server/upstream/json/values.ts";
import { refuseState } from "./stateful-fields.ts";

/** The chat body equivalent to a body of another API; undefined = it is a chat body already. Throws: LocalError 400. */
export function chatFrom(bytes: Buffer, object: JsonObject): Buffer | undefined {
  const isForResponses =
    findMember(object, "messages") === undefined && findMember(object, "input") !== undefined;
  const body = readJson(bytes.toString());
  if (body === undefined) throw new LocalError(localErrors.bodyUnreadable());
  if (!isForResponses && !asList(body["tools"]).some(isOfMessages)) return undefined;
  try {
    return Buffer.from(JSON.stringify(isForResponses ? fromResponses(body) : fromMessages(body)));
  } catch (error) {
    if (error instanceof Unmappable) throw new LocalError(unmappableFault(error.what, error.reason));
    throw error;
  }
}

function isOfMessages(tool: unknown): boolean {
  return asObject(tool)?.["input_schema"] !== undefined;
}

/** Members of Chat that are kept as they are beside those of Responses. */
const CHAT_WORDS = [
  "stream",
  "stream_options",
  "max_tokens",
  "max_completion_tokens",
  "reasoning_effort",
  "response_format",
  "stop",
  "n",
  "seed",
] as const;

function fromResponses(body: JsonRecord): JsonRecord {
  refuseState("responses", (name) => body[name]);
  const request = responses.parse(body, { model: textIn(body, "model") ?? "", isStream: false });
  const { body: chat, toolNames } = chatBody(request, { keepsThoughts: false });
  if (toolNames.size > 0) throw new Unmappable("tools[].name", "工具名称过长");
  const own = CHAT_WORDS.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]]));
  return { ...chat, ...Object.fromEntries(own) };
}

function fromMessages(body: JsonRecord): JsonRecord {
  const { system, ...rest } = body;
  const messages = asList(body["messages"]).flatMap((item) => messagesOf(asObject(item) ?? {}));
  const choice = choiceOf(body["tool_choice"]);
  return {
    ...rest,
    messages: system === undefined ? messages : [{ role: "system", content: system }, ...messages],
    tools: asList(body["tools"]).map(toolOf),
    ...(choice !== undefined && { tool_choice: choice }),
  };
}

function toolOf(item: unknown): unknown {
  const { input_schema: parameters, type: _, ...tool } = asObject(item) ?? {};
  if (parameters === undefined) return item;
  const { name, description, ...rest } = tool;
  return { type: "function", function: { name, description, parameters }, ...rest };
}

function choiceOf(choice: unknown): unknown {
  const { type, name } = asObject(choice) ?? {};
  if (type === "auto" || type === "none") return type;
  if (type === "any") return "required";
  return type === "tool" ? { type: "function", function: { name } } : choice;
}

/** Tool results are messages of their own in Chat, and come before the user's text beside them. */
function messagesOf(message: JsonRecord): JsonRecord[] {
  const { content } = message;
  if (!Array.isArray(content)) return [message];
  const blocks = content.map((item: unknown) => asObject(item) ?? { type: "text", text: String(item) });
  const results = blocks.filter(({ type }) => type === "tool_result");
  const calls = blocks.filter(({ type }) => type === "tool_use").map(callOf);
  const shown = results.flatMap((result) => asList(result["content"]).filter(isPicture));
  const said = [...shown, ...blocks.filter(({ type }) => !NOT_SAID.has(type))].map(partOf);
  const asked = [...asList(message["tool_calls"]), ...calls];
  const own =
    said.length > 0 || asked.length > 0
      ? [
          {
            ...message,
            content: said.length > 0 ? said : null,
            ...(asked.length > 0 && { tool_calls: asked }),
          },
        ]
      : [];
  return [...results.map(resultOf), ...own];
}

/** Thinking blocks have a signature of Anthropic's, for which Chat has no field. */
const NOT_SAID: ReadonlySet<unknown> = new Set(["tool_result", "tool_use", "thinking", "redacted_thinking"]);

function callOf({ id, name, input }: JsonRecord): JsonRecord {
  return { id, type: "function", function: { name, arguments: JSON.stringify(input ?? {}) } };
}

function resultOf({ tool_use_id, content, cache_control }: JsonRecord): JsonRecord {
  const texts = asList(content).flatMap((item) => textIn(asObject(item), "text") ?? []);
  const text = typeof content === "string" ? content : texts.join("\n");
  return {
    role: "tool",
    tool_call_id: tool_use_id,
    content: text,
    ...(cache_control !== undefined && { cache_control }),
  };
}

function isPicture(item: unknown): item is JsonRecord {
  return asObject(item)?.["type"] === "image";
}

function partOf(block: JsonRecord): JsonRecord {
  const source = block["type"] === "image" ? asObject(block["source"]) : undefined;
  if (source === undefined) return block;
  const url = textIn(source, "url") ?? `data:${source["media_type"]};base64,${source["data"]}`;
  return { type: "image_url", image_url: { url } };
}
