// A generation request as Gemini's generateContent body (vendors/gemini-request, vendors/gemini). Pure.

import { type HubFormat, type HubRequest, ToolNames, Unmappable } from "#server/upstream/hub/request.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import type { EncodeContext, Encoded } from "./dialect.ts";
import { conversation, toolBox } from "./gemini-contents.ts";
import { extrasOf } from "./gemini-extras.ts";
import { cleanSchema } from "./gemini-schema.ts";
import { isSelfWilled, thinkingConfig } from "./gemini-thinking.ts";

/** One API's five categories; the operator of an upstream key is responsible for its use. */
const SAFETY_SETTINGS = [
  "HARM_CATEGORY_HARASSMENT",
  "HARM_CATEGORY_HATE_SPEECH",
  "HARM_CATEGORY_SEXUALLY_EXPLICIT",
  "HARM_CATEGORY_DANGEROUS_CONTENT",
  "HARM_CATEGORY_CIVIC_INTEGRITY",
].map((category) => ({ category, threshold: "BLOCK_NONE" }));

/** Models from before there was a `systemInstruction`. */
const WITHOUT_SYSTEM = /^gemini-(1\.0-)?pro(-vision)?(-\d+)?$/;

/** Unit: characters of a function name. */
const LONGEST_NAME = 64;
const NAME_BEGIN = /^[A-Za-z_]/;
const MOST_STOPS = 5;
const MOST_ANSWERS = 8;
const INT32 = 2 ** 31;

/** Throws: Unmappable. */
export function encodeRequest(request: HubRequest, { target }: EncodeContext): Encoded {
  const names = new ToolNames(LONGEST_NAME, NAME_BEGIN);
  const wireName = (name: string) => names.wireName(name);
  const takesSystem = target.other !== "v1" && !WITHOUT_SYSTEM.test(request.model);
  const { contents, systemInstruction } = conversation(request.messages, {
    model: request.model,
    takesSystem,
    wireName,
  });
  if (contents.length === 0) throw new Unmappable("messages", "对话内容不能为空");
  const { tools, toolConfig } = toolBox(request, wireName);
  const dropped: string[] = [];
  const extras = extrasOf(request, dropped);
  const generationConfig = { ...settingsOf(request, dropped), ...extras.generationConfig };
  const body = {
    ...(systemInstruction !== undefined && { systemInstruction }),
    contents,
    ...(tools !== undefined && { tools }),
    ...(toolConfig !== undefined && { toolConfig }),
    ...(Object.keys(generationConfig).length > 0 && { generationConfig }),
    safetySettings: SAFETY_SETTINGS,
    ...extras.body,
  };
  return { body, dropped, toolNames: names.changed };
}

function settingsOf(request: HubRequest, dropped: string[]): JsonRecord {
  const { maxTokens, stop = [], seed, n, logprobs } = request;
  if (stop.length > MOST_STOPS) throw new Unmappable("stop", `最多支持 ${MOST_STOPS} 个停止序列`);
  if (n !== undefined && n > MOST_ANSWERS) throw new Unmappable("n", `最多支持 ${MOST_ANSWERS} 个回答`);
  // Seeds have 32 bits on this wire.
  const isSeed = seed !== undefined && Number.isInteger(seed) && seed >= -INT32 && seed < INT32;
  if (seed !== undefined && !isSeed) dropped.push("seed");
  return {
    ...samplingOf(request, dropped),
    ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
    ...(stop.length > 0 && { stopSequences: stop }),
    ...(isSeed && { seed }),
    ...(n !== undefined && n > 1 && { candidateCount: n }),
    ...(logprobs !== undefined && { responseLogprobs: true }),
    ...(logprobs?.top !== undefined && { logprobs: logprobs.top }),
    ...formatOf(request.format),
    ...thinkingOf(request, dropped),
  };
}

/** A penalty of 0 is omitted; some models refuse the field itself. */
function samplingOf(request: HubRequest, dropped: string[]): JsonRecord {
  const { temperature, topP, topK, presencePenalty, frequencyPenalty } = request;
  const given = [
    ["temperature", "temperature", temperature],
    ["top_p", "topP", topP],
    ["top_k", "topK", topK],
    ["presence_penalty", "presencePenalty", presencePenalty === 0 ? undefined : presencePenalty],
    ["frequency_penalty", "frequencyPenalty", frequencyPenalty === 0 ? undefined : frequencyPenalty],
  ] as const;
  const wanted = given.filter(([, , value]) => value !== undefined);
  if (!isSelfWilled(request.model)) return Object.fromEntries(wanted.map(([, name, value]) => [name, value]));
  dropped.push(...wanted.map(([name]) => name));
  return {};
}

function formatOf(format: HubFormat | undefined): JsonRecord {
  switch (format?.kind) {
    case undefined:
    case "text":
      return {};
    case "json":
      return { responseMimeType: "application/json" };
    case "schema":
      return { responseMimeType: "application/json", responseSchema: cleanSchema(format.schema) };
  }
}

function thinkingOf({ model, reasoning }: HubRequest, dropped: string[]): JsonRecord {
  if (reasoning === undefined) return {};
  const config = thinkingConfig(model, reasoning);
  if (config === undefined) dropped.push("reasoning_effort");
  return config === undefined || Object.keys(config).length === 0 ? {} : { thinkingConfig: config };
}
