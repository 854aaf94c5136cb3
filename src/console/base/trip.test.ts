// What comes back from a login at another site: the location and the drafts that were stored, once, and no garbage (requirements H04, H07).
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

const store = new Map<string, string>();
const assign = vi.fn();

/** The page as the browser loads it again. */
async function load() {
  vi.resetModules();
  return import("./trip.ts");
}

beforeEach(() => {
  store.clear();
  vi.stubGlobal("sessionStorage", {
    getItem: (key: string) => store.get(key) ?? null,
    setItem: (key: string, text: string) => store.set(key, text),
    removeItem: (key: string) => store.delete(key),
  });
  vi.stubGlobal("window", { location: { assign } });
});
afterEach(() => vi.unstubAllGlobals());

describe("a trip to another site", () => {
  it("brings location and drafts back once, and leaves nothing behind", async () => {
    const before = await load();
    before.drafts.set("2 /token/add name", { name: "太迟" });
    before.leaveFor("https://github.example", { pathname: "/token/add", search: "?a=1", hash: "" });
    expect(assign).toHaveBeenCalledWith("https://github.example");
    const after = await load();
    expect(store.size).toBe(0);
    expect([...after.drafts]).toEqual([["2 /token/add name", { name: "太迟" }]]);
    expect(after.takeOrigin()).toBe("/token/add?a=1");
    expect(after.takeOrigin()).toBeUndefined();
  });

  it.each([
    "{",
    "7",
    '{"drafts":{"a":1}}',
    '{"from":{"pathname":"//evil.example","search":"","hash":""},"drafts":{}}',
  ])("brings nothing out of %s", async (text) => {
    store.set("trip", text);
    const { drafts, takeOrigin } = await load();
    expect(drafts.size).toBe(0);
    expect(takeOrigin()).toBeUndefined();
  });
});
