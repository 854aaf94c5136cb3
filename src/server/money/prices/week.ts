// What last week's bill would have been by another price: each call priced as calls are, by both prices, with its caches, its kinds of tokens and
// the tier of its length. Pure; it charges nothing.
import type { ModelPrice } from "#contract/price-list.ts";
import type { PriceUnit } from "#contract/price-unit.ts";
import { cacheWriteRatioRule, completionRatioRule } from "#contract/prices.ts";
import { kindsOf } from "#contract/token-kinds.ts";
import { costOf, createPrice, type Price, type Usage } from "#server/money/price.ts";

/** A call as the log has it. */
export interface LoggedCall {
  /** What it was charged, in units of quota. */
  readonly quota: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  /** As contract/token-kinds.ts writes them. */
  readonly kinds: string;
}

/** What calls of a model came to in the last 7 days. */
export interface WeekUse {
  readonly quota: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Its calls in the log, or as many as were looked at. */
  readonly logged: readonly LoggedCall[];
}

export interface Repriced {
  readonly model: string;
  readonly unit: PriceUnit;
  readonly old: ModelPrice;
  readonly fresh: ModelPrice;
}

export interface WeekBill {
  readonly quota: number;
  /** It was worked out from some of the calls, or from sums. */
  readonly isEstimate: boolean;
}

/** Calls that came to less of the week's quota are a part of it. */
const WHOLE = 0.999;

export function weekAfter(week: WeekUse, { model, unit, old, fresh }: Repriced): WeekBill {
  const before = priceOf(model, unit, old);
  const after = priceOf(model, unit, fresh);
  let seen = 0;
  let sum = 0;
  for (const call of week.logged) {
    seen += call.quota;
    sum += repriced(call, before, after);
  }
  if (seen === 0) return { quota: bySums(week, { model, unit, old, fresh }), isEstimate: week.quota > 0 };
  const isEstimate = seen < week.quota * WHOLE;
  return { quota: Math.round((sum * week.quota) / seen), isEstimate };
}

const MILLIONTHS = { n: 1_000_000n, d: 1n };

/** By what the call was charged, its group's ratio and a batch's included, times new over old. */
function repriced(call: LoggedCall, before: Price, after: Price): number {
  const usage = usageOf(call);
  const [old, fresh] = [costOf(usage, before, MILLIONTHS), costOf(usage, after, MILLIONTHS)];
  if (old > 0) return (call.quota * fresh) / old;
  // Pictures, seconds and the like are charged by the piece: the log has no tokens of them.
  const { modelRatio } = before;
  return Number(modelRatio) > 0 ? (call.quota * Number(after.modelRatio)) / Number(modelRatio) : call.quota;
}

function usageOf({ promptTokens, completionTokens, cachedTokens, kinds }: LoggedCall): Usage {
  const of = new Map(kinds === "" ? [] : kindsOf(kinds).map(({ kind, tokens }) => [kind, tokens]));
  return {
    promptTokens,
    completionTokens,
    cachedTokens,
    cacheWriteTokens: of.get("cache_write") ?? 0,
    cacheWriteHourTokens: of.get("cache_write_hour") ?? 0,
    audioPromptTokens: of.get("audio_input") ?? 0,
    imagePromptTokens: of.get("image_input") ?? 0,
    audioCompletionTokens: of.get("audio_output") ?? 0,
    imageCompletionTokens: of.get("image_output") ?? 0,
  };
}

/** Where nothing was logged: short prompts without caches. */
function bySums(week: WeekUse, { model, unit, old, fresh }: Repriced): number {
  const { quota, promptTokens, completionTokens } = week;
  const call = { quota, promptTokens, completionTokens, cachedTokens: 0, kinds: "" };
  const plain = (price: ModelPrice) => priceOf(model, unit, { ...price, tiers: [] });
  return Math.round(repriced(call, plain(old), plain(fresh)));
}

/** As the price book makes it for a group of ratio 1; what a row leaves open is by the rule for the name. */
function priceOf(model: string, unit: PriceUnit, { tiers, last_day: _, ...texts }: ModelPrice): Price {
  const own = (text: string) => (text === "" ? undefined : text);
  const base = {
    model,
    ...(unit === "token" ? {} : { unit }),
    groupRatio: "1",
    modelRatio: texts.model_ratio,
    completionRatio: texts.completion_ratio || completionRatioRule(model),
    cacheRatio: texts.cache_ratio || "1",
    cacheWriteRatio: texts.cache_write_ratio || String(cacheWriteRatioRule(model)),
    audioRatio: own(texts.audio_ratio),
    audioCompletionRatio: own(texts.audio_completion_ratio),
    imageRatio: own(texts.image_ratio),
    imageCompletionRatio: own(texts.image_completion_ratio),
  };
  const longer = tiers.map(({ above, ...tier }) => ({
    above,
    price: createPrice({
      ...base,
      modelRatio: tier.model_ratio,
      completionRatio: tier.completion_ratio,
      cacheRatio: tier.cache_ratio,
      cacheWriteRatio: tier.cache_write_ratio,
    }),
  }));
  return createPrice(base, longer);
}
