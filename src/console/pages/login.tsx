// The login page: password, GitHub, WeChat.
import { GithubOutlined, WechatOutlined } from "@ant-design/icons";
import { useState } from "react";
import { Link, useLocation, useNavigate, useSearchParams } from "react-router";
import { useCall } from "#console/base/call.ts";
import { messages } from "#console/base/faults.ts";
import { useGithub } from "#console/base/github.ts";
import { safePath } from "#console/base/redirect.ts";
import { signIn } from "#console/base/session.ts";
import { useStatus, useSystemName } from "#console/base/status.ts";
import { readStored } from "#console/base/storage.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { GuestCard } from "#console/ui/guest-card.tsx";
import { PlainButton } from "#console/ui/plain-button.tsx";
import { PlainField, PlainForm } from "#console/ui/plain-form.tsx";
import { WeChatDialog } from "#console/ui/wechat-dialog.tsx";
import { authApi, Credentials } from "#contract/auth.ts";
import { oauthApi } from "#contract/oauth.ts";

const EMPTY: Credentials = { username: "", password: "" };

/** The credentials every fresh installation has (requirements J2). */
function isDefault({ username, password }: Credentials): boolean {
  return username === "root" && password === "123456";
}

/** Where the guard sent the user from; history state is untrusted. */
function originOf(state: unknown): unknown {
  return typeof state === "object" && state !== null && "from" in state ? state.from : undefined;
}

function useLogin() {
  const navigate = useNavigate();
  const origin = safePath(originOf(useLocation().state));
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

function WeChatLogin({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate();
  const login = useCall(oauthApi.wechat, {
    silent: true,
    onSuccess: (user) => {
      signIn(user);
      toast.success("登录成功！");
      void navigate("/", { replace: true });
    },
  });
  return (
    <WeChatDialog
      title="微信登录"
      submitText="登录"
      isBusy={login.isPending}
      fault={login.error}
      onCode={(code) => login.mutate({ query: { code, aff_code: readStored("aff") ?? "" } })}
      onClose={onClose}
    />
  );
}

/** The login methods besides the password, as the status tells. */
function OtherWays() {
  const status = useStatus();
  const github = useGithub(originOf(useLocation().state));
  const [isWeChatOpen, setWeChatOpen] = useState(false);
  const hasGithub = status?.github_oauth === true;
  const hasWeChat = status?.wechat_login === true;
  if (!hasGithub && !hasWeChat) return null;
  return (
    <>
      <div className="tg-guest-or">其他登录方式</div>
      <div className="tg-guest-ways">
        {hasGithub ? (
          <PlainButton
            icon={<GithubOutlined aria-hidden="true" />}
            isBusy={github.isBusy}
            onClick={github.go}
          >
            GitHub
          </PlainButton>
        ) : null}
        {hasWeChat ? (
          <PlainButton icon={<WechatOutlined aria-hidden="true" />} onClick={() => setWeChatOpen(true)}>
            微信
          </PlainButton>
        ) : null}
      </div>
      {isWeChatOpen ? <WeChatLogin onClose={() => setWeChatOpen(false)} /> : null}
    </>
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
  return (
    <GuestCard title="登录" heading={`登录 ${name}`} links={<Links />}>
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
      <OtherWays />
    </GuestCard>
  );
}
