// The hub → a Cohere v2 chat body (vendors/cohere): OpenAI's messages and tools, other names for the rest. Pure.

import { chatBody } from "#server/upstream/hub/chat-body.ts";
import { ownExtras, SILENT_RESULT, soundMessages, within } from "#server/upstream/hub/plain.ts";
import {
  type Ability,
  type HubReasoning,
  type HubRequest,
  hintsBeyond,
  isToolForced,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import { asList, asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import type { Encoded } from "./dialect.ts";

const ABILITIES: ReadonlySet<Ability> = new Set(["seed", "penalties", "top_k"]);
/** Members of the wire itself, under their own names. */
const OWN_MEMBERS = ["documents", "citation_options", "safety_mode", "strict_tools"];
/** Source: vendors/cohere. */
const RANGES = { temperature: [0, 1], p: [0.01, 0.99], k: [0, 500], penalty: [0, 1] } as const;
const STOP_LIMIT = 5;
/** Models that do not think, and refuse `thinking`. */
const WITHOUT_THINKING = /^command-(r|light|nightly|a-(03|vision|translate))/;

/** Throws: Unmappable. */
export function encodeRequest(request: HubRequest): Encoded {
  refuseMedia(request);
  const { own, rest } = ownExtras(request, OWN_MEMBERS);
  const { body: chat, toolNames } = chatBody(shown(request), { keepsThoughts: false });
  const tools = asList(chat["tools"]).map(toolOf);
  const stop = request.stop ?? [];
  const thinks = request.reasoning !== undefined && !WITHOUT_THINKING.test(request.model);
  const body = {
    model: request.model,
    stream: request.isStream,
    messages: asList(chat["messages"]).map(messageOf),
    ...(tools.length > 0 && { tools, tool_choice: choiceOf(request.toolChoice) }),
    response_format: formatOf(request),
    max_tokens: request.maxTokens,
    ...(stop.length > 0 && { stop_sequences: stop.slice(0, STOP_LIMIT) }),
    temperature: within(request.temperature, ...RANGES.temperature),
    p: within(request.topP, ...RANGES.p),
    k: within(request.topK, ...RANGES.k),
    seed: request.seed,
    frequency_penalty: within(request.frequencyPenalty, ...RANGES.penalty),
    presence_penalty: within(request.presencePenalty, ...RANGES.penalty),
    thinking: thinks && request.reasoning ? thinkingOf(request.reasoning) : undefined,
    ...own,
    ...(isStrict(request) && { strict_tools: true }),
  };
  return { body, dropped: [...hintsBeyond(rest, ABILITIES), ...unheard(request, thinks)], toolNames };
}

/** Throws: Unmappable. */
function refuseMedia({ messages }: HubRequest): void {
  for (const { parts } of messages)
    for (const { kind } of parts)
      if (kind !== "text" && kind !== "refusal" && kind !== "image")
        throw new Unmappable(`messages[].content[].${kind}`, "该渠道只支持文本与图片");
}

/** More dropped hints, by OpenAI's names. */
function unheard({ tools = [], reasoning, stop = [] }: HubRequest, thinks: boolean): string[] {
  const asksThought = reasoning !== undefined && !isOff(reasoning);
  return [
    ...(stop.length > STOP_LIMIT ? ["stop"] : []),
    ...(asksThought && !thinks ? ["reasoning_effort"] : []),
    ...(tools.some(({ kind }) => kind === "web-search") ? ["web_search_options"] : []),
  ];
}

/** The request as the wire can express it. It has no choice of one tool: then only that tool is sent. */
function shown(request: HubRequest): HubRequest {
  const { toolChoice } = request;
  const messages = soundMessages(request.messages);
  if (toolChoice?.kind !== "tool") return { ...request, messages };
  return { ...request, messages, toolChoice: { kind: "subset", names: [toolChoice.name], isRequired: true } };
}

function choiceOf(choice: HubRequest["toolChoice"]): string | undefined {
  if (choice?.kind === "none") return "NONE";
  return isToolForced(choice) ? "REQUIRED" : undefined;
}

/** `strict` applies to all tools on this wire. */
function isStrict({ tools = [] }: HubRequest): boolean {
  return tools.some((tool) => tool.kind === "function" && tool.strict === true);
}

function toolOf(tool: unknown): JsonRecord {
  const { type, function: fn } = asObject(tool) ?? {};
  const { strict: _, ...described } = asObject(fn) ?? {};
  return { type, function: described };
}

/** The wire has no names; text along with calls is their plan. */
function messageOf(message: unknown): JsonRecord {
  const { name: _, content, ...said } = asObject(message) ?? {};
  if (said["role"] === "tool" && content === "") return { ...said, content: SILENT_RESULT };
  if (said["tool_calls"] === undefined) return { ...said, content };
  return { ...said, ...(content !== null && content !== "" && { tool_plan: content }) };
}

function formatOf({ format }: HubRequest): JsonRecord | undefined {
  if (format?.kind === "schema") return { type: "json_object", json_schema: format.schema };
  return format?.kind === "json" ? { type: "json_object" } : undefined;
}

function isOff({ effort, budgetTokens }: HubReasoning): boolean {
  return effort === "none" || budgetTokens === 0;
}

function thinkingOf(reasoning: HubReasoning): JsonRecord {
  if (isOff(reasoning)) return { type: "disabled" };
  const { budgetTokens } = reasoning;
  const isLimited = budgetTokens !== undefined && budgetTokens > 0;
  return { type: "enabled", ...(isLimited && { token_budget: budgetTokens }) };
}
