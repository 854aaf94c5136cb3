// The frame of pages that need no login: brand, theme, a way in, footer. Light: no menu and no table code.
import type { ReactNode } from "react";
import { Link, useLocation } from "react-router";
import { useUser } from "#console/base/session.ts";
import { useStatus, useSystemName } from "#console/base/status.ts";
import { Logo } from "./brand.tsx";
import { LinkButton } from "./plain-button.tsx";
import { Footer } from "./shell/footer.tsx";
import { ThemeSwitch } from "./shell/theme-switch.tsx";
import "./guest-frame.css";

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
  const canRegister = useStatus()?.register !== false;
  return (
    <div className="tg-guest">
      <title>{`${title} · ${name}`}</title>
      <header className="tg-guest-head">
        <Link to="/" className="tg-guest-brand">
          <Logo />
          <span>{name}</span>
        </Link>
        <ThemeSwitch />
        {user !== undefined || !canRegister || pathname === "/register" ? null : (
          <LinkButton to="/register" kind="text">
            注册
          </LinkButton>
        )}
        {pathname === "/login" ? null : (
          <LinkButton to={user === undefined ? "/login" : "/token"}>
            {user === undefined ? "登录" : "进入控制台"}
          </LinkButton>
        )}
      </header>
      <main className={isCentred ? "tg-guest-main tg-guest-centred" : "tg-guest-main"}>{children}</main>
      <Footer />
    </div>
  );
}
