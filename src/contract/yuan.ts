// Yuan as whole millionths. Without schemas, because the rules of the ledger run in the SQLite writer, which
// should stay small.

const MICRO_DIGITS = 6;
/** Millionths in a yuan. */
export const MICRO = 10n ** BigInt(MICRO_DIGITS);
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
