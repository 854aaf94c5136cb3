// How lists of tokens are filtered, and saved as a file: without the keys.
import type { CsvColumn } from "#console/base/export.ts";
import { formatTime } from "#console/base/format.ts";
import type { FilterField } from "#console/ui/list-filters.tsx";
import { statusFilter } from "#console/ui/status-filter.ts";
import { type Token, TokenStatus } from "#contract/token.ts";

export const TOKEN_STATES: Readonly<Record<number, string>> = {
  [TokenStatus.enabled]: "已启用",
  [TokenStatus.disabled]: "已禁用",
  [TokenStatus.expired]: "已过期",
  [TokenStatus.exhausted]: "已耗尽",
};

export const TOKEN_FILTERS: readonly FilterField[] = [
  statusFilter(Object.entries(TOKEN_STATES).map(([value, label]) => ({ value, label }))),
  { kind: "range" },
  { kind: "text", name: "tag", label: "标签", chip: "标签" },
];

/** Amounts are in quota units, so that sums are exact. */
export const TOKEN_FILE: readonly CsvColumn<Token>[] = [
  ["ID", (token) => token.id],
  ["名称", (token) => token.name],
  ["持有人", (token) => token.holder],
  ["状态", (token) => TOKEN_STATES[token.status] ?? "未知"],
  ["密钥", (token) => token.key_hint],
  ["已用额度（点）", (token) => token.used_quota],
  ["剩余额度（点）", (token) => (token.unlimited_quota ? "无限" : token.remain_quota)],
  ["分组", (token) => token.groups.join(",")],
  ["模型范围", (token) => token.models],
  ["IP 限制", (token) => token.subnet],
  ["标签", (token) => token.tags],
  ["创建时间", (token) => formatTime(token.created_time)],
  ["最近使用", (token) => formatTime(token.accessed_time)],
  ["过期时间", (token) => (token.expired_time === -1 ? "永不过期" : formatTime(token.expired_time))],
];
