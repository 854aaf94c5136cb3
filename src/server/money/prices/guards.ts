// What a price of a list may be suspected of, whatever it counts: every price of the row is judged, in short and in long prompts, against
// the price in force and against what others say (requirements X02). Pure; it publishes nothing.
import { abilityOf } from "#contract/model-kinds.ts";
import type { DraftWarning, PriceDraftRow } from "#contract/price-draft.ts";
import { type ModelPrice, type PriceFlag, REFUSING_FLAGS, TELLING_FLAGS } from "#contract/price-list.ts";
import type { PriceUnit } from "#contract/price-unit.ts";
import { cacheWriteRatioRule, completionRatioRule } from "#contract/prices.ts";
import { parseRational } from "#server/money/rational.ts";

/** From where on a person has to look, in percent. */
export interface PriceBounds {
  readonly rise: number;
  readonly fall: number;
  /** Of the models of a list: so many that differ hold the whole draft. */
  readonly changed: number;
  /** Of the models that the list had before: so many fewer hold it, too. */
  readonly shrink: number;
}

/** Ratio of 10,000 dollars a million: more is a mistake of units. */
export const MOST_RATIO = 5_000;
/** So many times another price, or a part of it, within 3 %, is a mistake of units. */
const UNITS = [1e3, 1e6];
const UNIT_TOLERANCE = 0.03;

/** What a token of each kind costs, as multiples of 2 dollars a million. */
interface Prices {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly audioIn: number;
  readonly audioOut: number;
  readonly imageIn: number;
  readonly imageOut: number;
}
// The keys of a price are known.
const kindsOf = (prices: Prices) => Object.keys(prices) as (keyof Prices)[];

type Texts = Omit<ModelPrice, "tiers" | "last_day">;

/** What is charged where a row says nothing: as the price book has it. */
function pricesOf(model: string, texts: Texts): Prices {
  const number = (text: string, rule: () => number) => (text === "" ? rule() : Number(text));
  const input = Number(texts.model_ratio);
  const output = input * number(texts.completion_ratio, () => outputRule(model));
  const ofKind = (inputRatio: string, outputRatio: string) => {
    const price = input * number(inputRatio, () => 1);
    return [price, outputRatio === "" ? output : price * Number(outputRatio)] as const;
  };
  const [audioIn, audioOut] = ofKind(texts.audio_ratio, texts.audio_completion_ratio);
  const [imageIn, imageOut] = ofKind(texts.image_ratio, texts.image_completion_ratio);
  return {
    input,
    output,
    cacheRead: input * number(texts.cache_ratio, () => 1),
    cacheWrite: input * number(texts.cache_write_ratio, () => cacheWriteRatioRule(model)),
    audioIn,
    audioOut,
    imageIn,
    imageOut,
  };
}

function outputRule(model: string): number {
  const { n, d } = parseRational(completionRatioRule(model));
  return Number(n) / Number(d);
}

/** What a request with more input than `above` LLM tokens is charged by. */
function pricesAbove(model: string, price: ModelPrice, above: number): Prices {
  const tier = price.tiers.findLast((one) => one.above <= above);
  return pricesOf(model, { ...price, ...tier });
}

/** Both prices wherever either of them changes with the length of the input. */
function pairsOf(model: string, fresh: ModelPrice, old: ModelPrice): { before: Prices; after: Prices }[] {
  const bounds = new Set([0, ...[...fresh.tiers, ...old.tiers].map(({ above }) => above)]);
  return [...bounds].map((above) => ({
    before: pricesAbove(model, old, above),
    after: pricesAbove(model, fresh, above),
  }));
}

/** A model, and what its price counts. */
interface Charged {
  readonly model: string;
  readonly unit: PriceUnit;
}

export interface Suspect extends Charged {
  readonly fresh: ModelPrice;
  /** In force; undefined = we have none. */
  readonly old: ModelPrice | undefined;
  /** What others say: the built-in price, other lists, other offers of the same list. */
  readonly others?: readonly ModelPrice[];
  /** `2026-12-31`. */
  readonly today: string;
}

/** All that speaks against a row, in the order of `PRICE_FLAGS`. */
export function suspicions(suspect: Suspect, bounds: PriceBounds): PriceFlag[] {
  const { model, fresh, old, others = [], today } = suspect;
  const flags = new Set<PriceFlag>();
  const all = [0, ...fresh.tiers.map(({ above }) => above)].map((above) => pricesAbove(model, fresh, above));
  for (const prices of all) judgeAlone(suspect, prices, flags);
  if (
    old === undefined &&
    all.some((prices) => chargedKinds(suspect, prices).some((kind) => prices[kind] === 0))
  )
    flags.add("unreadable");
  const known = old === undefined ? [] : pairsOf(model, fresh, old);
  for (const pair of known) judgePair(suspect, pair, { bounds, flags });
  const base = pricesAbove(model, fresh, 0);
  const said = others.map((other) => ({ before: pricesAbove(model, other, 0), after: base }));
  const inItself = all.map((after) => ({ before: base, after }));
  if ([...known, ...said, ...inItself].some(isUnitMistake)) flags.add("unit");
  if (fresh.last_day !== "" && fresh.last_day < today && fresh.last_day !== old?.last_day) flags.add("ended");
  return [...flags];
}

