// Adding an authenticator app: the picture and the text it reads, then a code of it.
import { Modal, QRCode } from "antd";
import { useEffect, useRef } from "react";
import { z } from "zod";
import { useCall } from "#console/base/call.ts";
import { faultText } from "#console/base/faults.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { CopyField } from "#console/ui/copy-button.tsx";
import { PlainForm } from "#console/ui/plain-form.tsx";
import { factorApi } from "#contract/factor.ts";

const Code = z.object({ code: z.string().trim().min(1, "请输入验证码") });

export interface TotpDialogProps {
  readonly onClose: () => void;
  /** The recovery codes that were made, if any. */
  readonly onDone: (codes: readonly string[]) => void;
}

export function TotpDialog({ onClose, onDone }: TotpDialogProps) {
  const begin = useCall(factorApi.beginTotp, { silent: true });
  const finish = useCall(factorApi.finishTotp, {
    silent: true,
    invalidates: [factorApi.state],
    onSuccess: ({ recovery_codes }) => {
      toast.success("认证器应用已添加！");
      onDone(recovery_codes);
    },
  });
  const isBegun = useRef(false);
  const { mutate } = begin;
  useEffect(() => {
    // A second secret would void the one that is shown.
    if (isBegun.current) return;
    isBegun.current = true;
    mutate({});
  }, [mutate]);
  const fault = begin.error ?? finish.error;
  return (
    <Modal
      open
      title="添加认证器应用"
      width={440}
      footer={null}
      mask={{ closable: false }}
      onCancel={onClose}
    >
      <div className="tg-totp">
        {fault === null ? null : <Callout tone="bad">{faultText(fault)}</Callout>}
        {begin.data === undefined ? null : (
          <>
            <p>用手机上的认证器应用（如 Google Authenticator、Microsoft Authenticator、1Password）扫描：</p>
            <div className="tg-totp-picture">
              <QRCode
                value={begin.data.uri}
                size={184}
                type="svg"
                bgColor="#fff"
                color="#000"
                bordered={false}
              />
            </div>
            <CopyField label="无法扫描时手动输入密钥" text={begin.data.secret} copyLabel="复制密钥" />
            <PlainForm
              schema={Code}
              initial={{ code: "" }}
              fields={[
                { name: "code", label: "应用显示的验证码", hint: "6 位数字", autoComplete: "one-time-code" },
              ]}
              submit={{ text: "完成", isBusy: finish.isPending }}
              onSubmit={({ code }) => finish.mutate({ body: { code } })}
            />
          </>
        )}
      </div>
    </Modal>
  );
}
