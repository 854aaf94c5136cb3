// The ways in beside a password: login providers, GitHub, WeChat, passkeys. All but passkeys give new users an account, too.
import { GithubOutlined, KeyOutlined, SafetyCertificateOutlined, WechatOutlined } from "@ant-design/icons";
import { useState } from "react";
import { useLocation, useNavigate } from "react-router";
import { useCall } from "#console/base/call.ts";
import { faultText } from "#console/base/faults.ts";
import { useGithub } from "#console/base/github.ts";
import { useEnter } from "#console/base/login.ts";
import { canUsePasskeys } from "#console/base/passkey.ts";
import { safePath } from "#console/base/redirect.ts";
import { useSignOn } from "#console/base/sign-on.ts";
import { useStatus } from "#console/base/status.ts";
import { readStored } from "#console/base/storage.ts";
import { toast } from "#console/base/toast.ts";
import type { LoginUser } from "#contract/factor.ts";
import { oauthApi } from "#contract/oauth.ts";
import { Callout } from "./callout.tsx";
import { PlainButton } from "./plain-button.tsx";
import { usePasskeyLogin } from "./second-step.tsx";
import { WeChatDialog } from "./wechat-dialog.tsx";

/** Where the guard sent the user from; history state is untrusted. */
export function originOf(state: unknown): unknown {
  return typeof state === "object" && state !== null && "from" in state ? state.from : undefined;
}

/** Leads on a user who has come in with a second factor. */
export function useArrival() {
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

/** What the status tells. `isForNew`: on the page of registration, where visitors have no passkey yet. */
export function OtherWays({ isForNew }: { readonly isForNew: boolean }) {
  const status = useStatus();
  const github = useGithub(originOf(useLocation().state));
  const signOn = useSignOn(originOf(useLocation().state));
  const providers = status?.oauth_providers ?? [];
  const [isWeChatOpen, setWeChatOpen] = useState(false);
  const hasGithub = status?.github_oauth === true;
  const hasWeChat = status?.wechat_login === true;
  const hasPasskeys = !isForNew && canUsePasskeys(status?.passkey_rp_id ?? "");
  if (!hasGithub && !hasWeChat && !hasPasskeys && providers.length === 0) return null;
  return (
    <>
      <div className="tg-guest-or">{isForNew ? "其他注册方式" : "其他登录方式"}</div>
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
