// What an order costs at a merchant account, and what it brings in. Pure.
import { yuanOfDollar } from "#contract/price-sheet.ts";
import { BILLION } from "#server/money/amount.ts";
import { rounded } from "#server/money/bought.ts";
import { parseRational } from "#server/money/rational.ts";
import type { Instance } from "./provider.ts";

/** What the provider has to be paid: price in the account's currency and the fee, each rounded up. Pure. Unit: minor units. */
export function priceOf(
  yuanMinor: number,
  { rate, feeBp }: Pick<Instance, "rate" | "feeBp">,
): { amount: number; fee: number } {
  const [whole = "0", decimals = ""] = rate.split(".");
  const micro = BigInt(whole) * 1_000_000n + BigInt(decimals.padEnd(6, "0"));
  const up = (top: bigint, bottom: bigint) => (top + bottom - 1n) / bottom;
  const net = up(BigInt(yuanMinor) * 1_000_000n, micro);
  const fee = up(net * BigInt(feeBp), 10_000n);
  return { amount: Number(net + fee), fee: Number(fee) };
}

const MINOR = 100n;
const BASIS_POINTS = 10_000n;

/**
 * What a payment brings in without its fee, and what the platform keeps of it less that fee, below 0 = the payer paid more (requirements
 * X13). Pure. Unit: billionths of a dollar.
 */
export function worthOf(
  { amount, fee }: { readonly amount: number; readonly fee: number },
  { rate, costBp }: Pick<Instance, "rate" | "costBp">,
): { readonly income: number; readonly fees: number } {
  const { n, d } = parseRational(rate);
  const nano = (minor: bigint) => Number(rounded(minor * BILLION * n, MINOR * d * BigInt(yuanOfDollar)));
  const kept = (BigInt(amount) * BigInt(costBp)) / BASIS_POINTS;
  return { income: nano(BigInt(amount - fee)), fees: nano(kept - BigInt(fee)) };
}
