import { describe, expect, it } from "vitest";
import {
  formatCharge,
  formatCount,
  formatMs,
  formatTime,
  maskKey,
  relativeTime,
  shortCount,
} from "./format.ts";

const dollars = { quotaPerUnit: 500_000, inCurrency: true };

describe("format", () => {
  it("writes moments as year-month-day hour:minute:second in local time", () => {
    const at = new Date(2026, 0, 5, 7, 8, 9);
    expect(formatTime(at.getTime() / 1000)).toBe("2026-01-05 07:08:09");
    expect(formatTime(0)).toBe("");
  });

  it.each([
    [0, "刚刚"],
    [30, "不到 1 分钟后"],
    [-100, "2 分钟前"],
    [3_600, "1 小时后"],
    [-86_400 * 3, "3 天前"],
    [-3_569, "59 分钟前"],
    [-3_599, "1 小时前"],
    [84_599, "23 小时后"],
    [86_399, "1 天后"],
    [-2_591_999, "1 个月前"],
    [86_400 * 60, "2 个月后"],
  ])("says %i seconds from now as %s", (delta, words) => {
    expect(relativeTime(1_000_000_000 + delta, 1_000_000_000)).toBe(words);
  });

  it("shows charges with two decimals, and with enough of them to be seen below a cent (requirements B9)", () => {
    expect(formatCharge(173, dollars)).toBe("$0.000346");
    expect(formatCharge(4_999, dollars)).toBe("$0.009998");
    expect(formatCharge(4_999.9, dollars)).toBe("$0.01");
    expect(formatCharge(-173, dollars)).toBe("-$0.000346");
    expect(formatCharge(5_000, dollars)).toBe("$0.01");
    expect(formatCharge(177_352, dollars)).toBe("$0.35");
    expect(formatCharge(600_000, dollars)).toBe("$1.20");
    expect(formatCharge(60_000_000, dollars)).toBe("$120.00");
    expect(formatCharge(0, dollars)).toBe("$0.00");
  });

  it("abbreviates charges outside currency mode (requirements B9)", () => {
    const points = { ...dollars, inCurrency: false };
    const quotas = [0, 173, 9_999, 177_352, 1_234_567, 2_500_000_000, 12.345];
    expect(quotas.map((quota) => formatCharge(quota, points))).toEqual(
      "0 173 9999 177.4k 1.2M 2.5B 12.3".split(" "),
    );
  });

  it("shortens counts with K, M and B", () => {
    expect([999, 1_234, 2_500_000, 3_000_000_000].map(shortCount)).toEqual(["999", "1.2K", "2.5M", "3.0B"]);
    expect([999_949, 999_950, 999_999_999].map(shortCount)).toEqual(["999.9K", "1.0M", "1.0B"]);
    expect(formatCount(1_234_567)).toBe("1,234,567");
  });

  it("tells short times in milliseconds, so that none is told as nothing", () => {
    expect([820, 100, 99.6, 4, 0.2].map(formatMs)).toEqual([
      "0.82 秒",
      "0.10 秒",
      "0.10 秒",
      "4 毫秒",
      "1 毫秒",
    ]);
    expect(formatMs(0)).toBe("");
  });

  it("never shows the middle of a key", () => {
    expect(maskKey("abcd".repeat(12))).toBe("sk-abcd••••••abcd");
    expect(maskKey("short")).toBe("sk-••••");
  });
});
