// The top menu of guest pages (requirements B2): links to every public page, and to login, registration or logout.
import { CloseOutlined, MenuOutlined } from "@ant-design/icons";
import { useEffect, useState } from "react";
import { Link, useLocation } from "react-router";
import { useUser } from "#console/base/session.ts";
import { useStatus } from "#console/base/status.ts";
import { LinkButton, PlainButton } from "./plain-button.tsx";
import { useLogout } from "./shell/logout.ts";
import { usePages } from "./shell/nav.ts";

export function PublicLinks() {
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
export function SecondWay() {
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
export function FoldedMenu() {
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
