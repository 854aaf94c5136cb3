// Kinds of tokens, kept as a text with the row of the log (requirements Y63).
import { expect, test } from "vitest";
import { kindsOf, kindsText } from "./token-kinds.ts";

const none = {
  cache_write: undefined,
  cache_write_hour: 0,
  audio_input: undefined,
  image_input: undefined,
  reasoning: undefined,
  audio_output: undefined,
  image_output: undefined,
};

test("those that a call had are written, and read again", () => {
  expect(kindsText(none)).toBe("");
  expect(kindsText({ ...none, reasoning: 40, cache_write: 12 })).toBe("cache_write:12 reasoning:40");
  expect(kindsOf("cache_write:12 reasoning:40")).toEqual([
    { kind: "cache_write", tokens: 12 },
    { kind: "reasoning", tokens: 40 },
  ]);
});

test("what is no kind here is left out", () => {
  expect(kindsOf("")).toEqual([]);
  expect(kindsOf("odour:3 reasoning:x audio_input:7")).toEqual([{ kind: "audio_input", tokens: 7 }]);
});
