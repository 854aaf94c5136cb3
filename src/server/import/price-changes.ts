// Prices that change by the move: what every model of every channel cost at the source, and what it costs here. Only reports.
import { type OptionKey, type OptionValue, optionTable } from "#contract/option.ts";
import { chargeUnit, defaultCompletionRatio } from "#contract/prices.ts";
import type { Price } from "#server/money/price.ts";
import { createPriceBook } from "#server/money/price-book.ts";
import { parseRational } from "#server/money/rational.ts";
import type { Serving } from "./channels.ts";
import { type ForeignCall, type ForeignPrice, foreignPrices } from "./foreign-prices.ts";
import { PICTURE_QUOTA, quotaPerUnitIn } from "./new-api-options.ts";
import type { Settings } from "./settings.ts";
import type { Family } from "./source.ts";
import type { Tally } from "./tally.ts";

interface Move {
  readonly settings: Settings;
  readonly family: Family;
  readonly tally: Tally;
}

/** Ratios that differ by less are the same price, printed with fewer digits. */
const ROUNDING = 0.001;

/** Reports each model whose price changes, with both prices, and those that have none here; each once, whatever channels serve it. */
export function tellPrices(servings: readonly Serving[], { settings, family, tally }: Move): void {
  const { found, taken } = settings;
  const foreign = foreignPrices(family, found);
  const book = createPriceBook(tablesOf(taken));
  const dollarsPerRatio = PICTURE_QUOTA / quotaPerUnitIn(found);
  const told = new Set<string>();
  for (const call of callsOf(servings)) {
    const there = foreign(call);
    const here = book.find(call.model, call.upstreamModel, "");
    if (here ? isSame(there, here, dollarsPerRatio) : there.kind === "refused") continue;
    const line = `${nameOf(call)}: ${changeText(there, here)}`;
    if (told.has(line)) continue;
    told.add(line);
    tally.tellPrice(here ? "changed" : "unpriced", line);
    const isMapped = here !== undefined && !family.isNewApi && call.model !== call.upstreamModel;
    tellRule(there, isMapped, tally);
  }
  if (servings.length > 0)
    tally.remark(
      "of prices only the input and output of text are compared: cached input, sound, pictures and long prompts have tables here",
    );
}

function nameOf({ model, upstreamModel }: ForeignCall): string {
  return model === upstreamModel ? model : `${model}, mapped to ${upstreamModel}`;
}

function* callsOf(servings: readonly Serving[]): Generator<ForeignCall> {
  for (const { models, mapping, channelType } of servings)
    for (const model of models) {
      const mapped = Object.hasOwn(mapping, model) ? mapping[model] : "";
      yield {
        model,
        upstreamModel: typeof mapped === "string" && mapped !== "" ? mapped : model,
        channelType,
      };
    }
}

/** Why a price changes, where the rule is another one; each once. */
function tellRule(there: ForeignPrice, isMapped: boolean, tally: Tally): void {
  const { ratio, by } = there.kind === "ratio" ? there : { ratio: 0, by: undefined };
  if (by === "any")
    tally.remarkOnce(
      `a model that no table prices cost ${ratio} there and is refused here, unless FallbackModelRatio (未定价模型的倍率) gives it a ratio`,
    );
  if (by === "built in")
    tally.remarkOnce(
      "of models that the source's table lacks, the prices built into release 0.6.11 are told as those there: another release may have had others",
    );
  if (isMapped)
    tally.remarkOnce(
      "a mapped model is priced by the name that a call asks for, and only if that has no price by the mapped name, which came first there",
    );
}

function isSame(there: ForeignPrice, here: Price, dollarsPerRatio: number): boolean {
  const ratio = numberOf(here.modelRatio);
  const unit = chargeUnit[here.model];
  // A picture and a call count as much.
  const isPiece = unit === "image" || here.unit === "call";
  if (there.kind === "call") return isPiece && isNear(ratio * dollarsPerRatio, there.usd);
  if (there.kind !== "ratio" || !isNear(ratio, there.ratio)) return false;
  // What our own table gives no price of output has none: embeddings and the like.
  const hasOutput = unit === undefined && ratio !== 0 && defaultCompletionRatio[here.model] !== 0;
  return !hasOutput || isNear(numberOf(here.completionRatio), there.completion);
}

function isNear(one: number, other: number): boolean {
  return Math.abs(one - other) <= ROUNDING * Math.max(Math.abs(one), Math.abs(other));
}

function numberOf(ratio: string): number {
  const { n, d } = parseRational(ratio);
  return Number(n) / Number(d);
}

/** Both prices; without one here that of the source. */
function changeText(there: ForeignPrice, here: Price | undefined): string {
  if (here === undefined) return foreignText(there, false);
  const isUnit = chargeUnit[here.model] !== undefined || here.unit === "call";
  const own = ratioText(numberOf(here.modelRatio), numberOf(here.completionRatio), isUnit);
  return `${foreignText(there, isUnit)} → ${own}`;
}

/** `isUnit`: the ratio counts pictures or characters, and there is no completion. */
function ratioText(ratio: number, completion: number, isUnit: boolean): string {
  return isUnit ? short(ratio) : `${short(ratio)}, completion ${short(completion)}`;
}

function foreignText(price: ForeignPrice, isUnit: boolean): string {
  if (price.kind === "call") return `$${short(price.usd)} a call`;
  if (price.kind === "refused") return "refused";
  if (price.kind === "unknown") return "built in there, its database does not tell";
  return ratioText(price.ratio, price.completion, isUnit);
}

function short(value: number): string {
  return String(Number(value.toPrecision(6)));
}

/** The tables that stand here after the import. */
function tablesOf(taken: Settings["taken"]) {
  function read<K extends OptionKey>(key: K): OptionValue<K> {
    const { schema, fallback } = optionTable[key];
    // Every row's schema is text ⇄ value, and this text has been read by it.
    return schema.decode((taken.get(key) ?? fallback) as never) as OptionValue<K>;
  }
  return {
    ModelRatio: read("ModelRatio"),
    CompletionRatio: read("CompletionRatio"),
    CacheRatio: read("CacheRatio"),
    CacheWriteRatio: read("CacheWriteRatio"),
    AudioRatio: read("AudioRatio"),
    AudioCompletionRatio: read("AudioCompletionRatio"),
    ImageRatio: read("ImageRatio"),
    ImageCompletionRatio: read("ImageCompletionRatio"),
    ModelUnits: read("ModelUnits"),
    GroupRatio: read("GroupRatio"),
    FallbackModelRatio: read("FallbackModelRatio"),
  };
}
