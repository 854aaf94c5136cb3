// The login methods that are bound to the user's own account: WeChat, GitHub, e-mail.
import { GithubOutlined, MailOutlined, WechatOutlined } from "@ant-design/icons";
import { Button } from "antd";
import { type ReactNode, useState } from "react";
import { z } from "zod";
import { useCall } from "#console/base/call.ts";
import { faultText } from "#console/base/faults.ts";
import { useGithub } from "#console/base/github.ts";
import { useStatus } from "#console/base/status.ts";
import { Callout } from "#console/ui/callout.tsx";
import { closing } from "#console/ui/closing.ts";
import { EmailCodeFields } from "#console/ui/email-code-fields.tsx";
import { HumanCheckBox, useHumanCheck } from "#console/ui/human-check.tsx";
import { PlainDialog } from "#console/ui/plain-dialog.tsx";
import { PlainForm } from "#console/ui/plain-form.tsx";
import { Section } from "#console/ui/section.tsx";
import { WeChatDialog } from "#console/ui/wechat-dialog.tsx";
import { RequiredEmail } from "#contract/auth.ts";
import { oauthApi } from "#contract/oauth.ts";
import { type User, userApi } from "#contract/user.ts";
import { Identities } from "./identities.tsx";
import { Way } from "./security/way.tsx";

const EmailBinding = z.object({
  email: RequiredEmail,
  code: z.string().trim().min(1, "请输入验证码"),
});

interface DialogProps {
  readonly onClose: () => void;
}

function WeChatBinding({ onClose }: DialogProps) {
  const bind = useCall(oauthApi.bindWeChat, {
    silent: true,
    ...closing([userApi.self], "微信账户绑定成功！", onClose),
  });
  return (
    <WeChatDialog
      title="绑定微信账号"
      submitText="绑定"
      isBusy={bind.isPending}
      fault={bind.error}
      onCode={(code) => bind.mutate({ query: { code } })}
      onClose={onClose}
    />
  );
}

function EmailBindingDialog({ onClose }: DialogProps) {
  const check = useHumanCheck();
  const bind = useCall(oauthApi.bindEmail, {
    silent: true,
    ...closing([userApi.self], "邮箱账户绑定成功！", onClose),
  });
  return (
    <PlainDialog title="绑定邮箱地址" onClose={onClose}>
      {bind.error === null ? null : <Callout tone="bad">{faultText(bind.error)}</Callout>}
      <PlainForm
        schema={EmailBinding}
        initial={{ email: "", code: "" }}
        submit={{ text: "确认绑定", isBusy: bind.isPending }}
        onSubmit={(query) => bind.mutate({ query })}
      >
        {(field) => (
          <>
            <EmailCodeFields email={field("email")} code={field("code")} check={check} />
            <HumanCheckBox check={check} />
          </>
        )}
      </PlainForm>
    </PlainDialog>
  );
}

interface BindingProps {
  readonly icon: ReactNode;
  readonly name: string;
  readonly bound: string;
  /** Why it cannot be bound here; undefined = it can. */
  readonly closed?: string;
  readonly action: string;
  readonly isBusy?: boolean;
  readonly onBind: () => void;
}

function Binding({ icon, name, bound, closed, action, isBusy = false, onBind }: BindingProps) {
  return (
    <Way icon={icon} name={name} state={bound !== "" ? bound : (closed ?? "未绑定")}>
      <Button disabled={closed !== undefined} loading={isBusy} onClick={onBind}>
        {action}
      </Button>
    </Way>
  );
}

export function Bindings({ user }: { readonly user: User }) {
  const status = useStatus();
  const github = useGithub();
  const [open, setOpen] = useState<"wechat" | "email">();
  const close = () => setOpen(undefined);
  const off = { closed: "管理员未启用" };
  return (
    <Section title="账号绑定" lead="绑定后可以用它登录；邮箱还用于找回密码与接收额度提醒。">
      <ul className="tg-ways">
        <Binding
          icon={<WechatOutlined aria-hidden="true" />}
          name="微信"
          bound={user.wechat_id === "" ? "" : "已绑定"}
          {...(status?.wechat_login === true ? {} : off)}
          action={user.wechat_id === "" ? "绑定微信账号" : "换绑微信账号"}
          onBind={() => setOpen("wechat")}
        />
        <Binding
          icon={<GithubOutlined aria-hidden="true" />}
          name="GitHub"
          bound={user.github_id}
          {...(status?.github_oauth === true ? {} : off)}
          action={user.github_id === "" ? "绑定 GitHub 账号" : "换绑 GitHub 账号"}
          isBusy={github.isBusy}
          onBind={github.go}
        />
        <Binding
          icon={<MailOutlined aria-hidden="true" />}
          name="邮箱"
          bound={user.email}
          action={user.email === "" ? "绑定邮箱地址" : "换绑邮箱地址"}
          onBind={() => setOpen("email")}
        />
        <Identities />
      </ul>
      {open === "wechat" ? <WeChatBinding onClose={close} /> : null}
      {open === "email" ? <EmailBindingDialog onClose={close} /> : null}
    </Section>
  );
}
