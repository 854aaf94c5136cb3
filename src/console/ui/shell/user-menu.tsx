// The signed-in user: balance, profile, logout.
import { LogoutOutlined, SettingOutlined, UserOutlined } from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { Avatar, type MenuProps } from "antd";
import { Link, useNavigate } from "react-router";
import { formatCount } from "#console/base/format.ts";
import { roleLabel, selfQuery } from "#console/base/session.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { ButtonMenu } from "#console/ui/button-menu.tsx";
import { Tooltip } from "#console/ui/tooltip.tsx";
import { formatQuota } from "#contract/quota.ts";
import type { User } from "#contract/user.ts";
import { useLogout } from "./logout.ts";

/** The remaining quota of the user as the server tells it: the answer to a login knows of none (requirements W3.3). */
export function BalancePill() {
  const display = useQuotaDisplay();
  const { data: user } = useQuery(selfQuery);
  const exact =
    user === undefined
      ? "剩余额度"
      : `剩余额度 ${formatCount(user.quota)} 点 · 已用 ${formatQuota(user.used_quota, display)}`;
  return (
    <Tooltip title={exact}>
      <Link to="/topup" className="tg-balance">
        <span>余额</span>
        <strong>{user === undefined ? "—" : formatQuota(user.quota, display)}</strong>
      </Link>
    </Tooltip>
  );
}

export function UserMenu({ user }: { readonly user: User }) {
  const navigate = useNavigate();
  const logout = useLogout();
  const name = user.display_name || user.username;
  const items: NonNullable<MenuProps["items"]> = [
    { key: "who", type: "group", label: `${name} · ${roleLabel(user.role)}` },
    {
      key: "edit",
      icon: <UserOutlined aria-hidden="true" />,
      label: "个人资料",
      onClick: () => void navigate("/user/edit"),
    },
    {
      key: "setting",
      icon: <SettingOutlined aria-hidden="true" />,
      label: "个人设置",
      onClick: () => void navigate("/setting"),
    },
    { type: "divider", key: "line" },
    { key: "logout", icon: <LogoutOutlined aria-hidden="true" />, label: "注销", onClick: logout.go },
  ];
  return (
    <ButtonMenu menu={{ items }}>
      <button type="button" className="tg-user">
        <span className="tg-hidden">用户菜单：{name}</span>
        <Avatar size={28} className="tg-avatar" aria-hidden="true">
          {[...name][0]?.toUpperCase()}
        </Avatar>
        <span className="tg-user-name" aria-hidden="true">
          {name}
        </span>
      </button>
    </ButtonMenu>
  );
}
