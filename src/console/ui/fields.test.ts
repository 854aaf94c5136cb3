import { describe, expect, it } from "vitest";
import { z } from "zod";
import { rule } from "./fields.ts";

/** What a field says to a value; undefined = nothing. */
async function said(schema: z.ZodType, value: unknown): Promise<string | undefined> {
  const made = rule(schema);
  if (typeof made === "function" || made.validator === undefined) throw new Error("no validator");
  try {
    await made.validator({}, value, () => undefined);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

describe("a rule of a form", () => {
  const count = z.int().min(1, "数量须在 1 到 100 之间");

  it("says what the schema says", async () => {
    expect(await said(count, 5)).toBeUndefined();
    expect(await said(count, 0)).toBe("数量须在 1 到 100 之间");
  });

  it("does not speak of types", async () => {
    expect(await said(count, null)).toBe("请填写此项");
    expect(await said(count, undefined)).toBe("请填写此项");
    expect(await said(count, "x")).toBe("格式错误");
  });
});
