// The user's own profile: names and password.
import { useQuery } from "@tanstack/react-query";
import { Descriptions, Form, Input, Skeleton } from "antd";
import { useCall } from "#console/base/call.ts";
import { formatCount } from "#console/base/format.ts";
import { NARROW, useMedia } from "#console/base/media.ts";
import { isRoot, roleLabel, selfQuery } from "#console/base/session.ts";
import { useStatus } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { rule, unlessKept } from "#console/ui/fields.ts";
import { GroupTags } from "#console/ui/group-tags.tsx";
import { Page } from "#console/ui/page.tsx";
import { PasswordForm } from "#console/ui/password-form.tsx";
import { QuotaText } from "#console/ui/quota-text.tsx";
import { ResourceForm } from "#console/ui/resource-form.tsx";
import { DisplayName, Username } from "#contract/name.ts";
import { type User, userApi } from "#contract/user.ts";

interface Names {
  readonly username: string;
  readonly display_name: string;
}

function Account({ user }: { readonly user: User }) {
  const isNarrow = useMedia(NARROW);
  return (
    <section className="tg-card tg-section">
      <h2>账户</h2>
      <Descriptions
        column={isNarrow ? 1 : 3}
        size="small"
        style={{ marginTop: 12 }}
        items={[
          { key: "role", label: "用户角色", children: roleLabel(user.role) },
          {
            key: "group",
            label: "分组",
            children: <GroupTags groups={user.group.split(",").filter(Boolean)} />,
          },
          { key: "request", label: "请求次数", children: formatCount(user.request_count) },
          { key: "quota", label: "剩余额度", children: <QuotaText quota={user.quota} /> },
          { key: "used", label: "已用额度", children: <QuotaText quota={user.used_quota} /> },
          {
            key: "email",
            label: "邮箱",
            children: user.email || <span className="tg-muted">未绑定邮箱地址</span>,
          },
        ]}
      />
    </section>
  );
}

function NamesForm({ user }: { readonly user: User }) {
  const save = useCall(userApi.updateSelf, { invalidates: [userApi.self], onSuccess: () => toast.success() });
  const initial: Names = { username: user.username, display_name: user.display_name };
  return (
    <section className="tg-card tg-section">
      <h2>基本信息</h2>
      <p>用户名用于登录，显示名称会出现在控制台中。</p>
      <ResourceForm<Names>
        initial={initial}
        submitText="保存"
        onSubmit={(body) => save.mutateAsync({ body })}
      >
        {() => (
          <div className="tg-form-row">
            <Form.Item
              name="username"
              label="用户名"
              extra="最多 12 个字符"
              rules={[unlessKept(user.username, rule(Username))]}
            >
              <Input autoComplete="username" maxLength={Math.max(12, user.username.length)} />
            </Form.Item>
            <Form.Item
              name="display_name"
              label="显示名称"
              extra="最多 20 个字符"
              rules={[unlessKept(user.display_name, rule(DisplayName))]}
            >
              <Input autoComplete="nickname" maxLength={Math.max(20, user.display_name.length)} />
            </Form.Item>
          </div>
        )}
      </ResourceForm>
    </section>
  );
}

export function SelfPage() {
  const self = useQuery(selfQuery);
  const status = useStatus();
  const user = self.data;
  return (
    <Page title="个人资料" width="form">
      {status?.default_password === true && isRoot(user) ? (
        <Callout tone="warn">你正在使用默认密码，请立刻在下方修改。</Callout>
      ) : null}
      {user === undefined ? (
        <div className="tg-card tg-section">
          <Skeleton active />
        </div>
      ) : (
        <>
          <Account user={user} />
          <NamesForm key={`${user.username}\n${user.display_name}`} user={user} />
          <PasswordForm />
        </>
      )}
    </Page>
  );
}
