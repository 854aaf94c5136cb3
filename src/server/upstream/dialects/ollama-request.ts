// The hub → an Ollama chat body (vendors/ollama). Pure.

import { mediaInResults, toolsOf, toolText } from "#server/upstream/hub/chat-body.ts";
import { ownExtras } from "#server/upstream/hub/plain.ts";
import {
  type Ability,
  argumentsOf,
  effortWord,
  type HubMessage,
  type HubPart,
  type HubRequest,
  hintsBeyond,
  isToolForced,
  ToolNames,
  textOf,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import type { Encoded } from "./dialect.ts";

const ABILITIES: ReadonlySet<Ability> = new Set(["seed", "penalties", "top_k", "thoughts"]);
const TOOL_NAME_LIMIT = 64;
/** Ollama's own settings that a client may send in addition to OpenAI's: they become options. */
const OPTION_EXTRAS = ["min_p", "repeat_penalty", "num_ctx"] as const;
/** Ollama's own settings that are top-level members. */
const BODY_EXTRAS = ["keep_alive"] as const;
/** More options, in Ollama's format. */
const OPTIONS = "options";
/** Models with levels of thinking; others only switch it on or off. */
const LEVELLED = /gpt-oss/;

/** Throws: Unmappable. */
export function encodeRequest(request: HubRequest): Encoded {
  const { toolChoice, model, isStream } = request;
  if (isToolForced(toolChoice)) throw new Unmappable("tool_choice", "该渠道不能强制模型调用工具");
  const names = new ToolNames(TOOL_NAME_LIMIT);
  const { own, rest } = ownExtras(request, [...OPTION_EXTRAS, ...BODY_EXTRAS, OPTIONS]);
  const { tools } = toolChoice?.kind === "none" ? {} : toolsOf(request, names);
  const body = {
    model,
    stream: isStream,
    options: optionsOf(request, own),
    think: thinkOf(request),
    format: formatOf(request),
    ...Object.fromEntries(BODY_EXTRAS.map((name) => [name, own[name]])),
    messages: request.messages.map((message) => messageOf(message, names)),
    tools,
  };
  const searches = request.tools?.some(({ kind }) => kind === "web-search") === true;
  const dropped = [
    ...hintsBeyond(rest, ABILITIES),
    ...mediaInResults(request, ({ kind }) => kind === "image"),
    ...(searches ? ["web_search_options"] : []),
  ];
  return { body, dropped, toolNames: names.changed };
}

/** undefined = the defaults of Ollama and the model apply. */
function optionsOf(request: HubRequest, own: JsonRecord): JsonRecord | undefined {
  const options = {
    temperature: request.temperature,
    top_p: request.topP,
    top_k: request.topK,
    num_predict: request.maxTokens,
    stop: request.stop,
    seed: request.seed,
    presence_penalty: request.presencePenalty,
    frequency_penalty: request.frequencyPenalty,
    ...Object.fromEntries(OPTION_EXTRAS.map((name) => [name, own[name]])),
  };
  const said = Object.entries(options).filter(([, value]) => value !== undefined);
  const all = { ...asObject(own[OPTIONS]), ...Object.fromEntries(said) };
  return Object.keys(all).length > 0 ? all : undefined;
}

function thinkOf({ reasoning, model }: HubRequest): boolean | string | undefined {
  const effort = reasoning && effortWord(reasoning);
  if (effort === undefined) return undefined;
  if (effort === "none") return false;
  if (!LEVELLED.test(model)) return true;
  if (effort === "minimal") return "low";
  return effort === "xhigh" ? "high" : effort;
}

function formatOf({ format }: HubRequest): string | JsonRecord | undefined {
  if (format?.kind === "schema") return format.schema;
  return format?.kind === "json" ? "json" : undefined;
}

function messageOf(message: HubMessage, names: ToolNames): JsonRecord {
  const { role, parts } = message;
  switch (role) {
    case "system":
    case "developer":
      return { role: "system", content: textOf(parts, "\n") };
    case "user":
      return { role, content: textOf(parts, "\n"), images: imagesOf(parts) };
    case "assistant": {
      const thinking = message.thoughts.map(({ text }) => text).join("");
      const calls = message.toolCalls.map((call) => ({
        function: { name: names.wireName(call.name), arguments: argumentsOf(call) },
      }));
      return {
        role,
        content: textOf(parts),
        ...(thinking !== "" && { thinking }),
        ...(calls.length > 0 && { tool_calls: calls }),
      };
    }
    case "tool": {
      const { name } = message;
      return {
        role,
        ...(name !== undefined && { tool_name: names.wireName(name) }),
        content: toolText(message),
        images: imagesOf(parts.filter(({ kind }) => kind === "image")),
      };
    }
    default:
      throw new Error(`unknown role ${JSON.stringify(message satisfies never)}`);
  }
}

/** Images as base64 without the prefix of a data URL. Throws: Unmappable for any other medium. */
function imagesOf(parts: readonly HubPart[]): readonly string[] | undefined {
  const images = parts.flatMap((part) => {
    if (part.kind === "text" || part.kind === "refusal") return [];
    if (part.kind !== "image" || part.source.kind !== "data")
      throw new Unmappable(`messages[].content[].${part.kind}`, "该渠道只支持文本与图片");
    return [part.source.base64];
  });
  return images.length === 0 ? undefined : images;
}
