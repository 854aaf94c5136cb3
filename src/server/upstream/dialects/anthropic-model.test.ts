import { describe, expect, it } from "vitest";
import { traitsOf } from "./anthropic-model.ts";

describe("models", () => {
  it.each([
    ["claude-3-opus-20240229", 4096, "none"],
    ["claude-3-5-sonnet-v2@20241022", 8192, "none"],
    ["claude-3-7-sonnet-20250219", 64_000, "budget"],
    ["claude-opus-4-20250514", 32_000, "budget"],
    ["anthropic/claude-sonnet-4.5", 64_000, "budget"],
    ["anthropic.claude-opus-4-6-v1", 128_000, "either"],
    ["claude-fable-5", 128_000, "word"],
    ["claude-instant-1.2", 4096, "none"],
  ])("%s may write %i tokens", (model, maxOutput, thinking) => {
    expect(traitsOf(model)).toMatchObject({ maxOutput, thinking });
  });
});
