// Makes an invitation to the server; its link is shown once.
import { useQuery } from "@tanstack/react-query";
import { Form, Select } from "antd";
import { useState } from "react";
import { query, useCall } from "#console/base/call.ts";
import { useServerAddress } from "#console/base/status.ts";
import { filled, required, rule } from "#console/ui/fields.ts";
import { useToList } from "#console/ui/form-way.ts";
import { NumberInput } from "#console/ui/number-input.tsx";
import { Page } from "#console/ui/page.tsx";
import { QuotaField } from "#console/ui/quota-field.tsx";
import { ResourceForm } from "#console/ui/resource-form.tsx";
import { SecretsDialog } from "#console/ui/secrets-dialog.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import { InvitationDraft, invitationApi } from "#contract/invitation.ts";
import { statusApi } from "#contract/status.ts";

const INITIAL: InvitationDraft = { email: "", group: "default", quota: 0, max_uses: 1, days: 7 };
// All but the address, which a browser does not keep.
const KEPT = ["group", "quota", "max_uses", "days"] as const;
const { shape } = InvitationDraft;

function Fields() {
  const groups = useQuery({ ...query(statusApi.groups, {}), staleTime: 60_000 });
  const isBound = String(Form.useWatch("email") ?? "").trim() !== "";
  return (
    <section className="tg-card tg-section">
      <TextField
        name="email"
        label="受邀邮箱（可不填）"
        extra="填写后只能由这个邮箱使用一次，注册时须验证邮箱。"
        rules={[rule(shape.email)]}
        autoComplete="off"
        placeholder="name@example.com"
      />
      <div className="tg-form-row">
        <Form.Item name="max_uses" label="可用次数" rules={[required, rule(shape.max_uses)]}>
          <NumberInput precision={0} disabled={isBound} style={{ width: "100%" }} />
        </Form.Item>
        <Form.Item name="days" label="有效天数" rules={[required, rule(shape.days)]}>
          <NumberInput precision={0} style={{ width: "100%" }} />
        </Form.Item>
      </div>
      <Form.Item name="group" label="分组" extra="新账户所在的分组。" rules={[filled]}>
        <Select options={(groups.data ?? ["default"]).map((group) => ({ value: group, label: group }))} />
      </Form.Item>
      <Form.Item
        name="quota"
        label="赠送额度"
        extra="每个新账户得到的额度，另加注册赠送。"
        rules={[required, rule(shape.quota)]}
      >
        <QuotaField amounts="set" />
      </Form.Item>
    </section>
  );
}

export function NewInvitationPage() {
  const toList = useToList("/user/invitation");
  const server = useServerAddress();
  const [link, setLink] = useState<string>();
  const create = useCall(invitationApi.create, {
    invalidates: [invitationApi.list],
    onSuccess: ({ code }) => setLink(`${server}/register#invite=${code}`),
  });
  return (
    <Page title="添加新的邀请" width="form">
      <ResourceForm<InvitationDraft>
        initial={INITIAL}
        kept={[...KEPT]}
        submitText="创建链接"
        onSubmit={(values) => create.mutateAsync({ body: values })}
        onCancel={toList}
      >
        {() => <Fields />}
      </ResourceForm>
      {link === undefined ? null : (
        <SecretsDialog
          batch={{ name: "邀请链接", secrets: [link] }}
          kind="邀请链接"
          hint="请复制链接发给受邀的人。关闭后不再显示；不需要时可以在列表中撤回。"
          onClose={toList}
        />
      )}
    </Page>
  );
}
