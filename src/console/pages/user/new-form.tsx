// Creates a user. Nothing is sent while the name or the password is missing (requirements B5).
import { useCall } from "#console/base/call.ts";
import { toast } from "#console/base/toast.ts";
import { required, rule } from "#console/ui/fields.ts";
import { useFirstFocus, useToList } from "#console/ui/form-way.ts";
import { Page } from "#console/ui/page.tsx";
import { ResourceForm } from "#console/ui/resource-form.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import { userAdminApi } from "#contract/user-admin.ts";
import { DisplayNameRule, NEW_USER, NewPasswordRule, type NewUserValues, UsernameRule } from "./values.ts";

export function NewUserPage() {
  const toList = useToList("/user");
  const isFocused = useFirstFocus(true);
  const create = useCall(userAdminApi.create, {
    invalidates: [userAdminApi.list, userAdminApi.search],
    onSuccess: () => toast.success("用户账户创建成功！"),
  });
  return (
    <Page title="添加新的用户" width="form">
      <ResourceForm<NewUserValues>
        initial={NEW_USER}
        kept={["username", "display_name"]}
        onSubmit={({ username, display_name, password }) =>
          create.mutateAsync({ body: { username, display_name, password } })
        }
        onDone={toList}
        onCancel={toList}
      >
        {() => (
          <section className="tg-card tg-section">
            <div className="tg-form-row">
              <TextField
                name="username"
                label="用户名"
                extra="用于登录，最多 12 个字符"
                rules={[required, rule(UsernameRule)]}
                autoFocus={isFocused}
                maxLength={12}
              />
              <TextField
                name="display_name"
                label="显示名称"
                extra="留空则与用户名相同"
                rules={[rule(DisplayNameRule)]}
                maxLength={20}
              />
            </div>
            <TextField
              name="password"
              label="密码"
              extra="8 到 20 个字符。请提醒用户首次登录后自行修改。"
              rules={[required, rule(NewPasswordRule)]}
              isSecret
              autoComplete="new-password"
            />
          </section>
        )}
      </ResourceForm>
    </Page>
  );
}
