import { beforeEach, describe, expect, it, vi } from "vitest";
import { isSeen, markSeen, readStored, removeStored, writeStored } from "./storage.ts";

/** A local storage in memory. */
function memory(): Storage {
  const items = new Map<string, string>();
  return {
    get length() {
      return items.size;
    },
    clear: () => items.clear(),
    getItem: (key) => items.get(key) ?? null,
    key: (index) => [...items.keys()][index] ?? null,
    removeItem: (key) => void items.delete(key),
    setItem: (key, value) => void items.set(key, value),
  };
}

beforeEach(() => {
  vi.stubGlobal("localStorage", memory());
});

describe("storage", () => {
  it("reads back what was written, in the family's plain forms", () => {
    writeStored("quota_per_unit", 500_000);
    writeStored("display_in_currency", true);
    writeStored("channel_models", { "1": ["gpt-4o"] });
    expect(localStorage.getItem("quota_per_unit")).toBe("500000");
    expect(localStorage.getItem("display_in_currency")).toBe("true");
    expect(readStored("quota_per_unit")).toBe(500_000);
    expect(readStored("channel_models")).toEqual({ "1": ["gpt-4o"] });
    removeStored("quota_per_unit");
    expect(readStored("quota_per_unit")).toBeUndefined();
  });

  it.each([
    ["user", "{"],
    ["user", "null"],
    ["user", '{"id":"1","username":"x"}'],
    ["user", '"<img src=x onerror=alert(1)>"'],
    ["status", "[]"],
    ["quota_per_unit", "abc"],
    ["quota_per_unit", "-5"],
    ["display_in_currency", "yes"],
    ["theme_mode", "javascript:alert(1)"],
    ["channel_models", '{"1":"gpt-4o"}'],
    ["table_looks", '{"token":{"size":100000,"hidden":[]}}'],
  ] as const)("yields undefined for garbage in %s", (key, garbage) => {
    localStorage.setItem(key, garbage);
    expect(readStored(key)).toBeUndefined();
  });

  it("remembers dismissed prompts", () => {
    expect(isSeen("channel_balance")).toBe(false);
    markSeen("channel_balance");
    expect(isSeen("channel_balance")).toBe(true);
  });

  it("works without a storage at all", () => {
    vi.stubGlobal("localStorage", undefined);
    expect(() => writeStored("system_name", "x")).not.toThrow();
    expect(readStored("system_name")).toBeUndefined();
    expect(() => removeStored("user")).not.toThrow();
  });
});
