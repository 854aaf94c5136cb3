// Logging in or binding through WeChat: scan, follow, ask for a code, type it here. The code is valid for 3 minutes (requirements B5).
import { useState } from "react";
import { z } from "zod";
import { faultText } from "#console/base/faults.ts";
import { useStatus } from "#console/base/status.ts";
import { Callout } from "./callout.tsx";
import { PlainDialog } from "./plain-dialog.tsx";
import { PlainForm } from "./plain-form.tsx";
import "./wechat-dialog.css";

const WeChatCode = z.object({ code: z.string().trim().min(1, "请输入验证码") });

export interface WeChatDialogProps {
  readonly title: string;
  readonly submitText: string;
  readonly isBusy: boolean;
  /** Why the last code was refused; toasts stand behind an open dialog. */
  readonly fault: Error | null;
  readonly onCode: (code: string) => void;
  readonly onClose: () => void;
}

/** Only addresses an image may have here; stored text is untrusted (requirements H06). */
function useQrCode(): string | undefined {
  const address = useStatus()?.wechat_qrcode ?? "";
  return /^(https?:\/\/|\/(?![/\\]))/.test(address) ? address : undefined;
}

function QrCode() {
  const address = useQrCode();
  const [isBroken, setBroken] = useState(false);
  if (address === undefined) return <p className="tg-wechat-none">管理员还没有设置公众号二维码</p>;
  if (isBroken) return <p className="tg-wechat-none">二维码加载失败，请检查网络后重新打开</p>;
  return (
    <img
      src={address}
      alt="微信公众号二维码"
      width={200}
      height={200}
      referrerPolicy="no-referrer"
      onError={() => setBroken(true)}
    />
  );
}

export function WeChatDialog(props: WeChatDialogProps) {
  const { title, submitText, isBusy, fault, onCode, onClose } = props;
  return (
    <PlainDialog title={title} onClose={onClose}>
      <div className="tg-wechat">
        <QrCode />
        <p className="tg-muted">微信扫码关注公众号，回复“验证码”获取，3 分钟内有效</p>
        {fault === null ? null : <Callout tone="bad">{faultText(fault)}</Callout>}
        <PlainForm
          schema={WeChatCode}
          initial={{ code: "" }}
          fields={[
            { name: "code", label: "验证码", hint: "公众号回复的验证码", autoComplete: "one-time-code" },
          ]}
          submit={{ text: submitText, isBusy }}
          onSubmit={({ code }) => onCode(code.trim())}
        />
      </div>
    </PlainDialog>
  );
}
