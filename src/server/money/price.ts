// Usage × ratios → charge. Exact, pure and total: no floats, no clock, no database, no exception for any usage.
import {
  completionRatioRule,
  defaultCacheRatio,
  defaultCompletionRatio,
  defaultModelRatio,
  pricedName,
} from "#contract/prices.ts";
import { ceilDivide, multiply, parseRational, type Rational, showRational } from "./rational.ts";

/** LLM tokens of one call. `cachedTokens` are part of `promptTokens`. */
export interface Usage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
}

/** What a model costs one group. Ratios are exact text, decimal or fraction. */
export interface Price {
  /** The name the price was found by. */
  readonly model: string;
  readonly modelRatio: string;
  readonly completionRatio: string;
  readonly cacheRatio: string;
  readonly groupRatio: string;
  /** Quota of one prompt, cached and completion token, over the common denominator. */
  readonly weights: {
    readonly prompt: bigint;
    readonly cached: bigint;
    readonly completion: bigint;
    readonly over: bigint;
  };
  /** The ratios as the log shows them. */
  readonly shown: {
    readonly model: string;
    readonly completion: string;
    readonly cache: string;
    readonly group: string;
  };
}

export interface PriceBook {
  /**
   * The price of the requested model, else of the model it is mapped to, else the fallback (contract 9.4, 10.8).
   * undefined = unpriced and no fallback: refuse the call.
   */
  find(model: string, upstreamModel: string, group: string): Price | undefined;
}

/** Ratios the operator set; they stand above the built-in ones. */
export interface PriceTables {
  readonly modelRatio: Readonly<Record<string, number>>;
  readonly completionRatio: Readonly<Record<string, number>>;
  readonly cacheRatio: Readonly<Record<string, number>>;
  readonly groupRatio: Readonly<Record<string, number>>;
  /** Ratio of models that have none; null = they are refused. */
  readonly fallbackModelRatio: number | null;
}

/** Prices kept ready: models × groups in use; callers choose model names, so there is a bound. */
const KEPT_PRICES = 5_000;

/** Builds the book for one state of the options. */
export function createPriceBook(tables: PriceTables): PriceBook {
  const kept = new Map<string, Price | undefined>();
  return {
    find(model, upstreamModel, group) {
      const key = `${model}\n${upstreamModel}\n${group}`;
      if (kept.has(key)) return kept.get(key);
      const price = findPrice(tables, [model, upstreamModel], group);
      if (kept.size >= KEPT_PRICES) kept.clear();
      kept.set(key, price);
      return price;
    },
  };
}

function findPrice(tables: PriceTables, models: readonly string[], group: string): Price | undefined {
  const groupRatio = lookUp(tables.groupRatio, group) ?? 1;
  const names = models.flatMap((model) => [model, pricedName(model)]);
  for (const name of names) {
    const modelRatio = lookUp(tables.modelRatio, name) ?? lookUp(defaultModelRatio, name);
    if (modelRatio !== undefined) return priceOf(tables, { name, modelRatio, groupRatio });
  }
  const [name = ""] = names;
  const modelRatio = tables.fallbackModelRatio;
  return modelRatio === null ? undefined : priceOf(tables, { name, modelRatio, groupRatio });
}

/** An own entry of a table; `constructor` and the like are no models. */
function lookUp(table: Readonly<Record<string, number>>, name: string): number | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

function priceOf(
  tables: PriceTables,
  { name, modelRatio, groupRatio }: { name: string; modelRatio: number; groupRatio: number },
): Price {
  return createPrice({
    model: name,
    modelRatio: String(modelRatio),
    completionRatio: String(
      lookUp(tables.completionRatio, name) ??
        lookUp(defaultCompletionRatio, name) ??
        completionRatioRule(name),
    ),
    cacheRatio: String(lookUp(tables.cacheRatio, name) ?? lookUp(defaultCacheRatio, name) ?? 1),
    groupRatio: String(groupRatio),
  });
}

