// What an order of an invited user brings the inviter, as it is set when the order is made, which freezes it (requirements Y53).
import { boundsOf, commissionOf, moneyCommission, percentFor } from "#server/money/commission-terms.ts";
import type { NewOrder } from "#server/store/orders.ts";
import type { UserRow } from "#server/store/users.ts";
import type { Tools } from "#server/tools.ts";

type Terms = Pick<Tools, "options" | "clock">;
type Invited = Pick<UserRow, "created_at">;

/** Of a payment for the wallet, in millionths of a yuan. */
export function payCommission(
  { options, clock }: Terms,
  { created_at }: Invited,
  { quota, yuanMinor }: { readonly quota: number; readonly yuanMinor: number },
): number {
  const since = { createdAt: created_at, nowSec: clock.seconds() };
  const percent = percentFor(options, "PayCommissionPercent", since);
  const quotaPerUnit = options.get("QuotaPerUnit");
  return Number(
    options.get("PayCommissionBase") === "money"
      ? moneyCommission(yuanMinor, percent)
      : commissionOf(BigInt(quota), { quotaPerUnit, percent }),
  );
}

/** Of the price of a plan, in millionths of a yuan. */
export function planCommission(
  { options, clock }: Terms,
  { created_at }: Invited,
  yuanMinor: number,
): number {
  const since = { createdAt: created_at, nowSec: clock.seconds() };
  return Number(moneyCommission(yuanMinor, percentFor(options, "PlanCommissionPercent", since)));
}

/** Its bounds, as an order keeps them. */
export function boundColumns({
  options,
}: Pick<Tools, "options">): Pick<NewOrder, "commission_orders" | "commission_month_micro"> {
  const { firstOrders, monthMicro } = boundsOf(options);
  return { commission_orders: firstOrders, commission_month_micro: Number(monthMicro) };
}
