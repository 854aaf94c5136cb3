// The rows of 模型与价格: all models that channels offer or that have a price, where each price comes from and who offers it. Reads only.
import { ChannelStatus } from "#contract/channel.ts";
import { unitOf } from "#contract/charged-unit.ts";
import type { Language } from "#contract/language.ts";
import { abilityOf, makerOf } from "#contract/model-kinds.ts";
import type { ModelPriceRow, PriceRatios, PriceSource } from "#contract/model-price.ts";
import { isTierName, tierName } from "#contract/price-sheet.ts";
import type { PriceUnit } from "#contract/price-unit.ts";
import { builtInRatios, cacheWriteRatioRule, completionRatioRule } from "#contract/prices.ts";
import type { Context } from "#server/context.ts";
import { say } from "#server/locale/sentences.ts";
import { moneyOf } from "#server/money/dollars.ts";
import type { Price } from "#server/money/price.ts";
import { sixDecimals } from "#server/money/prices/draft.ts";
import { exactText, parseRational } from "#server/money/rational.ts";
import { listPriceChanges } from "#server/store/price-versions.ts";
import { dearestPrice } from "./dearest-price.ts";
import {
  isAsWritten,
  ownTables,
  PRICE_COLUMNS,
  type PriceChanges,
  type PriceRow,
  type PriceTables,
  priceRowOf,
  shownTables,
} from "./price-tables.ts";

/** A group of no name has no ratio of its own: prices are those of the tables. */
const LIST_GROUP = "";
const NAMED_CHANNELS = 20;
/** Older versions are not asked whose prices still stand. */
const VERSIONS = 200;

/** What is known of all models, for one answer. */
export interface ModelPrices {
  /** By name. */
  readonly models: readonly string[];
  readonly own: PriceTables;
  readonly shown: PriceTables;
  priceOf(model: string): Price | undefined;
  channelsOf(model: string): readonly string[];
  lastDayOf(model: string): string;
  unitOf(model: string): PriceUnit;
}

export function modelPrices(ctx: Pick<Context, "options" | "candidates" | "prices">): ModelPrices {
  const own = ownTables(ctx);
  const shown = shownTables(own);
  const offers = offersOf(ctx);
  const book = ctx.prices();
  const lastDays = ctx.options.get("ModelLastDays");
  const named = Object.keys(shown.model_ratio).filter((name) => !isTierName(name));
  return {
    models: [...new Set([...offers.keys(), ...named])].toSorted((one, other) => one.localeCompare(other)),
    own,
    shown,
    priceOf: (model) => dearestPrice(book, model, offers.get(model)?.upstream ?? [model], LIST_GROUP),
    channelsOf: (model) => offers.get(model)?.channels ?? [],
    unitOf: (model) => unitOf(model, own.unit),
    lastDayOf: (model) => (Object.hasOwn(lastDays, model) ? (lastDays[model] ?? "") : ""),
  };
}

interface Offer {
  readonly channels: string[];
  readonly upstream: string[];
}

/** Who offers what; channels that are disabled by hand do not count. */
function offersOf({ candidates }: Pick<Context, "candidates">): ReadonlyMap<string, Offer> {
  const offers = new Map<string, Offer>();
  for (const { status, name, models, mapping } of candidates.all()) {
    if (status === ChannelStatus.disabled) continue;
    for (const model of new Set([...models, ...mapping.keys()])) {
      const offer = offers.get(model) ?? { channels: [], upstream: [] };
      offer.channels.push(name);
      offer.upstream.push(mapping.get(model) ?? model);
      offers.set(model, offer);
    }
  }
  return offers;
}

/** Which version wrote the price that stands; and whether a list said so. */
export interface Origins {
  of(model: string, now: PriceRow): { readonly version: number; readonly isList: boolean } | undefined;
}

/** The newest version that wrote a model and was not taken back. */
export async function originsOf({ db }: Pick<Context, "db">): Promise<Origins> {
  const newest = new Map<string, { version: number; isList: boolean; after: Partial<PriceRow> }>();
  const undone = new Set<number>();
  for (const { id, source, undoes, changes } of await listPriceChanges(db, VERSIONS)) {
    if (undoes > 0) undone.add(undoes);
    if (undoes > 0 || undone.has(id)) continue;
    // Written by `writePrices`.
    for (const [model, { after }] of Object.entries(JSON.parse(changes) as PriceChanges))
      if (!newest.has(model)) newest.set(model, { version: id, isList: source !== "", after });
  }
  return {
    of(model, now) {
      const found = newest.get(model);
      return found && isAsWritten(now, model, found.after) ? found : undefined;
    },
  };
}

