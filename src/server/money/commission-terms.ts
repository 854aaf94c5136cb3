// What commission an operator has set: how much by source, and its bounds (requirements Y53). An order freezes it when it is made. Reads
// options only.
import { MICRO } from "#contract/yuan.ts";
import { DAY_SEC } from "#server/clock.ts";
import type { Options } from "#server/options.ts";
import type { CommissionBounds } from "./partner-operations.ts";
import { parseRational } from "./rational.ts";

/** What a dollar of quota counts, whatever it was sold for: 0.5 yuan (requirements W17.3). */
const MICRO_PER_DOLLAR = 500_000n;
const MICRO_PER_FEN = 10_000n;
const HUNDRED = 100n;

/** What an inviter earns by quota at 0.5 yuan a dollar, in millionths of a yuan, rounded down; exact for any quota per dollar. Pure. */
export function commissionOf(
  quota: bigint,
  { quotaPerUnit, percent }: { readonly quotaPerUnit: number; readonly percent: number },
): bigint {
  const { n, d } = parseRational(quotaPerUnit);
  return (quota * MICRO_PER_DOLLAR * BigInt(percent) * d) / (n * HUNDRED);
}

/** What an inviter earns by money without its fee, in millionths of a yuan. Pure. Unit: fen. */
export function moneyCommission(yuanMinor: number, percent: number): bigint {
  return (BigInt(yuanMinor) * MICRO_PER_FEN * BigInt(percent)) / HUNDRED;
}

/** Percent of a source for orders of a user; 0 = none, also when the days are over in which orders bring some. */
export function percentFor(
  options: Options,
  source: "RedeemCommissionPercent" | "PayCommissionPercent" | "PlanCommissionPercent",
  { createdAt, nowSec }: { readonly createdAt: number; readonly nowSec: number },
): number {
  const days = options.get("CommissionFirstDays");
  return days > 0 && nowSec >= createdAt + days * DAY_SEC ? 0 : options.get(source);
}

export function boundsOf(options: Options): CommissionBounds {
  return {
    firstOrders: options.get("CommissionFirstOrders"),
    monthMicro: BigInt(options.get("CommissionMonthYuan")) * MICRO,
  };
}

/** What has to be asked for at once, millionths of a yuan: something, in any case. */
export function leastWithdrawal(options: Options): bigint {
  const yuan = options.get("LeastWithdrawalYuan");
  return yuan === 0 ? 1n : BigInt(yuan) * MICRO;
}
