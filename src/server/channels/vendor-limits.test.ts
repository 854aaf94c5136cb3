// What vendors say of their limits (requirements C39).
import { describe, expect, test } from "vitest";
import { toldIn, VendorLimits } from "./vendor-limits.ts";

const NOW = Date.UTC(2026, 10, 28, 12);
const openai = (part: string, limit: string, remaining: string, reset: string) => ({
  [`x-ratelimit-limit-${part}`]: limit,
  [`x-ratelimit-remaining-${part}`]: remaining,
  [`x-ratelimit-reset-${part}`]: reset,
});

describe("the headers of an answer", () => {
  test.each([
    ["6m0s", 360_000],
    ["1m30.5s", 90_500],
    ["120ms", 120],
    ["7.66s", 7_660],
    ["10", 10_000],
  ])("a reset after %s", (reset, resetMs) => {
    expect(toldIn(openai("requests", "500", "499", reset), NOW)).toEqual([
      { name: "rpm", limit: 500, remaining: 499, resetMs },
    ]);
  });

  test("Anthropic's, with a moment", () => {
    const headers = {
      "anthropic-ratelimit-tokens-limit": "80000",
      "anthropic-ratelimit-tokens-remaining": "79000",
      "anthropic-ratelimit-tokens-reset": "2026-11-28T12:00:02Z",
    };
    expect(toldIn(headers, NOW)).toEqual([{ name: "tpm", limit: 80_000, remaining: 79_000, resetMs: 2_000 }]);
  });

  test.each([
    openai("requests", "500", "500", "1s"),
    openai("requests", "500", "-1", "1s"),
    openai("requests", "500", "1e3", "1s"),
    openai("requests", "500", "0", ""),
    openai("requests", "500", "0", "soon"),
    openai("requests", "500", "0", "0s"),
    openai("requests", "500", "0", "24h"),
    openai("requests", "500", "0", "1s".repeat(40)),
    { "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s" },
    { ...openai("requests", "500", "0", "1s"), "x-ratelimit-remaining-requests": ["0", "1"] },
    {
      "anthropic-ratelimit-requests-limit": "5",
      "anthropic-ratelimit-requests-remaining": "0",
      "anthropic-ratelimit-requests-reset": "2026-11-28T11:59:59Z",
    },
    {},
  ])("%j tell nothing", (headers) => {
    expect(toldIn(headers, NOW)).toEqual([]);
  });
});

describe("what is left of a limit", () => {
  test("is what the vendor told, less what was called since, and comes back evenly", () => {
    const limits = new VendorLimits();
    // A minute's worth of 60, of which two are left: one comes back in each second.
    limits.tell(1, { limit: 60, remaining: 2, resetMs: 58_000 }, NOW);
    expect(limits.take(1, 1, NOW)).toBeUndefined();
    expect(limits.take(1, 1, NOW)).toBeUndefined();
    expect(limits.take(1, 1, NOW)).toBe(NOW + 1_000);
    expect(limits.take(1, 1, NOW + 999)).toBe(NOW + 1_000);
    expect(limits.take(1, 1, NOW + 1_000)).toBeUndefined();
    expect(limits.take(1, 10, NOW + 1_000)).toBe(NOW + 11_000);
    // Another limit is another's.
    expect(limits.take(2, 1_000, NOW)).toBeUndefined();
  });

  test("nothing is known of it any more once all of it is there again; more than all of it waits no longer than that", () => {
    const limits = new VendorLimits();
    limits.tell(1, { limit: 60, remaining: 0, resetMs: 60_000 }, NOW);
    expect(limits.take(1, 500, NOW)).toBe(NOW + 60_000);
    expect(limits.take(1, 500, NOW + 60_000)).toBeUndefined();
  });

  test("a call that was not sent gives back what it took, and a newer word takes the place of the old one", () => {
    const limits = new VendorLimits();
    limits.tell(1, { limit: 60, remaining: 1, resetMs: 59_000 }, NOW);
    expect(limits.take(1, 1, NOW)).toBeUndefined();
    limits.undo(1, 1);
    expect(limits.take(1, 1, NOW)).toBeUndefined();
    expect(limits.take(1, 1, NOW)).toBe(NOW + 1_000);
    limits.tell(1, { limit: 60, remaining: 30, resetMs: 30_000 }, NOW);
    expect(limits.take(1, 30, NOW)).toBeUndefined();
  });
});
