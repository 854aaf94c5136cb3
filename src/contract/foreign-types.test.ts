import { expect, test } from "vitest";
import { newApiType, typeName } from "./foreign-types.ts";

test.each([
  [1, "OpenAI"],
  [38, "DeepL"],
  [99, "未知类型 99"],
  // With New API this number is Suno's, with One API DeepSeek's.
  [newApiType(36), "Suno"],
  [36, "DeepSeek"],
  [newApiType(58), "New API 类型 58"],
])("type %i is called %s", (type, name) => {
  expect(typeName(type)).toBe(name);
});
