// How plans speak. Pure.
import type { Plan } from "#contract/plan.ts";

/** Length of a period, as `30 天` or `1 个月`. */
export function lengthText({ unit, count }: Pick<Plan, "unit" | "count">): string {
  return unit === "day" ? `${count} 天` : `${count} 个月`;
}
