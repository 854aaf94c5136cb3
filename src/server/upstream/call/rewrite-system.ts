// A channel's own system prompt in the place that the upstream's format has for it. Pure.
import { asList, asObject, asText } from "#server/upstream/json/values.ts";
import type { Body } from "./rewrite-body.ts";

interface Where {
  /** Of the body that goes out. */
  readonly format: string | undefined;
  /** It is put in front of one that is there; otherwise that one stays alone. */
  readonly isBefore: boolean;
}

const SYSTEM_ROLES = new Set(["system", "developer"]);

/** Adds the prompt; formats without a place for one stay as they are. */
export function addSystem(body: Body, text: string, { format, isBefore }: Where): void {
  if (format === "responses") addText(body, "instructions", text, isBefore);
  else if (format === "messages") addBlocks(body, text, isBefore);
  else if (format === "generate") addParts(body, text, isBefore);
  else addMessage(body, text, isBefore);
}

function addMessage(body: Body, text: string, isBefore: boolean): void {
  const input = asObject(body.get("input"));
  if (Array.isArray(body.get("messages"))) body.put("messages", told(body.get("messages"), text, isBefore));
  else if (Array.isArray(input?.["messages"]))
    body.put("input", { ...input, messages: told(input["messages"], text, isBefore) });
}

function addText(body: Body, name: string, text: string, isBefore: boolean): void {
  const present = asText(body.get(name)) ?? "";
  if (present === "") body.put(name, text);
  else if (isBefore) body.put(name, `${text}\n${present}`);
}

/** Anthropic's: a text, or a list of blocks. */
function addBlocks(body: Body, text: string, isBefore: boolean): void {
  const present = body.get("system");
  if (!Array.isArray(present) || present.length === 0) addText(body, "system", text, isBefore);
  else if (isBefore) body.put("system", [{ type: "text", text }, ...present]);
}

/** Gemini's, in either spelling. */
function addParts(body: Body, text: string, isBefore: boolean): void {
  const name = body.get("system_instruction") === undefined ? "systemInstruction" : "system_instruction";
  const present = asObject(body.get(name));
  const parts = asList(present?.["parts"]);
  if (parts.length === 0) body.put(name, { ...present, parts: [{ text }] });
  else if (isBefore) body.put(name, { ...present, parts: [{ text }, ...parts] });
}

/** Chat's: the first message with such a role. */
function told(messages: unknown, text: string, isBefore: boolean): unknown[] {
  const list = asList(messages);
  const at = list.findIndex((message) => SYSTEM_ROLES.has(asText(asObject(message)?.["role"]) ?? ""));
  if (at < 0) return [{ role: "system", content: text }, ...list];
  if (!isBefore) return [...list];
  const message = asObject(list[at]);
  const content = message?.["content"];
  const joined = Array.isArray(content)
    ? [{ type: "text", text }, ...content]
    : `${text}\n${asText(content) ?? ""}`;
  return list.map((one, index) => (index === at ? { ...message, content: joined } : one));
}
