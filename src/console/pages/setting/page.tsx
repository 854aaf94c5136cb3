// Settings: the own account for every user; the options of the system for administrators. The tab is in the URL.
import { useQuery } from "@tanstack/react-query";
import { Button, Tabs } from "antd";
import { useCall } from "#console/base/call.ts";
import { copyText } from "#console/base/clipboard.ts";
import { may, selfQuery, useUser } from "#console/base/session.ts";
import { useServerAddress } from "#console/base/status.ts";
import { ConfirmButton } from "#console/ui/confirm-button.tsx";
import { CopyField } from "#console/ui/copy-button.tsx";
import { Page } from "#console/ui/page.tsx";
import { PasswordForm } from "#console/ui/password-form.tsx";
import { Section } from "#console/ui/section.tsx";
import { useTab } from "#console/ui/table-state.ts";
import { FormState } from "#console/ui/table-states.tsx";
import { accountApi } from "#contract/account.ts";
import { Bindings } from "./bindings.tsx";
import { OptionsTab } from "./options-tab.tsx";
import { RemoveAccount } from "./remove-account.tsx";
import { SecurityTab } from "./security/tab.tsx";
import "./setting.css";

function SystemToken() {
  const generate = useCall(accountApi.accessToken, {
    onSuccess: (token) => void copyText(token, "系统令牌已复制到剪切板！"),
  });
  return (
    <Section
      title="系统访问令牌"
      lead="用来以你的身份调用管理接口，不是模型调用的令牌。每次生成后旧的立即失效，新的只显示这一次。"
    >
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
    </Section>
  );
}

function InviteLink() {
  const server = useServerAddress();
  const link = (code: string) => `${server}/register?aff=${encodeURIComponent(code)}`;
  const ask = useCall(accountApi.affCode, {
    onSuccess: (code) => void copyText(link(code), "邀请链接已复制到剪切板！"),
  });
  return (
    <Section title="邀请链接" lead="好友通过链接注册后会记在你的名下。">
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
    </Section>
  );
}

function Access() {
  return (
    <>
      <SystemToken />
      <InviteLink />
    </>
  );
}

function PersonalTab() {
  const self = useQuery(selfQuery);
  if (self.data === undefined) return <FormState error={self.error} onRetry={() => void self.refetch()} />;
  return (
    <div className="tg-setting-column">
      <PasswordForm />
      <Bindings user={self.data} />
      <Access />
      <RemoveAccount user={self.data} />
    </div>
  );
}

const personal = [
  { key: "personal", label: "个人设置", children: <PersonalTab /> },
  { key: "security", label: "安全", children: <SecurityTab /> },
];
const administrative = [
  { key: "operation", label: "运营设置", children: <OptionsTab tab="operation" /> },
  { key: "system", label: "系统设置", children: <OptionsTab tab="system" /> },
  { key: "other", label: "其他设置", children: <OptionsTab tab="other" /> },
];

export function SettingPage() {
  const user = useUser();
  const [tab, openTab] = useTab("personal");
  const items = may(user, "option.read") ? [...personal, ...administrative] : personal;
  return (
    <Page title="设置" width="form">
      <Tabs
        activeKey={items.some(({ key }) => key === tab) ? tab : "personal"}
        items={items}
        className="tg-setting-tabs"
        // All five stand side by side on a phone: a menu of the rest would hide where options are.
        tabBarGutter={20}
        onChange={openTab}
      />
    </Page>
  );
}
