// Which price a model has for a group: the operator's tables above the built-in ones, and what a name in no table costs. Keeps
// what it found, until an option changes; it charges nothing.

import { unitOf } from "#contract/charged-unit.ts";
import { priceNames } from "#contract/price-names.ts";
import { tierName } from "#contract/price-sheet.ts";
import type { PriceUnit } from "#contract/price-unit.ts";
import {
  builtInRatios,
  cacheWriteRatioRule,
  completionRatioRule,
  defaultTiers,
  tiersOf,
} from "#contract/prices.ts";
import type { Clock } from "#server/clock.ts";
import { ExpiringKeys } from "#server/coord/expiring-keys.ts";
import type { Events } from "#server/events.ts";
import type { Options } from "#server/options.ts";
import { BILLION } from "./amount.ts";
import type { ChannelCosts } from "./channel-costs.ts";
import {
  costOf,
  createPrice,
  type Price,
  type PriceRatios,
  savedBy,
  type Tier,
  type Usage,
} from "./price.ts";
import { divide, exactText, multiply, parseRational, type Rational } from "./rational.ts";
import { type Counted, costOfUnits } from "./units.ts";

export interface PriceBook {
  /**
   * The price of the requested model, else of the model it is mapped to, else the fallback (requirements W9.4, W10.8).
   * undefined = unpriced and no fallback: refuse the call.
   */
  find(model: string, upstreamModel: string, group: string): Price | undefined;
  /** The same for a page that shows it: that a model has no price of its own is told of calls alone. */
  show(model: string, upstreamModel: string, group: string): Price | undefined;
}

type Table = Readonly<Record<string, number>>;

/** The tables of models, by the name of their option. */
type ModelTable = keyof typeof builtInRatios;

/** What the operator set, by the name of its option; it stands above the built-in ratios. */
export interface PriceTables extends Readonly<Record<ModelTable | "GroupRatio", Table>> {
  /** What a model's price counts, where that is not what is built in; absent = nowhere. */
  readonly ModelUnits?: Readonly<Record<string, PriceUnit>>;
  /** Ratio of models that have none; null = they are refused. */
  readonly FallbackModelRatio: number | null;
  /** The number of the version that the tables are of; 0 = none was ever published. */
  readonly version?: number;
}

const BUILT_IN: Readonly<Record<ModelTable, Table>> = builtInRatios;

/** Prices kept ready: models × groups in use; callers choose model names, so there is a bound. */
const KEPT_PRICES = 5_000;

type OtherNames = (group: string) => readonly string[];

/** The operator's tables, with the tiers that stand in them. */
interface PriceSource {
  readonly otherNames: OtherNames;
  readonly tables: PriceTables;
  readonly tiers: Readonly<Record<string, readonly number[]>>;
}

/** Builds the book for one state of the options. `onFallback` is told whenever a model is found that only the fallback prices. */
export function createPriceBook(
  tables: PriceTables,
  onFallback: (model: string) => void = () => undefined,
  otherNames: OtherNames = () => [],
): PriceBook {
  const source = { tables, otherNames, tiers: tiersOf(tables.ModelRatio) };
  /** Group → upstream model → model; null = there is none. Level by level: a key of all three would be a new text for every call. */
  const kept = new Map<string, Map<string, Map<string, Price | null>>>();
  let keptPrices = 0;
  function look(model: string, upstreamModel: string, group: string): Price | undefined {
    const known = kept.get(group)?.get(upstreamModel)?.get(model);
    if (known !== undefined) return known ?? undefined;
    const price = findPrice(source, priceNames(model, upstreamModel), group);
    if (keptPrices >= KEPT_PRICES) {
      kept.clear();
      keptPrices = 0;
    }
    const ofGroup = kept.get(group) ?? new Map<string, Map<string, Price | null>>();
    const ofUpstream = ofGroup.get(upstreamModel) ?? new Map<string, Price | null>();
    kept.set(group, ofGroup.set(upstreamModel, ofUpstream.set(model, price ?? null)));
    keptPrices += 1;
    return price;
  }
  return {
    find(model, upstreamModel, group) {
      const price = look(model, upstreamModel, group);
      if (price?.isFallback) onFallback(model);
      return price;
    },
    show: look,
  };
}

/** A channel, as far as what it is paid depends on it. */
export interface Paid {
  /** Requested name → upstream name. */
  readonly mapping: ReadonlyMap<string, string>;
  readonly costs: ChannelCosts;
}

