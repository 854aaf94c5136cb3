// What quota brings in: what users in fact pay for a dollar of it, which offers may sell below its name, and what is left of that. Pure.
import { yuanOfDollar } from "#contract/price-sheet.ts";
import { BILLION } from "./amount.ts";
import { nearest } from "./price.ts";
import { parseRational } from "./rational.ts";

export interface QuotaWorth {
  readonly quotaPerUnit: number;
  /** Yuan that users pay for a dollar of quota. */
  readonly soldYuan: number;
}

/** Quota in billionths of a dollar that came in for it. */
export function revenueOf(quota: number, { quotaPerUnit, soldYuan }: QuotaWorth): number {
  const unit = parseRational(quotaPerUnit);
  const sold = parseRational(soldYuan);
  const n = BigInt(Math.max(0, Math.trunc(quota))) * BILLION * unit.d * sold.n;
  return nearest(n, unit.n * sold.d * BigInt(yuanOfDollar));
}

/** Sums of calls, as the sums by hour have them. */
export interface EarnedSums {
  readonly costed_quota: number;
  readonly cost: number;
  readonly priced_quota: number;
  readonly income: number;
  readonly fees: number;
  readonly commission: number;
}

export interface Margin {
  readonly revenue: number;
  readonly cost: number;
  readonly fees: number;
  readonly commission: number;
  readonly margin: number;
}

/**
 * The margin of calls whose cost is known: what their quota was bought for, that of which nothing is known at the average, less cost, fees
 * of payments and commission (requirements X13). Quota that was given brought nothing.
 */
export function marginOf(sums: EarnedSums, worth: QuotaWorth): Margin {
  const { cost, fees, commission } = sums;
  const revenue = sums.income + revenueOf(sums.costed_quota - sums.priced_quota, worth);
  return { revenue, cost, fees, commission, margin: revenue - cost - fees - commission };
}

/** The same without what was given: that its calls bring nothing says nothing of a price. */
export function soldMargin(sums: EarnedSums & { readonly given_cost: number }, worth: QuotaWorth): Margin {
  return marginOf({ ...sums, cost: sums.cost - sums.given_cost }, worth);
}
