// A trail is read back as it was kept, and text that holds none stays as it is.
import { describe, expect, test } from "vitest";
import { splitTrail, withTrail } from "./log-trail.ts";

const TEXT = "模型倍率 1，分组倍率 2";

describe("the trail of a call", () => {
  test("is read back, and what was written behind it stays in the text", () => {
    const trail = [
      { channelId: 3, error: "upstream_500" },
      { channelId: 12, error: "do_request_failed" },
    ];
    const kept = withTrail(TEXT, trail);
    expect(splitTrail(kept)).toEqual({ content: TEXT, trail });
    expect(splitTrail(`${kept}（余额不足，少收 5）`)).toEqual({
      content: `${TEXT}（余额不足，少收 5）`,
      trail,
    });
  });

  test("costs nothing where nothing failed", () => {
    expect(withTrail(TEXT, [])).toBe(TEXT);
    expect(splitTrail(TEXT)).toEqual({ content: TEXT, trail: [] });
  });

  test("holds names of errors and nothing else", () => {
    const kept = withTrail(TEXT, [{ channelId: 3, error: "Hello,\u001f 世界:9" }]);
    expect(splitTrail(kept).trail).toEqual([{ channelId: 3, error: "ello9" }]);
    expect(splitTrail(withTrail(TEXT, [{ channelId: 3, error: "世界" }])).trail).toEqual([
      { channelId: 3, error: "error" },
    ]);
  });

  test.each(["\u001f", "\u001fx\u001f", "\u001f3:\u001f", "a\u001f3:upstream_500"])(
    "text with marks of another meaning stays: %j",
    (text) => {
      expect(splitTrail(text)).toEqual({ content: text, trail: [] });
    },
  );
});