/** A channel's own prices are dollars of a million. */
const BY_SHEET: Rational = { n: 1_000n, d: 1n };

/** By what price a channel is paid, and what makes billionths of a dollar of it; undefined = it is not known. */
export function costPrice(
  book: PriceBook,
  { mapping, costs }: Paid,
  { model, dollar }: { readonly model: string; readonly dollar: Rational },
): { readonly price: Price; readonly scale: Rational } | undefined {
  const upstream = mapping.get(model) ?? model;
  const own = costs.sheet?.get(upstream);
  if (own !== undefined) return { price: own, scale: BY_SHEET };
  // A group without a ratio has 1.
  const price = book.show(upstream, upstream, "");
  if (price === undefined || price.isFallback === true) return undefined;
  const { factor } = costs;
  return { price, scale: { n: BILLION * factor.n * dollar.d, d: factor.d * dollar.n } };
}

/** What a call was, as far as its cost depends on it. */
interface PaidCall {
  /** undefined = no channel answered. */
  readonly channel: Paid | undefined;
  /** What it was charged by. */
  readonly price: Price;
  readonly model: string;
  /** Quota of a dollar. */
  readonly dollar: Rational;
}

/**
 * What a call cost the operator (-1 = it is not known), by the channel's own price or the list price of the model that it was asked for,
 * and what its cache saved. Unit: billionths of a dollar.
 */
export function callCost(
  book: PriceBook,
  { channel, price, model, dollar }: PaidCall,
  { usage, counted }: { readonly usage: Usage; readonly counted?: Counted },
): { readonly cost: number; readonly saved: number } {
  const saved = savedBy(usage, price, { n: BILLION * dollar.d, d: dollar.n });
  const known = channel && costPrice(book, channel, { model, dollar });
  if (known === undefined) return { cost: -1, saved };
  const { price: paid, scale } = known;
  return {
    cost: counted === undefined ? costOf(usage, paid, scale) : costOfUnits(counted, paid, scale),
    saved,
  };
}

function findPrice(source: PriceSource, names: readonly string[], group: string): Price | undefined {
  const { tables } = source;
  const { version = 0 } = tables;
  const groupRatio = String(groupRatioOf(source, group) ?? 1);
  for (const name of names) {
    const modelRatio = ratioOf(tables, "ModelRatio", name);
    if (modelRatio === undefined) continue;
    const base = baseRatios(tables, name, { modelRatio, groupRatio });
    return { ...createPrice(base, tiersFor(source, name, base)), version };
  }
  const [name = ""] = names;
  if (tables.FallbackModelRatio === null) return undefined;
  const modelRatio = String(tables.FallbackModelRatio);
  return { ...createPrice(baseRatios(tables, name, { modelRatio, groupRatio })), version, isFallback: true };
}

/** Of a group that was renamed a moment ago by any of its names: the tables may still have an old one, or a call. */
function groupRatioOf({ tables, otherNames }: PriceSource, group: string): number | undefined {
  const known = lookUp(tables.GroupRatio, group);
  if (known !== undefined) return known;
  const other = otherNames(group).find((name) => Object.hasOwn(tables.GroupRatio, name));
  return other === undefined ? undefined : lookUp(tables.GroupRatio, other);
}

/** An own entry of a table; `constructor` and the like are no models. */
function lookUp<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

function ratioOf(tables: PriceTables, table: ModelTable, name: string): string | undefined {
  const ratio = lookUp(tables[table], name) ?? lookUp(BUILT_IN[table], name);
  return ratio === undefined ? undefined : String(ratio);
}

function baseRatios(
  tables: PriceTables,
  name: string,
  known: Pick<PriceRatios, "modelRatio" | "groupRatio">,
): PriceRatios {
  const unit = unitOf(name, tables.ModelUnits ?? {});
  return {
    model: name,
    ...known,
    ...(unit === "token" ? {} : { unit }),
    completionRatio: ratioOf(tables, "CompletionRatio", name) ?? completionRatioRule(name),
    cacheRatio: ratioOf(tables, "CacheRatio", name) ?? "1",
    cacheWriteRatio: ratioOf(tables, "CacheWriteRatio", name) ?? String(cacheWriteRatioRule(name)),
    audioRatio: ratioOf(tables, "AudioRatio", name),
    audioCompletionRatio: ratioOf(tables, "AudioCompletionRatio", name),
    imageRatio: ratioOf(tables, "ImageRatio", name),
    imageCompletionRatio: ratioOf(tables, "ImageCompletionRatio", name),
  };
}

