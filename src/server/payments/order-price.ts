// What an order costs at a merchant account. Pure.
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
