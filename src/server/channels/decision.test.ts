// What the log keeps of a choice, and that it is read as it was (requirements C47).
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseAttempts, parseDecision, printAttempts } from "#server/store/failed-attempts.ts";
import { KeptChoice, keptGroups, readDecision } from "./decision.ts";
import type { LiveChannel } from "./live-channel.ts";

/** As the choice sees a channel. */
function channel(id: number, priority = 0, weight = 1): LiveChannel {
  return { id, priority, weight } as LiveChannel; // Nothing else is read.
}
const manner = { group: "default", strategy: undefined, isNativeFirst: false, isSticky: false };
const none: ReadonlySet<number> = new Set();

describe("a choice", () => {
  test("is kept with what became of every candidate, and chooses as without that", () => {
    const kept = new KeptChoice();
    const candidates = [channel(3, 9), channel(7, 5), channel(8, 5, 0), channel(9), channel(11, 9)];
    const chosen = kept.choose(candidates, { tried: new Set([3]), full: new Set([11]), random: 0.5 });
    expect(chosen?.id).toBe(7);
    expect(kept.text(manner)).toBe("default/w/3t7c8z9p11f");
    expect(kept.choose(candidates, { tried: new Set([3, 7, 8, 9, 11]), random: 0.5 })).toBeUndefined();
    expect(kept.text({ ...manner, strategy: "latency", isNativeFirst: true, isSticky: true })).toBe(
      "default/lns/3t7t8t9t11t",
    );
  });

  test("names at most 32 candidates, the chosen one among them", () => {
    const kept = new KeptChoice();
    const candidates = Array.from({ length: 1_000 }, (_, index) => channel(index + 1, 1_000 - index));
    const tried = new Set(candidates.slice(0, 900).map(({ id }) => id));
    expect(kept.choose(candidates, { tried, random: 0 })?.id).toBe(901);
    const [decision] = readDecision(kept.text(manner));
    expect(decision?.candidates).toHaveLength(32);
    expect(decision?.candidates[0]).toEqual({ id: 901, verdict: "chosen" });
    expect(decision?.more).toBe(968);
  });

  test("in a group that others follow leaves those that rest, and says so", () => {
    const kept = new KeptChoice();
    const candidates = [channel(1), channel(2), channel(3)];
    const left = kept.left(candidates, (id) => id === 2);
    expect(left.map(({ id }) => id)).toEqual([1, 3]);
    kept.choose(left, { tried: none, random: 0 });
    expect(kept.text(manner)).toBe("default/w/1c3l2r");
    expect(kept.left(candidates, () => false)).toBe(candidates);
  });

  test("is read as it was kept, behind failed attempts and several groups, whatever groups are called", () => {
    const name = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 8 }), fc.array(name), (groups, words) => {
        const kept = groups
          .map((group) => {
            return new KeptChoice(5).text({ ...manner, group });
          })
          .reduce(keptGroups, "");
        const attempts = words.map((said, index) => ({ channelId: index + 1, error: "upstream_500", said }));
        const trail = printAttempts(attempts, kept);
        expect(parseDecision(trail)).toBe(kept);
        expect(parseAttempts(trail)).toHaveLength(attempts.length);
        expect(readDecision(parseDecision(trail)).map(({ group }) => group)).toEqual(
          groups.map((group) => group.toWellFormed()),
        );
      }),
    );
  });

  test("that is cut, missing or of another program is read as far as it goes", () => {
    expect(readDecision("")).toEqual([]);
    expect(readDecision("default/q/1c")).toEqual([]);
    expect(readDecision("default/w/1c2?3")[0]?.candidates).toEqual([{ id: 1, verdict: "chosen" }]);
    const long = keptGroups("a/w/1c".padEnd(3_000, "1c"), "b/w/2c");
    expect(long).toHaveLength(2_000);
    expect(readDecision(long)).toHaveLength(1);
    expect(parseDecision("3:upstream_500,4:upstream_401:No credit")).toBe("");
    expect(readDecision("a%E4%A/w/1c")[0]?.group).toBe("a%E4%A");
  });
});
