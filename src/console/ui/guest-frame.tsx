// The frame of pages that need no login: brand, menu, theme, login link, footer. Light: nothing of antd.
import type { ReactNode } from "react";
import { Link, useLocation } from "react-router";
import { COMPACT, useMedia } from "#console/base/media.ts";
import { useUser } from "#console/base/session.ts";
import { useSystemName } from "#console/base/status.ts";
import { Logo } from "./brand.tsx";
import { FoldedMenu, PublicLinks, SecondWay } from "./guest-menu.tsx";
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
