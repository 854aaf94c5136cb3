// What drafts of prices compare a list with: the price of a model as lists print it, its tiers, what else is known of it, and the bounds
// beyond which a person has to look (requirements X02). Reads only.
import type { ListTier, ModelPrice } from "#contract/price-list.ts";
import { isTierName, tierName } from "#contract/price-sheet.ts";
import { type builtInRatios, completionRatioRule } from "#contract/prices.ts";
import type { Context } from "#server/context.ts";
import { createPriceBook } from "#server/money/price-book.ts";
import { type OwnRatios, sixDecimals } from "#server/money/prices/draft.ts";
import type { PriceBounds } from "#server/money/prices/guards.ts";
import { parseRational } from "#server/money/rational.ts";
import {
  ownTables,
  PRICE_COLUMNS,
  PRICE_TABLES,
  type PriceTables,
  priceRowOf,
  shownTables,
} from "./price-tables.ts";

export function boundsOf({ options }: Pick<Context, "options">): PriceBounds {
  return {
    rise: options.get("PriceRisePercent"),
    fall: options.get("PriceFallPercent"),
    changed: options.get("PriceChangedPercent"),
    shrink: options.get("PriceShrinkPercent"),
  };
}

export interface ListPrices {
  /** Models that channels offer or that have a price of their own. */
  readonly models: readonly string[];
  /** In force, six decimals at most; undefined = it has none. */
  priceOf(model: string): ModelPrice | undefined;
  /** As it is built in; undefined = it is not, or the operator left it so. */
  builtInOf(model: string): ModelPrice | undefined;
  /** The tiers of a model whose own row is this one. */
  tiersAfter(model: string, row: OwnRatios): ListTier[];
}

export function listPrices(ctx: Pick<Context, "options" | "candidates">): ListPrices {
  const own = ownTables(ctx);
  const shown = shownTables(own);
  const builtIn = shownTables(noTables(own));
  const tiersNow = tiersIn(own);
  const tiersBuiltIn = tiersIn(noTables(own));
  const priceIn = (tables: PriceTables, tiers: (model: string) => ListTier[]) => (model: string) => {
    const ratios = ratiosIn(tables, model);
    return ratios && { ...ratios, tiers: tiers(model), last_day: priceRowOf(own, model).last_day ?? "" };
  };
  const builtInOf = priceIn(builtIn, tiersBuiltIn);
  return {
    models: [...ctx.candidates.all()]
      .flatMap(({ models }) => [...models])
      .concat(Object.keys(shown.model_ratio).filter((name) => !isTierName(name))),
    priceOf: priceIn(shown, tiersNow),
    builtInOf: (model) =>
      PRICE_COLUMNS.some((column) => Object.hasOwn(own[column], model)) ? builtInOf(model) : undefined,
    tiersAfter: (model, row) =>
      tiersNow(model).length === 0 ? [] : tiersIn(withRow(own, model, row))(model),
  };
}

/** No row of an operator. */
function noTables(own: PriceTables): PriceTables {
  return { ...own, ...Object.fromEntries(PRICE_COLUMNS.map((column) => [column, {}])) };
}

/** What a model costs as lists print it; where no table has its output, the rule for its name. */
function ratiosIn(tables: PriceTables, model: string): OwnRatios | undefined {
  const row = priceRowOf(tables, model);
  if (row.model_ratio === null) return undefined;
  const text = (ratio: string | null) => (ratio === null ? "" : sixDecimals(parseRational(ratio)));
  return {
    model_ratio: text(row.model_ratio),
    completion_ratio: text(row.completion_ratio ?? completionRatioRule(model)),
    cache_ratio: text(row.cache_ratio),
    cache_write_ratio: text(row.cache_write_ratio),
    audio_ratio: text(row.audio_ratio),
    audio_completion_ratio: text(row.audio_completion_ratio),
    image_ratio: text(row.image_ratio),
    image_completion_ratio: text(row.image_completion_ratio),
  };
}

/** The tiers in force by these tables. */
function tiersIn(own: PriceTables): (model: string) => ListTier[] {
  const tables = Object.fromEntries(PRICE_COLUMNS.map((column) => [PRICE_TABLES[column], own[column]]));
  // Every table of models is among them.
  const book = createPriceBook({
    ...(tables as Record<keyof typeof builtInRatios, Record<string, number>>),
    GroupRatio: {},
    FallbackModelRatio: null,
  });
  return (model) => {
    const price = book.show(model, model, "");
    if (price === undefined || price.model !== model) return [];
    return price.tiers.map(({ above, price: tier }) => ({
      above,
      model_ratio: sixDecimals(parseRational(tier.modelRatio)),
      completion_ratio: sixDecimals(parseRational(tier.completionRatio)),
      cache_ratio: sixDecimals(parseRational(tier.cacheRatio)),
      cache_write_ratio: sixDecimals(parseRational(tier.cacheWriteRatio ?? "1")),
    }));
  };
}

/** The tables of this model alone, with another row of its own. */
function withRow(own: PriceTables, model: string, row: OwnRatios): PriceTables {
  const one = (column: (typeof PRICE_COLUMNS)[number]) => {
    const kept = Object.entries(own[column]).filter(([name]) =>
      name.startsWith(tierName(model, 0).slice(0, -1)),
    );
    return Object.fromEntries(row[column] === "" ? kept : [...kept, [model, Number(row[column])]]);
  };
  return { ...own, ...Object.fromEntries(PRICE_COLUMNS.map((column) => [column, one(column)])) };
}
