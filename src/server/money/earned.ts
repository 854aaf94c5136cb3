// What quota brings in: what users in fact pay for a dollar of it, which offers may sell below its name. Pure.
import { yuanOfDollar } from "#contract/price-sheet.ts";
import { nearest } from "./price.ts";
import { parseRational } from "./rational.ts";

export interface QuotaWorth {
  readonly quotaPerUnit: number;
  /** Yuan that users pay for a dollar of quota. */
  readonly soldYuan: number;
}

const BILLION = 1_000_000_000n;

/** Quota in billionths of a dollar that came in for it. */
export function revenueOf(quota: number, { quotaPerUnit, soldYuan }: QuotaWorth): number {
  const unit = parseRational(quotaPerUnit);
  const sold = parseRational(soldYuan);
  const n = BigInt(Math.max(0, Math.trunc(quota))) * BILLION * unit.d * sold.n;
  return nearest(n, unit.n * sold.d * BigInt(yuanOfDollar));
}
