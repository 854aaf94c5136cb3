// A draft of prices becomes a version: by a person who approved it, or at once where the operator lets lists that he named publish what
// nothing speaks against (requirements X02, X03, X27).
import type { PriceVersion } from "#contract/price-list.ts";
import type { Context } from "#server/context.ts";
import { AppError, faults } from "#server/errors.ts";
import { changePriceDraft, type PriceDraftStored } from "#server/store/price-drafts.ts";
import type { ActCall } from "./audit-log.ts";
import { listPrices } from "./draft-prices.ts";
import { approvedRows, changesOf, choicesOf } from "./draft-publication.ts";
import { isNamed } from "./list-sources.ts";
import { sourceTable } from "./price-list-source.ts";
import { newestVersion, writePrices } from "./price-tables.ts";

/** Throws: AppError when the draft is not what its reader saw. */
export async function changeOrRefuse(
  db: Context["db"],
  at: Parameters<typeof changePriceDraft>[1],
  change: Parameters<typeof changePriceDraft>[2],
): Promise<void> {
  if (!(await changePriceDraft(db, at, change))) throw faults.refused("这份草稿刚被别人处理过，请刷新后再试");
}

/** Publishes what is chosen of a draft, judged by what is in force now. Throws: AppError. */
export async function publishDraft(
  ctx: Context,
  call: ActCall,
  draft: PriceDraftStored,
  decided: Partial<Pick<PriceDraftStored, "decided_by" | "decided_at" | "reason">> = {},
): Promise<PriceVersion> {
  const base = (await newestVersion(ctx))?.id ?? 0;
  const prices = listPrices(ctx);
  const changes = changesOf(ctx, approvedRows(ctx, draft, prices), prices);
  const { id, revision, state, source, listed } = draft;
  return writePrices(ctx, call, {
    base,
    source,
    listed,
    reason: decided.reason ?? draft.reason,
    changes,
    undoes: 0,
    kept: new Set(Object.keys(changes)),
    beside: (tx) =>
      changeOrRefuse(
        tx,
        { id, revision, states: [state] },
        { ...decided, state: "published", version: base + 1 },
      ),
  });
}

/**
 * Publishes a new draft without a person, where that is switched on: of a list that was read at an address which the operator named, not
 * held as a whole, only rows that nothing speaks against. What does not go stays a draft that waits. Returns whether it was published.
 */
export async function publishUnattended(
  ctx: Context,
  call: ActCall,
  { draft, address }: { readonly draft: PriceDraftStored; readonly address: string },
): Promise<boolean> {
  const { options, clock } = ctx;
  if (!options.get("PriceAutoPublishEnabled") || address === "") return false;
  if (!isNamed(sourceTable(ctx), draft.source)) return false;
  if (draft.warning !== "" || Object.keys(choicesOf(draft)).length === 0) return false;
  try {
    await publishDraft(ctx, call, draft, {
      decided_by: call.actor.username,
      decided_at: clock.seconds(),
      reason: "自动发布",
    });
    return true;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}
