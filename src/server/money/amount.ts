// What amounts are bounded by. Pure and without imports: rules and the code around them share it.

/** Money is counted in billionths of a dollar. */
export const BILLION = 1_000_000_000n;

/** The largest number that balances, entries and periods can hold exactly. */
export const MAX_AMOUNT = BigInt(Number.MAX_SAFE_INTEGER);

export function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
