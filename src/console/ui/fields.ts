// Turns fields of the contract into rules of antd forms: validation is written once (design 4.10).
import type { FormRule } from "antd";
import type { z } from "zod";

/** A rule that asks the field's own schema; the value is the decoded one (an array for CSV). */
export function rule(schema: z.ZodType): FormRule {
  return {
    validator: async (_field, value: unknown) => {
      const result = schema.safeEncode(value);
      if (!result.success) throw new Error(result.error.issues[0]?.message ?? "格式错误");
    },
  };
}

/** Marks the label as required without a second message: the schema's rule says what is missing. */
export const required = { required: true, validator: () => Promise.resolve() } satisfies FormRule;
