// What a user gives to programs and friends: the system access token and the invite link.
import { Button } from "antd";
import { useCall } from "#console/base/call.ts";
import { copyText } from "#console/base/clipboard.ts";
import { useServerAddress } from "#console/base/status.ts";
import { ConfirmButton } from "#console/ui/confirm-button.tsx";
import { CopyField } from "#console/ui/copy-field.tsx";
import { accountApi } from "#contract/account.ts";

function SystemToken() {
  const generate = useCall(accountApi.accessToken, {
    onSuccess: (token) => void copyText(token, "系统令牌已复制到剪切板！"),
  });
  return (
    <section className="tg-card tg-section">
      <h2>系统访问令牌</h2>
      <p>用来以你的身份调用管理接口，不是模型调用的令牌。每次生成后旧的立即失效，新的只显示这一次。</p>
      <div className="tg-setting-stack">
        {generate.data === undefined ? null : (
          <CopyField label="新的系统访问令牌" text={generate.data} copyLabel="复制系统访问令牌" />
        )}
        <div>
          <ConfirmButton
            loading={generate.isPending}
            question="生成新的系统访问令牌？旧的令牌会立即失效。"
            confirmText="确认生成"
            onConfirm={() => generate.mutate({})}
          >
            生成系统访问令牌
          </ConfirmButton>
        </div>
      </div>
    </section>
  );
}

function InviteLink() {
  const server = useServerAddress();
  const link = (code: string) => `${server}/register?aff=${encodeURIComponent(code)}`;
  const ask = useCall(accountApi.affCode, {
    onSuccess: (code) => void copyText(link(code), "邀请链接已复制到剪切板！"),
  });
  return (
    <section className="tg-card tg-section">
      <h2>邀请链接</h2>
      <p>好友通过链接注册后会记在你的名下。</p>
      <div className="tg-setting-stack">
        {ask.data === undefined ? null : (
          <CopyField label="邀请链接" text={link(ask.data)} copyLabel="再次复制邀请链接" />
        )}
        <div>
          <Button loading={ask.isPending} onClick={() => ask.mutate({})}>
            复制邀请链接
          </Button>
        </div>
      </div>
    </section>
  );
}

export function Access() {
  return (
    <>
      <SystemToken />
      <InviteLink />
    </>
  );
}
