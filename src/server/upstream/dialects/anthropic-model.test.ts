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
    ["claude-sonnet-4-6", 128_000, "either"],
    ["claude-haiku-5-5", 128_000, "word"],
    ["claude-instant-1.2", 4096, "none"],
  ])("%s may write %i tokens", (model, maxOutput, thinking) => {
    expect(traitsOf(model)).toMatchObject({ maxOutput, thinking });
  });

  // Source: platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting and the pages of the models, 2026-11.
  it.each([
    ["claude-opus-4-8", "disabled", false, true],
    ["claude-fable-5", "never", true, true],
    ["claude-mythos-5-1", "never", true, false],
    ["claude-fable-5-2", "never", true, false],
    ["claude-opus-5", "disabled", true, true],
    ["global.anthropic.claude-opus-5-5", "never", true, false],
    ["anthropic/claude-opus-5.5", "never", true, false],
    ["claude-sonnet-5", "disabled", true, true],
    ["claude-sonnet-5-5", "between_tools", true, false],
    ["claude-haiku-5-5", "disabled", true, true],
    // Unknown versions are treated as the newest of the family.
    ["claude-opus-6", "never", true, false],
    ["claude-sonnet-6-20270101", "between_tools", true, false],
    ["glm-4.7", "disabled", false, true],
  ])("%s: thinking is switched off by %s, thinks by default: %s, accepts forced calls: %s", (...row) => {
    const [model, off, thinksUnasked, forcesTools] = row;
    expect(traitsOf(model)).toMatchObject({ off, thinksUnasked, forcesTools });
  });
});
