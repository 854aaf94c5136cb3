// An e-mail address and the code that was sent to it, for registering and for binding (requirements B4, B5).
import { useCall } from "#console/base/call.ts";
import { useCountdown } from "#console/base/countdown.ts";
import { toast } from "#console/base/toast.ts";
import { authApi } from "#contract/auth.ts";
import type { HumanCheck } from "./human-check.tsx";
import { PlainButton } from "./plain-button.tsx";
import { type FieldBinding, PlainField } from "./plain-form.tsx";

export interface EmailCodeFieldsProps {
  readonly email: FieldBinding;
  readonly code: FieldBinding;
  readonly check: HumanCheck;
}

export function EmailCodeFields({ email, code, check }: EmailCodeFieldsProps) {
  const countdown = useCountdown();
  const send = useCall(authApi.sendCode, {
    onSuccess: () => {
      toast.success("验证码发送成功，请检查你的邮箱！");
      countdown.start();
    },
  });
  const request = () => {
    if (email.value.trim() === "") {
      toast.warning("请输入邮箱地址");
      return;
    }
    const turnstile = check.take();
    if (turnstile !== undefined) send.mutate({ query: { email: email.value, turnstile } });
  };
  return (
    <>
      <PlainField
        {...email}
        label="邮箱地址"
        hint="name@example.com"
        type="email"
        autoComplete="email"
        end={
          <PlainButton
            kind="text"
            isBusy={send.isPending}
            disabled={countdown.left > 0 || email.value.trim() === ""}
            onClick={request}
          >
            {countdown.left > 0 ? `重新发送 (${countdown.left})` : "获取验证码"}
          </PlainButton>
        }
      />
      <PlainField {...code} label="验证码" hint="邮件中的验证码" autoComplete="one-time-code" />
    </>
  );
}
