// Asks for a password reset by e-mail. The answer is the same whether the address is registered or not.
import { Link } from "react-router";
import { z } from "zod";
import { useCall } from "#console/base/call.ts";
import { useCountdown } from "#console/base/countdown.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { GuestCard } from "#console/ui/guest-card.tsx";
import { HumanCheckBox, useHumanCheck } from "#console/ui/human-check.tsx";
import { PlainForm } from "#console/ui/plain-form.tsx";
import { authApi, RequiredEmail } from "#contract/auth.ts";

const ResetRequest = z.object({ email: RequiredEmail });

export function ResetPage() {
  const check = useHumanCheck();
  const countdown = useCountdown();
  const request = useCall(authApi.requestReset, {
    onSuccess: () => {
      toast.success("重置邮件发送成功，请检查邮箱！");
      countdown.start();
    },
  });
  const submit = ({ email }: { readonly email: string }) => {
    const turnstile = check.take();
    if (turnstile !== undefined) request.mutate({ query: { email, turnstile } });
  };
  return (
    <GuestCard
      title="重置密码"
      heading="重置密码"
      lead="填写账户绑定的邮箱地址，以接收重置链接。"
      links={
        <span>
          想起来了？<Link to="/login">点击登录</Link>
        </span>
      }
    >
      {request.isSuccess ? (
        <Callout tone="info">如果该邮箱绑定了账户，重置邮件已经发出，请在 10 分钟内打开其中的链接。</Callout>
      ) : null}
      <PlainForm
        schema={ResetRequest}
        initial={{ email: "" }}
        fields={[
          {
            name: "email",
            label: "邮箱地址",
            hint: "name@example.com",
            type: "email",
            autoComplete: "email",
          },
        ]}
        submit={{
          text: countdown.left > 0 ? `重试 (${countdown.left})` : "提交",
          isBusy: request.isPending,
          isOff: countdown.left > 0,
        }}
        onSubmit={submit}
      >
        {() => <HumanCheckBox check={check} />}
      </PlainForm>
    </GuestCard>
  );
}
