// A trail is read back as it was kept, whatever an upstream said.
import { describe, expect, test } from "vitest";
import { parseAttempts, printAttempts } from "./failed-attempts.ts";

describe("the trail of a call", () => {
  test("is kept as text and read back", () => {
    const trail = [
      { channelId: 3, error: "upstream_500", said: "" },
      { channelId: 4, error: "upstream_401", said: "no credit: 0 %, 余额不足" },
      { channelId: 12, error: "do_request_failed", said: "" },
    ];
    expect(printAttempts(trail)).toBe(
      "3:upstream_500,4:upstream_401:no credit%3A 0 %25%2C 余额不足,12:do_request_failed",
    );
    expect(parseAttempts(printAttempts(trail))).toEqual(trail);
  });

  test("is nothing where nothing failed", () => {
    expect(printAttempts([])).toBe("");
    expect(parseAttempts("")).toEqual([]);
  });

  test("holds names of errors, and words that a database can store", () => {
    const trail = [
      { channelId: 3, error: "Hello,\u0000 世界:9", said: "a\u0000b \ud800" },
      { channelId: 4, error: "世界", said: "" },
    ];
    expect(parseAttempts(printAttempts(trail))).toEqual([
      { channelId: 3, error: "ello9", said: "ab \ufffd" },
      { channelId: 4, error: "error", said: "" },
    ]);
  });
});
