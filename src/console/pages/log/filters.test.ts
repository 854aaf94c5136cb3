import { describe, expect, it } from "vitest";
import { filterParams, isFiltered, logQuery, NO_FILTERS, readFilters } from "./filters.ts";

describe("log filters", () => {
  it("survive the way through the URL", () => {
    const filters = {
      ...NO_FILTERS,
      type: 2,
      token_name: "a b",
      tag: "prod",
      start: 100,
      end: 200,
      channel: 7,
      username: "u",
    };
    const params = new URLSearchParams(
      Object.entries(filterParams(filters)).filter(([, value]) => value !== ""),
    );
    expect(readFilters(params)).toEqual(filters);
  });

  it("count garbage as not filtered", () => {
    expect(readFilters(new URLSearchParams("type=x&start=-5&end=1e99&channel=1.5"))).toEqual(NO_FILTERS);
  });

  it("are none until one is set", () => {
    expect(isFiltered(NO_FILTERS)).toBe(false);
    expect(isFiltered({ ...NO_FILTERS, model_name: " " })).toBe(false);
    expect(isFiltered({ ...NO_FILTERS, type: 2 })).toBe(true);
  });

  it("ask from epoch 0 to at least one hour ahead by default (requirements B9)", () => {
    const now = 1_700_000_123;
    const { start_timestamp, end_timestamp } = logQuery(NO_FILTERS, now);
    expect(start_timestamp).toBe(0);
    expect(end_timestamp - now).toBeGreaterThanOrEqual(3_600);
    expect(end_timestamp).toBe(logQuery(NO_FILTERS, now + 60).end_timestamp);
  });
});
