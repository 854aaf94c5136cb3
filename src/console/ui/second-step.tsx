// The second half of a login: passkey, code of the authenticator app, or a recovery code. All that the account has is offered.
import { KeyOutlined } from "@ant-design/icons";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { z } from "zod";
import { call, useCall } from "#console/base/call.ts";
import { faultText } from "#console/base/faults.ts";
import { askForPasskey, canUsePasskeys } from "#console/base/passkey.ts";
import { useStatus } from "#console/base/status.ts";
import { type FactorKind, factorApi, type LoginUser } from "#contract/factor.ts";
import { Callout } from "./callout.tsx";
import { PlainButton } from "./plain-button.tsx";
import { PlainForm } from "./plain-form.tsx";

const Code = z.object({ code: z.string().trim().min(1, "请输入验证码") });

const TOTP_FIELD = {
  name: "code",
  label: "验证码",
  hint: "认证器应用里的 6 位数字",
  autoComplete: "one-time-code",
} as const;
const RECOVERY_FIELD = {
  name: "code",
  label: "恢复码",
  hint: "例如 7K3QX-M9F2D",
  autoComplete: "off",
} as const;

/** Asks for a passkey: whichever the device has, or, when the password was right already, one of that account. */
export function usePasskeyLogin(onUser: (user: LoginUser) => void) {
  return useMutation({
    mutationFn: async () => {
      const options = await call(factorApi.askLoginPasskey, {});
      return call(factorApi.loginPasskey, { body: await askForPasskey(options) });
    },
    meta: { silent: true },
    onSuccess: onUser,
  });
}

interface StepProps {
  readonly factors: readonly FactorKind[];
  readonly onUser: (user: LoginUser) => void;
  readonly onBack: () => void;
}

function PasskeyWay({ isPrimary, onUser }: { readonly isPrimary: boolean } & Pick<StepProps, "onUser">) {
  const rpId = useStatus()?.passkey_rp_id ?? "";
  const login = usePasskeyLogin(onUser);
  if (!canUsePasskeys(rpId))
    return <Callout tone="info">当前浏览器或网址无法使用通行密钥，请改用其他方式。</Callout>;
  return (
    <>
      {login.error === null ? null : <Callout tone="bad">{faultText(login.error)}</Callout>}
      <PlainButton
        kind={isPrimary ? "primary" : "default"}
        isLarge
        icon={<KeyOutlined aria-hidden="true" />}
        isBusy={login.isPending}
        onClick={() => login.mutate()}
      >
        使用通行密钥
      </PlainButton>
    </>
  );
}

function TypedWay({ isRecovery, onUser }: { readonly isRecovery: boolean } & Pick<StepProps, "onUser">) {
  const [isRemembered, setRemembered] = useState(false);
  const login = useCall(factorApi.login, { silent: true, onSuccess: onUser });
  return (
    <>
      {login.error === null ? null : <Callout tone="bad">{faultText(login.error)}</Callout>}
      <PlainForm
        schema={Code}
        initial={{ code: "" }}
        fields={[isRecovery ? RECOVERY_FIELD : TOTP_FIELD]}
        submit={{ text: "登录", isBusy: login.isPending }}
        onSubmit={({ code }) => login.mutate({ body: { code, remember: isRemembered && !isRecovery } })}
      >
        {() =>
          isRecovery ? null : (
            <label className="tg-plain-check">
              <input
                type="checkbox"
                checked={isRemembered}
                onChange={(event) => setRemembered(event.target.checked)}
              />
              30 天内在此浏览器登录不再询问
            </label>
          )
        }
      </PlainForm>
    </>
  );
}

export function SecondStep({ factors, onUser, onBack }: StepProps) {
  const hasTotp = factors.includes("totp");
  const hasRecovery = factors.includes("recovery");
  const [isRecovery, setRecovery] = useState(!hasTotp && !factors.includes("passkey"));
  return (
    <>
      {factors.includes("passkey") ? <PasskeyWay isPrimary={!hasTotp} onUser={onUser} /> : null}
      {hasTotp || isRecovery ? (
        <TypedWay key={String(isRecovery)} isRecovery={isRecovery} onUser={onUser} />
      ) : null}
      <div className="tg-guest-links">
        {hasRecovery ? (
          <button type="button" className="tg-link-button" onClick={() => setRecovery(!isRecovery)}>
            {isRecovery ? "改用其他方式" : "使用恢复码"}
          </button>
        ) : null}
        <button type="button" className="tg-link-button" onClick={onBack}>
          换一个账户登录
        </button>
      </div>
    </>
  );
}
