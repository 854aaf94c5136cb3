// Compares a price list with the prices in force, and says of every row whether a person may take it unseen (requirements X02). Pure.
import type { ModelPrice, PriceDraftRow, PriceFlag } from "#contract/price-list.ts";
import type { Rational } from "#server/money/rational.ts";
import type { Listed, PriceList } from "./lists.ts";

/** What calls of a model came to. */
export interface ModelUse {
  /** Of the last 30 days. */
  readonly calls: number;
  /** Of the last 7 days, quota in its units. */
  readonly week: { readonly quota: number; readonly promptTokens: number; readonly completionTokens: number };
}

export interface DraftInput {
  /** Models that have a price or a channel: no call here asks for others of the list. */
  readonly models: Iterable<string>;
  readonly list: PriceList;
  priceOf(model: string): ModelPrice | undefined;
  callsOf(model: string): ModelUse | undefined;
}

/** Dollars a million: more is a mistake of units. */
const MOST_RATIO = 5_000;
const MOST_RISE = 20;
const MOST_FALL = -50;
/** So many times the old price, or a part of it, within 3 %, is a mistake of units. */
const UNITS = [1e3, 1e6];
const UNIT_TOLERANCE = 0.03;

const REFUSING = new Set<PriceFlag>(["unreadable", "too_dear", "unit", "per_call", "twice"]);

/** The models of the list that concern us, by name. */
export function draftRows({ models, list, priceOf, callsOf }: DraftInput): PriceDraftRow[] {
  const rows: PriceDraftRow[] = [];
  for (const model of [...new Set(models)].toSorted()) {
    const listed = list.get(model);
    if (listed !== undefined) rows.push(draftRow(model, listed, priceOf(model), callsOf(model)));
  }
  return rows;
}

function draftRow(
  model: string,
  listed: Listed | PriceFlag,
  old: ModelPrice | undefined,
  use: ModelUse | undefined,
): PriceDraftRow {
  const before = use?.week.quota ?? 0;
  const row = { model, old: old ?? null, calls: use?.calls ?? 0, quota_before: before };
  if (typeof listed === "string")
    return { ...row, fresh: null, change: null, flags: [listed], verdict: "refused", quota_after: before };
  const fresh = priceTexts(listed, old);
  const flags = flagsOf(listed, fresh, old);
  const isSame = old !== undefined && KEYS.every((key) => old[key] === fresh[key]);
  const isRefused = flags.some((flag) => REFUSING.has(flag));
  return {
    ...row,
    fresh,
    change: changeOf(fresh, old) ?? null,
    flags: isSame ? [] : flags,
    verdict: isSame ? "same" : isRefused ? "refused" : flags.length > 0 ? "doubtful" : "fine",
    quota_after: old && use ? weekAfter(use.week, old, fresh) : before,
  };
}

const KEYS = ["model_ratio", "completion_ratio", "cache_ratio", "cache_write_ratio"] as const;

/** What the list leaves open stays as it is. */
function priceTexts(
  { input, output, cacheRead, cacheWrite }: Listed,
  old: ModelPrice | undefined,
): ModelPrice {
  const text = (ratio: Rational | undefined, ours: string | undefined) =>
    ratio === undefined ? (ours ?? "") : sixDecimals(ratio);
  return {
    model_ratio: sixDecimals(input),
    completion_ratio: text(output, old?.completion_ratio),
    cache_ratio: text(cacheRead, old?.cache_ratio),
    cache_write_ratio: text(cacheWrite, old?.cache_write_ratio),
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

/** In percent, with two decimals. */
function changeOf(fresh: ModelPrice, old: ModelPrice | undefined): number | undefined {
  const before = Number(old?.model_ratio ?? 0);
  return before === 0 ? undefined : Math.round((Number(fresh.model_ratio) / before - 1) * 10_000) / 100;
}

function flagsOf(listed: Listed, fresh: ModelPrice, old: ModelPrice | undefined): PriceFlag[] {
  const flags: PriceFlag[] = [];
  const ratio = Number(fresh.model_ratio);
  const change = changeOf(fresh, old);
  if (ratio === 0) flags.push("unreadable");
  if (ratio > MOST_RATIO) flags.push("too_dear");
  if (change !== undefined && isUnitMistake(change / 100 + 1)) flags.push("unit");
  if (change !== undefined && change > MOST_RISE) flags.push("rise");
  if (change !== undefined && change < MOST_FALL) flags.push("fall");
  if (old !== undefined && Number(old.model_ratio) === 0) flags.push("from_free");
  // Twice the output below the input; embeddings have no output at all.
  const { output, cacheRead } = listed;
  if (output !== undefined && output.n > 0n && output.n * 2n < output.d) flags.push("output_cheap");
  if (cacheRead !== undefined && cacheRead.n > cacheRead.d) flags.push("cache_dear");
  return flags;
}

function isUnitMistake(times: number): boolean {
  return UNITS.some((unit) => {
    const off = times > 1 ? times / unit : times * unit;
    return Math.abs(off - 1) <= UNIT_TOLERANCE;
  });
}

/** What the week's calls would have cost by the new price, from the tokens that were billed in it. */
function weekAfter(week: ModelUse["week"], old: ModelPrice, fresh: ModelPrice): number {
  const of = (price: ModelPrice) =>
    (week.promptTokens + week.completionTokens * Number(price.completion_ratio || 1)) *
    Number(price.model_ratio);
  const before = of(old);
  return before === 0 ? week.quota : Math.round((week.quota * of(fresh)) / before);
}

/** What makes the whole list doubtful; "" = nothing. `lastListed` = how many models it named when it was last published. */
export function listWarning(rows: readonly PriceDraftRow[], listed: number, lastListed: number): string {
  const changed = rows.filter(({ verdict }) => verdict !== "same").length;
  if (lastListed > 0 && listed < lastListed * 0.9)
    return `价目表只有 ${listed} 个模型，上次发布时有 ${lastListed} 个：可能不完整`;
  if (rows.length >= 10 && changed > rows.length * 0.3)
    return `${rows.length} 个模型中有 ${changed} 个价格不同：请先确认格式与单位`;
  return "";
}
