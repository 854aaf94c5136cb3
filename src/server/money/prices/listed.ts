// What a price list says of one model, as exact ratios, whatever the list counts in. Pure.

import type { PriceFlag } from "#contract/price-list.ts";
import type { PriceUnit } from "#contract/price-unit.ts";
import { divide, multiply, type Rational } from "#server/money/rational.ts";
import { isBroken, numberOf } from "./list-json.ts";

/** The prices that a list may say of a model; what it leaves out is undefined. */
export const LISTED_KINDS = [
  "input",
  "output",
  "cacheRead",
  "cacheWrite",
  "audioIn",
  "audioOut",
  "imageIn",
  "imageOut",
] as const;
export type ListedKind = (typeof LISTED_KINDS)[number];
/** As they stand in a list. */
export type RawPrices = Readonly<Partial<Record<ListedKind, unknown>>>;

/** Ratios; those but the model's are multiples of its price. */
export interface ListedRatios {
  readonly model_ratio: Rational;
  readonly completion_ratio: Rational | undefined;
  readonly cache_ratio: Rational | undefined;
  readonly cache_write_ratio: Rational | undefined;
  readonly audio_ratio: Rational | undefined;
  readonly audio_completion_ratio: Rational | undefined;
  readonly image_ratio: Rational | undefined;
  readonly image_completion_ratio: Rational | undefined;
}

export interface ListedTier {
  /** LLM tokens of input. */
  readonly above: number;
  readonly ratios: ListedRatios;
}

export interface Listed {
  readonly unit: PriceUnit;
  readonly ratios: ListedRatios;
  readonly tiers: readonly ListedTier[];
  /** `2026-12-31`; "" = the list names none. */
  readonly lastDay: string;
  readonly flags: readonly PriceFlag[];
  /** What others in the same list say of it. */
  readonly others: readonly ListedRatios[];
}

/** By model: its price, or why the list has none that can be used. */
export type PriceList = ReadonlyMap<string, Listed | PriceFlag>;

/** Dollars of one unit that make ratio 1, and for tokens and characters of a million (requirements W14, W12). */
const DOLLARS_OF_RATIO: Readonly<Record<PriceUnit, Rational>> = {
  token: { n: 2n, d: 1n },
  character: { n: 2n, d: 1n },
  image: { n: 2n, d: 1_000n },
  call: { n: 2n, d: 1_000n },
  second: { n: 2n, d: 1_000n },
  minute: { n: 4n, d: 10_000n },
};

/** Prices in dollars, `factor` times for a unit; undefined = one of them is none, or that of input is missing or 0. */
export function dollarRatios(
  raw: RawPrices,
  factor: Rational,
  unit: PriceUnit = "token",
): ListedRatios | undefined {
  if (LISTED_KINDS.some((kind) => isBroken(raw[kind]))) return undefined;
  const input = numberOf(raw.input);
  if (input === undefined || input.n === 0n) return undefined;
  const part = (kind: ListedKind, base: Rational = input) => {
    const price = numberOf(raw[kind]);
    return price && divide(price, base);
  };
  /** Output of a kind is told as a multiple of the input of its kind; where that is free, of plain input. */
  const ofKind = (kind: ListedKind, base: ListedKind) => {
    const price = numberOf(raw[base]);
    return part(kind, price === undefined || price.n === 0n ? input : price);
  };
  return {
    model_ratio: divide(multiply(input, factor), DOLLARS_OF_RATIO[unit]),
    completion_ratio: part("output"),
    cache_ratio: part("cacheRead"),
    cache_write_ratio: part("cacheWrite"),
    audio_ratio: part("audioIn"),
    audio_completion_ratio: ofKind("audioOut", "audioIn"),
    image_ratio: part("imageIn"),
    image_completion_ratio: ofKind("imageOut", "imageIn"),
  };
}

/** Ratios as the list has them; undefined = one of them is none, or the model's is missing or 0. */
export function plainRatios(raw: Readonly<Record<keyof ListedRatios, unknown>>): ListedRatios | undefined {
  if (Object.values(raw).some(isBroken)) return undefined;
  const model_ratio = numberOf(raw.model_ratio);
  if (model_ratio === undefined || model_ratio.n === 0n) return undefined;
  return {
    model_ratio,
    completion_ratio: numberOf(raw.completion_ratio),
    cache_ratio: numberOf(raw.cache_ratio),
    cache_write_ratio: numberOf(raw.cache_write_ratio),
    audio_ratio: numberOf(raw.audio_ratio),
    audio_completion_ratio: numberOf(raw.audio_completion_ratio),
    image_ratio: numberOf(raw.image_ratio),
    image_completion_ratio: numberOf(raw.image_completion_ratio),
  };
}

/** A price with nothing else said of it, or why there is none. */
export function listed(
  ratios: ListedRatios | undefined,
  more: Partial<Omit<Listed, "ratios">> = {},
): Listed | PriceFlag {
  if (ratios === undefined) return "unreadable";
  return { unit: "token", tiers: [], lastDay: "", flags: [], others: [], ...more, ratios };
}

/** Tiers in dollars over the prices of short prompts; `isWhole` = all of them could be read. */
export interface ReadTiers {
  readonly tiers: readonly ListedTier[];
  readonly isWhole: boolean;
}

/**
 * Reads tiers; what one leaves out costs what it does for short prompts. A tier without a bound, or with a price that is none, is left out
 * and told.
 */
export function dollarTiers(
  rows: readonly { readonly above: unknown; readonly raw: RawPrices }[],
  { base, factor }: { readonly base: RawPrices; readonly factor: Rational },
): ReadTiers {
  const tiers = new Map<number, ListedTier>();
  let isWhole = true;
  for (const { above, raw } of rows) {
    const bound = numberOf(above);
    const given = Object.fromEntries(Object.entries(raw).filter(([, value]) => value !== undefined));
    const ratios = dollarRatios({ ...base, ...given }, factor);
    const size = bound === undefined || bound.n % bound.d !== 0n ? 0 : Number(bound.n / bound.d);
    if (ratios === undefined || size < 1 || size > MOST_INPUT || tiers.has(size)) isWhole = false;
    else tiers.set(size, { above: size, ratios });
  }
  return { tiers: [...tiers.values()].toSorted((one, other) => one.above - other.above), isWhole };
}

/** No model reads more. Unit: LLM tokens. */
const MOST_INPUT = 999_999_999;
