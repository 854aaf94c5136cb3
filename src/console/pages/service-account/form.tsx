// Makes a service account; its token is shown once.
import { Form } from "antd";
import { useState } from "react";
import { useCall } from "#console/base/call.ts";
import { useUser } from "#console/base/session.ts";
import { required, rule } from "#console/ui/fields.ts";
import { useToList } from "#console/ui/form-way.ts";
import { NumberInput } from "#console/ui/number-input.tsx";
import { Page } from "#console/ui/page.tsx";
import { PermissionFields } from "#console/ui/permission-fields.tsx";
import { ResourceForm } from "#console/ui/resource-form.tsx";
import { SecretsDialog } from "#console/ui/secrets-dialog.tsx";
import { Section } from "#console/ui/section.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import { SERVICE_GRANTABLE } from "#contract/permission.ts";
import { ServiceAccountDraft, serviceAccountApi } from "#contract/service-account.ts";

const INITIAL: ServiceAccountDraft = { name: "", permissions: [], subnet: "", days: 90 };
const { shape } = ServiceAccountDraft;

function Fields() {
  // An administrator with a set gives of it; the server holds everybody to that.
  const held = useUser()?.permissions;
  const offered = SERVICE_GRANTABLE.filter((name) => held === undefined || held.includes(name));
  return (
    <>
      <Section title="程序" lead="审计日志以“您的用户名/名称”记录它的操作。">
        <TextField
          name="name"
          label="名称"
          rules={[required, rule(shape.name)]}
          maxLength={40}
          autoComplete="off"
          placeholder="例如：nightly-report"
        />
        <TextField
          name="subnet"
          label="IP 限制（可不填）"
          extra="以逗号分隔的 IP 或 CIDR；留空为任意地址。"
          rules={[rule(shape.subnet)]}
          autoComplete="off"
          placeholder="203.0.113.7,10.0.0.0/8"
        />
        <Form.Item
          name="days"
          label="有效天数"
          extra="最多一年，到期后须重新创建。"
          rules={[required, rule(shape.days)]}
        >
          <NumberInput precision={0} style={{ width: "100%" }} />
        </Form.Item>
      </Section>
      <Section title="权限" lead="只勾选程序需要的；没有列出的接口它都不能调用，勾选的无需再次验证。">
        <PermissionFields names={offered} rules={[rule(shape.permissions)]} />
      </Section>
    </>
  );
}

export function NewServiceAccountPage() {
  const toList = useToList("/service-account");
  const [token, setToken] = useState<string>();
  const create = useCall(serviceAccountApi.create, {
    invalidates: [serviceAccountApi.list],
    onSuccess: (made) => setToken(made.token),
  });
  return (
    <Page title="添加新的服务账户" width="form">
      <ResourceForm<ServiceAccountDraft>
        initial={INITIAL}
        submitText="创建令牌"
        onSubmit={(values) => create.mutateAsync({ body: values })}
        onCancel={toList}
      >
        {() => <Fields />}
      </ResourceForm>
      {token === undefined ? null : (
        <SecretsDialog
          batch={{ name: "服务账户令牌", secrets: [token] }}
          kind="服务账户令牌"
          hint="请现在保存，关闭后不再显示。放入 Authorization 请求头使用：Authorization: Bearer 令牌。"
          onClose={toList}
        />
      )}
    </Page>
  );
}
