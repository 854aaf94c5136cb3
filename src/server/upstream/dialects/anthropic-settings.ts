// Thinking, sampling and output limit, as the model's generation takes them (vendors/claude-request, vendors/claude-thinking).

import {
  type Effort,
  type HubReasoning,
  type HubRequest,
  isToolForced,
} from "#server/upstream/hub/request.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { type ModelTraits, splitSuffix, traitsOf } from "./anthropic-model.ts";

/** Members of the body, and the dropped hints. */
export interface Settings {
  readonly model: string;
  readonly traits: ModelTraits;
  readonly maxTokens: number;
  readonly thinking: JsonRecord | undefined;
  readonly effort: string | undefined;
  readonly sampling: JsonRecord;
  readonly dropped: readonly string[];
}

/** The smallest budget that the wire accepts. Unit: tokens. */
const MIN_BUDGET = 1024;
/** Budgets by effort. Source: vendors/claude-thinking (New API's numbers), extrapolated upwards. Unit: tokens. */
const BUDGETS: Readonly<Record<string, number>> = {
  low: 1280,
  medium: 2048,
  high: 4096,
  xhigh: 8192,
  max: 16_384,
};
/** The share of the limit that thinking may take. */
const BUDGET_SHARE = 0.8;
/** The limit of a request with thinking that sets none. Source: vendors/claude-code. Unit: tokens. */
const THINKING_OUTPUT = 32_000;

/** The decision on thinking before the limit is known. */
type Plan =
  | { readonly kind: "none"; readonly isDropped: boolean }
  | { readonly kind: "off"; readonly isDropped: boolean }
  | { readonly kind: "budget"; readonly tokens: number }
  | { readonly kind: "word"; readonly word: string | undefined };

const AS_THE_MODEL_LIKES: Plan = { kind: "word", word: undefined };

/** Decides on thinking, limit and sampling together: each bounds the others. */
export function settingsOf(request: HubRequest): Settings {
  const { model, suffix } = splitSuffix(request.model);
  const traits = traitsOf(model);
  const open = request.isStream ? traits.defaultStream : traits.defaultOutput;
  const reasoning = withSuffix(request.reasoning, suffix, request.maxTokens ?? open);
  const isForced = isToolForced(request.toolChoice);
  const isForcedTool = traits.forcesTools && isForced;
  const wanted = planOf(reasoning, traits, isForcedTool);
  const thinks = isThinking(wanted) || (wanted.kind === "none" && traits.thinksUnasked);
  const room = thinks ? Math.max(THINKING_OUTPUT, open) : open;
  // The client's limit, clamped to the model's. Thinking counts as output: the default leaves space for both.
  const maxTokens = Math.min(Math.max(1, request.maxTokens ?? room), traits.maxOutput);
  const plan = lacksProof(request.messages) ? unproven(wanted) : fitted(wanted, maxTokens);
  const sampling = samplingOf(request, traits, isThinking(plan));
  const display = displayOf(request, traits, reasoning?.isShown);
  // The model thinks by default; `thinking` is sent only to set `display`.
  const isToldUnasked =
    plan.kind === "none" && traits.thinksUnasked && !isForcedTool && display === "summarized";
  return {
    model,
    traits,
    maxTokens,
    thinking: thinkingOf(isToldUnasked ? AS_THE_MODEL_LIKES : plan, traits, display),
    effort: plan.kind === "word" ? plan.word : undefined,
    sampling: sampling.values,
    dropped: [
      ...("isDropped" in plan && plan.isDropped ? ["reasoning_effort"] : []),
      ...(!traits.forcesTools && isForced ? ["tool_choice"] : []),
      ...sampling.dropped,
    ],
  };
}

/** The request answers a tool result, and the calling turn has lost its thinking: most clients do not send it back. */
function lacksProof(messages: HubRequest["messages"]): boolean {
  const last = messages.findLast(({ role }) => role === "assistant");
  if (last?.role !== "assistant" || last.toolCalls.length === 0) return false;
  return !last.thoughts.some(({ signature, redacted }) => Boolean(signature ?? redacted));
}

/** Thinking by a budget requires the thinking of such a turn; thinking by an effort does not (vendor docs, checked 2026-11). */
function unproven(plan: Plan): Plan {
  return plan.kind === "budget" ? { kind: "none", isDropped: true } : plan;
}

function isThinking(plan: Plan): boolean {
  return plan.kind === "budget" || plan.kind === "word";
}

/** The client's own settings take precedence over the model name's suffix. */
function withSuffix(
  reasoning: HubReasoning | undefined,
  suffix: string | undefined,
  maxTokens: number,
): HubReasoning | undefined {
  if (reasoning !== undefined || suffix === undefined) return reasoning;
  if (suffix === "thinking")
    return { effort: undefined, budgetTokens: Math.floor(maxTokens * BUDGET_SHARE), isShown: undefined };
  // The other suffixes are values of Effort.
  return { effort: suffix as Effort, budgetTokens: undefined, isShown: undefined };
}

