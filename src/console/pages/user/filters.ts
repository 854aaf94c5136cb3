// How the list of users is filtered, and saved as a file.
import type { CsvColumn } from "#console/base/export.ts";
import { formatTime } from "#console/base/format.ts";
import { roleLabel } from "#console/base/session.ts";
import type { FilterField } from "#console/ui/list-filters.tsx";
import { statusFilter } from "#console/ui/status-filter.ts";
import { Role, type User, UserStatus } from "#contract/user.ts";

const STATES = [
  { value: String(UserStatus.enabled), label: "已激活" },
  { value: String(UserStatus.disabled), label: "已封禁" },
];

export const USER_FILTERS: readonly FilterField[] = [
  statusFilter(STATES),
  {
    kind: "choice",
    name: "role",
    label: "选择角色",
    chip: "角色",
    options: [
      { value: "", label: "全部角色" },
      ...[Role.user, Role.admin, Role.root].map((role) => ({ value: String(role), label: roleLabel(role) })),
    ],
    width: 126,
    isNumber: true,
  },
  { kind: "range" },
  { kind: "text", name: "group", label: "分组名称", chip: "分组" },
];

/** Amounts are in quota units, so that sums are exact. */
export const USER_FILE: readonly CsvColumn<User>[] = [
  ["ID", (user) => user.id],
  ["用户名", (user) => user.username],
  ["显示名称", (user) => user.display_name],
  ["邮箱", (user) => user.email],
  ["分组", (user) => user.group],
  ["用户角色", (user) => roleLabel(user.role)],
  ["状态", (user) => STATES.find(({ value }) => value === String(user.status))?.label ?? "未知"],
  ["剩余额度（点）", (user) => user.quota],
  ["已用额度（点）", (user) => user.used_quota],
  ["请求次数", (user) => user.request_count],
  ["返现余额（元）", (user) => user.invite_commission_balance],
  ["邀请人 ID", (user) => user.inviter_id],
  ["注册时间", (user) => (user.created_at === 0 ? "" : formatTime(user.created_at))],
];
