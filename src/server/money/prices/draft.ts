// Compares a price list with the prices in force, and says of every row whether a person has to look at it (requirements X02). Pure.

import type { PriceDraftRow } from "#contract/price-draft.ts";
import { type ListTier, type ModelPrice, PRICE_FLAGS, type PriceFlag } from "#contract/price-list.ts";
import type { PriceUnit } from "#contract/price-unit.ts";
import { cacheWriteRatioRule, completionRatioRule, defaultTiers } from "#contract/prices.ts";
import { parseRational, type Rational } from "#server/money/rational.ts";
import { isSamePrice, mostChange, type PriceBounds, suspicions, verdictOf } from "./guards.ts";
import type { Listed, ListedRatios, PriceList } from "./listed.ts";
import { type WeekUse, weekAfter } from "./week.ts";

/** What calls of a model came to. */
export interface ModelUse {
  /** Of the last 30 days. */
  readonly calls: number;
  readonly week: WeekUse;
}

export interface DraftInput {
  /** Models that have a price or a channel: no call here asks for others of the list. */
  readonly models: Iterable<string>;
  readonly list: PriceList;
  readonly bounds: PriceBounds;
  /** `2026-12-31`. */
  readonly today: string;
  priceOf(model: string): ModelPrice | undefined;
  unitOf(model: string): PriceUnit;
  callsOf(model: string): ModelUse | undefined;
  /** The name of a model in the list, where it has another one than here. */
  nameOf(model: string): string | undefined;
  /** What others say that a model costs. */
  othersOf(model: string): readonly ModelPrice[];
  /** Whether a list that comes before this one has a price of the model; absent = none does. */
  isOutranked?(model: string): boolean;
  /** The tiers that a model has once its own row is this one: those of the tables, some of which follow its price. */
  tiersAfter(model: string, own: OwnRatios): readonly ListTier[];
  /** Models that the list named before. */
  readonly known: ReadonlySet<string>;
}

/** The models of the list that concern us, by name, and those that were in it and are no more. */
export function draftRows(input: DraftInput): PriceDraftRow[] {
  const rows: PriceDraftRow[] = [];
  for (const model of [...new Set(input.models)].toSorted()) {
    // The model's own name first: a table of names adds to a list, and changes none of its entries.
    const alias = input.list.has(model) ? undefined : input.nameOf(model);
    const listed = input.list.get(alias ?? model);
    if (listed !== undefined) rows.push(draftRow(input, { model, listed, listed_as: alias ?? "" }));
    else if (input.known.has(model)) rows.push(goneRow(input, model));
  }
  return rows;
}

interface Found {
  readonly model: string;
  readonly listed: Listed | PriceFlag;
  readonly listed_as: string;
}

function rowOf({ priceOf, callsOf, unitOf }: DraftInput, model: string) {
  const use = callsOf(model);
  const quota = use?.week.quota ?? 0;
  return {
    model,
    listed_as: "",
    unit: unitOf(model),
    old: priceOf(model) ?? null,
    fresh: null,
    change: null,
    calls: use?.calls ?? 0,
    quota_before: quota,
    quota_after: quota,
    is_estimate: false,
  };
}

function goneRow(input: DraftInput, model: string): PriceDraftRow {
  return { ...rowOf(input, model), flags: [], verdict: "gone" };
}

function draftRow(input: DraftInput, { model, listed, listed_as }: Found): PriceDraftRow {
  const row = { ...rowOf(input, model), listed_as };
  if (typeof listed === "string") return { ...row, flags: [listed], verdict: "refused" };
  const old = row.old ?? undefined;
  const { unit } = listed;
  // What counts something else cannot be compared: it is shown.
  if (unit !== row.unit) {
    const fresh = priceTexts(listed, undefined);
    return { ...row, unit, fresh, flags: inOrder([...listed.flags, "kind"]), verdict: "refused" };
  }
  const base = priceTexts(listed, old);
  const { tiers, isMixed } = tiersOf(input, { model, listed, base });
  const fresh = { ...base, tiers };
  const others = [
    ...listed.others.map((ratios) => priceTexts({ ratios, lastDay: "" }, undefined)),
    ...input.othersOf(model),
  ];
  const { today, bounds } = input;
  const flags = inOrder([
    ...listed.flags,
    ...(isMixed ? (["tiers"] as const) : []),
    ...(input.isOutranked?.(model) ? (["outranked"] as const) : []),
    ...suspicions({ model, unit, fresh, old, others, today }, bounds),
  ]);
  const isSame = old !== undefined && isSamePrice(model, old, fresh);
  const use = input.callsOf(model);
  const bill = old && use && !isSame ? weekAfter(use.week, { model, unit, old, fresh }) : undefined;
  return {
    ...row,
    fresh,
    change: mostChange(model, fresh, old) ?? null,
    flags: isSame ? flags.filter((flag) => flag === "deprecated") : flags,
    verdict: isSame ? "same" : verdictOf(flags),
    ...(bill && { quota_after: bill.quota, is_estimate: bill.isEstimate }),
  };
}

