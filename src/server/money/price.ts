// Usage × ratios → charge. Exact, pure and total: no floats, no clock, no database, no exception for any usage.
import type { TokenUsage } from "#server/upstream/hub.ts";
import { ceilDivide, divide, exactText, multiply, parseRational, showRational } from "./rational.ts";

/** LLM tokens of one call. */
export type Usage = TokenUsage;

/** Ratios as exact text, decimal or fraction. */
export interface PriceRatios {
  /** The name the price was found by. */
  readonly model: string;
  readonly modelRatio: string;
  readonly completionRatio: string;
  readonly cacheRatio: string;
  readonly groupRatio: string;
  /** Input written to a cache; absent = 1. */
  readonly cacheWriteRatio?: string | undefined;
  /** Sound and pictures as input; absent = 1. */
  readonly audioRatio?: string | undefined;
  readonly imageRatio?: string | undefined;
  /** Sound and pictures as output, as multiples of the same as input; absent = they cost what text costs. */
  readonly audioCompletionRatio?: string | undefined;
  readonly imageCompletionRatio?: string | undefined;
}

/** The kinds of token that have a price of their own, in the order in which a charge is explained. */
const KINDS = [
  "text",
  "cached",
  "cacheWrite",
  "cacheWriteHour",
  "audio",
  "image",
  "completion",
  "audioCompletion",
  "imageCompletion",
] as const;
type Kind = (typeof KINDS)[number];

/** What a model costs one group. */
export interface Price extends PriceRatios {
  /** Quota of one token of each kind, over the common denominator. */
  readonly weights: Readonly<Record<Kind | "over", bigint>>;
  /** How many times the price of plain input a token of each kind costs, as the log's formula writes it. */
  readonly multiples: Readonly<Record<Kind, string>>;
  /** Prices of the whole request when its input is longer than `above` LLM tokens, the shortest first. */
  readonly tiers: readonly Tier[];
}

export interface Tier {
  readonly above: number;
  readonly price: Price;
}

/** An hour in Anthropic's cache costs 2 × the input, five minutes 1.25 × (providers 22.2). */
const HOUR_TO_MINUTES = "1.6";

/** Prepares the whole-number weights of a price, so that a charge is a few products and a division. */
export function createPrice(ratios: PriceRatios, tiers: readonly Tier[] = []): Price {
  const { completionRatio, cacheWriteRatio = "1", audioRatio = "1", imageRatio = "1" } = ratios;
  const { audioCompletionRatio, imageCompletionRatio } = ratios;
  const factors: Record<Kind, readonly string[]> = {
    text: [],
    cached: [ratios.cacheRatio],
    cacheWrite: [cacheWriteRatio],
    cacheWriteHour: [cacheWriteRatio, HOUR_TO_MINUTES],
    audio: [audioRatio],
    image: [imageRatio],
    completion: [completionRatio],
    audioCompletion:
      audioCompletionRatio === undefined ? [completionRatio] : [audioRatio, audioCompletionRatio],
    imageCompletion:
      imageCompletionRatio === undefined ? [completionRatio] : [imageRatio, imageCompletionRatio],
  };
  const base = multiply(parseRational(ratios.modelRatio), parseRational(ratios.groupRatio));
  const costs = eachKind((kind) => factors[kind].map(parseRational).reduce(multiply, base));
  const over = KINDS.reduce((common, kind) => leastMultiple(common, costs[kind].d), 1n);
  return {
    ...ratios,
    weights: { ...eachKind((kind) => (costs[kind].n * over) / costs[kind].d), over },
    multiples: eachKind((kind) => factors[kind].map(exactRatio).join(" × ")),
    tiers,
  };
}

function eachKind<T>(make: (kind: Kind) => T): Record<Kind, T> {
  // Every kind is among KINDS.
  return Object.fromEntries(KINDS.map((kind) => [kind, make(kind)])) as Record<Kind, T>;
}

function leastMultiple(a: bigint, b: bigint): bigint {
  const { d } = divide({ n: a, d: 1n }, { n: b, d: 1n });
  return a * d;
}

function exactRatio(ratio: string): string {
  return exactText(parseRational(ratio));
}

/** The price that holds for a request with so much input: a long one may have another (providers 22.2). */
export function tierOf(price: Price, promptTokens: number): Price {
  let found = price;
  for (const tier of price.tiers) if (promptTokens > tier.above) found = tier.price;
  return found;
}

/** A count as a whole number from 0 to 2^53 − 1, whatever was reported (reliability M02, M17). */
export function whole(count: number): bigint {
  if (!(count > 0)) return 0n;
  return BigInt(count >= Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : Math.trunc(count));
}

/** Splits a usage so that every token is of one kind; parts that come to more than their whole are cut. */
function partsOf(usage: Usage): Record<Kind, bigint> {
  let left = whole(usage.promptTokens);
  const take = (count = 0) => {
    const asked = whole(count);
    const taken = asked < left ? asked : left;
    left -= taken;
    return taken;
  };
  const cached = take(usage.cachedTokens);
  const written = take(usage.cacheWriteTokens);
  const audio = take(usage.audioPromptTokens);
  const image = take(usage.imagePromptTokens);
  const text = left;
  const hour = whole(usage.cacheWriteHourTokens ?? 0);
  const cacheWriteHour = hour < written ? hour : written;
  left = whole(usage.completionTokens);
  const audioCompletion = take(usage.audioCompletionTokens);
  const imageCompletion = take(usage.imageCompletionTokens);
  const cacheWrite = written - cacheWriteHour;
  const input = { text, cached, cacheWrite, cacheWriteHour, audio, image };
  return { ...input, completion: left, audioCompletion, imageCompletion };
}

