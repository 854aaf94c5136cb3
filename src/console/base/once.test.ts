import { expect, it } from "vitest";
import { actKeys } from "./once.ts";

it("the same sent again is the same act, anything else another one", () => {
  const keyOf = actKeys();
  const first = keyOf({ name: "a", count: 2 });
  expect(first).toMatch(/^[0-9a-f]{32}$/);
  expect(keyOf({ name: "a", count: 2 })).toBe(first);
  expect(keyOf({ name: "a", count: 3 })).not.toBe(first);
  expect(actKeys()({ name: "a", count: 2 })).not.toBe(first);
});
