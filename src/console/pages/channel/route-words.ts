// The route explainer in words: why a channel, or one of its keys, is in or out now. Pure.
import { formatCount, formatTime } from "#console/base/format.ts";
import { offReason } from "#console/ui/failure-words.ts";
import type { Tone } from "#console/ui/status-tag.tsx";
import { CHANNEL_LIMIT_LABELS } from "#contract/channel-limits.ts";
import type { KeyVerdict, RouteChannel, RouteKey, RouteLimit, RouteVerdict } from "#contract/route.ts";

const RESTS = { "": "", circuit: "连续失败后暂停", proxy: "出站代理暂停中", keys: "所有密钥暂停中" } as const;

const KEY_RESTS = {
  "": "",
  refused: "上游拒绝此密钥后暂停",
  forbidden: "上游拒绝此密钥使用该模型后暂停",
  model_absent: "上游说此密钥没有该模型，暂停",
  saturated: "上游限流后暂停",
  proxy: "它自己的出站代理失败后暂停",
} as const;

const REASONS: Readonly<Partial<Record<RouteVerdict, string>>> = {
  next: "参与选择",
  priority_lower: "优先级更高的渠道都不可用时才用",
  weight_zero: "同级有权重的渠道都失败时才用",
  format_other: "同级有与客户端格式相同的渠道，它要转换格式",
  dearer: "同级有更便宜的渠道",
  slower: "同级有更快的渠道",
  endpoint_absent: "这个类型的渠道没有此接口，或地址、密钥配置有误",
  price_missing: "模型在这个渠道没有价格",
  below_cost: "上游成本高于售价，而运营设置拒绝低于成本的调用",
  keys_none: "没有可用于此模型的密钥",
  group: "渠道的分组里没有它",
  model: "渠道的模型和重定向里没有它",
  rule: "按条件路由的规则排除了它",
};

function whenText(until: number): string {
  return until === 0 ? "" : `，${formatTime(until)} 后再试`;
}

/** Disabled by whom, when, and why. */
function offText(isByItself: boolean, { reason, since }: { reason: string; since: number }): string {
  const when = since === 0 ? "" : `${formatTime(since)} `;
  const who = isByItself ? `${when}出错后自动停用，测试通过或手动启用后恢复` : `${when}管理员已停用`;
  return reason === "" ? who : `${who}：${offReason(reason)}`;
}

/** Why a channel is in or out, in a sentence. */
export function channelReason(channel: RouteChannel): string {
  const { verdict, limit, limit_of, rests, until } = channel;
  if (verdict === "limited" && limit !== "") {
    const label = CHANNEL_LIMIT_LABELS[limit];
    return limit_of === "key" ? `所有密钥的${label}已满${whenText(until)}` : `${label}已满${whenText(until)}`;
  }
  if (verdict === "resting") return `${RESTS[rests]}${whenText(until)}`;
  if (verdict === "disabled" || verdict === "auto_disabled")
    return offText(verdict === "auto_disabled", channel);
  return REASONS[verdict] ?? "";
}

export function channelTone({ verdict }: Pick<RouteChannel, "verdict">): Tone {
  if (verdict === "next") return "good";
  if (verdict === "limited" || verdict === "resting" || verdict === "below_cost") return "warn";
  return verdict === "auto_disabled" || verdict === "keys_none" ? "bad" : "idle";
}

export const KEY_LABELS: Readonly<Record<KeyVerdict, string>> = {
  next: "可选",
  later: "排在后面",
  weight_zero: "权重为 0",
  limited: "达到限额",
  resting: "暂停中",
  model: "没有此模型",
  auto_disabled: "自动禁用",
  disabled: "已禁用",
};

export function keyTone(verdict: KeyVerdict): Tone {
  if (verdict === "next") return "good";
  if (verdict === "limited" || verdict === "resting") return "warn";
  return verdict === "auto_disabled" ? "bad" : "idle";
}

/** Why a key is in or out, in a sentence. */
export function keyReason(key: RouteKey): string {
  const { verdict, limit, rests, until } = key;
  switch (verdict) {
    case "next":
      return rests === "" ? "参与选择" : `所有密钥都在暂停，它最先恢复${whenText(until)}`;
    case "later":
      return "排在前面的密钥都不可用时才用";
    case "weight_zero":
      return "有权重的密钥都不可用时才用";
    case "limited":
      return limit === "" ? "" : `${CHANNEL_LIMIT_LABELS[limit]}已满${whenText(until)}`;
    case "resting":
      return `${KEY_RESTS[rests]}${whenText(until)}`;
    case "model":
      return "密钥的模型范围里没有它";
    default:
      return offText(verdict === "auto_disabled", key);
  }
}

/** Limits with what is left of each; "" = there are none. `money` writes quota. */
export function limitsText(limits: readonly RouteLimit[], money: (quota: number) => string): string {
  return limits
    .map(({ name, amount, left }) => {
      const write = name === "day_quota" ? money : formatCount;
      return `${CHANNEL_LIMIT_LABELS[name]} ${write(amount)}（剩 ${write(left)}）`;
    })
    .join("，");
}

/** A share in per cent; "" = never. */
export function oddsText(odds: number): string {
  if (odds === 0) return "";
  const percent = Math.round(odds * 1_000) / 10;
  return percent === 0 ? "<0.1%" : `${percent}%`;
}