function inOrder(flags: readonly PriceFlag[]): PriceFlag[] {
  return PRICE_FLAGS.filter((flag) => flags.includes(flag));
}

const TIER_RATIOS = ["model_ratio", "completion_ratio", "cache_ratio", "cache_write_ratio"] as const;
const RATIOS = [
  ...TIER_RATIOS,
  "audio_ratio",
  "audio_completion_ratio",
  "image_ratio",
  "image_completion_ratio",
] as const satisfies readonly (keyof ListedRatios)[];

/** The ratios of a row of its own. */
export type OwnRatios = Pick<ModelPrice, (typeof RATIOS)[number]>;

/** What the list leaves open stays as it is; without tiers. */
function priceTexts(
  { ratios, lastDay }: Pick<Listed, "ratios" | "lastDay">,
  old: ModelPrice | undefined,
): ModelPrice {
  const text = (key: (typeof RATIOS)[number]) => {
    const ratio = ratios[key];
    return ratio === undefined ? (old?.[key] ?? "") : sixDecimals(ratio);
  };
  return {
    model_ratio: sixDecimals(ratios.model_ratio),
    completion_ratio: text("completion_ratio"),
    cache_ratio: text("cache_ratio"),
    cache_write_ratio: text("cache_write_ratio"),
    audio_ratio: text("audio_ratio"),
    audio_completion_ratio: text("audio_completion_ratio"),
    image_ratio: text("image_ratio"),
    image_completion_ratio: text("image_completion_ratio"),
    tiers: [],
    last_day: lastDay || (old?.last_day ?? ""),
  };
}

/**
 * A list that names tiers names them all, but what is built in at another length stays, which a person has to look at (`isMixed`); one that
 * names none leaves them as they are.
 */
function tiersOf(
  { tiersAfter }: DraftInput,
  { model, listed, base }: { readonly model: string; readonly listed: Listed; readonly base: ModelPrice },
): { readonly tiers: ListTier[]; readonly isMixed: boolean } {
  const stay = tiersAfter(model, base);
  if (listed.tiers.length === 0) return { tiers: [...stay], isMixed: false };
  const named = listed.tiers.map(({ above, ratios }) => ({ above, ...tierTexts(model, ratios, base) }));
  const left = stay.filter(
    ({ above }) => isBuiltInTier(model, above) && !named.some((tier) => tier.above === above),
  );
  const tiers = [...named, ...left].toSorted((one, other) => one.above - other.above);
  return { tiers, isMixed: left.length > 0 };
}

function isBuiltInTier(model: string, above: number): boolean {
  return Object.hasOwn(defaultTiers, model) && defaultTiers[model]?.includes(above) === true;
}

/** A tier with all its ratios: what the list leaves open is as for short prompts. */
function tierTexts(
  model: string,
  ratios: ListedRatios,
  base: Pick<ModelPrice, (typeof TIER_RATIOS)[number]>,
): Omit<ListTier, "above"> {
  const text = (ratio: Rational | undefined, plain: string) =>
    ratio === undefined ? plain : sixDecimals(ratio);
  return {
    model_ratio: sixDecimals(ratios.model_ratio),
    completion_ratio: text(
      ratios.completion_ratio,
      base.completion_ratio || sixDecimals(parseRational(completionRatioRule(model))),
    ),
    cache_ratio: text(ratios.cache_ratio, base.cache_ratio || "1"),
    cache_write_ratio: text(
      ratios.cache_write_ratio,
      base.cache_write_ratio || String(cacheWriteRatioRule(model)),
    ),
  };
}

/** A ratio as tables of prices hold it: half up, without trailing zeros. */
export function sixDecimals({ n, d }: Rational): string {
  const millionths = (n * 2_000_000n + d) / (2n * d);
  const decimals = String(millionths % 1_000_000n)
    .padStart(6, "0")
    .replace(/0+$/, "");
  return `${millionths / 1_000_000n}${decimals === "" ? "" : `.${decimals}`}`;
}
