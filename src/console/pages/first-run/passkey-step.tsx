// The second step, where the address of the server has a name: a passkey beside the password.
import { KeyOutlined } from "@ant-design/icons";
import { useState } from "react";
import { Callout } from "#console/ui/callout.tsx";
import { CopyButton } from "#console/ui/copy-button.tsx";
import { useNewPasskey } from "#console/ui/new-passkey.ts";
import { PlainButton } from "#console/ui/plain-button.tsx";
import { StepHead } from "./step-head.tsx";

function Codes({ codes, onDone }: { readonly codes: readonly string[]; readonly onDone: () => void }) {
  return (
    <>
      <StepHead heading="保存恢复码">
        设备丢失时，用恢复码代替通行密钥登录，每个只能用一次。它们不会再次显示。
      </StepHead>
      <ul className="tg-first-codes tg-code" aria-label="恢复码">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="tg-first-ways">
        <CopyButton text={codes.join("\n")} label="复制恢复码" kind="default" isLarge />
        <PlainButton kind="primary" isLarge onClick={onDone}>
          已保存，下一步
        </PlainButton>
      </div>
    </>
  );
}

export function PasskeyStep({ onDone }: { readonly onDone: () => void }) {
  const [codes, setCodes] = useState<readonly string[]>([]);
  const add = useNewPasskey((made) => (made.length > 0 ? setCodes(made) : onDone()));
  if (codes.length > 0) return <Codes codes={codes} onDone={onDone} />;
  return (
    <>
      <StepHead heading="添加通行密钥">
        用指纹、面容、设备密码或安全钥匙登录，不怕钓鱼；查看密钥等敏感操作也用它确认。
      </StepHead>
      <Callout tone="info">可以跳过：之后随时能在“设置 → 安全”里添加，也可以改用认证器应用。</Callout>
      <div className="tg-first-ways">
        <PlainButton isLarge onClick={onDone}>
          跳过
        </PlainButton>
        <PlainButton
          kind="primary"
          isLarge
          icon={<KeyOutlined aria-hidden="true" />}
          isBusy={add.isPending}
          onClick={() => add.mutate()}
        >
          添加通行密钥
        </PlainButton>
      </div>
    </>
  );
}
