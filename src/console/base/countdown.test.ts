import { describe, expect, it } from "vitest";
import { waitAfter } from "./countdown.ts";

describe("countdown", () => {
  it("waits 30 seconds the first time and 300 from then on (requirements B4)", () => {
    expect([1, 2, 3].map(waitAfter)).toEqual([30, 300, 300]);
  });
});
