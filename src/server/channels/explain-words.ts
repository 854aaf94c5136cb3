// Of the verdicts of all channels: why a call would be refused, and in which order they are told. Pure.
import type { RouteChannel, RouteVerdict } from "#contract/route.ts";

const PASSED = ["weight_zero", "format_other", "dearer", "slower"] as const satisfies readonly RouteVerdict[];
const SERVES: readonly RouteVerdict[] = ["next", "left", ...PASSED, "priority_lower"];

interface Refusing {
  readonly rule: string | undefined;
  readonly isPriced: boolean;
  /** Where no channel counts tokens, the gateway does. */
  readonly isCountedHere: boolean;
}

/** Why a call is refused before or after the choice; "" = some channel serves it. */
export function refusalOf(
  channels: readonly RouteChannel[],
  { group, model }: { readonly group: string; readonly model: string },
  { rule, isPriced, isCountedHere }: Refusing,
): string {
  if (channels.length === 0) return "还没有渠道";
  const serving = channels.filter(({ verdict }) => verdict === "next");
  if (serving.length > 0) return isPriced ? "" : `模型 ${model} 没有价格，调用会被拒绝`;
  if (isCountedHere) return "没有渠道可以计数，由本服务自行计数，请求不会被拒绝";
  const has = (verdict: RouteVerdict) => channels.some((channel) => channel.verdict === verdict);
  if (rule !== undefined && has("rule") && !SERVES.some(has) && !has("limited") && !has("resting"))
    return `路由规则“${rule}”没有给模型 ${model} 留下可用的渠道`;
  if (has("limited")) return "能用的渠道都达到了限额，请求会排队或得到 429";
  if (has("resting")) return `分组 ${group} 的渠道都在暂停中，请求会转到令牌的下一个分组`;
  if (has("price_missing")) return `模型 ${model} 没有价格，调用会被拒绝`;
  if (has("below_cost")) return "能用的渠道的成本都高于售价，调用会被拒绝";
  if (has("endpoint_absent")) return "有此模型的渠道都不支持这种接口";
  if (has("disabled") || has("auto_disabled") || has("keys_none"))
    return `分组 ${group} 下有模型 ${model} 的渠道都已停用`;
  if (has("group")) return `有模型 ${model} 的渠道都不在分组 ${group}`;
  return `没有渠道提供模型 ${model}`;
}

/** Those that serve come first, then those that nearly do. */
export function byRank(a: RouteChannel, b: RouteChannel): number {
  return rank(a) - rank(b) || b.odds - a.odds || b.priority - a.priority || a.id - b.id;
}

const RANKS: readonly RouteVerdict[] = [
  "next",
  ...PASSED,
  "priority_lower",
  "limited",
  "resting",
  "below_cost",
  "price_missing",
  "endpoint_absent",
  "rule",
  "keys_none",
  "auto_disabled",
  "disabled",
  "group",
  "model",
];

function rank({ verdict }: RouteChannel): number {
  return RANKS.indexOf(verdict);
}
