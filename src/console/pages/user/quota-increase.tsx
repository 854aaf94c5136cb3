// Adds quota to a user's balance, for administrators who may do that and not change the account itself.
import { Button, Form } from "antd";
import { useState } from "react";
import { useCall } from "#console/base/call.ts";
import { newActKey } from "#console/base/once.ts";
import { toast } from "#console/base/toast.ts";
import { required, rule } from "#console/ui/fields.ts";
import { QuotaField } from "#console/ui/quota-field.tsx";
import { Section } from "#console/ui/section.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import { QuotaText } from "#console/ui/value-text.tsx";
import { AdminTopUp, partnerApi } from "#contract/partner.ts";
import { userApi } from "#contract/user.ts";
import { type EditedUser, userAdminApi } from "#contract/user-admin.ts";

interface Values {
  readonly quota: number;
  readonly remark: string;
}

export function QuotaIncrease({ user }: { readonly user: EditedUser }) {
  const [form] = Form.useForm<Values>();
  // One act, however often it is sent; the next one is another.
  const [idempotencyKey, setKey] = useState(newActKey);
  const topUp = useCall(partnerApi.adminTopUp, {
    invalidates: [userAdminApi.list, userAdminApi.search, userAdminApi.get, userApi.self],
  });
  const send = ({ quota, remark }: Values) =>
    topUp.mutate(
      { body: { user_id: user.id, quota, remark: remark.trim() }, idempotencyKey },
      {
        onSuccess: () => {
          toast.success("额度已增加！");
          setKey(newActKey());
          form.resetFields();
        },
      },
    );
  return (
    <Section title="增加额度" lead="加到该用户的余额，写入其充值日志，备注用来说明原因。">
      <p>
        剩余额度 <QuotaText quota={user.quota} />
      </p>
      <Form<Values> form={form} layout="vertical" initialValues={{ remark: "" }} onFinish={send}>
        <Form.Item name="quota" label="额度" rules={[required, rule(AdminTopUp.shape.quota)]}>
          <QuotaField amounts="add" />
        </Form.Item>
        <TextField
          name="remark"
          label="备注"
          rules={[rule(AdminTopUp.shape.remark.unwrap())]}
          maxLength={200}
          placeholder="例如：对公转账，流水号"
        />
        <Button htmlType="submit" type="primary" loading={topUp.isPending}>
          增加额度
        </Button>
      </Form>
    </Section>
  );
}
