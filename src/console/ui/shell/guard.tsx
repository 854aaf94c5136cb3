// Lets a page through or not: no stored user → /login with the origin location; role too low → a refusal.
// The server decides about rights by itself; this only keeps users from pages that would not work for them.
import { LockOutlined } from "@ant-design/icons";
import type { ReactNode } from "react";
import { Navigate, useLocation } from "react-router";
import { type Access, mayOpen, useSessionEnd, useUser } from "#console/base/session.ts";
import { LinkButton } from "#console/ui/plain-button.tsx";

export function Guard({ access, children }: { readonly access: Access; readonly children: ReactNode }) {
  const user = useUser();
  const end = useSessionEnd();
  const location = useLocation();
  if (access !== "public" && user === undefined) {
    const { pathname, search, hash } = location;
    const state = end === "left" ? undefined : { from: { pathname, search, hash } };
    return <Navigate to={end === "expired" ? "/login?expired=true" : "/login"} state={state} replace />;
  }
  if (!mayOpen(access, user)) {
    return (
      <div className="tg-card tg-refusal" role="alert">
        <LockOutlined aria-hidden="true" />
        <h1>没有访问权限</h1>
        <p>此页面仅管理员可用。如需使用，请联系站点管理员。</p>
        <LinkButton to="/token" kind="primary">
          前往我的令牌
        </LinkButton>
      </div>
    );
  }
  return children;
}
