// What of an approved draft is published: judged once more, by the prices and bounds that are in force now, and turned into rows of the
// tables. Writes nothing.

import { unitOf } from "#contract/charged-unit.ts";
import { dayOf } from "#contract/month.ts";
import type { PriceChoices, PriceDraftRow } from "#contract/price-draft.ts";
import type { ModelPrice } from "#contract/price-list.ts";
import { tierName } from "#contract/price-sheet.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { isSamePrice, suspicions, verdictOf } from "#server/money/prices/guards.ts";
import type { PriceDraftStored } from "#server/store/price-drafts.ts";
import { boundsOf, type ListPrices } from "./draft-prices.ts";
import { ownTierNames } from "./model-price-rows.ts";
import { columnsOf, ownTables, type PriceChanges, type PriceRow, priceRowOf } from "./price-tables.ts";

/** As the comparison wrote them. */
export function rowsOf({ lines }: PriceDraftStored): PriceDraftRow[] {
  const rows = JSON.parse(lines) as PriceDraftRow[];
  // Those of before they said so were made from sums.
  return rows.map((row) => ({ ...row, is_estimate: row.is_estimate ?? row.quota_before > 0 }));
}

export function choicesOf({ choices }: PriceDraftStored): PriceChoices {
  return JSON.parse(choices) as PriceChoices;
}

/** Whether there is something to choose. */
export function isOffered({ verdict }: PriceDraftRow): boolean {
  return verdict === "fine" || verdict === "doubtful";
}

/** Throws: AppError for a choice of what is never published, and of a row in doubt that no person confirmed. */
export function refuseUnconfirmed(draft: PriceDraftStored, choices: PriceChoices): void {
  const rows = new Map(rowsOf(draft).map((row) => [row.model, row]));
  for (const [model, choice] of Object.entries(choices))
    refuseVerdict(model, rows.get(model)?.verdict ?? "refused", choice);
}

interface ApprovedRow extends PriceDraftRow {
  readonly fresh: NonNullable<PriceDraftRow["fresh"]>;
}

/** What was approved, judged by what is in force now. Throws: AppError for a row that may not be published any more. */
export function approvedRows(ctx: Context, draft: PriceDraftStored, prices: ListPrices): ApprovedRow[] {
  const choices = choicesOf(draft);
  const bounds = boundsOf(ctx);
  const today = dayOf(ctx.clock.seconds());
  return rowsOf(draft).flatMap((row) => {
    const { model, fresh } = row;
    const choice = Object.hasOwn(choices, model) ? choices[model] : undefined;
    if (choice === undefined || fresh === null) return [];
    const old = prices.priceOf(model);
    refuseMoved(ctx, row, old);
    const others = [prices.builtInOf(model) ?? []].flat();
    const flags = [...row.flags, ...suspicions({ model, unit: row.unit, fresh, old, others, today }, bounds)];
    refuseVerdict(model, verdictOf(flags), choice);
    return [{ ...row, fresh }];
  });
}

/** Throws: AppError where the price is not what it was compared with. */
function refuseMoved(
  { options }: Context,
  { model, old: was, unit }: PriceDraftRow,
  old: ModelPrice | undefined,
): void {
  const isSame =
    old === undefined || was === null ? old === undefined && was === null : isSamePrice(model, old, was);
  if (!isSame) throw faults.refused(`${model} 的价格在比较之后被修改过，请重新比较`);
  if (unitOf(model, options.get("ModelUnits")) !== unit)
    throw faults.refused(`${model} 的计费方式在比较之后被修改过，请重新比较`);
}

/** Throws: AppError for what is never published from a list, and for what is in doubt and no person confirmed. */
function refuseVerdict(
  model: string,
  verdict: PriceDraftRow["verdict"],
  choice: PriceChoices[string] | undefined,
): void {
  if (verdict !== "fine" && verdict !== "doubtful") throw faults.refused(`${model} 的价格不能发布`);
  if (verdict === "doubtful" && choice !== "confirmed") throw faults.refused(`${model} 的价格须单独确认`);
}

/** What the tables are to hold: the row of each model, and those of its tiers where they do not follow it. */
export function changesOf(ctx: Context, rows: readonly ApprovedRow[], prices: ListPrices): PriceChanges {
  const own = ownTables(ctx);
  const entries = rows.flatMap(({ model, fresh }) => {
    const { tiers, last_day, ...ratios } = fresh;
    const { last_day: day } = priceRowOf(own, model);
    const after = { ...ratios, ...((day ?? "") === last_day ? {} : { last_day }) };
    return [[model, after] as const, ...tierChanges({ model, fresh, own, prices })];
  });
  return Object.fromEntries(
    entries.map(([name, after]) => [name, { before: columnsOf(priceRowOf(own, name), after), after }]),
  );
}

const NO_TIER = { model_ratio: "", completion_ratio: "", cache_ratio: "", cache_write_ratio: "" };

function tierChanges({
  model,
  fresh,
  own,
  prices,
}: {
  readonly model: string;
  readonly fresh: ApprovedRow["fresh"];
  readonly own: ReturnType<typeof ownTables>;
  readonly prices: ListPrices;
}): (readonly [string, Partial<PriceRow>])[] {
  const following = { ...fresh, tiers: prices.tiersAfter(model, fresh) };
  if (isSamePrice(model, fresh, following) && following.tiers.length === fresh.tiers.length) return [];
  const named = new Set(fresh.tiers.map(({ above }) => tierName(model, above)));
  const left = ownTierNames(own, model).filter((name) => !named.has(name));
  return [
    ...fresh.tiers.map(({ above, ...tier }) => [tierName(model, above), tier] as const),
    ...left.map((name) => [name, NO_TIER] as const),
  ];
}
