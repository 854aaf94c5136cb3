// What a price counts: the operator's word, else what is built in, else what a name tells.
import { expect, test } from "vitest";
import { unitOf } from "./charged-unit.ts";

test.each([
  ["gpt-4o", "token"],
  ["dall-e-3", "image"],
  ["tts-1", "character"],
  ["whisper-1", "minute"],
  ["sora-2", "second"],
  ["sora-2@1080p", "second"],
  ["veo-3.1-generate-preview", "second"],
  ["kling-v2-master", "second"],
  ["viduq2", "second"],
  ["MiniMax-Hailuo-02", "second"],
  ["wan2.5-t2v-preview@1080p", "second"],
  ["wan2.6-t2i", "token"],
  ["doubao-seedance-1-0-pro", "token"],
  ["constructor", "token"],
  ["__proto__", "token"],
])("of %s: %s", (model, unit) => {
  expect(unitOf(model, {})).toBe(unit);
  expect(unitOf(model, { [model]: "call" })).toBe("call");
});
