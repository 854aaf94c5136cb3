// The columns of the user list (glossary: ID · 用户名 · 分组 · 统计信息 · 用户角色 · 状态 · 操作).

import { formatCount, shortCount } from "#console/base/format.ts";
import { wide } from "#console/base/language.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { ClippedText } from "#console/ui/cell.tsx";
import { GroupTags } from "#console/ui/group-tags.tsx";
import type { CellProps, Column } from "#console/ui/row-view.ts";
import { StatusTag, type Tone } from "#console/ui/status-tag.tsx";
import { Tooltip } from "#console/ui/tooltip.tsx";
import { formatQuota } from "#contract/quota.ts";
import { Role, type User, UserStatus } from "#contract/user.ts";
import { cutName, groupsOf } from "./values.ts";

interface Pill {
  readonly label: string;
  readonly tone: Tone;
}

const STATUS: Readonly<Record<number, Pill>> = {
  [UserStatus.enabled]: { label: "已激活", tone: "good" },
  [UserStatus.disabled]: { label: "已封禁", tone: "idle" },
};

const ROLES: Readonly<Record<number, Pill>> = {
  [Role.user]: { label: "普通用户", tone: "idle" },
  [Role.admin]: { label: "管理员", tone: "info" },
  [Role.root]: { label: "超级管理员", tone: "warn" },
};

export function UserState({ row: user }: CellProps<User>) {
  return <StatusTag {...(STATUS[user.status] ?? { label: "未知状态", tone: "idle" })} />;
}

export function RolePill({ row: user }: CellProps<User>) {
  return <StatusTag {...(ROLES[user.role] ?? { label: "未知身份", tone: "idle" })} />;
}

/** The name cut to 15 characters; the whole name, what it is shown as and the mail address on hover. */
export function UserName({ row: user }: CellProps<User>) {
  const mail = user.email || "未绑定邮箱地址";
  const shown =
    user.display_name === "" || user.display_name === user.username ? "" : `（${user.display_name}）`;
  return (
    <Tooltip title={`${user.username}${shown} · ${mail}`}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what the tooltip says must be reachable by keyboard */}
      <span className="tg-user-cell" tabIndex={0}>
        {cutName(user.username)}
      </span>
    </Tooltip>
  );
}

/** Remaining and used quota and the number of calls, over a bar of what is left. */
function Stats({ row: user }: CellProps<User>) {
  const display = useQuotaDisplay();
  const total = Math.max(0, user.quota) + user.used_quota;
  const left = total === 0 ? 0 : Math.round((Math.max(0, user.quota) / total) * 100);
  const quota = (label: string, value: number) => {
    return { label, value: formatQuota(value, display), exact: `${label}额度 ${formatCount(value)} 点` };
  };
  const calls = user.request_count;
  const figures = [
    quota("剩余", user.quota),
    quota("已用", user.used_quota),
    { label: "请求", value: shortCount(calls), exact: `请求次数 ${formatCount(calls)}` },
  ];
  return (
    <span className="tg-user-stats">
      {figures.map(({ label, value, exact }) => (
        <Tooltip key={label} title={exact}>
          <span>
            <span>{label}</span>
            <span>{value}</span>
          </span>
        </Tooltip>
      ))}
      <span className="tg-user-bar" aria-hidden="true">
        <span style={{ width: `${left}%` }} />
      </span>
    </span>
  );
}

function Inviter({ row: { inviter_id } }: CellProps<User>) {
  return <ClippedText text={inviter_id === 0 ? "" : `#${inviter_id}`} />;
}

function Commission({ row: { invite_commission_balance: yuan } }: CellProps<User>) {
  return <ClippedText text={yuan === "0" ? "" : `¥${yuan}`} />;
}

const rare = { isSortable: true, isHiddenAtFirst: true } as const;

/** The widths leave nothing to scroll sideways at 1440 px with the menu open. */
export const userColumns: readonly Column<User>[] = [
  { key: "id", title: "ID", shows: "number", isSortable: true, isNumber: true, width: wide(56, 50) },
  {
    key: "username",
    title: "用户名",
    cell: UserName,
    isFixed: true,
    isSortable: true,
    isInHead: true,
    width: wide(136, 128),
  },
  {
    key: "group",
    title: "分组",
    isSortable: true,
    width: wide(110, 90),
    render: (user) => <GroupTags groups={groupsOf(user.group)} />,
  },
  { key: "stats", title: "统计信息", cell: Stats, width: wide(366, 360) },
  { key: "role", title: "用户角色", cell: RolePill, isSortable: true, width: wide(110, 140) },
  { key: "status", title: "状态", cell: UserState, isSortable: true, isInHead: true, width: wide(92, 88) },
  { key: "display_name", title: "显示名称", shows: "text", ...rare, width: 130 },
  { key: "email", title: "邮箱", shows: "text", none: "未绑定邮箱地址", ...rare, width: 190 },
  { key: "created_at", title: "注册时间", shows: "time", none: "未知", ...rare, width: 164 },
  { key: "inviter_id", title: "邀请人", cell: Inviter, ...rare, width: 86 },
  {
    key: "invite_commission_balance",
    title: "返现余额",
    cell: Commission,
    ...rare,
    isNumber: true,
    width: 110,
  },
];
