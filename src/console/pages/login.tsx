// The login page: password, GitHub, WeChat.
import { GithubOutlined, KeyOutlined, SafetyCertificateOutlined, WechatOutlined } from "@ant-design/icons";
import { useState } from "react";
import { Link, useLocation, useNavigate, useSearchParams } from "react-router";
import { useCall } from "#console/base/call.ts";
import { faultText, messages } from "#console/base/faults.ts";
import { useGithub } from "#console/base/github.ts";
import { halfOf, useEnter } from "#console/base/login.ts";
import { canUsePasskeys } from "#console/base/passkey.ts";
import { safePath } from "#console/base/redirect.ts";
import { useSignOn } from "#console/base/sign-on.ts";
import { useStatus, useSystemName } from "#console/base/status.ts";
import { readStored } from "#console/base/storage.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { GuestCard } from "#console/ui/guest-card.tsx";
import { PlainButton } from "#console/ui/plain-button.tsx";
import { PlainForm } from "#console/ui/plain-form.tsx";
import { SecondStep, usePasskeyLogin } from "#console/ui/second-step.tsx";
import { WeChatDialog } from "#console/ui/wechat-dialog.tsx";
import { authApi, Credentials } from "#contract/auth.ts";
import type { FactorKind, LoginUser } from "#contract/factor.ts";
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

function WeChatLogin({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate();
  const enter = useEnter();
  const login = useCall(oauthApi.wechat, {
    silent: true,
    onSuccess: (user) => {
      if (!enter(user, undefined)) return;
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

/** Leads on whoever has come in with a second factor. */
function useArrival() {
  const navigate = useNavigate();
  const enter = useEnter();
  const from = originOf(useLocation().state);
  const origin = safePath(from);
  return (user: LoginUser) => {
    if (!enter(user, from)) return;
    toast.success("登录成功！");
    void navigate(origin ?? "/token", { replace: true });
  };
}

function PasskeyLogin() {
  const login = usePasskeyLogin(useArrival());
  return (
    <>
      <PlainButton
        icon={<KeyOutlined aria-hidden="true" />}
        isBusy={login.isPending}
        onClick={() => login.mutate()}
      >
        通行密钥
      </PlainButton>
      {login.error === null ? null : <Callout tone="bad">{faultText(login.error)}</Callout>}
    </>
  );
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

/** The login methods besides the password, as the status tells. */
function OtherWays() {
  const status = useStatus();
  const github = useGithub(originOf(useLocation().state));
  const signOn = useSignOn(originOf(useLocation().state));
  const providers = status?.oauth_providers ?? [];
  const [isWeChatOpen, setWeChatOpen] = useState(false);
  const hasGithub = status?.github_oauth === true;
  const hasWeChat = status?.wechat_login === true;
  const hasPasskeys = canUsePasskeys(status?.passkey_rp_id ?? "");
  if (!hasGithub && !hasWeChat && !hasPasskeys && providers.length === 0) return null;
  return (
    <>
      <div className="tg-guest-or">其他登录方式</div>
      <div className="tg-guest-ways">
        {providers.map(({ slug, name }) => (
          <PlainButton
            key={slug}
            icon={<SafetyCertificateOutlined aria-hidden="true" />}
            isBusy={signOn.isBusy(slug)}
            onClick={() => signOn.go(slug)}
          >
            {name}
          </PlainButton>
        ))}
        {hasPasskeys ? <PasskeyLogin /> : null}
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
      <OtherWays />
    </GuestCard>
  );
}
