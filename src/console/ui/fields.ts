// Turns fields of the contract into rules of antd forms: validation is written once.
import type { FormRule } from "antd";
import type { z } from "zod";

/** A rule that asks the field's own schema; the value is the decoded one (an array for CSV). */
export function rule(schema: z.ZodType): FormRule {
  return {
    validator: async (_field, value: unknown) => {
      const result = schema.safeEncode(value);
      if (!result.success) throw new Error(wordsOf(result.error.issues[0], value));
    },
  };
}

/** The schema's own words, but nothing about types: an emptied number field holds no number. */
export function wordsOf(issue: z.core.$ZodIssue | undefined, value: unknown): string {
  if (value === null || value === undefined) return "请填写此项";
  if (issue === undefined || issue.code === "invalid_type") return "格式错误";
  return issue.message;
}

/** Accepts the value that is there already: imported names may be longer or odd, debts are below zero. */
export function unlessKept(kept: unknown, changed: FormRule): FormRule {
  if (typeof changed !== "object" || changed.validator === undefined) return changed;
  const { validator } = changed;
  return {
    validator: (field, value, callback) =>
      value === kept ? Promise.resolve() : validator(field, value, callback),
  };
}

/** Shows the label as required without a second message: the schema's rule says what is missing. */
export const required = { required: true, validator: () => Promise.resolve() } satisfies FormRule;

/** Asks for a value where no schema says what it must be. */
export const filled = {
  required: true,
  validator: async (_field: unknown, value: unknown) => {
    const isEmpty = typeof value === "string" || Array.isArray(value) ? value.length === 0 : value == null;
    if (isEmpty) throw new Error("请填写此项");
  },
} satisfies FormRule;