/** Prepares the whole-number weights of a price, so that a charge is three products and a division. */
export function createPrice(ratios: Omit<Price, "weights" | "shown">): Price {
  const model = parseRational(ratios.modelRatio);
  const completion = parseRational(ratios.completionRatio);
  const cache = parseRational(ratios.cacheRatio);
  const group = parseRational(ratios.groupRatio);
  const prompt = multiply(model, group);
  const perCached = multiply(prompt, cache);
  const perCompletion = multiply(prompt, completion);
  const over = prompt.d * perCached.d * perCompletion.d;
  const weight = (ratio: Rational) => (ratio.n * over) / ratio.d;
  return {
    ...ratios,
    weights: { prompt: weight(prompt), cached: weight(perCached), completion: weight(perCompletion), over },
    shown: {
      model: showRational(model),
      completion: showRational(completion),
      cache: showRational(cache),
      group: showRational(group),
    },
  };
}

/** A count as a whole number from 0 to 2^53 − 1, whatever was reported (reliability M02, M17). */
function whole(count: number): bigint {
  if (!(count > 0)) return 0n;
  return BigInt(count >= Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : Math.trunc(count));
}

/**
 * The charge of a call: ceil((uncached prompt + cached × cache ratio + completion × completion ratio) × model ratio ×
 * group ratio); at least 1 when the ratio is not 0 and there were tokens, 0 without tokens (contract 10.3). Unit: quota.
 */
export function charge(usage: Usage, { weights }: Price): bigint {
  const prompt = whole(usage.promptTokens);
  const completion = whole(usage.completionTokens);
  if (prompt === 0n && completion === 0n) return 0n;
  const reported = whole(usage.cachedTokens);
  const cached = reported < prompt ? reported : prompt;
  return collect(
    (prompt - cached) * weights.prompt + cached * weights.cached + completion * weights.completion,
    weights,
  );
}

/**
 * What to set aside before a call: the prompt and as much output as may come, at least `floorTokens` of prompt
 * (PreConsumedQuota). Never less than the charge of any answer within these bounds (contract 10.2 [P]). Unit: quota.
 */
export function estimate(
  promptTokens: number,
  maxTokens: number,
  { weights }: Price,
  floorTokens: number,
): bigint {
  // Which part of the prompt is cached is not known yet, and a table may price it either way.
  const dearest = weights.cached > weights.prompt ? weights.cached : weights.prompt;
  const expected = whole(promptTokens) * dearest + whole(maxTokens) * weights.completion;
  const floor = whole(floorTokens) * weights.prompt;
  return collect(expected > floor ? expected : floor, weights);
}

function collect(sum: bigint, weights: Price["weights"]): bigint {
  const quota = ceilDivide(sum, weights.over);
  return quota === 0n && weights.prompt !== 0n ? 1n : quota;
}

/**
 * How a charge came about, for the usage log: the ratios and the calculation, to be checked with a pocket calculator.
 * Example: `模型倍率 1.25，补全倍率 4，分组倍率 1；(1000 + 500 × 4) × 1.25 × 1 = 3750`.
 */
export function explain(usage: Usage, { shown }: Price, charged: bigint): string {
  const prompt = whole(usage.promptTokens);
  const reported = whole(usage.cachedTokens);
  const cached = reported < prompt ? reported : prompt;
  const labels = [`模型倍率 ${shown.model}`, `补全倍率 ${shown.completion}`];
  if (cached > 0n) labels.push(`缓存倍率 ${shown.cache}`);
  labels.push(`分组倍率 ${shown.group}`);
  const parts = [String(prompt - cached)];
  if (cached > 0n) parts.push(`${cached} × ${shown.cache}`);
  parts.push(`${whole(usage.completionTokens)} × ${shown.completion}`);
  return `${labels.join("，")}；(${parts.join(" + ")}) × ${shown.model} × ${shown.group} = ${charged}`;
}
