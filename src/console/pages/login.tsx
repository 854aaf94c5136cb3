// The login page: password, GitHub, WeChat.
import { Link, useLocation, useNavigate, useSearchParams } from "react-router";
import { useCall } from "#console/base/call.ts";
import { messages } from "#console/base/faults.ts";
import { halfOf, useEnter } from "#console/base/login.ts";
import { safePath } from "#console/base/redirect.ts";
import { useStatus, useSystemName } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { GuestCard } from "#console/ui/guest-card.tsx";
import { OtherWays, originOf, useArrival } from "#console/ui/other-ways.tsx";
import { PlainForm } from "#console/ui/plain-form.tsx";
import { SecondStep } from "#console/ui/second-step.tsx";
import { authApi, Credentials } from "#contract/auth.ts";
import type { FactorKind } from "#contract/factor.ts";

const EMPTY: Credentials = { username: "", password: "" };

/** The credentials every fresh installation has (requirements J2). */
function isDefault({ username, password }: Credentials): boolean {
  return username === "root" && password === "123456";
}

function useLogin() {
  const navigate = useNavigate();
  const enter = useEnter();
  const from = originOf(useLocation().state);
  const origin = safePath(from);
  return useCall(authApi.login, {
    onSuccess: (user, { body }) => {
      if (!enter(user, from)) return;
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

function SecondPage({ factors }: { readonly factors: readonly FactorKind[] }) {
  const navigate = useNavigate();
  const arrive = useArrival();
  return (
    <GuestCard title="两步验证" heading="两步验证" lead="密码正确，请再用第二种方式确认是您本人。">
      <SecondStep
        factors={factors}
        onUser={arrive}
        onBack={() => void navigate("/login", { replace: true })}
      />
    </GuestCard>
  );
}

function Links() {
  const isOpen = useStatus()?.register !== false;
  return (
    <>
      <span>
        忘记密码？<Link to="/reset">点击重置</Link>
      </span>
      {isOpen ? (
        <span>
          没有账户？<Link to="/register">点击注册</Link>
        </span>
      ) : null}
    </>
  );
}

export function LoginPage() {
  const [params] = useSearchParams();
  const login = useLogin();
  const name = useSystemName();
  const isClosed = useStatus()?.password_login === false;
  const half = halfOf(useLocation().state);
  if (half) return <SecondPage factors={half} />;
  return (
    <GuestCard title="登录" heading={`登录 ${name}`} links={<Links />}>
      {params.has("expired") ? <Callout tone="warn">{messages.expired}</Callout> : null}
      {isClosed ? <Callout tone="info">管理员已关闭密码登录</Callout> : null}
      <PlainForm
        schema={Credentials}
        initial={EMPTY}
        fields={[
          { name: "username", label: "用户名", hint: "用户名或邮箱地址", autoComplete: "username" },
          {
            name: "password",
            label: "密码",
            hint: "密码",
            type: "password",
            autoComplete: "current-password",
          },
        ]}
        submit={{ text: "登录", isBusy: login.isPending, isOff: isClosed }}
        onSubmit={(body) => login.mutate({ body })}
      />
      <OtherWays isForNew={false} />
    </GuestCard>
  );
}
