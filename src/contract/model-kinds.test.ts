// What names of models tell to people who look for one.
import { expect, test } from "vitest";
import { abilityOf, makerOf } from "./model-kinds.ts";
import { providerModels } from "./provider-models.ts";

test.each([
  ["gpt-5", "chat"],
  ["dall-e-3", "image"],
  ["gpt-image-2", "image"],
  ["gemini-3.1-flash-image-preview", "image"],
  ["qwen/qwen3-embedding", "embedding"],
  ["BAAI/bge-m3", "embedding"],
  ["BAAI/bge-reranker-v2-m3", "rerank"],
  ["tts-1-hd", "speech"],
  ["gpt-4o-mini-tts", "speech"],
  ["whisper-1", "transcription"],
  ["gpt-4o-transcribe", "transcription"],
  ["gpt-realtime", "realtime"],
  ["omni-moderation-latest", "moderation"],
  ["somebody/unheard-of", "chat"],
])("%s is for %s", (model, ability) => {
  expect(abilityOf(model)).toBe(ability);
});

test.each([
  ["gpt-5", "OpenAI"],
  ["openai/gpt-oss-20b", "OpenAI"],
  ["global.anthropic.claude-opus-5", "Anthropic"],
  ["text-embedding-3-large", "OpenAI"],
  ["text-embedding-v4", "阿里云"],
  ["@cf/meta/llama-4-scout-17b-16e-instruct", "Meta"],
  ["deepseek-ai/DeepSeek-V4-Pro", "DeepSeek"],
  ["Pro/zai-org/GLM-5.1", "智谱"],
  ["constructor", "其他"],
])("%s is made by %s", (model, maker) => {
  expect(makerOf(model)).toBe(maker);
});

test("nearly all models that channels offer by default have a maker", () => {
  const names = [...new Set(Object.values(providerModels).flat())];
  const unknown = names.filter((name) => makerOf(name) === "其他");
  expect(names.length).toBeGreaterThan(300);
  expect(unknown.length, unknown.join(" ")).toBeLessThan(names.length * 0.04);
});
