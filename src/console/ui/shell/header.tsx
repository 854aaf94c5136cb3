// The bar above every page: breadcrumb, command palette, balance, theme, user.
import {
  LogoutOutlined,
  MenuOutlined,
  SearchOutlined,
  SettingOutlined,
  UserOutlined,
} from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { Avatar, Breadcrumb, Button, type MenuProps } from "antd";
import { Link, useLocation, useNavigate } from "react-router";
import { formatCount } from "#console/base/format.ts";
import { OTHER_NAME, OTHER_SHORT } from "#console/base/language.ts";
import { COMPACT, NARROW, useMedia } from "#console/base/media.ts";
import { roleLabel, selfQuery, useUser } from "#console/base/session.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { ButtonMenu } from "#console/ui/button-menu.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { pathIn, useTeam, useTeamAround, useTeams } from "#console/ui/team-context.ts";
import { Tooltip } from "#console/ui/tooltip.tsx";
import { formatQuota } from "#contract/quota.ts";
import type { User } from "#contract/user.ts";
import { ContextSwitch } from "./context-switch.tsx";
import { useLanguageChoice } from "./language-choice.ts";
import { LanguageSwitch } from "./language-switch.tsx";
import { useLogout } from "./logout.ts";
import { type PageRow, titleIn, usePageHere, usePages } from "./nav.ts";
import { ThemeSwitch } from "./theme-switch.tsx";
import { useEndView } from "./view-banner.tsx";

interface Purse {
  readonly label: string;
  readonly to: string;
  readonly quota: number | undefined;
  readonly used: number;
}

function Pill({ label, to, quota, used }: Purse) {
  const display = useQuotaDisplay();
  const exact =
    quota === undefined
      ? "剩余额度"
      : `剩余额度 ${formatCount(quota)} 点 · 已用 ${formatQuota(used, display)}`;
  return (
    <Tooltip title={exact}>
      <Link to={to} className="tg-balance">
        <span>{label}</span>
        <strong>{quota === undefined ? "—" : formatQuota(quota, display)}</strong>
      </Link>
    </Tooltip>
  );
}

/** The remaining quota of the user as the server tells it: the answer to a login knows of none (requirements W3.3). */
function BalancePill() {
  const { data: user } = useQuery(selfQuery);
  return <Pill label="余额" to="/topup" quota={user?.quota} used={user?.used_quota ?? 0} />;
}

/** What is in the wallet of the team around the page, for roles that see it. */
function WalletPill({ id }: { readonly id: number }) {
  const team = useTeams()?.find((one) => one.id === id);
  if (team === undefined || team.quota === null) return null;
  return <Pill label="钱包" to={`/team/${id}`} quota={team.quota} used={team.used_quota ?? 0} />;
}

function UserMenu({ user }: { readonly user: User }) {
  const navigate = useNavigate();
  const logout = useLogout();
  const view = useEndView();
  const language = useLanguageChoice();
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
    {
      key: "language",
      icon: (
        <span className="anticon" aria-hidden="true">
          {OTHER_SHORT}
        </span>
      ),
      label: OTHER_NAME,
      onClick: () => language.choose(),
    },
    { type: "divider", key: "line" },
    user.viewer === undefined
      ? { key: "logout", icon: <LogoutOutlined aria-hidden="true" />, label: "注销", onClick: logout.go }
      : { key: "end", icon: <LogoutOutlined aria-hidden="true" />, label: "结束查看", onClick: view.end },
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

function Crumbs() {
  const pages = usePages();
  const isNarrow = useMedia(NARROW);
  // Guests have the ways in beside it.
  const isAlone = useUser() === undefined && isNarrow;
  const here = usePageHere();
  const team = useTeam();
  const parent = isAlone ? undefined : pages.find((page) => page.path === here?.parent);
  const crumbs = [parent, here].filter((page): page is PageRow => page !== undefined);
  const group = (parent ?? here)?.menu?.group;
  return (
    <Breadcrumb
      items={[
        // A phone has no room for where the way began.
        ...(group === undefined ||
        crumbs.some(({ title }) => title === group) ||
        isAlone ||
        (isNarrow && parent !== undefined)
          ? []
          : [{ key: group, title: group }]),
        ...crumbs.map((page) => ({
          key: page.path,
          title:
            page === here ? (
              titleIn(team, page)
            ) : (
              <Link to={pathIn(team, page.path)}>{titleIn(team, page)}</Link>
            ),
        })),
      ]}
    />
  );
}

/** For pages that need no login: the way back here after it is remembered. */
function WaysIn() {
  const { pathname, search, hash } = useLocation();
  return (
    <>
      <LinkButton to="/register">注册</LinkButton>
      <LinkButton to="/login" state={{ from: { pathname, search, hash } }} kind="primary">
        登录
      </LinkButton>
    </>
  );
}

const IS_MAC = /Mac|iPhone|iPad/.test(navigator.userAgent);

export interface HeaderProps {
  readonly onMenu: () => void;
  readonly onPalette: () => void;
}

export function Header({ onMenu, onPalette }: HeaderProps) {
  const user = useUser();
  const isCompact = useMedia(COMPACT);
  const isNarrow = useMedia(NARROW);
  const team = useTeamAround();
  return (
    <header className="tg-header">
      {isCompact ? (
        <Button
          type="text"
          icon={<MenuOutlined aria-hidden="true" />}
          aria-label="打开菜单"
          onClick={onMenu}
        />
      ) : null}
      {/* Read out on the way to another page, which changes in place. */}
      <div className="tg-header-where" aria-live="polite" aria-atomic="true">
        <Crumbs />
      </div>
      {isNarrow ? (
        <Button
          type="text"
          icon={<SearchOutlined aria-hidden="true" />}
          aria-label="搜索页面与资源"
          onClick={onPalette}
        />
      ) : (
        <button type="button" className="tg-jump" onClick={onPalette}>
          <SearchOutlined aria-hidden="true" />
          <span>跳转或搜索</span>
          <kbd>{IS_MAC ? "⌘" : "Ctrl"} K</kbd>
        </button>
      )}
      {user === undefined ? null : <ContextSwitch />}
      {user === undefined || isNarrow ? null : team === 0 ? <BalancePill /> : <WalletPill id={team} />}
      {user === undefined ? <LanguageSwitch /> : null}
      <ThemeSwitch />
      {user === undefined ? <WaysIn /> : <UserMenu user={user} />}
    </header>
  );
}
