import { expect, test } from "vitest";
import { Recent } from "./plan.ts";

test("what is used stays, and no more than twice the half is kept, however many come", () => {
  const recent = new Recent<number, { readonly at: number }>(10);
  const used = { at: -1 };
  recent.set(-1, used);
  for (let at = 0; at < 1_000; at += 1) {
    recent.set(at, { at });
    expect(recent.get(-1)).toBe(used);
    expect(recent.size).toBeLessThanOrEqual(20);
    // The last ones of the half are always there.
    for (let back = Math.max(0, at - 5); back <= at; back += 1)
      expect(recent.get(back)).toEqual({ at: back });
  }
  expect(recent.get(0)).toBeUndefined();
});

test("a name that comes again has its last value, and drops nothing", () => {
  const recent = new Recent<string, { readonly value: number }>(1);
  for (const value of [1, 2, 3]) recent.set("a", { value });
  expect([recent.get("a"), recent.size]).toEqual([{ value: 3 }, 1]);
});