function planOf(reasoning: HubReasoning | undefined, traits: ModelTraits, isForcedTool: boolean): Plan {
  const wish = wishOf(reasoning);
  if (isForcedTool) return forcedPlan(wish, traits);
  if (wish === undefined) return { kind: "none", isDropped: false };
  if (traits.thinking === "none") return { kind: "none", isDropped: wish !== "off" };
  // A model whose thinking cannot be switched off gets its lowest effort.
  if (wish === "off" && traits.off === "never") return { kind: "word", word: traits.efforts[0] };
  if (wish === "off") return { kind: "off", isDropped: false };
  const { effort, tokens } = wish;
  const isCounted = traits.thinking === "budget" || (traits.thinking === "either" && effort === undefined);
  if (isCounted && (traits.thinking === "budget" || tokens !== undefined))
    return { kind: "budget", tokens: tokens ?? BUDGETS[effort ?? "medium"] ?? MIN_BUDGET };
  return {
    kind: "word",
    word: wordOf(effort ?? (tokens === undefined ? undefined : effortFor(tokens)), traits),
  };
}

/** Thinking and a forced tool exclude each other (vendor docs); the tool takes precedence. */
function forcedPlan(wish: Wish, { thinking, off, thinksUnasked }: ModelTraits): Plan {
  const isDropped = wish !== undefined && wish !== "off";
  const isTold = wish === "off" || thinksUnasked;
  return { kind: isTold && thinking !== "none" && off !== "never" ? "off" : "none", isDropped };
}

type Wish = undefined | "off" | { readonly effort: Effort | undefined; readonly tokens: number | undefined };

/** The client's setting: none, off, or an amount; neither effort nor number = the model decides. */
function wishOf(reasoning: HubReasoning | undefined): Wish {
  const effort = reasoning?.effort;
  const budget = reasoning?.budgetTokens;
  if (effort === undefined && budget === undefined) return undefined;
  if (effort === "none" || effort === "minimal" || budget === 0) return "off";
  return { effort, tokens: budget === undefined || budget < 0 ? undefined : budget };
}

/** Source: requirements T18.2. */
function effortFor(budgetTokens: number): Effort {
  if (budgetTokens <= 2048) return "low";
  return budgetTokens <= 16_384 ? "medium" : "high";
}

/** The nearest effort the model knows: xhigh is max where there is one, else high. */
function wordOf(effort: Effort | undefined, { efforts }: ModelTraits): string | undefined {
  if (effort === undefined || efforts.includes(effort)) return effort;
  return efforts.at(-1);
}

/**
 * Fits a budget under the limit (vendors/claude-thinking). Unlike in some relays the limit is never raised for it: it bounds the charge of
 * the client. Where no budget fits there is no thinking.
 */
function fitted(plan: Plan, maxTokens: number): Plan {
  if (plan.kind !== "budget") return plan;
  const tokens = Math.max(MIN_BUDGET, plan.tokens);
  if (tokens < maxTokens) return { kind: "budget", tokens };
  const share = Math.floor(maxTokens * BUDGET_SHARE);
  return share >= MIN_BUDGET ? { kind: "budget", tokens: share } : { kind: "none", isDropped: true };
}

/**
 * Newer models send empty thoughts by default, and the text of 5.5 between tool calls is a thought: a client whose format shows thoughts
 * by default would get no text for minutes. Source: platform.claude.com/docs, "What's new in Claude Sonnet 5.5" (2026-11).
 */
function displayOf(
  { tellsThoughts }: HubRequest,
  { hidesThoughts }: ModelTraits,
  isShown = hidesThoughts && tellsThoughts === true ? true : undefined,
): string | undefined {
  return isShown === undefined ? undefined : isShown ? "summarized" : "omitted";
}

function thinkingOf(plan: Plan, { off }: ModelTraits, display: string | undefined): JsonRecord | undefined {
  switch (plan.kind) {
    case "none":
      return undefined;
    case "off":
      return { type: off };
    case "budget":
      return { type: "enabled", budget_tokens: plan.tokens };
    case "word":
      return { type: "adaptive", ...(display !== undefined && { display }) };
    default:
      throw new Error(`unknown plan ${JSON.stringify(plan satisfies never)}`);
  }
}

/**
 * Temperature is at most 1 on this wire; with thinking only default values are accepted (vendors/claude-request,
 * vendors/claude-thinking).
 */
function samplingOf(
  { temperature, topP, topK }: HubRequest,
  { sampling }: ModelTraits,
  thinks: boolean,
): { readonly values: JsonRecord; readonly dropped: readonly string[] } {
  const given = [
    ["temperature", temperature === undefined ? undefined : Math.min(Math.max(temperature, 0), 1)],
    ["top_p", topP],
    ["top_k", topK],
  ] as const;
  const takes = (name: string, value: number): boolean => {
    if (sampling === "none") return false;
    if (name === "top_p" && sampling === "one" && temperature !== undefined) return false;
    if (!thinks) return true;
    return (name === "temperature" && value === 1) || (name === "top_p" && value >= 0.95);
  };
  const values: Record<string, number> = {};
  const dropped: string[] = [];
  for (const [name, value] of given) {
    if (value === undefined) continue;
    if (takes(name, value)) values[name] = value;
    else dropped.push(name);
  }
  return { values, dropped };
}
