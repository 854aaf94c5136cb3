// A trail is read back as it was kept, and holds names of errors only.
import { describe, expect, test } from "vitest";
import { parseTrail, printTrail } from "./log-trail.ts";

describe("the trail of a call", () => {
  test("is kept as text and read back", () => {
    const trail = [
      { channelId: 3, error: "upstream_500" },
      { channelId: 12, error: "do_request_failed" },
    ];
    expect(printTrail(trail)).toBe("3:upstream_500,12:do_request_failed");
    expect(parseTrail(printTrail(trail))).toEqual(trail);
  });

  test("is nothing where nothing failed", () => {
    expect(printTrail([])).toBe("");
    expect(parseTrail("")).toEqual([]);
  });

  test("holds names of errors and nothing else", () => {
    const trail = [
      { channelId: 3, error: "Hello,\u0000 世界:9" },
      { channelId: 4, error: "世界" },
    ];
    expect(parseTrail(printTrail(trail))).toEqual([
      { channelId: 3, error: "ello9" },
      { channelId: 4, error: "error" },
    ]);
  });
});
