// The thinking settings of a Gemini model, by its generation (vendors/gemini-thinking). Facts about model names; pure.

import type { Effort, HubReasoning } from "#server/upstream/hub/request.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";

interface Family {
  /** 2.5 takes a number of tokens, 3 takes levels; other models do not think, or their thinking cannot be set. */
  readonly speaks: "budget" | "level" | "nothing";
  readonly isPro: boolean;
  /** Unit: tokens; the smallest budget that is not "off". */
  readonly least: number;
  readonly most: number;
  readonly hasMedium: boolean;
  readonly hasMinimal: boolean;
}

const NAME = /^gemini-(\d+)(?:\.(\d+))?-(pro|flash-lite|flash|argon)/;
/** Image and speech models, whose thinking cannot be set. */
const NOT_TOLD = /-(image|tts|native-audio|live)\b/;
const LATEST = /^gemini-(pro|flash|flash-lite)-latest$/;
/** Alias names: their targets in November 2026. */
const LATEST_GENERATION: Readonly<Record<string, number>> = { pro: 3.1, flash: 3.8, "flash-lite": 3.5 };

const BUDGETS: Readonly<Record<string, readonly [least: number, most: number]>> = {
  pro: [128, 32_768],
  flash: [1, 24_576],
  "flash-lite": [512, 24_576],
};

/** The generation of a model: 2.5, 3, 3.1 …; 0 = unknown. */
export function generationOf(model: string): number {
  const latest = LATEST_GENERATION[LATEST.exec(model)?.[1] ?? ""];
  if (latest !== undefined) return latest;
  const match = /^gemini-(\d+(?:\.\d+)?)/.exec(model);
  return match === null ? 0 : Number(match[1]);
}

/**
 * Gemini 3.6, Flash-Lite 3.5 and newer models choose their sampling themselves, and refuse penalties and a prefill. Source:
 * ai.google.dev/gemini-api/docs/whats-new-gemini-3.6 and Vertex AI's page of the model (2026-11).
 */
export function isSelfWilled(model: string): boolean {
  return generationOf(model) >= (kindOf(model) === "flash-lite" ? 3.5 : 3.6);
}

/** Gemini's `thinkingConfig`. undefined = the model does not take it; the setting is then a dropped hint. */
export function thinkingConfig(model: string, wish: HubReasoning): JsonRecord | undefined {
  const family = familyOf(model);
  const isOff = wish.effort === "none" || wish.budgetTokens === 0;
  const shown = wish.isShown ?? !isOff;
  const thoughts = shown ? { includeThoughts: true } : {};
  switch (family.speaks) {
    case "budget":
      return { ...budgetOf(family, wish), ...thoughts };
    case "level":
      return { ...levelOf(family, wish), ...thoughts };
    case "nothing":
      return isOff ? {} : undefined;
  }
}

function kindOf(model: string): string | undefined {
  return NAME.exec(model)?.[3] ?? LATEST.exec(model)?.[1];
}

function familyOf(model: string): Family {
  const kind = kindOf(model);
  const generation = generationOf(model);
  const [least, most] = BUDGETS[kind ?? ""] ?? [0, 0];
  const isPro = kind === "pro";
  // Source of the levels: the table on docs.cloud.google.com/vertex-ai/generative-ai/docs/thinking (2026-11).
  const hasMinimal = kind === "flash-lite" || (!isPro && generation < 3.7);
  const common = { isPro, least, most, hasMedium: !isPro || generation >= 3.1, hasMinimal };
  if (kind === undefined || NOT_TOLD.test(model) || generation < 2.5) return { ...common, speaks: "nothing" };
  return { ...common, speaks: generation < 3 ? "budget" : "level" };
}

function budgetOf(family: Family, { effort, budgetTokens }: HubReasoning): JsonRecord {
  const wanted = budgetTokens ?? (effort && budgetFor(effort, family.most));
  if (wanted === undefined) return {};
  if (wanted < 0) return { thinkingBudget: -1 };
  if (wanted === 0 && !family.isPro) return { thinkingBudget: 0 };
  return { thinkingBudget: Math.min(Math.max(Math.trunc(wanted), family.least), family.most) };
}

function budgetFor(effort: Effort, most: number): number {
  switch (effort) {
    case "none":
      return 0;
    case "minimal":
      return 512;
    case "low":
      return 1_024;
    case "medium":
      return 8_192;
    case "high":
    case "xhigh":
    case "max":
      return most;
  }
}

function levelOf(family: Family, { effort, budgetTokens }: HubReasoning): JsonRecord {
  const wanted = effort ?? effortFor(budgetTokens);
  switch (wanted) {
    case undefined:
      return {};
    case "none":
    case "minimal":
      return { thinkingLevel: family.hasMinimal ? "MINIMAL" : "LOW" };
    case "low":
      return { thinkingLevel: "LOW" };
    case "medium":
      return { thinkingLevel: family.hasMedium ? "MEDIUM" : "HIGH" };
    case "high":
    case "xhigh":
    case "max":
      return { thinkingLevel: "HIGH" };
  }
}

/** Source: requirements T18.2. */
function effortFor(budgetTokens: number | undefined): Effort | undefined {
  if (budgetTokens === undefined || budgetTokens < 0) return undefined;
  if (budgetTokens === 0) return "none";
  if (budgetTokens <= 512) return "minimal";
  if (budgetTokens <= 2_048) return "low";
  return budgetTokens <= 16_384 ? "medium" : "high";
}
