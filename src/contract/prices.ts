// The default price table: ratios that stand where the operator set none. Pure data from the sheets beside it, plus the two rules
// for names that are in no table. It refuses nothing and charges nothing: that is the bank's work (spec §3, contract 10.8, 14).
import { type ChargeUnit, ratiosOf, table } from "./price-sheet.ts";
import { chinaPrices } from "./prices-china.ts";
import { globalPrices } from "./prices-global.ts";
import { openaiPrices } from "./prices-openai.ts";

export type { ChargeUnit } from "./price-sheet.ts";

const ratios = ratiosOf([...openaiPrices, ...globalPrices, ...chinaPrices]);

/** Model → price of its input; 1 = $2 per million LLM tokens (or the unit in `chargeUnit`), at most six decimals. */
export const defaultModelRatio: Readonly<Record<string, number>> = ratios.model;
/** Model → output price as a multiple of the input price; absent = `completionRatioRule`. */
export const defaultCompletionRatio: Readonly<Record<string, number>> = ratios.completion;
/** Model → price of cached input as a multiple of the input price; absent = 1, no discount. */
export const defaultCacheRatio: Readonly<Record<string, number>> = ratios.cache;
/** Model → price of input written to the cache (five minutes) as a multiple of the input price; absent = 1. */
export const defaultCacheWriteRatio: Readonly<Record<string, number>> = ratios.cacheWrite;
/** Models whose ratio counts something else than LLM tokens. */
export const chargeUnit: Readonly<Record<string, ChargeUnit>> = ratios.unit;

const unpricedGroups: readonly (readonly [reason: string, models: string])[] = [
  ["本地部署的模型没有公开价格", "llama3.3 qwen3:8b gpt-oss:20b gemma3:12b deepseek-r1:8b nomic-embed-text"],
  ["文本与音频单价不同，无法用一个倍率表示", "gpt-audio-1.5 gpt-audio-mini"],
  ["按实际调用的模型与工具计价", "groq/compound groq/compound-mini openrouter/auto"],
  ["按张计价，价格因规格而异", "glm-image qwen-image-plus wan2.6-t2i"],
  [
    "语音模型，未见可靠的公开价格",
    "gpt-transcribe glm-asr glm-tts qwen3-tts-flash voxtral-mini-latest canopylabs/orpheus-v1-english",
  ],
  [
    "未见可靠的公开价格",
    "rerank qwen3-rerank hy-mt2-plus hy-vision-2.0-instruct codestral-embed mistral-moderation-latest",
  ],
];

/** Default models that deliberately have no price, each with the reason shown to the operator. */
export const unpriced: Readonly<Record<string, string>> = Object.assign(
  table<string>(),
  Object.fromEntries(
    unpricedGroups.flatMap(([reason, models]) => models.split(" ").map((model) => [model, reason])),
  ),
);

/** The name a price is looked up by: `qwen-…-internet` and `command-…-internet` lose the suffix (contract 10.8). */
export function pricedName(model: string): string {
  return /^(qwen|command)-.*-internet$/.test(model) ? model.slice(0, -"-internet".length) : model;
}

/** Name pattern → ratio, first hit wins. Source: contract 14.2; providers 22.5 for the families since 2025. */
const completionRules: readonly (readonly [pattern: RegExp, ratio: string])[] = [
  [/^whisper-/, "0"],
  [/^gpt-3\.5-turbo$|^gpt-3\.5.*0125$/, "3"],
  [/^gpt-3\.5.*1106$/, "2"],
  [/^gpt-3\.5/, "4/3"],
  [/^gpt-4\.1/, "4"],
  [/^gpt-4o-2024-05-13$/, "3"],
  [/^gpt-4o/, "4"],
  [/^gpt-4-turbo|^gpt-4.*preview$/, "3"],
  [/^gpt-4/, "2"],
  [/^gpt-5\.([4-9]|\d\d)/, "6"],
  [/^gpt-5/, "8"],
  [/^o[134]/, "4"],
  [/^chatgpt-4o/, "3"],
  [/^claude-3|^claude-.*(sonnet|opus|haiku)/, "5"],
  [/^claude-/, "3"],
  [/^mistral-/, "3"],
  [/^gemini-2\.5-flash-lite/, "4"],
  [/^gemini-2\.5-flash/, "25/3"],
  [/^gemini-2\.5-pro/, "8"],
  [/^gemini-3/, "6"],
  [/^gemini-/, "3"],
  [/^deepseek-/, "2"],
  [/^llama2-70b-4096$/, "8/7"],
  [/^llama3-8b-8192$/, "2"],
  [/^llama3-70b-8192$/, "79/59"],
  [/^command-r-plus$/, "5"],
  [/^command-r$/, "3"],
  [/^command/, "2"],
  [/^grok-beta$/, "3"],
];

/** Tells the completion ratio of a model that is in no table, as exact text: a decimal or a fraction such as `4/3`. */
export function completionRatioRule(model: string): string {
  return completionRules.find(([pattern]) => pattern.test(model))?.[1] ?? "1";
}
