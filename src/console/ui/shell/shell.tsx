// The frame of the signed-in console: side menu (a drawer on phones), header, page, footer, palette.
import { LockOutlined, MenuFoldOutlined, MenuUnfoldOutlined } from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { Button, Drawer } from "antd";
import { lazy, type ReactNode, Suspense, useEffect, useState } from "react";
import { Link, Navigate, Outlet, useLocation } from "react-router";
import { COMPACT, useMedia } from "#console/base/media.ts";
import { isRoot, mayOpen, selfQuery, useSessionEnd, useUser } from "#console/base/session.ts";
import { useStatus, useSystemName } from "#console/base/status.ts";
import { readStored, writeStored } from "#console/base/storage.ts";
import { AntdScope } from "#console/ui/antd-scope.tsx";
import { Logo } from "#console/ui/brand.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { SiteNotice } from "#console/ui/site-notice.tsx";
import { useTeam } from "#console/ui/team-context.ts";
import { Footer } from "./footer.tsx";
import { Header } from "./header.tsx";
import { KeptPlace } from "./kept-place.tsx";
import { type PageRow, pageAt, titleIn, usePages } from "./nav.ts";
import { SideMenu } from "./side-menu.tsx";
import { TeamGate } from "./team-gate.tsx";
import { ViewBanner } from "./view-banner.tsx";
import "./shell.css";

const OWN = { access: "user" } as const;

function Guard({ page, children }: { readonly page: PageRow | undefined; readonly children: ReactNode }) {
  const place = page ?? OWN;
  const user = useUser();
  const end = useSessionEnd();
  const location = useLocation();
  if (place.access !== "public" && user === undefined) {
    const { pathname, search, hash } = location;
    const state = end === "left" ? undefined : { from: { pathname, search, hash } };
    return <Navigate to={end === "expired" ? "/login?expired=true" : "/login"} state={state} replace />;
  }
  if (!mayOpen(place, user)) {
    return (
      <div className="tg-card tg-refusal" role="alert">
        <LockOutlined aria-hidden="true" />
        <h1>没有访问权限</h1>
        <p>此页面仅有相应权限的管理员可用。如需使用，请联系站点管理员。</p>
        <LinkButton to="/token" kind="primary">
          前往我的令牌
        </LinkButton>
      </div>
    );
  }
  return page === undefined ? children : <TeamGate page={page}>{children}</TeamGate>;
}

const loadPalette = async () => ({ default: (await import("./palette.tsx")).Palette });
const Palette = lazy(loadPalette);

function Brand({ isCollapsed }: { readonly isCollapsed: boolean }) {
  const name = useSystemName();
  return (
    <Link to="/" className="tg-brand" aria-label={`${name} 首页`}>
      <Logo />
      {isCollapsed ? null : <span>{name}</span>}
    </Link>
  );
}

function Side() {
  const [isCollapsed, setCollapsed] = useState(() => readStored("sider_collapsed") === true);
  const toggle = () => {
    writeStored("sider_collapsed", !isCollapsed);
    setCollapsed(!isCollapsed);
  };
  const label = isCollapsed ? "展开菜单" : "收起菜单";
  return (
    <aside className={isCollapsed ? "tg-side tg-side-collapsed" : "tg-side"}>
      <Brand isCollapsed={isCollapsed} />
      <SideMenu isCollapsed={isCollapsed} />
      <Button
        type="text"
        className="tg-side-toggle"
        icon={
          isCollapsed ? <MenuUnfoldOutlined aria-hidden="true" /> : <MenuFoldOutlined aria-hidden="true" />
        }
        aria-label={label}
        title={label}
        onClick={toggle}
      >
        {isCollapsed ? null : "收起"}
      </Button>
    </aside>
  );
}

/** Red until the first password is changed (requirements J2). */
function DefaultPasswordBanner() {
  const user = useUser();
  const status = useStatus();
  if (!isRoot(user)) return null;
  // What stands below waits for this, as for the notice (shell.css, site-notice.css).
  if (status === undefined) return <span aria-busy="true" hidden />;
  if (status.default_password !== true) return null;
  return (
    <div className="tg-danger-banner" role="alert">
      <span>超级管理员仍在使用默认密码，目前只能从服务器本机登录，请尽快修改。</span>
      <Link to="/user/edit">立即修改密码</Link>
    </div>
  );
}

function usePaletteKey(open: () => void): void {
  // Loaded beforehand: what is typed right after the keys must not be lost while its code comes. A failure is not reported here: a user
  // that opens the palette is told then.
  useEffect(() => void loadPalette().catch(() => undefined), []);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      open();
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, [open]);
}

function CurrentPage() {
  const page = pageAt(usePages(), useLocation().pathname);
  const name = useSystemName();
  const team = useTeam();
  return (
    <Guard page={page}>
      <title>{page === undefined ? name : `${titleIn(team, page)} · ${name}`}</title>
      <Outlet />
    </Guard>
  );
}

export function Shell() {
  const isCompact = useMedia(COMPACT);
  const [isDrawerOpen, setDrawerOpen] = useState(false);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const user = useUser();
  useQuery({ ...selfQuery, enabled: user !== undefined });
  usePaletteKey(() => setPaletteOpen(true));
  return (
    <AntdScope className="tg-shell">
      <a className="tg-skip" href="#main">
        跳到内容
      </a>
      {isCompact ? (
        <Drawer
          open={isDrawerOpen}
          onClose={() => setDrawerOpen(false)}
          placement="left"
          closable={{ placement: "end" }}
          size={260}
          title={<Brand isCollapsed={false} />}
          styles={{ body: { padding: "8px 0" } }}
        >
          <SideMenu isCollapsed={false} onChoose={() => setDrawerOpen(false)} />
        </Drawer>
      ) : (
        <Side />
      )}
      <div className="tg-body">
        <Header onMenu={() => setDrawerOpen(true)} onPalette={() => setPaletteOpen(true)} />
        <ViewBanner />
        <DefaultPasswordBanner />
        <section className="tg-shell-notice" aria-label="公告">
          <SiteNotice />
        </section>
        <main id="main" className="tg-main" tabIndex={-1}>
          <CurrentPage />
        </main>
        <Footer />
      </div>
      <Suspense fallback={null}>
        {isPaletteOpen ? <Palette onClose={() => setPaletteOpen(false)} /> : null}
      </Suspense>
      <KeptPlace />
    </AntdScope>
  );
}
