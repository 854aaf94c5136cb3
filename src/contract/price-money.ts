// Ratios ⇄ money of a price, exactly: money has six decimals, ratios twelve, and what was typed in money is read back as it was typed.
// Pure whole-number arithmetic; it charges nothing.
import { yuanOfDollar } from "./price-sheet.ts";

export type Currency = "USD" | "CNY";

/** What one unit of a price is, and quota of a dollar. */
export interface MoneyScale {
  /** LLM tokens that a unit of the price is charged like: a million, or those of one picture or minute. */
  readonly tokens: number;
  readonly quotaPerUnit: number;
  readonly currency: Currency;
}

const RATIO_DECIMALS = 12;
const MONEY_DECIMALS = 6;
const DECIMAL = /^(\d{1,15})(?:\.(\d{1,20}))?$/;

interface Fraction {
  readonly n: bigint;
  readonly d: bigint;
}

/** Reads a decimal that is not negative; undefined = it is none. */
function read(text: string): Fraction | undefined {
  const [, whole, decimals = ""] = DECIMAL.exec(text.trim()) ?? [];
  return whole === undefined ? undefined : { n: BigInt(whole + decimals), d: 10n ** BigInt(decimals.length) };
}

/** Half up, without trailing zeros. */
function write({ n, d }: Fraction, places: number): string {
  const unit = 10n ** BigInt(places);
  const rounded = (n * unit * 2n + d) / (2n * d);
  const decimals = String(rounded % unit)
    .padStart(places, "0")
    .replace(/0+$/, "");
  return `${rounded / unit}${decimals === "" ? "" : `.${decimals}`}`;
}

/** Money of ratio 1. */
function unitOf({ tokens, quotaPerUnit, currency }: MoneyScale): Fraction | undefined {
  // Quota of a dollar may be any positive number; its shortest text is what the ledger reads too.
  const quota = read(String(quotaPerUnit));
  if (quota === undefined || quota.n === 0n) return undefined;
  const yuan = currency === "CNY" ? BigInt(yuanOfDollar) : 1n;
  return { n: BigInt(tokens) * yuan * quota.d, d: quota.n };
}

/** The product of ratios as money, six decimals; "" = one of them is no ratio. */
export function moneyOfRatios(ratios: readonly string[], scale: MoneyScale): string {
  const unit = unitOf(scale);
  if (unit === undefined) return "";
  let product: Fraction = unit;
  for (const ratio of ratios) {
    const factor = read(ratio);
    if (factor === undefined) return "";
    product = { n: product.n * factor.n, d: product.d * factor.d };
  }
  return write(product, MONEY_DECIMALS);
}

/** The ratio that makes this money where the other ratios are `base`; undefined = no ratio does, because the base is 0 or no ratio. */
export function ratioOfMoney(money: string, base: readonly string[], scale: MoneyScale): string | undefined {
  const [asked, unit] = [read(money), unitOf(scale)];
  if (asked === undefined || unit === undefined) return undefined;
  let divisor: Fraction = unit;
  for (const ratio of base) {
    const factor = read(ratio);
    if (factor === undefined) return undefined;
    divisor = { n: divisor.n * factor.n, d: divisor.d * factor.d };
  }
  if (divisor.n === 0n) return asked.n === 0n ? "1" : undefined;
  return write({ n: asked.n * divisor.d, d: asked.d * divisor.n }, RATIO_DECIMALS);
}
