// Money of billionths of a dollar, and parts of a whole, as pages of margins and calls write them. Pure.
import { yuanOfDollar } from "#contract/price-sheet.ts";
import type { Currency } from "./money-price.ts";

const BILLION = 1e9;

/** `$1,234.56`, `-¥0.0012`: two decimals from a unit on, four digits that count below. */
export function moneyOf(nano: number, currency: Currency): string {
  const amount = (Math.abs(nano) / BILLION) * (currency === "CNY" ? yuanOfDollar : 1);
  const text =
    amount >= 1 || amount === 0
      ? amount.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })
      : String(Number(amount.toPrecision(4)));
  const digits = text.includes("e") ? amount.toFixed(9).replace(/0+$/, "") : text;
  return `${nano < 0 ? "-" : ""}${currency === "CNY" ? "¥" : "$"}${digits}`;
}

/** `12.3%`; "—" where there is no whole. */
export function partOf(part: number, whole: number): string {
  return whole === 0 ? "—" : `${((part / whole) * 100).toFixed(1)}%`;
}