function judgeAlone(charged: Charged, prices: Prices, flags: Set<PriceFlag>): void {
  const { input, output, cacheRead } = prices;
  if (input === 0) flags.add("unreadable");
  if (kindsOf(prices).some((kind) => prices[kind] > MOST_RATIO)) flags.add("too_dear");
  if (hasOutput(charged) && output * 2 < input) flags.add("output_cheap");
  if (cacheRead > input * (1 + ROUNDING)) flags.add("cache_dear");
}

/** Ratios have six decimals. */
const ROUNDING = 1e-6;

/** Vectors and orders are no text, and what is charged by the piece has one price: no output is charged. */
function hasOutput({ model, unit }: Charged): boolean {
  return unit === "token" && !["embedding", "rerank", "moderation"].includes(abilityOf(model));
}

/** What a call of the model can be charged by. */
function chargedKinds(charged: Charged, prices: Prices): (keyof Prices)[] {
  return hasOutput(charged) ? kindsOf(prices) : ["input", "cacheRead", "cacheWrite"];
}

function judgePair(
  charged: Charged,
  { before, after }: { before: Prices; after: Prices },
  { bounds, flags }: { readonly bounds: PriceBounds; readonly flags: Set<PriceFlag> },
): void {
  for (const kind of chargedKinds(charged, after)) {
    const [was, is] = [before[kind], after[kind]];
    if (was === 0 && is > 0) flags.add("from_free");
    if (was > 0 && is === 0) flags.add("unreadable");
    const change = changeOf(was, is);
    if (change > bounds.rise) flags.add("rise");
    if (-change > bounds.fall) flags.add("fall");
  }
}

/** In percent, with two decimals; 0 = nothing to compare. */
function changeOf(was: number, is: number): number {
  return was === 0 ? 0 : Math.round((is / was - 1) * 10_000) / 100;
}

function isUnitMistake({ before, after }: { before: Prices; after: Prices }): boolean {
  return kindsOf(after).some((kind) => {
    const [was, is] = [before[kind], after[kind]];
    if (was === 0 || is === 0) return false;
    const times = is > was ? is / was : was / is;
    return UNITS.some((unit) => Math.abs(times / unit - 1) <= UNIT_TOLERANCE);
  });
}

/** Whether two prices charge alike, and end alike. */
export function isSamePrice(model: string, one: ModelPrice, other: ModelPrice): boolean {
  const isSame = ({ before, after }: { before: Prices; after: Prices }) =>
    kindsOf(after).every((kind) => Math.abs(after[kind] - before[kind]) <= ROUNDING * before[kind]);
  return one.last_day === other.last_day && pairsOf(model, one, other).every(isSame);
}

/** The change of the price that changes most, in percent; undefined = there is nothing to compare. */
export function mostChange(
  model: string,
  fresh: ModelPrice,
  old: ModelPrice | undefined,
): number | undefined {
  if (old === undefined || Number(old.model_ratio) === 0) return undefined;
  let most = 0;
  for (const { before, after } of pairsOf(model, fresh, old))
    for (const kind of kindsOf(after)) {
      const change = changeOf(before[kind], after[kind]);
      if (Math.abs(change) > Math.abs(most)) most = change;
    }
  return most;
}

/** What suspicions make of a row that differs from ours. */
export function verdictOf(flags: readonly PriceFlag[]): "fine" | "doubtful" | "refused" {
  if (flags.some((flag) => REFUSING_FLAGS.has(flag))) return "refused";
  return flags.some((flag) => !TELLING_FLAGS.has(flag)) ? "doubtful" : "fine";
}

/** What holds a whole draft; "" = nothing. `lastListed` = how many models the list named before. */
export function listWarning(
  rows: readonly Pick<PriceDraftRow, "verdict" | "fresh">[],
  { listed, lastListed }: { readonly listed: number; readonly lastListed: number },
  bounds: PriceBounds,
): DraftWarning {
  if (listed * 100 < lastListed * (100 - bounds.shrink)) return "shrunk";
  const priced = rows.filter(({ fresh }) => fresh !== null);
  const changed = priced.filter(({ verdict }) => verdict !== "same").length;
  return changed * 100 > priced.length * bounds.changed ? "changed" : "";
}
