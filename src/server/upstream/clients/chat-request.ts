// An OpenAI chat body → the hub (vendors/openai-chat). Lenient where known clients are; members without a place in the hub are kept as
// extras under their own names.

import type {
  HubFormat,
  HubReasoning,
  HubRequest,
  HubTool,
  HubToolChoice,
} from "#server/upstream/hub/request.ts";
import { effortOf, Unmappable } from "#server/upstream/hub/request.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { parseMessages } from "./chat-messages.ts";
import type { ParseContext } from "./client.ts";
import { cacheMark, flagIn, numberIn, objectsIn, textIn, textsIn } from "./read.ts";

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