/**
 * The charge of a call: ceil(Σ tokens of a kind × the kind's ratios × model ratio × group ratio); at least 1 when the ratio
 * is not 0 and there were tokens, 0 without tokens (contract 10.3, providers 22.2). Unit: quota.
 */
export function charge(usage: Usage, price: Price): bigint {
  const { weights } = tierOf(price, usage.promptTokens);
  const parts = partsOf(usage);
  let sum = 0n;
  let isEmpty = true;
  for (const kind of KINDS) {
    const count = parts[kind];
    if (count === 0n) continue;
    isEmpty = false;
    sum += count * weights[kind];
  }
  return isEmpty ? 0n : collect(sum, weights.over, weights);
}

/**
 * What to set aside before a call: the prompt and as much output as may come, at least `floorTokens` of prompt
 * (PreConsumedQuota). Never less than the charge of any answer within these bounds to a prompt of text that is not cached for
 * an hour (contract 10.2 [P]). Unit: quota.
 */
export function estimate(promptTokens: number, maxTokens: number, price: Price, floorTokens: number): bigint {
  let most = 0n;
  for (const { weights } of [price, ...price.tiers.flatMap((tier) => reached(tier, promptTokens))]) {
    // What of the prompt is cached, and what kind of output comes, is not known yet.
    const input = largest(weights.text, weights.cached, weights.cacheWrite);
    const output = largest(weights.completion, weights.audioCompletion, weights.imageCompletion);
    const expected = whole(promptTokens) * input + whole(maxTokens) * output;
    const floor = whole(floorTokens) * weights.text;
    most = largest(most, collect(largest(expected, floor), weights.over, weights));
  }
  return most;
}

function reached({ above, price }: Tier, promptTokens: number): readonly Price[] {
  return promptTokens > above ? [price] : [];
}

function largest(first: bigint, ...others: readonly bigint[]): bigint {
  return others.reduce((most, other) => (other > most ? other : most), first);
}

/** `sum / over`, rounded up; at least 1 where anything has a price. */
export function collect(sum: bigint, over: bigint, weights: Price["weights"]): bigint {
  const quota = ceilDivide(sum, over);
  return quota === 0n && weights.text !== 0n ? 1n : quota;
}

/** What the log calls the ratios that not every call has. */
const LABELS: readonly (readonly [label: string, ratio: keyof PriceRatios, kinds: readonly Kind[]])[] = [
  ["缓存倍率", "cacheRatio", ["cached"]],
  ["缓存写入倍率", "cacheWriteRatio", ["cacheWrite", "cacheWriteHour"]],
  ["音频倍率", "audioRatio", ["audio"]],
  ["图片倍率", "imageRatio", ["image"]],
  ["音频补全倍率", "audioCompletionRatio", ["audioCompletion"]],
  ["图片补全倍率", "imageCompletionRatio", ["imageCompletion"]],
];

/**
 * How a charge came about, for the usage log: the ratios and a formula that can be recomputed; ratios in it are exact, the
 * result is rounded up. Example: `模型倍率 1.25，补全倍率 4，分组倍率 1；(1000 + 500 × 4) × 1.25 × 1 = 3750`.
 */
export function explain(usage: Usage, listed: Price, charged: bigint): string {
  const price = tierOf(listed, usage.promptTokens);
  const parts = partsOf(usage);
  const labels = [`模型倍率 ${shown(price.modelRatio)}`, `补全倍率 ${shown(price.completionRatio)}`];
  const tier = listed.tiers.find((one) => one.price === price);
  if (tier !== undefined) labels.unshift(`输入超过 ${tier.above} tokens`);
  for (const [label, name, kinds] of LABELS) {
    const ratio = price[name];
    if (ratio !== undefined && kinds.some((kind) => parts[kind] > 0n))
      labels.push(`${label} ${shown(ratio)}`);
  }
  labels.push(`分组倍率 ${shown(price.groupRatio)}`);
  const terms = KINDS.flatMap((kind) => {
    const isAlways = kind === "text" || kind === "completion";
    if (parts[kind] === 0n && !isAlways) return [];
    return [kind === "text" ? String(parts.text) : `${parts[kind]} × ${price.multiples[kind]}`];
  });
  return `${labels.join("，")}；${formula(terms.join(" + "), price, charged)}`;
}

/** `(sum) × model ratio × group ratio = charge`, to be checked with a pocket calculator. */
export function formula(sum: string, { modelRatio, groupRatio }: PriceRatios, charged: bigint): string {
  return `(${sum}) × ${exactRatio(modelRatio)} × ${exactRatio(groupRatio)} = ${charged}`;
}

/** At most six significant digits (contract 10.7 [P]). */
export function shown(ratio: string): string {
  return showRational(parseRational(ratio));
}
