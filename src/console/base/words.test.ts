import { describe, expect, it } from "vitest";
import { z } from "zod";
import { sentenceOf } from "./words.ts";

function said(schema: z.ZodType, value: unknown): string | undefined {
  return schema.safeParse(value, { error: sentenceOf }).error?.issues[0]?.message;
}

describe("what a field says of a value out of bounds", () => {
  it.each([
    [z.int(), 10 ** 17, "不能大于 9,007,199,254,740,991"],
    [z.int().min(0), -1, "不能小于 0"],
    [z.number().gt(0), 0, "须大于 0"],
    [z.string().max(20), "x".repeat(21), "最多 20 个字符"],
    [z.string().min(8), "x", "至少 8 个字符"],
    [z.array(z.string()).max(2), ["a", "b", "c"], "最多 2 项"],
  ])("%#", (schema, value, words) => {
    expect(said(schema, value)).toBe(words);
  });

  it("leaves a schema's own words, and the rest to zod's in Chinese", () => {
    expect(said(z.int().max(3, "最多三次"), 4)).toBe("最多三次");
    expect(said(z.email(), "x")).toBe("无效电子邮件");
  });
});
