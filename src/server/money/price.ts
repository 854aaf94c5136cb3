// Usage × ratios → charge. Exact, pure and total: no floats, no clock, no database, no exception for any usage.
import { type PriceUnit, TOKENS_OF_UNIT } from "#contract/price-unit.ts";
import type { TokenUsage } from "#server/upstream/usage.ts";
import {
  ceilDivide,
  divide,
  exactText,
  multiply,
  parseRational,
  type Rational,
  showRational,
} from "./rational.ts";

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
  /** Of calls in a batch; absent = 1. */
  readonly batchRatio?: string | undefined;
  /** What the model's ratio is charged for; absent = tokens. */
  readonly unit?: PriceUnit | undefined;
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
const SPECIAL_KINDS = KINDS.filter((kind) => kind !== "text" && kind !== "completion");

/** What a model costs one group. */
export interface Price extends PriceRatios {
  /** Quota of one token of each kind, over the common denominator. */
  readonly weights: Readonly<Record<Kind | "over", bigint>>;
  /** How many times the price of plain input a token of each kind costs, as the log's formula writes it. */
  readonly multiples: Readonly<Record<Kind, string>>;
  /** The weights of the dearest token of input and of output that a text can come to. */
  readonly dearest: { readonly input: bigint; readonly output: bigint };
  /** What every explanation of a charge at this price has in it, written once. */
  readonly words: {
    readonly ratios: string;
    readonly group: string;
    readonly factors: string;
    /** All before the tokens of a plain charge, and all after them but the charge. */
    readonly plainBegin: string;
    readonly plainEnd: string;
  };
  /** Prices of the whole request when its input is longer than `above` LLM tokens, the shortest first. */
  readonly tiers: readonly Tier[];
  /** Of the price tables it was found in; 0 = none was ever published, absent = it is not of those tables. */
  readonly version?: number;
  /** The model is in no table: it costs what unknown ones cost. */
  readonly isFallback?: boolean;
}

export interface Tier {
  readonly above: number;
  readonly price: Price;
}

/** An hour in Anthropic's cache costs 2 × the input, five minutes 1.25 × (requirements T22.2); at OpenAI it is 12 h and half an hour. */
const HOUR_TO_MINUTES = "1.6";
/** Moonshot's five minutes cost what input costs, and its hour is 2 × the input all the same (platform.kimi.ai, pricing, 2026-11). */
const HOUR_TO_INPUT = "2";

/** Prepares the whole-number weights of a price, so that a charge is a few products and a division. */
export function createPrice(ratios: PriceRatios, tiers: readonly Tier[] = []): Price {
  const { completionRatio, cacheWriteRatio = "1", audioRatio = "1", imageRatio = "1" } = ratios;
  const { audioCompletionRatio, imageCompletionRatio } = ratios;
  const factors: Record<Kind, readonly string[]> = {
    text: [],
    cached: [ratios.cacheRatio],
    cacheWrite: [cacheWriteRatio],
    cacheWriteHour: Number(cacheWriteRatio) === 1 ? [HOUR_TO_INPUT] : [cacheWriteRatio, HOUR_TO_MINUTES],
    audio: [audioRatio],
    image: [imageRatio],
    completion: [completionRatio],
    audioCompletion:
      audioCompletionRatio === undefined ? [completionRatio] : [audioRatio, audioCompletionRatio],
    imageCompletion:
      imageCompletionRatio === undefined ? [completionRatio] : [imageRatio, imageCompletionRatio],
  };
  const { modelRatio, groupRatio, batchRatio = "1" } = ratios;
  const base = [groupRatio, batchRatio].map(parseRational).reduce(multiply, parseRational(modelRatio));
  const costs = eachKind((kind) => factors[kind].map(parseRational).reduce(multiply, base));
  const over = KINDS.reduce((common, kind) => leastMultiple(common, costs[kind].d), 1n);
  const weights = { ...eachKind((kind) => (costs[kind].n * over) / costs[kind].d), over };
  return {
    ...ratios,
    weights,
    multiples: eachKind((kind) => factors[kind].map(exactRatio).join(" × ")),
    dearest: {
      input: largest(weights.text, weights.cached, weights.cacheWrite),
      output: largest(weights.completion, weights.audioCompletion, weights.imageCompletion),
    },
    words: wordsOf(ratios),
    tiers,
  };
}

