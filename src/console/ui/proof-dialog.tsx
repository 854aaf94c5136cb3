// Asks the owner to prove to be there: passkey, authenticator app, or the password of an account that has neither.
import { KeyOutlined } from "@ant-design/icons";
import { useMutation, useQuery } from "@tanstack/react-query";
import { z } from "zod";
import { call, query, useCall } from "#console/base/call.ts";
import { faultText } from "#console/base/faults.ts";
import { askForPasskey, canUsePasskeys } from "#console/base/passkey.ts";
import { useStatus } from "#console/base/status.ts";
import { verifyApi } from "#contract/factor.ts";
import { Callout } from "./callout.tsx";
import { PlainButton } from "./plain-button.tsx";
import { PlainDialog } from "./plain-dialog.tsx";
import { PlainForm } from "./plain-form.tsx";
import "./proof-dialog.css";

/** What is typed, by kind of proof. */
const TYPED = {
  totp: {
    schema: z.object({ code: z.string().trim().min(1, "请输入验证码") }),
    initial: { code: "" },
    field: {
      name: "code",
      label: "认证器应用的验证码",
      hint: "6 位数字",
      type: "text",
      autoComplete: "one-time-code",
    },
  },
  password: {
    schema: z.object({ password: z.string().min(1, "请输入密码") }),
    initial: { password: "" },
    field: {
      name: "password",
      label: "当前密码",
      hint: "密码",
      type: "password",
      autoComplete: "current-password",
    },
  },
} as const;

function PasskeyWay({ onDone }: { readonly onDone: () => void }) {
  const prove = useMutation({
    mutationFn: async () => {
      const options = await call(verifyApi.askPasskey, {});
      return call(verifyApi.confirmPasskey, { body: await askForPasskey(options) });
    },
    meta: { silent: true },
    onSuccess: onDone,
  });
  return (
    <>
      {prove.error === null ? null : <Callout tone="bad">{faultText(prove.error)}</Callout>}
      <PlainButton
        kind="primary"
        isLarge
        icon={<KeyOutlined aria-hidden="true" />}
        isBusy={prove.isPending}
        onClick={() => prove.mutate()}
      >
        使用通行密钥
      </PlainButton>
    </>
  );
}

function TypedWay({ kind, onDone }: { readonly kind: keyof typeof TYPED; readonly onDone: () => void }) {
  const prove = useCall(verifyApi.confirm, { silent: true, onSuccess: onDone });
  const { schema, initial, field } = TYPED[kind];
  return (
    <>
      {prove.error === null ? null : <Callout tone="bad">{faultText(prove.error)}</Callout>}
      <PlainForm<Readonly<Record<string, string>>>
        schema={schema}
        initial={initial}
        fields={[field]}
        submit={{ text: "验证", isBusy: prove.isPending }}
        onSubmit={(body) => prove.mutate({ body })}
      />
    </>
  );
}

export function ProofDialog({ onEnd }: { readonly onEnd: (isProven: boolean) => void }) {
  const rpId = useStatus()?.passkey_rp_id ?? "";
  const methods = useQuery({ ...query(verifyApi.methods, {}), gcTime: 0, meta: { silent: true } });
  const kinds = methods.data ?? [];
  const done = () => onEnd(true);
  const hasPasskey = kinds.includes("passkey") && canUsePasskeys(rpId);
  const typed = kinds.includes("totp") ? "totp" : kinds.includes("password") ? "password" : undefined;
  return (
    <PlainDialog title="确认是您本人" onClose={() => onEnd(false)}>
      <div className="tg-proof">
        <p className="tg-muted">这项操作涉及密钥、资金或账户安全，请再次验证身份。5 分钟内不再询问。</p>
        {methods.error === null ? null : <Callout tone="bad">{faultText(methods.error)}</Callout>}
        {hasPasskey ? <PasskeyWay onDone={done} /> : null}
        {hasPasskey && typed !== undefined ? <div className="tg-guest-or">或</div> : null}
        {typed === undefined ? null : <TypedWay kind={typed} onDone={done} />}
        {methods.isSuccess && !hasPasskey && typed === undefined ? (
          <Callout tone="info">
            {kinds.includes("passkey")
              ? "这个账户用通行密钥验证，而当前浏览器或网址无法使用它。"
              : "这个账户没有密码：请重新登录后，在 5 分钟内再试。"}
          </Callout>
        ) : null}
      </div>
    </PlainDialog>
  );
}
