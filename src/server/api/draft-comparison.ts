// A price list compared with what is known here: prices in force, what they were used for, what other lists say. Writes nothing.

import { unitOf } from "#contract/charged-unit.ts";
import { dayOf } from "#contract/month.ts";
import type { DraftWarning, PriceDraftRow } from "#contract/price-draft.ts";
import type { Context } from "#server/context.ts";
import { draftRows } from "#server/money/prices/draft.ts";
import { listWarning } from "#server/money/prices/guards.ts";
import type { PriceList } from "#server/money/prices/listed.ts";
import { listListedModels, listSourceDrafts, mostListed } from "#server/store/price-drafts.ts";
import { findPriceVersionFrom } from "#server/store/price-versions.ts";
import { boundsOf, listPrices } from "./draft-prices.ts";
import { rowsOf } from "./draft-publication.ts";
import { rankOf } from "./list-sources.ts";
import { sourceTable, usesOf } from "./price-list-source.ts";

export interface Comparison {
  readonly rows: PriceDraftRow[];
  /** Why the whole of it is held; "" = nothing. */
  readonly warning: DraftWarning;
  /** How many models the source listed before. */
  readonly lastListed: number;
}

export async function compare(ctx: Context, list: PriceList, source: string): Promise<Comparison> {
  const bounds = boundsOf(ctx);
  const [uses, lastListed, known, others] = await Promise.all([
    usesOf(ctx),
    listedBefore(ctx, source),
    listListedModels(ctx.db, source),
    othersOf(ctx, source),
  ]);
  const table = sourceTable(ctx);
  const pricesOf = (model: string) => (others.get(model) ?? []).map(({ price }) => price);
  const prices = listPrices(ctx);
  const names = ctx.options.get("PriceNames");
  const units = ctx.options.get("ModelUnits");
  const rows = draftRows({
    models: prices.models,
    list,
    bounds,
    today: dayOf(ctx.clock.seconds()),
    priceOf: prices.priceOf,
    unitOf: (model) => unitOf(model, units),
    callsOf: (model) => uses.get(model),
    nameOf: (model) => (Object.hasOwn(names, model) ? names[model] : undefined),
    othersOf: (model) => [...pricesOf(model), ...[prices.builtInOf(model) ?? []].flat()],
    isOutranked(model) {
      const rank = rankOf(table, model, source);
      return (others.get(model) ?? []).some((other) => rankOf(table, model, other.source) < rank);
    },
    tiersAfter: prices.tiersAfter,
    known: new Set(known),
  });
  return { rows, warning: listWarning(rows, { listed: list.size, lastListed }, bounds), lastListed };
}

/** How many models the source listed when it was last published, else at the most. */
async function listedBefore({ db }: Context, source: string): Promise<number> {
  const last = await findPriceVersionFrom(db, source);
  return last?.listed ?? mostListed(db, source);
}

/** Lists of so many other sources are asked what they say. */
const OTHER_SOURCES = 5;

interface OtherPrice {
  readonly source: string;
  readonly price: NonNullable<PriceDraftRow["fresh"]>;
}

/** What the newest lists of other sources say that models cost. */
async function othersOf({ db }: Context, source: string) {
  const others = new Map<string, OtherPrice[]>();
  for (const draft of await listSourceDrafts(db, OTHER_SOURCES + 1)) {
    if (draft.source === source) continue;
    for (const { model, fresh, verdict, flags } of rowsOf(draft)) {
      if (fresh === null || verdict === "refused" || flags.includes("kind")) continue;
      others.set(model, [...(others.get(model) ?? []), { source: draft.source, price: fresh }]);
    }
  }
  return others;
}
