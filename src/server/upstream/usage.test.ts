import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findUsage, readUsage } from "./usage.ts";

const bounds = { promptTokens: 1000, completionTokens: 500 };

describe("readUsage", () => {
  it("reads OpenAI's shape with cached tokens", () => {
    const usage = {
      prompt_tokens: 9,
      completion_tokens: 3,
      total_tokens: 12,
      prompt_tokens_details: { cached_tokens: 4 },
    };
    expect(readUsage(usage, bounds)).toEqual({
      usage: { promptTokens: 9, completionTokens: 3, cachedTokens: 4 },
      isAnomalous: false,
    });
  });

  it("reads embeddings, which have no completion", () => {
    expect(readUsage({ prompt_tokens: 7, total_tokens: 7 }, bounds)?.usage.promptTokens).toBe(7);
    expect(readUsage({ total_tokens: 7 }, bounds)?.usage).toEqual({
      promptTokens: 7,
      completionTokens: 0,
      cachedTokens: 0,
    });
  });

  it("believes neither negative nor broken numbers", () => {
    for (const bad of [-1, -1e6, 1.5, "12", Number.NaN, Number.POSITIVE_INFINITY, {}, [], true]) {
      expect(readUsage({ prompt_tokens: bad, completion_tokens: 3 }, bounds)).toBeUndefined();
      expect(readUsage({ prompt_tokens: 3, completion_tokens: bad }, bounds)).toBeUndefined();
    }
    expect(readUsage({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, bounds)).toBeUndefined();
    expect(readUsage({ prompt_tokens: null, completion_tokens: null }, bounds)).toBeUndefined();
    expect(readUsage({}, bounds)).toBeUndefined();
  });

  it("clamps what the request cannot have caused, and flags it", () => {
    expect(readUsage({ prompt_tokens: 1e308, completion_tokens: 501 }, bounds)).toEqual({
      usage: { promptTokens: 1000, completionTokens: 500, cachedTokens: 0 },
      isAnomalous: true,
    });
  });

  it("never leaves the bounds", () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.constantFrom("prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens"),
          fc.anything(),
        ),
        (usage) => {
          const read = readUsage(usage, bounds, { cachedTokensIn: "cached_tokens" });
          if (read === undefined) return;
          const { promptTokens, completionTokens, cachedTokens } = read.usage;
          for (const count of [promptTokens, completionTokens, cachedTokens])
            expect(Number.isSafeInteger(count)).toBe(true);
          expect(promptTokens <= 1000 && completionTokens <= 500 && cachedTokens <= promptTokens).toBe(true);
          expect(Math.min(promptTokens, completionTokens, cachedTokens)).toBeGreaterThanOrEqual(0);
        },
      ),
    );
  });

  it("honours the quirks of a row", () => {
    expect(
      readUsage({ prompt_tokens: 1, completion_tokens: 1 }, bounds, { usageUnreliable: true }),
    ).toBeUndefined();
    const cached = readUsage({ prompt_tokens: 9, completion_tokens: 1, num_cached_tokens: 5 }, bounds, {
      cachedTokensIn: "num_cached_tokens",
    });
    expect(cached?.usage.cachedTokens).toBe(5);
    const nested = { choices: [{ usage: { prompt_tokens: 1 } }], x_groq: { usage: { prompt_tokens: 2 } } };
    expect(findUsage(nested, undefined)).toBeUndefined();
    expect(findUsage(nested, { usageIn: "choices[0].usage" })).toEqual({ prompt_tokens: 1 });
    expect(findUsage(nested, { usageIn: "x_groq.usage" })).toEqual({ prompt_tokens: 2 });
  });
});