function wordsOf({ modelRatio, completionRatio, groupRatio, batchRatio }: PriceRatios): Price["words"] {
  const ratios = `模型倍率 ${shown(modelRatio)}，补全倍率 ${shown(completionRatio)}`;
  const own = `分组倍率 ${shown(groupRatio)}`;
  const batch = batchRatio === undefined ? [] : [`批处理倍率 ${shown(batchRatio)}`];
  const group = [own, ...batch].join("，");
  const times = batchRatio === undefined ? "" : ` × ${exactRatio(batchRatio)}`;
  const factors = ` × ${exactRatio(modelRatio)} × ${exactRatio(groupRatio)}${times} = `;
  const plainEnd = ` × ${exactRatio(completionRatio)})${factors}`;
  return { ratios, group, factors, plainBegin: `${ratios}，${group}；(`, plainEnd };
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

/** What a price was made of. */
export function ratiosOf(price: Price): PriceRatios {
  const { model, modelRatio, completionRatio, cacheRatio, groupRatio, cacheWriteRatio, unit } = price;
  const { audioRatio, imageRatio, audioCompletionRatio, imageCompletionRatio } = price;
  const more = { cacheWriteRatio, audioRatio, imageRatio, audioCompletionRatio, imageCompletionRatio };
  const counted = unit === undefined ? {} : { unit };
  return { model, modelRatio, completionRatio, cacheRatio, groupRatio, ...more, ...counted };
}

/** The price that holds for a request with so much input: a long one may have another (requirements T22.2). */
export function tierOf(price: Price, promptTokens: number): Price {
  let found = price;
  for (const tier of price.tiers) if (promptTokens > tier.above) found = tier.price;
  return found;
}

/** A count as a whole number from 0 to 2^53 − 1, which databases can hold, whatever was reported (requirements M02, M17). */
export function wholeNumber(count: number): number {
  return count > 0 ? Math.trunc(Math.min(count, Number.MAX_SAFE_INTEGER)) : 0;
}

/** The same, as what ratios are multiplied with. */
export function whole(count: number): bigint {
  return BigInt(wholeNumber(count));
}

/** Splits a usage so that every token is of one kind; parts that come to more than their whole are cut. */
function partsOf(usage: Usage): Readonly<Record<Kind, number>> {
  let text = wholeNumber(usage.promptTokens);
  const cached = within(text, usage.cachedTokens);
  text -= cached;
  const written = within(text, usage.cacheWriteTokens);
  text -= written;
  const audio = within(text, usage.audioPromptTokens);
  text -= audio;
  const image = within(text, usage.imagePromptTokens);
  text -= image;
  const cacheWriteHour = within(written, usage.cacheWriteHourTokens);
  const cacheWrite = written - cacheWriteHour;
  let completion = wholeNumber(usage.completionTokens);
  const audioCompletion = within(completion, usage.audioCompletionTokens);
  completion -= audioCompletion;
  const imageCompletion = within(completion, usage.imageCompletionTokens);
  completion -= imageCompletion;
  return {
    text,
    cached,
    cacheWrite,
    cacheWriteHour,
    audio,
    image,
    completion,
    audioCompletion,
    imageCompletion,
  };
}

/** A count, or what is left of its whole. */
function within(left: number, count = 0): number {
  return Math.min(wholeNumber(count), left);
}

/** Whether a call had nothing but fresh text and text made of it, as most have. */
function isPlain(
  { promptTokens, completionTokens }: Usage,
  { text, completion }: Record<Kind, number>,
): boolean {
  return text === wholeNumber(promptTokens) && completion === wholeNumber(completionTokens);
}

/** A call that is charged as one, whatever it takes, costs as much as so many LLM tokens. */
const TOKENS_OF_CALL = BigInt(TOKENS_OF_UNIT.call);

/** The charge of a model that is charged by the call; undefined = it is charged by what it takes. */
function callCharge({ unit, weights }: Price): bigint | undefined {
  return unit === "call" ? collect(TOKENS_OF_CALL * weights.text, weights.over, weights) : undefined;
}

/**
 * The charge of a call: ceil(Σ tokens of a kind × the kind's ratios × model ratio × group ratio); at least 1 when the ratio
 * is not 0 and there were tokens, 0 without tokens (requirements W10.3, T22.2). Unit: quota.
 */
export function charge(usage: Usage, price: Price): bigint {
  const { weights } = tierOf(price, usage.promptTokens);
  if (wholeNumber(usage.promptTokens) + wholeNumber(usage.completionTokens) === 0) return 0n;
  return callCharge(price) ?? collect(weigh(usage, weights), weights.over, weights);
}

/** Tokens × what each kind weighs. */
function weigh(usage: Usage, weights: Price["weights"]): bigint {
  const parts = partsOf(usage);
  let sum = BigInt(parts.text) * weights.text + BigInt(parts.completion) * weights.completion;
  if (!isPlain(usage, parts))
    for (const kind of SPECIAL_KINDS) if (parts[kind] > 0) sum += BigInt(parts[kind]) * weights[kind];
  return sum;
}

/** What the tokens of a call come to by a price, times `scale`: rounded to the nearest whole number. */
export function costOf(usage: Usage, price: Price, scale: Rational): number {
  const { weights } = tierOf(price, usage.promptTokens);
  const sum = price.unit === "call" ? TOKENS_OF_CALL * weights.text : weigh(usage, weights);
  return nearest(sum * scale.n, weights.over * scale.d);
}

/** What input from the cache would have cost more as plain input, times `scale`; 0 where it costs as much. */
export function savedBy(usage: Usage, price: Price, scale: Rational): number {
  if (wholeNumber(usage.cachedTokens) === 0 || price.unit === "call") return 0;
  const { weights } = tierOf(price, usage.promptTokens);
  const less = weights.text - weights.cached;
  const tokens = within(wholeNumber(usage.promptTokens), usage.cachedTokens);
  return less <= 0n ? 0 : nearest(BigInt(tokens) * less * scale.n, weights.over * scale.d);
}

/** `n / d` to the nearest, at most what a number holds exactly. Not for numbers below 0. */
export function nearest(n: bigint, d: bigint): number {
  const value = (n * 2n + d) / (d * 2n);
  return Number(value > MOST_COST ? MOST_COST : value);
}

const MOST_COST = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * What to set aside before a call: the prompt and as much output as may come, at least `floorTokens` of prompt
 * (PreConsumedQuota). Never less than the charge of any answer within these bounds to a prompt of text that is not cached for
 * an hour (requirements W10.2). Unit: quota.
 */
export function estimate(promptTokens: number, maxTokens: number, price: Price, floorTokens: number): bigint {
  const input = whole(promptTokens);
  const output = whole(maxTokens);
  const floor = whole(floorTokens);
  const most = ({ weights, dearest }: Price) => {
    // What of the prompt is cached, and what kind of output comes, is not known yet.
    const expected = input * dearest.input + output * dearest.output;
    const least = floor * weights.text;
    return collect(expected > least ? expected : least, weights.over, weights);
  };
  const asOne = callCharge(price);
  if (asOne !== undefined) return asOne;
  let amount = most(price);
  for (const tier of price.tiers) if (promptTokens > tier.above) amount = largest(amount, most(tier.price));
  return amount;
}

/** What so many more LLM tokens of output cost at most; nothing where a call is charged as one. Unit: quota. */
export function estimateMore(tokens: number, price: Price): bigint {
  return price.unit === "call" ? 0n : estimate(0, tokens, price, 0);
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
const SPECIAL: readonly (readonly [
  tell: (ratio: string) => string,
  ratio: keyof PriceRatios,
  kinds: readonly Kind[],
])[] = [
  [(ratio) => `缓存倍率 ${ratio}`, "cacheRatio", ["cached"]],
  [(ratio) => `缓存写入倍率 ${ratio}`, "cacheWriteRatio", ["cacheWrite", "cacheWriteHour"]],
  [(ratio) => `音频倍率 ${ratio}`, "audioRatio", ["audio"]],
  [(ratio) => `图片倍率 ${ratio}`, "imageRatio", ["image"]],
  [(ratio) => `音频补全倍率 ${ratio}`, "audioCompletionRatio", ["audioCompletion"]],
  [(ratio) => `图片补全倍率 ${ratio}`, "imageCompletionRatio", ["imageCompletion"]],
];

/**
 * How a charge came about, for the usage log: the ratios and a formula that can be recomputed; ratios in it are exact, the
 * result is rounded up. Example: `模型倍率 1.25，补全倍率 4，分组倍率 1；(1000 + 500 × 4) × 1.25 × 1 = 3750`.
 */
export function explain(usage: Usage, listed: Price, charged: bigint): string {
  if (listed.unit === "call")
    return `按次计费，模型倍率 ${shown(listed.modelRatio)}，${listed.words.group}；${formula(`1 × ${TOKENS_OF_CALL}`, listed, charged)}`;
  const price = tierOf(listed, usage.promptTokens);
  const parts = partsOf(usage);
  const tier = price === listed ? undefined : listed.tiers.find((one) => one.price === price);
  const text = tier === undefined ? "" : `${tierText(tier.above)}，`;
  const { words } = price;
  if (isPlain(usage, parts))
    return `${text}${words.plainBegin}${parts.text} + ${parts.completion}${words.plainEnd}${charged}`;
  const ratios = words.ratios + specialRatios(price, parts);
  return `${text}${ratios}，${words.group}；${formula(sumOf(price, parts), price, charged)}`;
}

function tierText(above: number): string {
  return `输入超过 ${above} tokens`;
}

function specialRatios(price: Price, parts: Readonly<Record<Kind, number>>): string {
  let text = "";
  for (const [tell, name, kinds] of SPECIAL) {
    const ratio = price[name];
    if (ratio !== undefined && kinds.some((kind) => parts[kind] > 0)) text += `，${tell(shown(ratio))}`;
  }
  return text;
}

function sumOf({ multiples }: Price, parts: Readonly<Record<Kind, number>>): string {
  let sum = String(parts.text);
  for (const kind of KINDS) {
    const isTold = kind === "completion" || (kind !== "text" && parts[kind] > 0);
    if (isTold) sum += ` + ${parts[kind]} × ${multiples[kind]}`;
  }
  return sum;
}

/** `(sum) × model ratio × group ratio = charge`, to be checked with a pocket calculator. */
export function formula(sum: string, { words }: Pick<Price, "words">, charged: bigint): string {
  return `(${sum})${words.factors}${charged}`;
}

/** At most six significant digits (requirements W10.7). */
export function shown(ratio: string): string {
  return showRational(parseRational(ratio));
}
