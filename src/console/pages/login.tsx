// The login page. What belongs to other ways in (GitHub, WeChat) is not here yet.
import { useLocation, useNavigate, useSearchParams } from "react-router";
import { useCall } from "#console/base/call.ts";
import { messages } from "#console/base/faults.ts";
import { safePath } from "#console/base/redirect.ts";
import { signIn } from "#console/base/session.ts";
import { useStatus, useSystemName } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { Logo } from "#console/ui/brand.tsx";
import { Callout } from "#console/ui/callout.tsx";
import { GuestFrame } from "#console/ui/guest-frame.tsx";
import { PlainButton } from "#console/ui/plain-button.tsx";
import { PlainField, PlainForm } from "#console/ui/plain-form.tsx";
import { authApi, Credentials } from "#contract/auth.ts";
import "./login.css";

const EMPTY: Credentials = { username: "", password: "" };

/** The credentials every fresh installation has (design 1.3 #2). */
function isDefault({ username, password }: Credentials): boolean {
  return username === "root" && password === "123456";
}

/** Where the guard sent the user from; history state is untrusted. */
function originOf(state: unknown): string | undefined {
  return typeof state === "object" && state !== null && "from" in state ? safePath(state.from) : undefined;
}

function useLogin() {
  const navigate = useNavigate();
  const origin = originOf(useLocation().state);
  return useCall(authApi.login, {
    onSuccess: (user, { body }) => {
      signIn(user);
      if (isDefault(body)) {
        toast.warning("请立刻修改默认密码！");
        void navigate("/user/edit", { replace: true });
        return;
      }
      toast.success("登录成功！");
      void navigate(origin ?? "/token", { replace: true });
    },
  });
}

export function LoginPage() {
  const [params] = useSearchParams();
  const login = useLogin();
  const name = useSystemName();
  const isClosed = useStatus()?.password_login === false;
  return (
    <GuestFrame title="登录" isCentred>
      <div className="tg-login tg-card">
        <Logo size={40} />
        <h1>登录 {name}</h1>
        {params.has("expired") ? <Callout tone="warn">{messages.expired}</Callout> : null}
        {isClosed ? <Callout tone="info">管理员已关闭密码登录</Callout> : null}
        <PlainForm schema={Credentials} initial={EMPTY} onSubmit={(body) => login.mutate({ body })}>
          {(field) => (
            <>
              <PlainField
                {...field("username")}
                label="用户名"
                hint="用户名或邮箱地址"
                autoComplete="username"
                isFirst
              />
              <PlainField
                {...field("password")}
                label="密码"
                hint="密码"
                type="password"
                autoComplete="current-password"
              />
              <PlainButton kind="primary" type="submit" isLarge isBusy={login.isPending} disabled={isClosed}>
                登录
              </PlainButton>
            </>
          )}
        </PlainForm>
      </div>
    </GuestFrame>
  );
}
