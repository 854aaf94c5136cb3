// How a plan that a provider renews by itself is shown: to its user, and beside its orders to administrators (requirements Z21).
import type { PlanRenewal } from "#contract/plan.ts";
import type { Context } from "#server/context.ts";
import { firstOrderOf, nextCharge } from "#server/payments/renewals.ts";
import type { OrderRow } from "#server/store/orders.ts";
import { findRenewalByFirst, type RenewalRow } from "#server/store/plan-renewals.ts";

/** What is charged next: what was chosen counts, also while the provider has not confirmed it. */
export async function presentRenewal(ctx: Context, row: RenewalRow): Promise<PlanRenewal> {
  const next = await nextCharge(ctx, row);
  const { id, order_no, last_order_no, status, currency, next_at } = row;
  return {
    id,
    order_no,
    last_order_no,
    plan_id: next?.planId ?? 0,
    name: next?.terms.name ?? "",
    state: status,
    renews: row.renews === 1,
    is_told: row.is_told === 1 && (next === undefined || next.versionId === row.version_id),
    currency,
    amount_minor:
      next?.versionId === row.version_id ? row.amount_minor : (next?.amountMinor ?? row.amount_minor),
    next_at,
  };
}

/** The renewal that an order began, or that made it; null = none. */
export async function renewalOfOrder(
  ctx: Context,
  order: OrderRow,
): Promise<(PlanRenewal & { provider_id: string }) | null> {
  if (order.plan_sale === "") return null;
  const row = await findRenewalByFirst(ctx.db, firstOrderOf(order));
  return row ? { ...(await presentRenewal(ctx, row)), provider_id: row.provider_id } : null;
}
