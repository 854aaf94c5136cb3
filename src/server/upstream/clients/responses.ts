// OpenAI Responses as a client format, for upstreams that do not speak it: stateless only (vendors/responses, requirements T18.5).
import type { HubReply } from "#server/upstream/hub/reply.ts";
import {
  effortOf,
  type HubFormat,
  type HubReasoning,
  type HubRequest,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import { statusOfResponsesError, usageFromResponses } from "#server/upstream/hub/responses.ts";
import { asList, asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import {
  type ClientDialect,
  flagIn,
  listIn,
  type NativeFormat,
  type NativeNews,
  numberIn,
  type ParseContext,
  type RenderContext,
  textIn,
} from "./client.ts";
import { PROOF_PREFIX, parseInput } from "./responses-input.ts";
import { itemsOf, responseOf } from "./responses-reply.ts";
import { ResponsesRenderer } from "./responses-stream.ts";
import { toolBook, toolChoice } from "./responses-tools.ts";

/** Members that need server-side state (vendors/responses-stored). */
export const STATE = ["previous_response_id", "conversation", "background"] as const;

/** Members that are read, or that do not affect the answer. */
const KNOWN = new Set<string>([
  "model",
  "input",
  "instructions",
  "stream",
  "stream_options",
  "store",
  "include",
  "metadata",
  "truncation",
  "max_output_tokens",
  "temperature",
  "top_p",
  "top_logprobs",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "text",
  "reasoning",
  "service_tier",
  "user",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_retention",
  "client_metadata",
  ...STATE,
]);

export const responses: ClientDialect = {
  parse(body: JsonRecord, { model, isStream }: ParseContext): HubRequest {
    // A prompt template stored at OpenAI: without it the request is incomplete.
    if (asObject(body["prompt"]) !== undefined)
      throw new Unmappable("prompt", "该渠道无法读取保存在 OpenAI 的提示模板");
    const book = toolBook(body);
    const text = asObject(body["text"]);
    const isLogged = listIn(body, "include").includes("message.output_text.logprobs");
    const unknown = Object.entries(body).flatMap(([name, value]) =>
      KNOWN.has(name) || value === null ? [] : [name],
    );
    const tier = textIn(body, "service_tier");
    return {
      model,
      isStream,
      messages: parseInput(body),
      maxTokens: numberIn(body, "max_output_tokens"),
      temperature: numberIn(body, "temperature"),
      topP: numberIn(body, "top_p"),
      logprobs: isLogged ? { top: numberIn(body, "top_logprobs") } : undefined,
      tools: book.tools.length > 0 ? book.tools : undefined,
      toolChoice: book.tools.length > 0 ? toolChoice(body) : undefined,
      parallelToolCalls: book.tools.length > 0 ? flagIn(body, "parallel_tool_calls") : undefined,
      format: formatOf(asObject(text?.["format"])),
      reasoning: reasoningOf(asObject(body["reasoning"])),
      tellsThoughts: textIn(asObject(body["reasoning"]), "summary") !== "none",
      verbosity: textIn(text, "verbosity"),
      serviceTier: tier === "auto" ? undefined : tier,
      user: textIn(body, "safety_identifier") ?? textIn(body, "user"),
      cacheKey: textIn(body, "prompt_cache_key"),
      dropped: [...book.dropped, ...unknown],
    };
  },

  render(reply: HubReply, context: RenderContext): JsonRecord {
    const [answer] = reply.answers;
    const book = toolBook(context.body);
    return responseOf(context, {
      output: answer === undefined ? [] : itemsOf(answer, context.seed, book),
      finish: answer?.finish,
      usage: reply.usage,
    });
  },

  renderer: (context) => new ResponsesRenderer(context),
};

function formatOf(format: JsonRecord | undefined): HubFormat | undefined {
  switch (format?.["type"]) {
    case "json_object":
      return { kind: "json" };
    case "json_schema":
      return {
        kind: "schema",
        name: textIn(format, "name") ?? "answer",
        schema: asObject(format["schema"]) ?? {},
        strict: flagIn(format, "strict"),
        description: textIn(format, "description"),
      };
    default:
      return undefined;
  }
}

function reasoningOf(reasoning: JsonRecord | undefined): HubReasoning | undefined {
  const effort = effortOf(reasoning?.["effort"]);
  const summary = textIn(reasoning, "summary");
  if (effort === undefined && summary === undefined) return undefined;
  return { effort, budgetTokens: undefined, isShown: summary === undefined ? undefined : summary !== "none" };
}

// OpenAI Responses between a client and an upstream that both speak it: how the passing bytes are observed (vendors/responses-events).

const ENDS: ReadonlySet<unknown> = new Set(["response.completed", "response.incomplete"]);

export const responsesNative: NativeFormat = {
  name: "responses",
  // Events that close an item repeat its text. Events that begin or end an item have a status; the last event usually has usage.
  keys: {
    text: ["delta"],
    media: ["partial_image_b64", "result"],
    finish: ["status"],
    usage: ["usage"],
    error: ["error"],
  },
  wholeKeys: { text: ["text", "arguments", "input"], finish: [], usage: ["usage"], error: ["error"] },
  shortBytes: 0,
  holdsFinish: false,

  news(event: JsonRecord): NativeNews {
    const type = event["type"];
    // Documented as flat members; OpenAI sends the error as a nested object.
    if (type === "error") return { error: errorOf(asObject(event["error"]) ?? event) };
    const isWhole = event["object"] === "response" || event["object"] === "response.compaction";
    const response = asObject(event["response"]) ?? (isWhole ? event : undefined);
    if (response === undefined) {
      const error = asObject(event["error"]);
      return error === undefined ? {} : { error: errorOf(error) };
    }
    const usage = asObject(response["usage"]);
    // The operator's account may be the cause.
    if (response["status"] === "failed") return { usage, error: errorOf(asObject(response["error"]) ?? {}) };
    const isEnd = ENDS.has(type);
    return { usage, isFinish: isEnd, isEnd };
  },

  isReply: (body) => body["object"] === "response" || Array.isArray(body["output"]),
  usage: usageFromResponses,
};

function errorOf(error: JsonRecord): NonNullable<NativeNews["error"]> {
  const code = textIn(error, "code") ?? null;
  const message = textIn(error, "message") ?? "";
  return { status: statusOfResponsesError(error), message, code, type: "upstream_error" };
}

/**
 * Whether an input item is a thought that its upstream could not read. A thought of another channel carries a signature written here or
 * none: OpenAI refuses the former, and looks up the latter among stored items, of which there are none (vendors/responses-stored). A
 * thought in plain text needs no signature: open models put theirs into the content.
 */
export function isUnreadable(item: JsonRecord): boolean {
  if (item["type"] !== "reasoning") return false;
  const proof = textIn(item, "encrypted_content") ?? "";
  return proof === "" ? asList(item["content"]).length === 0 : proof.startsWith(PROOF_PREFIX);
}
