// Commission: its rates, and yuan as whole millionths. Without schemas, because the rules of the ledger run in the SQLite writer, which
// should stay small.

/** The rates of requirements B9: gift 5 % for both, commission 0.5 × 5 % of the dollars topped up, withdrawals from 100 yuan. */
export const partnerRates = {
  /** Of the code's quota, for the user that enters a gift code and for the owner of the gift code. */
  giftPercent: 5n,
  /** Millionths of a yuan that the inviter gets for $1: 0.5 yuan × 5 % (requirements W17.3). */
  commissionMicroPerDollar: 25_000n,
  /** Millionths of a yuan. */
  leastWithdrawalMicro: 100_000_000n,
} as const;

const MICRO_DIGITS = 6;
const MICRO = 10n ** BigInt(MICRO_DIGITS);
const YUAN = /^(\d{1,9})(?:\.(\d{1,6}))?$/;

/** Millionths of a yuan as decimal text without trailing zeros: `25`, `0.005`; `0` = none. */
export function yuanText(micro: bigint | number): string {
  const amount = BigInt(micro);
  const size = amount < 0n ? -amount : amount;
  const decimals = String(size % MICRO)
    .padStart(MICRO_DIGITS, "0")
    .replace(/0+$/, "");
  return `${amount < 0n ? "-" : ""}${size / MICRO}${decimals === "" ? "" : `.${decimals}`}`;
}

/** Decimal text as millionths of a yuan, exactly; undefined when it is no such text or has more than six decimals. */
export function microOf(text: string): bigint | undefined {
  const [, yuan, decimals = ""] = YUAN.exec(text.trim()) ?? [];
  return yuan === undefined ? undefined : BigInt(yuan) * MICRO + BigInt(decimals.padEnd(MICRO_DIGITS, "0"));
}
