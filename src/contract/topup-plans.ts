// The plans that are for sale (requirements B9, Y03): dollars of quota and their price in yuan, as an option.
import { z } from "zod";
import { minorOf } from "./money.ts";

export const TopUpPlan = z.object({
  /** Dollars of quota. */
  dollars: z.int().min(1, "金额须为不小于 1 的整数").max(1_000_000, "金额过大"),
  /** Price in yuan as decimal text. */
  yuan: z.string().refine((text) => (minorOf(text) ?? 0) > 0, "价格须为大于 0、最多两位小数的数字"),
});
export type TopUpPlan = z.output<typeof TopUpPlan>;

const Plans = z.array(TopUpPlan).max(20, "最多 20 个套餐");

export const DEFAULT_PLANS =
  '[{"dollars":10,"yuan":"6"},{"dollars":50,"yuan":"30"},{"dollars":120,"yuan":"60"},{"dollars":500,"yuan":"250"},{"dollars":1000,"yuan":"500"}]';

function read(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** JSON text ⇄ the plans; each amount once. */
export const TopUpPlans = z.codec(
  z.string().check(({ value, issues }) => {
    const plans = Plans.safeParse(read(value), {
      error: () => '充值套餐须为 [{"dollars":10,"yuan":"6"}] 形式的 JSON',
    });
    const amounts = plans.data?.map(({ dollars }) => dollars) ?? [];
    const message = plans.success
      ? new Set(amounts).size === amounts.length
        ? undefined
        : "同一金额的套餐不能出现两次"
      : plans.error.issues[0]?.message;
    if (message !== undefined) issues.push({ code: "custom", input: value, message });
  }),
  z.custom<readonly TopUpPlan[]>(),
  {
    decode: (text) => Plans.parse(read(text)),
    encode: (plans) => JSON.stringify(plans),
  },
);
