// Limits in words: what is limited, over which time, and how much is left. Pure.
import { formatTime } from "#console/base/format.ts";
import { allowedNow, isRaised } from "#console/ui/limit-words.ts";
import type { Tone } from "#console/ui/status-tag.tsx";
import type { Limit } from "#contract/limit.ts";
import {
  isWindowKind,
  LIMIT_WINDOW_LABELS,
  type LimitKind,
  type LimitMode,
  type ManagedSubject,
  type WindowKind,
} from "#contract/limit-words.ts";

/** In the order in which forms offer them. */
export const KIND_LABELS: Readonly<Record<LimitKind, string>> = {
  quota: "额度",
  calls: "请求数",
  rpm: "每分钟请求数",
  tpm: "每分钟 Token 数",
  input_tpm: "每分钟输入 Token 数",
  output_tpm: "每分钟输出 Token 数",
  running: "同时进行的请求数",
  cost: "单次请求费用",
};

export const SUBJECT_LABELS: Readonly<Record<ManagedSubject, string>> = {
  user: "一个用户",
  member: "分组内每个用户",
  group: "整个分组",
  all: "全站",
};

export const MODE_LABELS: Readonly<Record<LimitMode, string>> = {
  hard: "拒绝",
  soft: "只提醒",
  clamp: "压低输出上限",
};

/** As 令牌“生产环境”. */
export function subjectText({ subject, subject_id, subject_name, subject_label }: Limit): string {
  if (subject === "token") return `令牌“${subject_label || `#${subject_id}`}”`;
  if (subject === "seat") return `团队成员“${subject_label}”`;
  if (subject === "project") return `项目“${subject_label}”`;
  if (subject === "team") return `团队“${subject_label}”`;
  if (subject === "user") return `用户“${subject_label || `#${subject_id}`}”`;
  if (subject === "group") return `分组 ${subject_name}（合计）`;
  return subject === "member" ? `分组 ${subject_name}（每人）` : "全站";
}

/** As 每日额度 or 每分钟请求数. */
export function whatText({ kind, time_window, anchor }: Limit): string {
  if (!isWindowKind(kind)) return KIND_LABELS[kind];
  const window =
    time_window === "month" && anchor > 1 ? `每月（${anchor} 日起）` : LIMIT_WINDOW_LABELS[time_window];
  return `${window} · ${KIND_LABELS[kind]}`;
}

/** How a limit that is not counted by window gets room again; — = it never fills, since each call is judged by itself. */
export function recoveryText(kind: Exclude<LimitKind, WindowKind>): string {
  if (kind === "cost") return "—";
  return kind === "running" ? "请求结束后" : "随时间恢复";
}

/** Seconds → `2026-11-29 00:00` on the clock of a zone; "" = where the browser is. */
export function minuteIn(zone: string, seconds: number): string {
  // Sweden writes times as the console does, in any language.
  const style = { dateStyle: "short", timeStyle: "short" } as const;
  const where = zone === "" ? {} : { timeZone: zone };
  return new Intl.DateTimeFormat("sv-SE", { ...style, ...where }).format(seconds * 1_000);
}

/** Share at which a warning is worth its colour. */
const NEAR = 0.8;

export interface LimitState {
  readonly label: string;
  readonly tone: Tone;
  readonly hint: string;
}

export function stateOf(limit: Limit, nowSec: number): LimitState {
  const { used, mode, is_small, boost_until, boost_reason } = limit;
  const allowed = allowedNow(limit, nowSec);
  if (is_small)
    return { label: "过低", tone: "bad", hint: "低于一次调用至少预扣的额度，多数调用都会被拒绝。" };
  if (used !== null && used !== undefined && used >= allowed)
    return mode === "soft"
      ? { label: "已超出", tone: "warn", hint: "只提醒，不拒绝调用。" }
      : { label: "已用尽", tone: "bad", hint: "新的调用会被拒绝，直到重置。" };
  if (used !== null && used !== undefined && used >= allowed * NEAR)
    return { label: "即将用尽", tone: "warn", hint: "已用 80% 以上。" };
  if (isRaised(limit, nowSec))
    return { label: "已临时提高", tone: "info", hint: `至 ${formatTime(boost_until)}：${boost_reason}` };
  return mode === "soft"
    ? { label: "只提醒", tone: "idle", hint: "超出时不拒绝调用。" }
    : { label: "生效中", tone: "good", hint: "" };
}
