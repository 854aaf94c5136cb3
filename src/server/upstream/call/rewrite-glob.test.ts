// Patterns in the conditions of rules: what they are like, and that no text makes one take long.
import { describe, expect, it } from "vitest";
import { globOf } from "./rewrite-glob.ts";

/** The longest texts of two letters. */
const LONGEST = 5;

/** All texts of some letters up to a length. */
function textsOf(letters: string, longest: number): string[] {
  if (longest === 0) return [""];
  const shorter = textsOf(letters, longest - 1);
  return [...new Set([...shorter, ...shorter.flatMap((text) => [...letters].map((one) => text + one))])];
}

describe("patterns of rules", () => {
  it.each([
    ["gpt-*-mini", "gpt-4o-mini", true],
    ["gpt-*-mini", "gpt-mini", false],
    ["gpt-*-mini", "gpt-4o-mini-tts", false],
    ["*", "", true],
    ["a", "ab", false],
    ["a.c", "abc", false],
    ["*two\nlines*", "these are two\nlines here", true],
    ["*a*", "ö\n", false],
  ])("%j is like %j: %s", (pattern, text, isLike) => {
    expect(globOf(pattern)(text)).toBe(isLike);
  });

  it("says of every short text what a regular expression would", () => {
    const texts = textsOf("ab", LONGEST);
    for (const pattern of textsOf("ab*", LONGEST)) {
      const regex = new RegExp(`^${pattern.replaceAll("*", ".*")}$`);
      const isLike = globOf(pattern);
      const odd = texts.filter((text) => isLike(text) !== regex.test(text));
      expect([pattern, odd]).toEqual([pattern, []]);
    }
  });

  it("comes to an end on a text that begins like the pattern everywhere", () => {
    const text = "a".repeat(1_000_000);
    expect(globOf(`${"*a".repeat(90)}*b`)(text)).toBe(false);
    expect(globOf("*a*ab*")(text)).toBe(false);
    expect(globOf(`${"*a".repeat(90)}*`)(text)).toBe(true);
  });
});
