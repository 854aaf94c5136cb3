// Gemini's generateContent bodies into the hub (vendors/gemini-clients, requirements T18.2, T18.6). Pure.

import {
  type Effort,
  type HubFormat,
  type HubReasoning,
  type HubRequest,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import { asList, asNumber, asText, type JsonRecord } from "#server/upstream/json/values.ts";
import type { ParseContext } from "./client.ts";
import { messagesOf, systemMessage } from "./generate-contents.ts";
import { camel, member, objectMember, objectsMember } from "./generate-fields.ts";
import { jsonSchema } from "./generate-schema.ts";
import { toolChoiceOf, toolsOf } from "./generate-tools.ts";

/** Members that are read, or that do not affect the answer. */
const READ: ReadonlySet<string> = new Set([
  "model",
  "contents",
  "systemInstruction",
  "tools",
  "toolConfig",
  "generationConfig",
  "serviceTier",
]);
const READ_SETTINGS: ReadonlySet<string> = new Set([
  "temperature",
  "topP",
  "topK",
  "candidateCount",
  "maxOutputTokens",
  "stopSequences",
  "presencePenalty",
  "frequencyPenalty",
  "seed",
  "responseMimeType",
  "responseSchema",
  "responseJsonSchema",
  "_responseJsonSchema",
  "responseModalities",
  "responseLogprobs",
  "logprobs",
  "imageConfig",
  "thinkingConfig",
]);

/** Throws: Unmappable. */
export function parseGenerate(body: JsonRecord, { model, isStream }: ParseContext): HubRequest {
  if (member(body, "cachedContent") !== undefined)
    throw new Unmappable("cachedContent", "该渠道无法读取其他服务缓存的内容");
  const settings = objectMember(body, "generationConfig") ?? {};
  const instruction = member(body, "systemInstruction");
  const system = systemMessage(instruction, objectMember(body, "systemInstruction"));
  const messages = messagesOf(objectsMember(body, "contents"));
  if (messages.length === 0) throw new Unmappable("contents", "对话内容不能为空");
  const tools = toolsOf(objectsMember(body, "tools"));
  return {
    model,
    isStream,
    messages: system === undefined ? messages : [system, ...messages],
    ...settingsOf(settings),
    tools: tools.length > 0 ? tools : undefined,
    toolChoice: toolChoiceOf(objectMember(body, "toolConfig")),
    serviceTier: tierOf(asText(member(body, "serviceTier"))),
    dropped: [...unread(body, READ, ""), ...unread(settings, READ_SETTINGS, "generationConfig.")],
  };
}

function unread(record: JsonRecord, read: ReadonlySet<string>, prefix: string): string[] {
  return Object.keys(record)
    .filter((name) => record[name] !== null && !read.has(camel(name)) && !read.has(name))
    .map((name) => prefix + name);
}

function settingsOf(settings: JsonRecord): Partial<HubRequest> {
  const number = (name: string) => asNumber(member(settings, name));
  const stop = asList(member(settings, "stopSequences")).filter((item) => typeof item === "string");
  const hasLogprobs = member(settings, "responseLogprobs") === true;
  return {
    maxTokens: number("maxOutputTokens"),
    temperature: number("temperature"),
    topP: number("topP"),
    topK: number("topK"),
    n: number("candidateCount"),
    seed: number("seed"),
    presencePenalty: number("presencePenalty"),
    frequencyPenalty: number("frequencyPenalty"),
    stop: stop.length > 0 ? stop : undefined,
    logprobs: hasLogprobs ? { top: number("logprobs") } : undefined,
    format: formatOf(settings),
    reasoning: reasoningOf(objectMember(settings, "thinkingConfig")),
    extras: picturesOf(settings),
  };
}

function formatOf(settings: JsonRecord): HubFormat | undefined {
  const mime = asText(member(settings, "responseMimeType")) ?? "";
  const plain = objectMember(settings, "responseJsonSchema") ?? objectMember(settings, "_responseJsonSchema");
  const own = objectMember(settings, "responseSchema");
  const schema = plain ?? (own && jsonSchema(own));
  if (mime === "" || mime === "text/plain") return undefined;
  if (mime !== "application/json") throw new Unmappable("generationConfig.responseMimeType");
  if (schema === undefined) return { kind: "json" };
  return { kind: "schema", name: "response", schema, strict: undefined, description: undefined };
}

const LEVELS: Readonly<Record<string, Effort>> = {
  MINIMAL: "minimal",
  LOW: "low",
  MEDIUM: "medium",
  HIGH: "high",
};

/** Gemini sends thoughts only on request. */
function reasoningOf(config: JsonRecord | undefined): HubReasoning | undefined {
  if (config === undefined) return undefined;
  const level = asText(member(config, "thinkingLevel"))?.toUpperCase() ?? "";
  return {
    effort: LEVELS[level],
    budgetTokens: asNumber(member(config, "thinkingBudget")),
    isShown: member(config, "includeThoughts") === true,
  };
}

/** Images are requested in the format that several gateways share. */
function picturesOf(settings: JsonRecord): JsonRecord | undefined {
  const kinds = asList(member(settings, "responseModalities")).map((kind) => String(kind).toLowerCase());
  if (kinds.some((kind) => kind !== "text" && kind !== "image"))
    throw new Unmappable("generationConfig.responseModalities", "该渠道不支持音频输出");
  const config = objectMember(settings, "imageConfig");
  if (!kinds.includes("image") && config === undefined) return undefined;
  const aspect = config && asText(member(config, "aspectRatio"));
  const size = config && asText(member(config, "imageSize"));
  return {
    ...(kinds.includes("image") && { modalities: kinds }),
    ...(config !== undefined && {
      image_config: {
        ...(aspect !== undefined && { aspect_ratio: aspect }),
        ...(size !== undefined && { image_size: size }),
      },
    }),
  };
}

/** In OpenAI's format. */
function tierOf(tier: string | undefined): string | undefined {
  const word = tier?.toLowerCase().replace(/^service_tier_/, "");
  if (word === undefined || word === "unspecified") return undefined;
  return word === "standard" ? "default" : word;
}
