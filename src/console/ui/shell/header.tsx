// The bar above every page: breadcrumb, command palette, balance, theme, user.
import { MenuOutlined, SearchOutlined } from "@ant-design/icons";
import { Breadcrumb, Button } from "antd";
import { Link, useLocation } from "react-router";
import { COMPACT, NARROW, useMedia } from "#console/base/media.ts";
import { useUser } from "#console/base/session.ts";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { type PageRow, pageAt, usePages } from "./nav.ts";
import { ThemeSwitch } from "./theme-switch.tsx";
import { BalancePill, UserMenu } from "./user-menu.tsx";

function Crumbs() {
  const pages = usePages();
  const isNarrow = useMedia(NARROW);
  const here = pageAt(pages, useLocation().pathname);
  const parent = pages.find((page) => page.path === here?.parent);
  const crumbs = [parent, here].filter((page): page is PageRow => page !== undefined);
  const group = (parent ?? here)?.menu?.group;
  return (
    <Breadcrumb
      items={[
        // A phone has no room for where the way began.
        ...(group === undefined || group === here?.title || (isNarrow && parent !== undefined)
          ? []
          : [{ key: group, title: group }]),
        ...crumbs.map((page) => ({
          key: page.path,
          title: page === here ? page.title : <Link to={page.path}>{page.title}</Link>,
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
      {user === undefined || isNarrow ? null : <BalancePill />}
      <ThemeSwitch />
      {user === undefined ? <WaysIn /> : <UserMenu user={user} />}
    </header>
  );
}
