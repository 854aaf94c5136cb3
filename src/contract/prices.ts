// The default price table: ratios that stand where the operator set none. Pure data from the sheets beside it, plus the two rules
// for names that are in no table. It refuses nothing and charges nothing: the ledger does (requirements B3, W10.8, W14).
import { type ChargeUnit, ratiosOf, TIER_NAME, table } from "./price-sheet.ts";
import { chinaPrices } from "./prices-china.ts";
import { globalPrices } from "./prices-global.ts";
import { newerPrices } from "./prices-newer.ts";
import { openaiPrices } from "./prices-openai.ts";

export type { ChargeUnit } from "./price-sheet.ts";

const ratios = ratiosOf([...openaiPrices, ...globalPrices, ...chinaPrices, ...newerPrices]);

/** Model → price of its input; 1 = $2 per million LLM tokens (or the unit in `chargeUnit`), at most six decimals. */
export const defaultModelRatio: Readonly<Record<string, number>> = ratios.model;
/** Model → output price as a multiple of the input price; absent = `completionRatioRule`. */
export const defaultCompletionRatio: Readonly<Record<string, number>> = ratios.completion;
/** Model → price of cached input as a multiple of the input price; absent = 1, no discount. */
export const defaultCacheRatio: Readonly<Record<string, number>> = ratios.cache;
/** Model → price of input written to the cache (five minutes) as a multiple of the input price; absent = 1. */
export const defaultCacheWriteRatio: Readonly<Record<string, number>> = ratios.cacheWrite;
/** Model → price of sound as input, as a multiple of the input price; absent = 1. */
export const defaultAudioRatio: Readonly<Record<string, number>> = ratios.audio;
/** Model → price of sound as output, as a multiple of the price of sound as input; absent = the output price. */
export const defaultAudioCompletionRatio: Readonly<Record<string, number>> = ratios.audioCompletion;
/** Model → price of pictures as input, as a multiple of the input price; absent = 1. */
export const defaultImageRatio: Readonly<Record<string, number>> = ratios.image;
/** Model → price of pictures as output, as a multiple of the price of pictures as input; absent = the output price. */
export const defaultImageCompletionRatio: Readonly<Record<string, number>> = ratios.imageCompletion;
/** Option → the built-in table that what is stored of it adds to or changes (requirements W6.1). */
export const builtInRatios = {
  ModelRatio: defaultModelRatio,
  CompletionRatio: defaultCompletionRatio,
  CacheRatio: defaultCacheRatio,
  CacheWriteRatio: defaultCacheWriteRatio,
  AudioRatio: defaultAudioRatio,
  AudioCompletionRatio: defaultAudioCompletionRatio,
  ImageRatio: defaultImageRatio,
  ImageCompletionRatio: defaultImageCompletionRatio,
} as const;
/** Models whose ratio counts something else than LLM tokens. */
export const chargeUnit: Readonly<Record<string, ChargeUnit>> = ratios.unit;

const gapGroups: readonly (readonly [reason: string, models: string])[] = [
  ["本地部署的模型没有公开价格", "llama3.3 qwen3:8b gpt-oss:20b gemma3:12b deepseek-r1:8b nomic-embed-text"],
  ["按实际调用的模型与工具计价", "groq/compound groq/compound-mini openrouter/auto"],
  [
    "按张计价，价格因规格而异",
    "glm-image qwen-image-plus wan2.6-t2i image-01 grok-imagine-image Kwai-Kolors/Kolors Qwen/Qwen-Image",
  ],
  ["按检索次数计价", "rerank-v4.0-pro rerank-v3.5"],
  [
    "语音模型，未见可靠的公开价格",
    "glm-asr glm-tts qwen3-tts-flash voxtral-mini-latest step-tts-2 step-asr FunAudioLLM/SenseVoiceSmall FunAudioLLM/CosyVoice2-0.5B",
  ],
  [
    "未见可靠的公开价格",
    `rerank qwen3-rerank hy-mt2-plus hy-vision-2.0-instruct mistral-moderation-latest deepseek-v3-2-251201
    qwen/qwen3-coder-480b-a35b-instruct Qwen/Qwen3.6-35B-A3B Qwen/Qwen3-32B Qwen/Qwen3-Embedding-8B`,
  ],
];

/** Default models that deliberately have no price, each with the reason. */
export const priceGaps: Readonly<Record<string, string>> = Object.assign(
  table<string>(),
  Object.fromEntries(
    gapGroups.flatMap(([reason, models]) => models.split(/\s+/).map((model) => [model, reason])),
  ),
);

/** Model → how long its input must be for dearer prices to hold, in LLM tokens, ascending; they stand under `tierName`. */
export const defaultTiers: Readonly<Record<string, readonly number[]>> = tiersOf(ratios.model);

/** The tiers among the names of a model table: `gpt-5.4>272000` is one of gpt-5.4. */
export function tiersOf(
  models: Readonly<Record<string, number>>,
): Readonly<Record<string, readonly number[]>> {
  const tiers = table<number[]>();
  for (const name of Object.keys(models)) {
    const [, model, above] = TIER_NAME.exec(name) ?? [];
    if (model === undefined) continue;
    const known = tiers[model] ?? [];
    tiers[model] = [...known, Number(above)].toSorted((one, other) => one - other);
  }
  return tiers;
}

/** Name pattern → ratio, first hit wins. Source: requirements W14.2, T22.5 for the families since 2025. */
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
  [/^gpt-6/, "5"],
  [/^o[134]/, "4"],
  [/^chatgpt-4o/, "3"],
  [/^claude-3|^claude-.*(sonnet|opus|haiku|fable|mythos)/, "5"],
  [/^claude-/, "3"],
  [/^mistral-/, "3"],
  [/^gemini-2\.5-flash-lite/, "4"],
  [/^gemini-2\.5-flash/, "25/3"],
  [/^gemini-2\.5-pro/, "8"],
  [/^gemini-([3-9]|\d\d)/, "6"],
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

/**
 * Anthropic sells writes to its cache for a quarter more than plain input, whatever the model (requirements T26.20), and so does Bedrock
 * under the names of its regions.
 */
export function cacheWriteRatioRule(model: string): number {
  return /(^|[/.])claude-/.test(model) ? 1.25 : 1;
}
