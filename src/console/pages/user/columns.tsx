// The columns of the user list (glossary: ID · 用户名 · 分组 · 统计信息 · 用户角色 · 状态 · 操作).

import { formatCount, shortCount } from "#console/base/format.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { GroupTags } from "#console/ui/group-tags.tsx";
import type { Column } from "#console/ui/row-view.ts";
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

export function UserState({ user }: { readonly user: User }) {
  return <StatusTag {...(STATUS[user.status] ?? { label: "未知状态", tone: "idle" })} />;
}

export function RolePill({ user }: { readonly user: User }) {
  return <StatusTag {...(ROLES[user.role] ?? { label: "未知身份", tone: "idle" })} />;
}

/** The name cut to 15 characters; the whole name, what it is shown as and the mail address on hover. */
export function UserName({ user }: { readonly user: User }) {
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
function Stats({ user }: { readonly user: User }) {
  const display = useQuotaDisplay();
  const total = Math.max(0, user.quota) + user.used_quota;
  const left = total === 0 ? 0 : Math.round((Math.max(0, user.quota) / total) * 100);
  const figures = [
    {
      label: "剩余",
      value: formatQuota(user.quota, display),
      exact: `剩余额度 ${formatCount(user.quota)} 点`,
    },
    {
      label: "已用",
      value: formatQuota(user.used_quota, display),
      exact: `已用额度 ${formatCount(user.used_quota)} 点`,
    },
    {
      label: "请求",
      value: shortCount(user.request_count),
      exact: `请求次数 ${formatCount(user.request_count)}`,
    },
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

function Text({ text, none = "—" }: { readonly text: string; readonly none?: string }) {
  if (text === "") return <span className="tg-muted">{none}</span>;
  return (
    <span className="tg-clip" title={text}>
      {text}
    </span>
  );
}

const hidden: readonly Column<User>[] = [
  {
    key: "display_name",
    title: "显示名称",
    isSortable: true,
    isHiddenAtFirst: true,
    width: 130,
    render: (user) => <Text text={user.display_name} />,
  },
  {
    key: "email",
    title: "邮箱",
    isSortable: true,
    isHiddenAtFirst: true,
    width: 190,
    render: (user) => <Text text={user.email} none="未绑定邮箱地址" />,
  },
  {
    key: "inviter_id",
    title: "邀请人",
    isSortable: true,
    isHiddenAtFirst: true,
    width: 86,
    render: (user) => <Text text={user.inviter_id === 0 ? "" : `#${user.inviter_id}`} />,
  },
  {
    key: "invite_commission_balance",
    title: "返现余额",
    isSortable: true,
    isHiddenAtFirst: true,
    isNumber: true,
    width: 110,
    render: (user) => (
      <Text text={user.invite_commission_balance === "0" ? "" : `¥${user.invite_commission_balance}`} />
    ),
  },
];

/** The widths leave nothing to scroll sideways at 1440 px with the menu open. */
export const userColumns: readonly Column<User>[] = [
  { key: "id", title: "ID", isSortable: true, isNumber: true, width: 64, render: (user) => user.id },
  {
    key: "username",
    title: "用户名",
    isFixed: true,
    isSortable: true,
    isInHead: true,
    width: 150,
    render: (user) => <UserName user={user} />,
  },
  {
    key: "group",
    title: "分组",
    isSortable: true,
    width: 130,
    render: (user) => <GroupTags groups={groupsOf(user.group)} />,
  },
  { key: "stats", title: "统计信息", width: 366, render: (user) => <Stats user={user} /> },
  {
    key: "role",
    title: "用户角色",
    isSortable: true,
    width: 112,
    render: (user) => <RolePill user={user} />,
  },
  {
    key: "status",
    title: "状态",
    isSortable: true,
    isInHead: true,
    width: 92,
    render: (user) => <UserState user={user} />,
  },
  ...hidden,
];
