// Money as whole minor units (fen, cents) ⇄ decimal text. Without schemas, because the rules of the ledger run in the SQLite writer.

/** ISO codes of currencies with two decimals, the only ones a payment instance may have (requirements Y13). */
export const CURRENCIES = ["CNY", "USD", "HKD", "EUR", "SGD", "GBP", "AUD", "CAD"] as const;

const MINOR = /^(0|[1-9]\d{0,8})(?:\.(\d{1,2}))?$/;

/** Decimal text as minor units, exactly: `30`, `30.0`, `30.00` are 3000; undefined for any other text (requirements Y01). */
export function minorOf(text: string): number | undefined {
  const [, whole, decimals = ""] = MINOR.exec(text) ?? [];
  return whole === undefined ? undefined : Number(whole) * 100 + Number(decimals.padEnd(2, "0"));
}

/** Minor units as decimal text, always with two decimals: 3000 → `30.00`. */
export function minorText(minor: number): string {
  const size = Math.abs(minor);
  const text = `${Math.floor(size / 100)}.${String(size % 100).padStart(2, "0")}`;
  return minor < 0 ? `-${text}` : text;
}

const SIGNS: Readonly<Record<string, string>> = { CNY: "¥", USD: "$", HKD: "HK$", EUR: "€", GBP: "£" };

/** As people read it: `¥30.00`, `SGD 30.00`. */
export function moneyText(minor: number, currency: string): string {
  return `${SIGNS[currency] ?? `${currency} `}${minorText(minor)}`;
}
