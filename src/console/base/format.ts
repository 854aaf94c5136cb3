// Numbers, times and keys as users read them. Pure; quota itself is formatted by #contract/quota.ts.
import { abbreviate, formatQuota, type QuotaDisplay } from "#contract/quota.ts";
import { LANGUAGE, LOCALE } from "./language.ts";

const two = (value: number) => String(value).padStart(2, "0");

/** Seconds → `2026-11-20 06:34:00` in local time; "" for 0. */
export function formatTime(seconds: number): string {
  if (seconds <= 0) return "";
  const at = new Date(seconds * 1000);
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

const relative = new Intl.RelativeTimeFormat(LOCALE, { numeric: "always" });
const STEPS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/** A space between digits and the words after them, as everywhere in the console. */
function spaced(words: string): string {
  return LANGUAGE === "zh" ? words.replace(/^\d+/, "$& ") : words;
}

/** Seconds since 1970 in words relative to `nowSec`, e.g. `3 天前`, `2 小时后`, `刚刚`. */
export function relativeTime(seconds: number, nowSec: number): string {
  const delta = seconds - nowSec;
  for (const [index, [unit, length]] of STEPS.entries()) {
    // What would be rounded to 60 minutes is an hour.
    const half = (STEPS[index + 1]?.[1] ?? 0) / 2;
    if (Math.abs(delta) >= length - half) return spaced(relative.format(Math.round(delta / length), unit));
  }
  return delta > 0 ? "不到 1 分钟后" : "刚刚";
}

const grouped = new Intl.NumberFormat(LOCALE);

/** 1234567 → `1,234,567`. */
export function formatCount(value: number): string {
  return grouped.format(value);
}

/** K, M, B as the spec writes request counts: 1234 → `1.2K`. */
export function shortCount(value: number): string {
  return abbreviate(value, "K", 1_000);
}

/** Milliseconds → `0.82 秒`, below a tenth of a second `82 毫秒`; "" for 0 (unknown). */
export function formatMs(ms: number): string {
  if (ms <= 0) return "";
  const whole = Math.max(1, Math.round(ms));
  return whole < 100 ? `${whole} 毫秒` : `${(ms / 1000).toFixed(2)} 秒`;
}

/** A charge as any quota (requirements B9), with more digits below a cent, where two would say nothing: `$123.46`, `$0.000012`, `12.3k`. */
export function formatCharge(quota: number, display: QuotaDisplay): string {
  // Averages have parts of a unit.
  if (!display.inCurrency) return formatQuota(Number(quota.toFixed(1)), display);
  const value = Math.abs(quota / display.quotaPerUnit);
  return formatQuota(quota, display, value === 0 || Number(value.toFixed(6)) >= 0.01 ? 2 : 6);
}

/** A key shortened for display: `sk-AbCd••••wXyZ`. */
export function maskKey(key: string): string {
  return key.length <= 12 ? "sk-••••" : `sk-${key.slice(0, 4)}••••••${key.slice(-4)}`;
}
