// What a channel is paid for, where its price is not a multiple of its models' prices: prices of its own by model, a currency, a rate.
import { z } from "zod";
import { isJson } from "./wire.ts";

/** What a channel costs as a multiple of its models' prices. */
export const CostRatio = z.number().min(0, "成本倍率不能为负数").max(1_000, "成本倍率过大");

const Money = z.string().regex(/^\d{1,9}(\.\d{1,9})?$/, "价格须为最多九位小数的非负金额");

/** Of a million LLM tokens or characters, a picture, or a minute of sound. */
const CostPrice = z
  .strictObject({
    input: Money,
    output: Money.default("0"),
    /** Absent = as plain input. */
    cache_read: Money.optional(),
    cache_write: Money.optional(),
  })
  .refine(
    ({ input, output }) => Number(input) > 0 || Number(output) === 0,
    "输入的成本为 0 时，输出也须为 0",
  );
export type CostPrice = z.output<typeof CostPrice>;

export const CostSheet = z.strictObject({
  currency: z.enum(["USD", "CNY"]).default("USD"),
  /** Yuan that a dollar cost on `rate_day`; needed with CNY. */
  rate: z
    .string()
    .regex(/^[1-9]\d{0,3}(\.\d{1,6})?$/, "汇率须为正数，如 7.1")
    .optional(),
  rate_day: z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}$/, "汇率日期须形如 2026-12-31")
    .optional(),
  /** Model as the upstream is asked for it → its price; others cost the list price times the channel's ratio. */
  models: z.record(z.string().min(1).max(200), CostPrice).default({}),
});
export type CostSheet = z.output<typeof CostSheet>;

/** Reads the text of a sheet; undefined = it is none. */
export function readCostSheet(text: string): CostSheet | undefined {
  return isJson(text) ? CostSheet.safeParse(JSON.parse(text)).data : undefined;
}

/** Why a text is no sheet; undefined = it is one, or empty. */
function faultOf(text: string): string | undefined {
  if (text === "") return undefined;
  if (!isJson(text)) return "成本价目不是合法的 JSON";
  const { error, data } = CostSheet.safeParse(JSON.parse(text));
  if (error !== undefined) {
    const [issue] = error.issues;
    const at = issue?.path.join(" → ") ?? "";
    return `成本价目有误${at === "" ? "" : `（${at}）`}：${issue?.message ?? ""}`;
  }
  return data.currency === "CNY" && data.rate === undefined ? "成本以人民币计时须填写汇率 rate" : undefined;
}

/** JSON text of a sheet; "" = none. */
export const CostSheetText = z
  .string()
  .trim()
  .max(100_000, "成本价目最多 100,000 个字符")
  .check(({ value, issues }) => {
    const message = faultOf(value);
    if (message !== undefined) issues.push({ code: "custom", input: value, message });
  });
