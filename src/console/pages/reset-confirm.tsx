// The page behind the link of the reset mail: confirms, then shows the new password and copies it.
import { useState } from "react";
import { Link, useSearchParams } from "react-router";
import { useCall } from "#console/base/call.ts";
import { copyText } from "#console/base/clipboard.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { CopyField } from "#console/ui/copy-button.tsx";
import { GuestCard } from "#console/ui/guest-card.tsx";
import { LinkButton, PlainButton } from "#console/ui/plain-button.tsx";
import { authApi } from "#contract/auth.ts";

/** Email and token of the link, kept while the page is open: the address bar loses the token when it has been used. */
function useResetLink(): { readonly email: string; readonly token: string } {
  const [params] = useSearchParams();
  const [link] = useState(() => ({ email: params.get("email") ?? "", token: params.get("token") ?? "" }));
  return link;
}

function NewPassword({ password }: { readonly password: string }) {
  return (
    <>
      <Callout tone="info">
        密码已重置，其他设备上的登录已经失效。请妥善保存下面的新密码，登录后尽快修改。
      </Callout>
      <CopyField label="新密码" text={password} copyLabel="复制新密码" />
      <LinkButton to="/login" kind="primary" isLarge>
        前往登录
      </LinkButton>
    </>
  );
}

function SendAgain() {
  return (
    <span>
      链接失效了？<Link to="/reset">重新发送</Link>
    </span>
  );
}

export function ResetConfirmPage() {
  const { email, token } = useResetLink();
  const reset = useCall(authApi.reset, {
    onSuccess: (password) => {
      window.history.replaceState(window.history.state, "", "/user/reset");
      toast.success("密码重置成功！");
      void copyText(password, "新密码已复制到剪贴板！");
    },
  });
  const isBroken = email === "" || token === "";
  return (
    <GuestCard
      title="重置密码"
      heading="确认重置密码"
      {...(isBroken ? {} : { lead: `账户邮箱：${email}` })}
      {...(reset.data === undefined ? { links: <SendAgain /> } : {})}
    >
      {isBroken ? <Callout tone="bad">重置链接无效或不完整，请从邮件中重新打开。</Callout> : null}
      {reset.data === undefined ? (
        <PlainButton
          kind="primary"
          isLarge
          isBusy={reset.isPending}
          disabled={isBroken}
          onClick={() => reset.mutate({ body: { email, token } })}
        >
          提交
        </PlainButton>
      ) : (
        <NewPassword password={reset.data} />
      )}
    </GuestCard>
  );
}
