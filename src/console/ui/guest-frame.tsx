// The frame of pages that need no login: brand, menu, theme, login link, footer. Light: nothing of antd.
import { CloseOutlined, MenuOutlined } from "@ant-design/icons";
import { type ReactNode, useEffect, useState } from "react";
import { Link, useLocation } from "react-router";
import { COMPACT, useMedia } from "#console/base/media.ts";
import { useUser } from "#console/base/session.ts";
import { useStatus, useSystemName } from "#console/base/status.ts";
import { Logo } from "./brand.tsx";
import { LinkButton, PlainButton } from "./plain-button.tsx";
import { Footer } from "./shell/footer.tsx";
import { LanguageSwitch } from "./shell/language-switch.tsx";
import { useLogout } from "./shell/logout.ts";
import { usePages } from "./shell/nav.ts";
import { ThemeSwitch } from "./shell/theme-switch.tsx";
import "./guest-frame.css";

function PublicLinks() {
  const links = usePages().filter(({ access, menu }) => access === "public" && menu !== undefined);
  return (
    <nav aria-label="主导航" className="tg-guest-nav">
      {links.map((page) => (
        <Link key={page.path} to={page.path}>
          {page.menu?.label}
        </Link>
      ))}
    </nav>
  );
}

/** Registration for guests, logout for users. */
function SecondWay() {
  const user = useUser();
  const logout = useLogout();
  const { pathname } = useLocation();
  const canRegister = useStatus()?.register !== false;
  if (user !== undefined)
    return (
      <PlainButton kind="text" isBusy={logout.isBusy} onClick={logout.go}>
        注销
      </PlainButton>
    );
  if (!canRegister || pathname === "/register") return null;
  return (
    <LinkButton to="/register" kind="text">
      注册
    </LinkButton>
  );
}

/** Both of them behind a button. Closed by Escape; by a choice too, since that leads to another page. */
function FoldedMenu() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    if (!isOpen) return;
    const listen = (event: KeyboardEvent) => {
      if (event.key === "Escape") setOpen(false);
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, [isOpen]);
  return (
    <>
      <PlainButton
        kind="text"
        icon={isOpen ? <CloseOutlined aria-hidden="true" /> : <MenuOutlined aria-hidden="true" />}
        aria-label={isOpen ? "关闭菜单" : "打开菜单"}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      />
      {isOpen ? (
        <div className="tg-guest-fold">
          <PublicLinks />
          <SecondWay />
        </div>
      ) : null}
    </>
  );
}

export interface GuestFrameProps {
  readonly title: string;
  /** Centred in the middle of the screen. */
  readonly isCentred?: boolean;
  readonly children: ReactNode;
}

export function GuestFrame({ title, isCentred = false, children }: GuestFrameProps) {
  const name = useSystemName();
  const user = useUser();
  const { pathname } = useLocation();
  const isCompact = useMedia(COMPACT);
  return (
    <div className="tg-guest">
      <title>{`${title} · ${name}`}</title>
      <header className="tg-guest-head">
        <Link to="/" className="tg-guest-brand">
          <Logo />
          <span>{name}</span>
        </Link>
        {isCompact ? null : <PublicLinks />}
        <LanguageSwitch />
        <ThemeSwitch />
        {isCompact ? null : <SecondWay />}
        {pathname === "/login" ? null : (
          <LinkButton to={user === undefined ? "/login" : "/token"}>
            {user === undefined ? "登录" : "进入控制台"}
          </LinkButton>
        )}
        {isCompact ? <FoldedMenu key={pathname} /> : null}
      </header>
      <main className={isCentred ? "tg-guest-main tg-guest-centred" : "tg-guest-main"}>{children}</main>
      <Footer />
    </div>
  );
}
