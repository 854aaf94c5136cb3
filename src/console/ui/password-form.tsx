// Changes the user's own password: the current one, the new one twice (requirements B2, B5).
import { useQueryClient } from "@tanstack/react-query";
import { Form, Input } from "antd";
import { invalidate, useCall } from "#console/base/call.ts";
import { forgetDefaultPassword } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { Password, userApi } from "#contract/user.ts";
import { required, rule } from "./fields.ts";
import { ResourceForm } from "./resource-form.tsx";
import { Section } from "./section.tsx";
import { TextField } from "./text-field.tsx";

interface Passwords {
  readonly original_password: string;
  readonly password: string;
  readonly repeated: string;
}

export function PasswordForm() {
  const client = useQueryClient();
  const save = useCall(userApi.updateSelf, {
    onSuccess: () => {
      toast.success("密码已修改！");
      forgetDefaultPassword(client);
      void invalidate(client, [userApi.self]);
    },
  });
  const submit = ({ original_password, password }: Passwords) =>
    save.mutateAsync({ body: { original_password, password } });
  return (
    <Section title="修改密码" lead="修改后，其他设备上的登录会失效。">
      <ResourceForm<Passwords>
        key={save.submittedAt > 0 && save.isSuccess ? save.submittedAt : 0}
        initial={{ original_password: "", password: "", repeated: "" }}
        submitText="修改密码"
        onSubmit={submit}
      >
        {() => (
          <div className="tg-form-row">
            <TextField
              name="original_password"
              label="当前密码"
              rules={[{ required: true, message: "请输入当前密码" }]}
              isSecret
              autoComplete="current-password"
            />
            <TextField
              name="password"
              label="新密码"
              extra="8 到 20 个字符"
              rules={[required, rule(Password)]}
              isSecret
              autoComplete="new-password"
            />
            <Form.Item
              name="repeated"
              label="再次输入新密码"
              dependencies={["password"]}
              rules={[
                required,
                ({ getFieldValue }) => ({
                  validator: (_field, value) =>
                    value === getFieldValue("password")
                      ? Promise.resolve()
                      : Promise.reject(new Error("两次输入的密码不一致")),
                }),
              ]}
            >
              <Input.Password autoComplete="new-password" />
            </Form.Item>
          </div>
        )}
      </ResourceForm>
    </Section>
  );
}
