// The hub → a body of DashScope's own generation service (vendors/dashscope-chat): OpenAI's messages within `input`, settings within
// `parameters`; multimodal models take their content as parts of another form.
import { chatMessages, mediaInResults } from "#server/upstream/hub/chat-body.ts";
import { offerOf, ownExtras, scoresIn, soundMessages, within } from "#server/upstream/hub/plain.ts";
import {
  type Ability,
  type HubPart,
  type HubRequest,
  hintsBeyond,
  ToolNames,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import { asList, asNumber, asObject, asText, type JsonRecord } from "#server/upstream/json/values.ts";
import type { Drawn, Encoded, ImageWire, Pending, RerankWire, Target, WireError } from "./dialect.ts";

const ABILITIES: ReadonlySet<Ability> = new Set([
  "n",
  "logprobs",
  "seed",
  "penalties",
  "top_k",
  "parallel_tool_calls",
]);
/** Members of the wire itself, under their own names. */
const OWN_MEMBERS = [
  "enable_search",
  "search_options",
  "enable_thinking",
  "thinking_budget",
  "repetition_penalty",
  "vl_high_resolution_images",
];
const NAME_LIMIT = 64;
/** A suffix of the model name that requests a web search. */
const SEARCHING = /-internet$/;
/** Models of the multimodal endpoint. */
const MULTIMODAL = /^(qwen[\w.]*-(vl|omni|audio)|qvq|qwen(3\.[5-9]|[4-9](\.\d+)?)-plus|qwen3\.8-(max|flash))/;
/** Models that answer in streams only. Source: vendors/dashscope. */
const STREAMING = /^(qwq|qvq|qwen[\w.]*-omni)/;
/** Open models that think by default, and can do so in streams only. */
const THINKING = /^qwen3-\d[\w.-]*b(-a\d+b)?$/;
/** Models whose thinking can be switched. */
const TAKES_THINKING = /^(qwen3|qwen-(plus|turbo|flash|max)|qwen[4-9]|deepseek|glm|kimi)/;

/** Whether a model is served by the multimodal endpoint. */
export function isMultimodal(model: string): boolean {
  return MULTIMODAL.test(model);
}

/** Throws: Unmappable. */
export function encodeRequest(request: HubRequest, { other }: Target): Encoded {
  const { own, rest } = ownExtras(request, OWN_MEMBERS);
  const names = new ToolNames(NAME_LIMIT);
  const model = request.model.replace(SEARCHING, "");
  const dropped = hintsBeyond({ ...rest, frequencyPenalty: undefined }, ABILITIES);
  dropped.push(...mediaInResults(request, ({ kind }) => kind === "image" && isMultimodal(model)));
  if (request.frequencyPenalty) dropped.push("frequency_penalty");
  const thinking = thinkingOf(request, model, dropped);
  const streams =
    request.isStream ||
    STREAMING.test(model) ||
    (THINKING.test(model) && thinking["enable_thinking"] === true);
  const parameters = {
    result_format: "message",
    ...(streams && { incremental_output: true }),
    ...(SEARCHING.test(request.model) && { enable_search: true }),
    temperature: within(request.temperature, 0, 1.99),
    top_p: within(request.topP, 0.0001, 0.9999),
    top_k: request.topK,
    max_tokens: request.maxTokens,
    stop: request.stop,
    seed: request.seed,
    presence_penalty: request.presencePenalty,
    n: request.n,
    ...(request.logprobs !== undefined && { logprobs: true, top_logprobs: request.logprobs.top }),
    response_format: formatOf(request),
    ...toolsOf(request, names),
    ...thinking,
    ...own,
  };
  return {
    body: { model, input: { messages: messagesOf(request, model, names) }, parameters },
    headers: [
      ...(streams ? ["x-dashscope-sse", "enable"] : []),
      ...(other === "" ? [] : ["x-dashscope-plugin", other]),
    ],
    dropped,
    toolNames: names.changed,
  };
}

function thinkingOf({ reasoning, isStream }: HubRequest, model: string, dropped: string[]): JsonRecord {
  if (reasoning === undefined) return THINKING.test(model) && !isStream ? { enable_thinking: false } : {};
  const isOff = reasoning.effort === "none" || reasoning.budgetTokens === 0;
  if (!TAKES_THINKING.test(model)) {
    if (!isOff) dropped.push("reasoning_effort");
    return {};
  }
  if (isOff) return { enable_thinking: false };
  const budget = reasoning.budgetTokens ?? 0;
  return { enable_thinking: true, ...(budget > 0 && { thinking_budget: budget }) };
}

function formatOf({ format }: HubRequest): JsonRecord | undefined {
  if (format?.kind === "schema") {
    const { name, schema, strict } = format;
    return { type: "json_schema", json_schema: { name, schema, strict } };
  }
  return format?.kind === "json" ? { type: "json_object" } : undefined;
}

function toolsOf(request: HubRequest, names: ToolNames): JsonRecord {
  const { functions, forced, searches } = offerOf(request, names);
  return {
    ...(searches && { enable_search: true }),
    ...(functions.length > 0 && { tools: functions.map((item) => ({ type: "function", function: item })) }),
    ...(forced !== undefined && { tool_choice: { type: "function", function: { name: forced.name } } }),
  };
}

function messagesOf({ messages }: HubRequest, model: string, names: ToolNames): readonly JsonRecord[] {
  const isMedia = isMultimodal(model);
  for (const { role, parts } of messages) if (role === "user") refuse(parts, isMedia);
  return chatMessages(soundMessages(messages), names, { keepsThoughts: false }).flatMap(
    (message): JsonRecord[] => {
      const parts = partsOf(message["content"]);
      if (isMedia) return [{ ...message, content: parts }];
      // A text-only model cannot take media of tool results.
      const texts = parts.flatMap(({ text }) => (typeof text === "string" ? [text] : []));
      return texts.length === 0 && parts.length > 0 ? [] : [{ ...message, content: texts.join("\n") }];
    },
  );
}

/** Throws: Unmappable, with the name from chat bodies. */
function refuse(parts: readonly HubPart[], isMedia: boolean): void {
  for (const { kind } of parts) {
    if (kind === "text" || kind === "refusal") continue;
    if (kind === "file" || !isMedia)
      throw new Unmappable(`messages[].content[].${kind}`, "该模型不支持此类内容");
  }
}

/** The content of a chat message in DashScope's format. */
function partsOf(content: unknown): JsonRecord[] {
  if (typeof content === "string") return content === "" ? [] : [{ text: content }];
  return asList(content).flatMap((item): JsonRecord[] => {
    const part = asObject(item);
    switch (part?.["type"]) {
      case "text":
        return [{ text: part["text"] }];
      case "image_url":
        return [{ image: asObject(part["image_url"])?.["url"] }];
      case "video_url":
        return [{ video: asObject(part["video_url"])?.["url"] }];
      case "input_audio": {
        const { data, format } = asObject(part["input_audio"]) ?? {};
        return [{ audio: `data:audio/${format};base64,${data}` }];
      }
      default:
        return [];
    }
  });
}

// Images and rerank of DashScope (vendors/dashscope-images, vendors/dashscope-errors). An image is an asynchronous task: it is requested,
// and then polled.

const MOST_IMAGES = 4;
const STILL_AT_IT: ReadonlySet<string> = new Set(["PENDING", "RUNNING", "SUSPENDED"]);

type ErrorIn = (body: JsonRecord) => WireError | undefined;

/** `errorIn` reads the errors of the wire. */
export function aliImages(errorIn: ErrorIn): ImageWire {
  return {
    formats: ["url"],

    encode({ model, prompt, n, size }) {
      if (n > MOST_IMAGES) throw new Unmappable("n", `该模型每次最多生成 ${MOST_IMAGES} 张图片`);
      const parameters = { size: size?.replace("x", "*"), n };
      return { body: { model, input: { prompt }, parameters }, headers: ["x-dashscope-async", "enable"] };
    },

    decode(body): Drawn | Pending | WireError {
      const output = asObject(body["output"]);
      const task = asText(output?.["task_id"]);
      const status = asText(output?.["task_status"]) ?? "";
      if (task !== undefined && STILL_AT_IT.has(status)) return { kind: "pending", task };
      const results = asList(output?.["results"]).map((item) => asObject(item));
      const images = results.flatMap((result): (string | { url: string })[] => {
        const url = asText(result?.["url"]);
        return url === undefined ? textsIn(result?.["b64_image"]) : [{ url }];
      });
      if (images.length > 0) return { kind: "drawn", images, usage: undefined };
      // A failed task has an error, of the whole task or of single images.
      const failed = results.find((result) => asText(result?.["code"]) !== undefined) ?? output ?? {};
      return errorIn(body) ?? errorIn(failed) ?? failure(status);
    },

    taskAddress: (task, { baseUrl }) =>
      `${baseUrl.replace(/\/api\/v1$/, "")}/api/v1/tasks/${encodeURIComponent(task)}`,
  };
}

function textsIn(value: unknown): string[] {
  return typeof value === "string" ? [value] : [];
}

function failure(status: string): WireError {
  return { kind: "error", status: 502, message: "上游没有生成图片", code: status || null, type: "ali_error" };
}

/** `errorIn` reads the errors of the wire. */
export function aliRerank(errorIn: ErrorIn): RerankWire {
  return {
    encode({ model, query, documents, top }) {
      const parameters = { return_documents: false, top_n: top };
      return { body: { model, input: { query, documents }, parameters } };
    },

    decode(body) {
      const error = errorIn(body);
      if (error !== undefined) return error;
      const total_tokens = asNumber(asObject(body["usage"])?.["total_tokens"]);
      const usage = total_tokens === undefined ? undefined : { prompt_tokens: total_tokens, total_tokens };
      return { kind: "ranked", results: scoresIn(asObject(body["output"])?.["results"]), usage };
    },
  };
}
