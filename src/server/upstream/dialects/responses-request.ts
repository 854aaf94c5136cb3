// The hub → a Responses body (requirements T18.5): stateless, so that any channel can serve the next turn.

import {
  type Ability,
  effortFor,
  type HubMessage,
  type HubPart,
  type HubRequest,
  type HubTool,
  type HubToolChoice,
  hintsBeyond,
  hintsWithin,
  mediaUrl,
  shortName,
  ToolNames,
  textOf,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import type { Encoded } from "./dialect.ts";

const ABILITIES: ReadonlySet<Ability> = new Set([
  "logprobs",
  "verbosity",
  "service_tier",
  "user",
  "prompt_cache_key",
  "parallel_tool_calls",
]);
/** Source: vendors/responses-request, requirements T18.3. */
const LEAST_OUTPUT = 16;
const TOOL_NAME_LIMIT = 64;
const CALL_ID_LIMIT = 64;
/** Source: decision 032. */
const TAKES_MAX = /^gpt-(5\.6|6)/;

/** Throws: Unmappable for audio and video. */
export function responsesBody(request: HubRequest): Encoded {
  const names = new ToolNames(TOOL_NAME_LIMIT);
  const { logprobs, maxTokens, reasoning, tools } = request;
  const within = hintsWithin(request).filter((name) => !name.endsWith(".detail"));
  const dropped = [...hintsBeyond(request, ABILITIES), ...within];
  if (request.stop !== undefined && request.stop.length > 0) dropped.push("stop");
  const include = [
    ...(logprobs === undefined ? [] : ["message.output_text.logprobs"]),
    ...(tools === undefined ? [] : ["reasoning.encrypted_content"]),
  ];
  const body: JsonRecord = {
    model: request.model,
    input: inputOf(request.messages, names),
    store: false,
    ...(request.isStream && { stream: true }),
    ...(maxTokens !== undefined && { max_output_tokens: Math.max(maxTokens, LEAST_OUTPUT) }),
    temperature: request.temperature,
    top_p: request.topP,
    top_logprobs: logprobs?.top,
    ...(include.length > 0 && { include }),
    ...toolsOf(request, names),
    ...textMember(request),
    ...(reasoning !== undefined && { reasoning: reasoningOf(request.model, reasoning) }),
    service_tier: request.serviceTier,
    safety_identifier: request.user,
    prompt_cache_key: request.cacheKey,
  };
  return { body, dropped, toolNames: names.changed };
}

function inputOf(messages: readonly HubMessage[], names: ToolNames): JsonRecord[] {
  const called = messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
  const custom = new Set(called.flatMap(({ id, isCustom }) => (isCustom === true ? [id] : [])));
  return messages.flatMap((message) => itemsOf(message, names, custom));
}

/** `custom` are the ids of calls of custom tools: their outputs have another type. */
function itemsOf(message: HubMessage, names: ToolNames, custom: ReadonlySet<string>): JsonRecord[] {
  switch (message.role) {
    case "system":
    case "developer":
      return [{ role: "developer", content: textOf(message.parts, "\n") }];
    case "user":
      return [{ role: "user", content: message.parts.map(inputPart) }];
    case "assistant": {
      const content = message.parts.flatMap(outputPart);
      const calls = message.toolCalls.map(({ id, name, arguments: text, isCustom }) =>
        isCustom === true
          ? { type: "custom_tool_call", call_id: callId(id), name: names.wireName(name), input: text }
          : { type: "function_call", call_id: callId(id), name: names.wireName(name), arguments: text },
      );
      return content.length === 0 ? calls : [{ role: "assistant", content }, ...calls];
    }
    case "tool": {
      const type = custom.has(message.callId) ? "custom_tool_call_output" : "function_call_output";
      return [{ type, call_id: callId(message.callId), output: outputOf(message) }];
    }
    default:
      throw new Error(`unknown role ${JSON.stringify(message satisfies never)}`);
  }
}

function outputOf({ parts, isError }: HubMessage & { role: "tool" }): string | JsonRecord[] {
  const isText = parts.every(({ kind }) => kind === "text" || kind === "refusal");
  if (isText) return isError ? `Error: ${textOf(parts, "\n")}` : textOf(parts, "\n");
  return [...(isError ? [{ type: "input_text", text: "Error:" }] : []), ...parts.map(inputPart)];
}

function callId(id: string): string {
  return id.length <= CALL_ID_LIMIT ? id : shortName(id, CALL_ID_LIMIT);
}

function inputPart(part: HubPart): JsonRecord {
  switch (part.kind) {
    case "text":
    case "refusal":
      return { type: "input_text", text: part.text };
    case "image":
      return { type: "input_image", image_url: mediaUrl(part.source), detail: part.detail ?? "auto" };
    case "file": {
      const { source, filename } = part;
      if (source.kind === "id") return { type: "input_file", file_id: source.id };
      if (source.kind === "url") return { type: "input_file", file_url: source.url };
      return { type: "input_file", filename: filename ?? "file", file_data: mediaUrl(source) };
    }
    case "audio":
    case "video":
      throw new Unmappable(`messages[].content[].${part.kind}`, "该模型的接口不支持音频或视频输入");
    default:
      throw new Error(`unknown part ${JSON.stringify(part satisfies never)}`);
  }
}

function outputPart(part: HubPart): JsonRecord[] {
  if (part.kind === "text") return [{ type: "output_text", text: part.text }];
  return part.kind === "refusal" ? [{ type: "refusal", refusal: part.text }] : [];
}

function toolsOf({ tools, toolChoice, parallelToolCalls }: HubRequest, names: ToolNames): JsonRecord {
  if (tools === undefined || tools.length === 0) return {};
  return {
    tools: tools.map((tool) => toolOf(tool, names)),
    tool_choice: choiceOf(toolChoice, tools, names),
    parallel_tool_calls: parallelToolCalls,
  };
}

function toolOf(tool: HubTool, names: ToolNames): JsonRecord {
  if (tool.kind === "web-search") return { type: "web_search", ...tool.options };
  const { name, description } = tool;
  if (tool.kind === "custom")
    return { type: "custom", name: names.wireName(name), description, format: tool.format };
  const parameters = tool.parameters ?? { type: "object", properties: {} };
  // Responses makes schemas strict by default; chat does not.
  return {
    type: "function",
    name: names.wireName(name),
    description,
    parameters,
    strict: tool.strict ?? false,
  };
}

function choiceOf(choice: HubToolChoice | undefined, tools: readonly HubTool[], names: ToolNames): unknown {
  const named = (name: string) => {
    const isCustom = tools.some((tool) => tool.kind === "custom" && tool.name === name);
    return { type: isCustom ? "custom" : "function", name: names.wireName(name) };
  };
  switch (choice?.kind) {
    case undefined:
      return undefined;
    case "any":
      return "required";
    case "tool":
      return named(choice.name);
    case "subset":
      return {
        type: "allowed_tools",
        mode: choice.isRequired ? "required" : "auto",
        tools: choice.names.map(named),
      };
    default:
      return choice?.kind;
  }
}

function textMember({ format, verbosity }: HubRequest): JsonRecord {
  if (format === undefined && verbosity === undefined) return {};
  const text: JsonRecord = { ...(format !== undefined && { format: formatOf(format) }), verbosity };
  return { text };
}

function formatOf(format: NonNullable<HubRequest["format"]>): JsonRecord {
  if (format.kind !== "schema") return { type: format.kind === "json" ? "json_object" : "text" };
  const { name, schema, strict, description } = format;
  return { type: "json_schema", name, schema, strict: strict ?? false, description };
}

function reasoningOf(model: string, reasoning: NonNullable<HubRequest["reasoning"]>): JsonRecord {
  const effort = reasoning.effort === "max" && TAKES_MAX.test(model) ? "max" : effortFor(model, reasoning);
  return { effort, ...(reasoning.isShown !== false && { summary: "auto" }) };
}