export interface RowFacts {
  /** Its place in the list. */
  readonly id: number;
  readonly origins: Origins;
  /** Sources that list a model no more. */
  readonly gone: ReadonlyMap<string, readonly string[]>;
  readonly quotaPerUnit: number;
  readonly language: Language;
}

/** A row as pages show it. */
export function presentModel(
  all: ModelPrices,
  model: string,
  { id, origins, gone, quotaPerUnit, language }: RowFacts,
): ModelPriceRow {
  const price = all.priceOf(model);
  const row = priceRowOf(all.shown, model);
  const isChanged = hasOwn(all.own, model) || row.unit !== null;
  const origin = isChanged ? origins.of(model, row) : undefined;
  const source = sourceOf(price, model, isChanged ? (origin?.isList ? "list" : "option") : "built_in");
  const channels = all.channelsOf(model);
  return {
    id,
    model,
    maker: say(makerOf(model), language),
    ability: abilityOf(model),
    source,
    price_of: source === "name" ? (price?.model ?? "") : "",
    version: origin?.version ?? 0,
    unit: all.unitOf(model),
    is_unit_own: row.unit !== null,
    unlisted: [...(gone.get(model) ?? [])],
    money: price === undefined ? null : moneyOf(price, quotaPerUnit),
    ratios: textsOf(row),
    rules: rulesOf(model),
    tiers: tiersOf(all, model),
    is_changed: isChanged,
    is_built_in: Object.hasOwn(builtInRatios.ModelRatio, model),
    channels: channels.length,
    channel_names: channels.slice(0, NAMED_CHANNELS),
    last_day: all.lastDayOf(model),
    mark: markOf(all, model),
  };
}

function sourceOf(price: Price | undefined, model: string, ofOwnName: PriceSource): PriceSource {
  if (price === undefined) return "none";
  if (price.isFallback) return "fallback";
  return price.model === model ? ofOwnName : "name";
}

function hasOwn(tables: PriceTables, model: string): boolean {
  return PRICE_COLUMNS.some((column) => Object.hasOwn(tables[column], model));
}

function textsOf(row: PriceRow): PriceRatios {
  return {
    model_ratio: row.model_ratio ?? "",
    completion_ratio: row.completion_ratio ?? "",
    cache_ratio: row.cache_ratio ?? "",
    cache_write_ratio: row.cache_write_ratio ?? "",
    audio_ratio: row.audio_ratio ?? "",
    audio_completion_ratio: row.audio_completion_ratio ?? "",
    image_ratio: row.image_ratio ?? "",
    image_completion_ratio: row.image_completion_ratio ?? "",
  };
}

/** Output of sound and pictures without a row costs what output costs, which is no multiple of its input. */
function rulesOf(model: string): PriceRatios {
  return {
    model_ratio: "",
    completion_ratio: sixDecimals(parseRational(completionRatioRule(model))),
    cache_ratio: "1",
    cache_write_ratio: String(cacheWriteRatioRule(model)),
    audio_ratio: "1",
    audio_completion_ratio: "",
    image_ratio: "1",
    image_completion_ratio: "",
  };
}

/** The tiers in force of the model's own price. */
function tiersOf(all: ModelPrices, model: string): ModelPriceRow["tiers"] {
  const price = all.priceOf(model);
  if (price === undefined || price.model !== model) return [];
  return price.tiers.map(({ above, price: tier }) => ({
    above,
    own: hasOwn(all.own, tierName(model, above)),
    model_ratio: twelveDecimals(tier.modelRatio),
    completion_ratio: twelveDecimals(tier.completionRatio),
    cache_ratio: twelveDecimals(tier.cacheRatio),
    cache_write_ratio: twelveDecimals(tier.cacheWriteRatio ?? "1"),
  }));
}

/** A ratio that a form can show and send back: a proportion may be a fraction. */
function twelveDecimals(ratio: string): string {
  const exact = exactText(parseRational(ratio));
  if (/^\d+(\.\d{1,12})?$/.test(exact)) return exact;
  const { n, d } = parseRational(ratio);
  return exactText({ n: (n * 2_000_000_000_000n + d) / (2n * d), d: 1_000_000_000_000n });
}

/** What a change of the row was made over: the operator's rows of the model and its tiers, and its last day. */
export function markOf(all: ModelPrices, model: string): string {
  const names = [model, ...ownTierNames(all.own, model)];
  const rows = names.map((name) => [name, priceRowOf(all.own, name)]);
  return JSON.stringify([rows, all.lastDayOf(model)]);
}

/** Names of the tiers of a model in the operator's tables. Order: by name. */
export function ownTierNames(own: PriceTables, model: string): string[] {
  const names = new Set(PRICE_COLUMNS.flatMap((column) => Object.keys(own[column])));
  return [...names].filter((name) => name.startsWith(`${model}>`) && isTierName(name)).toSorted();
}
