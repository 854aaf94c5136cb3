// The user's own profile: names and password.
import { useQuery } from "@tanstack/react-query";
import { Skeleton } from "antd";
import { useCall } from "#console/base/call.ts";
import { formatCount } from "#console/base/format.ts";
import { NARROW, useMedia } from "#console/base/media.ts";
import { isRoot, roleLabel, selfQuery } from "#console/base/session.ts";
import { useStatus } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { Facts } from "#console/ui/facts.tsx";
import { rule, unlessKept } from "#console/ui/fields.ts";
import { GroupTags } from "#console/ui/group-tags.tsx";
import { Page } from "#console/ui/page.tsx";
import { PasswordForm } from "#console/ui/password-form.tsx";
import { ResourceForm } from "#console/ui/resource-form.tsx";
import { Section } from "#console/ui/section.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import { QuotaText } from "#console/ui/value-text.tsx";
import { DisplayName, Username } from "#contract/name.ts";
import { type User, userApi } from "#contract/user.ts";

interface Names {
  readonly username: string;
  readonly display_name: string;
}

function Account({ user }: { readonly user: User }) {
  const isNarrow = useMedia(NARROW);
  return (
    <Section title="账户">
      <div style={{ marginTop: 12 }}>
        <Facts
          columns={isNarrow ? 1 : 3}
          facts={[
            ["用户角色", roleLabel(user.role)],
            ["分组", <GroupTags key="group" groups={user.group.split(",").filter(Boolean)} />],
            ["请求次数", formatCount(user.request_count)],
            ["剩余额度", <QuotaText key="left" quota={user.quota} />],
            ["已用额度", <QuotaText key="used" quota={user.used_quota} />],
            ["邮箱", user.email || <span className="tg-muted">未绑定邮箱地址</span>],
          ]}
        />
      </div>
    </Section>
  );
}

function NamesForm({ user }: { readonly user: User }) {
  const save = useCall(userApi.updateSelf, { invalidates: [userApi.self], onSuccess: () => toast.success() });
  const initial: Names = { username: user.username, display_name: user.display_name };
  return (
    <Section title="基本信息" lead="用户名用于登录，显示名称会出现在控制台中。">
      <ResourceForm<Names>
        initial={initial}
        submitText="保存"
        onSubmit={(body) => save.mutateAsync({ body })}
      >
        {() => (
          <div className="tg-form-row">
            <TextField
              name="username"
              label="用户名"
              extra="最多 12 个字符"
              rules={[unlessKept(user.username, rule(Username))]}
              autoComplete="username"
              maxLength={Math.max(12, user.username.length)}
            />
            <TextField
              name="display_name"
              label="显示名称"
              extra="最多 20 个字符"
              rules={[unlessKept(user.display_name, rule(DisplayName))]}
              autoComplete="nickname"
              maxLength={Math.max(20, user.display_name.length)}
            />
          </div>
        )}
      </ResourceForm>
    </Section>
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
