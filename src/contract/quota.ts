// Quota ⇄ display text, and the thresholds of badges (requirements B9). Used by both sides.

/** How quota is shown: the two start-up fields of /api/status. */
export interface QuotaDisplay {
  /** Quota units per $1. */
  readonly quotaPerUnit: number;
  readonly inCurrency: boolean;
}

/** A thousandth part with one decimal goes up to 999.9; what would be rounded to 1000.0 has the next letter. */
const ROUNDED_UP = 999_950;

/** Abbreviates with a letter for thousands at `from` or more, then M and B (requirements B9). */
export function abbreviate(value: number, thousands = "k", from = 10_000): string {
  const size = Math.abs(value);
  if (size >= ROUNDED_UP * 1_000) return `${(value / 1_000_000_000).toFixed(1)}B`;
  if (size >= ROUNDED_UP) return `${(value / 1_000_000).toFixed(1)}M`;
  if (size >= from) return `${(value / 1_000).toFixed(1)}${thousands}`;
  return String(value);
}

/** Quota as users read it: `$` and `digits` decimals in currency mode, abbreviated otherwise (requirements B9). */
export function formatQuota(quota: number, display: QuotaDisplay, digits = 2): string {
  if (!display.inCurrency) return abbreviate(quota);
  const value = quota / display.quotaPerUnit;
  return value < 0 ? `-$${(-value).toFixed(digits)}` : `$${value.toFixed(digits)}`;
}

/** The hint beside a quota field: its worth in dollars (glossary, "等价金额"), with more digits where two would say nothing. */
export function quotaHint(quota: number, display: QuotaDisplay): string {
  if (!display.inCurrency) return "";
  const value = quota / display.quotaPerUnit;
  const isTiny = value !== 0 && Math.abs(value) < 0.01;
  return `（等价金额：$${isTiny ? Number(value.toFixed(6)) : value.toFixed(2)}）`;
}

/** Grade of a response time in ms: 0 untested, then the thresholds 1000, 3000, 5000 (requirements B4). */
export function responseGrade(ms: number): "untested" | "good" | "fair" | "slow" | "bad" {
  if (ms <= 0) return "untested";
  if (ms <= 1000) return "good";
  if (ms <= 3000) return "fair";
  return ms <= 5000 ? "slow" : "bad";
}
