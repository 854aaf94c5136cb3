// The second factors of the own account: authenticator app, passkeys, recovery codes.
import { KeyOutlined, MobileOutlined, SafetyCertificateOutlined } from "@ant-design/icons";
import { Button } from "antd";
import { useState } from "react";
import { useCall } from "#console/base/call.ts";
import { formatTime } from "#console/base/format.ts";
import { canUsePasskeys } from "#console/base/passkey.ts";
import { useStatus } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { ConfirmButton } from "#console/ui/confirm-button.tsx";
import { useNewPasskey } from "#console/ui/new-passkey.ts";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { type FactorState, factorApi } from "#contract/factor.ts";
import { RecoveryDialog } from "./recovery-dialog.tsx";
import { TotpDialog } from "./totp-dialog.tsx";
import { Way } from "./way.tsx";

function PasskeyRow({ passkey }: { readonly passkey: FactorState["passkeys"][number] }) {
  const remove = useCall(factorApi.removePasskey, {
    invalidates: [factorApi.state],
    onSuccess: () => toast.success("通行密钥已移除！"),
  });
  const used = `上次使用 ${formatTime(passkey.last_used_at)}`;
  return (
    <Way
      icon={<KeyOutlined aria-hidden="true" />}
      name={passkey.name}
      state={
        <>
          {passkey.is_synced ? `可跨设备同步 · ${used}` : used}
          {passkey.is_suspicious ? (
            <StatusTag
              tone="bad"
              label="计数器异常"
              hint="它的计数器曾经倒退，可能已被复制，建议移除后重新添加。"
            />
          ) : null}
        </>
      }
    >
      <ConfirmButton
        aria-label={`移除通行密钥 ${passkey.name}`}
        loading={remove.isPending}
        question="移除后不能再用它登录，确定吗？"
        confirmText="确认移除"
        onConfirm={() => remove.mutate({ params: { id: passkey.id } })}
      >
        移除
      </ConfirmButton>
    </Way>
  );
}

function Totp({ state, onAdd }: { readonly state: FactorState; readonly onAdd: () => void }) {
  const remove = useCall(factorApi.removeTotp, {
    invalidates: [factorApi.state],
    onSuccess: () => toast.success("认证器应用已移除！"),
  });
  const isSet = state.totp_created_at > 0;
  return (
    <Way
      icon={<MobileOutlined aria-hidden="true" />}
      name="认证器应用"
      state={isSet ? `已启用 · 上次使用 ${formatTime(state.totp_used_at)}` : "用手机应用生成 6 位验证码"}
    >
      <Button onClick={onAdd}>{isSet ? "更换" : "添加"}</Button>
      {isSet ? (
        <ConfirmButton
          aria-label="移除认证器应用"
          loading={remove.isPending}
          question="移除后登录不再询问它的验证码，确定吗？"
          confirmText="确认移除"
          onConfirm={() => remove.mutate({})}
        >
          移除
        </ConfirmButton>
      ) : null}
    </Way>
  );
}

function Recovery({
  state,
  onCodes,
}: {
  readonly state: FactorState;
  readonly onCodes: (codes: readonly string[]) => void;
}) {
  const renew = useCall(factorApi.recovery, {
    invalidates: [factorApi.state],
    onSuccess: ({ recovery_codes }) => onCodes(recovery_codes),
  });
  const isFew = state.recovery_left < 3;
  return (
    <Way
      icon={<SafetyCertificateOutlined aria-hidden="true" />}
      name="恢复码"
      state={
        <>
          {`还剩 ${state.recovery_left} 个，手机丢失时用来登录`}
          {isFew ? <StatusTag tone="warn" label="快用完了" /> : null}
        </>
      }
    >
      <ConfirmButton
        loading={renew.isPending}
        question="生成新的恢复码？旧的会立即失效。"
        confirmText="确认生成"
        onConfirm={() => renew.mutate({})}
      >
        重新生成
      </ConfirmButton>
    </Way>
  );
}

export function Factors({ state }: { readonly state: FactorState }) {
  const [isAdding, setAdding] = useState(false);
  const [codes, setCodes] = useState<readonly string[]>();
  const add = useNewPasskey((made) => {
    if (made.length > 0) setCodes(made);
  });
  const rpId = useStatus()?.passkey_rp_id ?? "";
  const hasAny = state.totp_created_at > 0 || state.passkeys.length > 0;
  const isPossible = state.passkeys_possible && canUsePasskeys(rpId);
  return (
    <section className="tg-card tg-section">
      <h2>两步验证</h2>
      <p>
        启用后，登录时除密码外还要确认是您本人；查看密钥、调整额度等敏感操作也会再次询问。
        {hasAny ? null : "建议至少添加一种。"}
      </p>
      <ul className="tg-ways">
        <Totp state={state} onAdd={() => setAdding(true)} />
        <Way
          icon={<KeyOutlined aria-hidden="true" />}
          name="通行密钥"
          state={
            isPossible
              ? "用指纹、面容、设备密码或安全钥匙登录，不怕钓鱼"
              : "只能在“服务器地址”所设的域名下、用支持它的浏览器添加"
          }
        >
          <Button disabled={!isPossible} loading={add.isPending} onClick={() => add.mutate()}>
            添加通行密钥
          </Button>
        </Way>
        {state.passkeys.map((passkey) => (
          <PasskeyRow key={passkey.id} passkey={passkey} />
        ))}
        {hasAny ? <Recovery state={state} onCodes={setCodes} /> : null}
      </ul>
      {isAdding ? (
        <TotpDialog
          onClose={() => setAdding(false)}
          onDone={(made) => {
            setAdding(false);
            if (made.length > 0) setCodes(made);
          }}
        />
      ) : null}
      {codes === undefined ? null : <RecoveryDialog codes={codes} onClose={() => setCodes(undefined)} />}
    </section>
  );
}