function tiersFor({ tables, tiers }: PriceSource, name: string, base: PriceRatios): readonly Tier[] {
  const bounds = new Set([...(lookUp(tiers, name) ?? []), ...(lookUp(defaultTiers, name) ?? [])]);
  return [...bounds]
    .toSorted((one, other) => one - other)
    .map((above) => ({ above, price: createPrice(tierRatios(tables, { name, above }, base)) }));
}

/** The ratios of a tier: what the tables say of it, and what they do not say is as for short prompts. */
function tierRatios(
  tables: PriceTables,
  { name, above }: { name: string; above: number },
  base: PriceRatios,
): PriceRatios {
  const own = tierName(name, above);
  const ratio = (table: ModelTable) => tierRatio(tables, table, { name, own });
  return {
    ...base,
    modelRatio: ratio("ModelRatio") ?? base.modelRatio,
    completionRatio: ratio("CompletionRatio") ?? base.completionRatio,
    cacheRatio: ratio("CacheRatio") ?? base.cacheRatio,
    cacheWriteRatio: ratio("CacheWriteRatio") ?? base.cacheWriteRatio,
    audioRatio: ratio("AudioRatio") ?? base.audioRatio,
    audioCompletionRatio: ratio("AudioCompletionRatio") ?? base.audioCompletionRatio,
    imageRatio: ratio("ImageRatio") ?? base.imageRatio,
    imageCompletionRatio: ratio("ImageCompletionRatio") ?? base.imageCompletionRatio,
  };
}

/**
 * One ratio of a tier. A built-in tier keeps its proportion to a base that the operator has changed: an operator that doubles the price of
 * a model doubles that of its long prompts.
 */
function tierRatio(
  tables: PriceTables,
  table: ModelTable,
  { name, own }: { name: string; own: string },
): string | undefined {
  const set = lookUp(tables[table], own);
  if (set !== undefined) return String(set);
  const builtIn = lookUp(BUILT_IN[table], own);
  if (builtIn === undefined) return undefined;
  const changed = lookUp(tables[table], name);
  if (changed === undefined) return String(builtIn);
  const builtInBase = lookUp(BUILT_IN[table], name);
  if (builtInBase === undefined || builtInBase === 0) return String(builtIn);
  const proportion = divide(parseRational(builtIn), parseRational(builtInBase));
  return exactText(multiply(parseRational(changed), proportion));
}

/** How often it is logged of a model that it has no price. */
const FALLBACK_AGAIN_MS = 3_600_000;

/** The price book of the options, built again after each change of them. */
export function livePrices({
  options,
  clock,
  events,
  otherNames,
}: {
  readonly otherNames?: OtherNames;
  readonly options: Options;
  readonly clock: Clock;
  readonly events: Events;
}): () => PriceBook {
  const said = new ExpiringKeys();
  const onFallback = (model: string) => {
    const nowMs = clock.now();
    if (said.get(model, { nowMs, longestMs: FALLBACK_AGAIN_MS }) !== undefined) return;
    said.set(model, nowMs + FALLBACK_AGAIN_MS, nowMs);
    events.pricedByFallback({ model });
  };
  const read = () => createPriceBook(tablesOf(options), onFallback, otherNames);
  let book = read();
  options.onChange(() => {
    book = read();
  });
  return () => book;
}

function tablesOf(options: Options): PriceTables {
  return {
    ModelRatio: options.get("ModelRatio"),
    CompletionRatio: options.get("CompletionRatio"),
    CacheRatio: options.get("CacheRatio"),
    CacheWriteRatio: options.get("CacheWriteRatio"),
    AudioRatio: options.get("AudioRatio"),
    AudioCompletionRatio: options.get("AudioCompletionRatio"),
    ImageRatio: options.get("ImageRatio"),
    ImageCompletionRatio: options.get("ImageCompletionRatio"),
    ModelUnits: options.get("ModelUnits"),
    GroupRatio: options.get("GroupRatio"),
    FallbackModelRatio: options.get("FallbackModelRatio"),
    version: options.priceVersion(),
  };
}
