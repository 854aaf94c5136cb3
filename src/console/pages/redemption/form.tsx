// Makes a batch of redemption codes, or edits one.
import { Form } from "antd";
import { useState } from "react";
import { formQuery, useCall } from "#console/base/call.ts";
import { actKeys } from "#console/base/once.ts";
import { toast } from "#console/base/toast.ts";
import { required, rule } from "#console/ui/fields.ts";
import { FormPage } from "#console/ui/form-page.tsx";
import { useFirstFocus, useToList } from "#console/ui/form-way.ts";
import { NumberInput } from "#console/ui/number-input.tsx";
import { QuotaField } from "#console/ui/quota-field.tsx";
import { ResourceForm } from "#console/ui/resource-form.tsx";
import { type Batch, downloadSecrets, SecretsDialog } from "#console/ui/secrets-dialog.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import { type Redemption, redemptionApi } from "#contract/redemption.ts";
import {
  CountRule,
  draftOf,
  NameRule,
  QuotaRule,
  type RedemptionValues,
  updateOf,
  valuesOf,
} from "./values.ts";

const INVALIDATES = [redemptionApi.list, redemptionApi.search, redemptionApi.get];

function Fields({ isNew }: { readonly isNew: boolean }) {
  const isFocused = useFirstFocus(isNew);
  return (
    <section className="tg-card tg-section">
      <TextField
        name="name"
        label="名称"
        extra={isNew ? "同一批兑换码共用一个名称，下载的文件也以它命名。" : undefined}
        rules={[required, rule(NameRule)]}
        autoFocus={isFocused}
        maxLength={20}
        showCount
        placeholder="例如：十月活动"
      />
      <Form.Item
        name="quota"
        label="额度"
        extra={isNew ? "每个兑换码的额度。" : undefined}
        rules={[required, rule(QuotaRule)]}
      >
        <QuotaField amounts="set" />
      </Form.Item>
      <Form.Item
        name="price"
        label="售价（元）"
        extra="每个兑换码卖多少元，只用于计算毛利；赠送的填 0，留空按“每美元额度实收”。"
      >
        <NumberInput min={0} max={1_000_000} precision={2} className="tg-count-field" />
      </Form.Item>
      {isNew ? (
        <Form.Item
          name="count"
          label="生成数量"
          extra="一次最多 100 个。"
          rules={[required, rule(CountRule)]}
        >
          <NumberInput precision={0} className="tg-count-field" />
        </Form.Item>
      ) : null}
    </section>
  );
}

function EditRedemptionForm({ redemption }: { readonly redemption: Redemption }) {
  const toList = useToList("/redemption");
  const update = useCall(redemptionApi.update, {
    invalidates: INVALIDATES,
    onSuccess: () => toast.success("兑换码更新成功！"),
  });
  return (
    <ResourceForm<RedemptionValues>
      initial={valuesOf(redemption)}
      kept={["name", "quota", "price"]}
      onSubmit={(values) => update.mutateAsync({ body: updateOf(redemption.id, values) })}
      onDone={toList}
      onCancel={toList}
    >
      {() => <Fields isNew={false} />}
    </ResourceForm>
  );
}

function NewRedemptionForm() {
  const [batch, setBatch] = useState<Batch>();
  // Sent again after an answer that was lost, a form makes no second batch.
  const [keyOf] = useState(actKeys);
  const toList = useToList("/redemption");
  const create = useCall(redemptionApi.create, {
    invalidates: INVALIDATES,
    onSuccess: (codes, { body }) => {
      const made = { name: body.name, secrets: codes };
      setBatch(made);
      downloadSecrets(made, "兑换码");
      toast.success("兑换码创建成功！");
    },
  });
  return (
    <>
      <ResourceForm<RedemptionValues>
        initial={valuesOf(undefined)}
        kept={["name", "quota", "price", "count"]}
        onSubmit={(values) => {
          const body = draftOf(values);
          return create.mutateAsync({ body, idempotencyKey: keyOf(body) });
        }}
        onCancel={toList}
      >
        {() => <Fields isNew />}
      </ResourceForm>
      {batch === undefined ? null : (
        <SecretsDialog
          batch={batch}
          kind="兑换码"
          hint={`“${batch.name}”的兑换码已下载为文本文件，每行一个。也可以之后在列表中复制。`}
          onClose={toList}
        />
      )}
    </>
  );
}

export function RedemptionFormPage() {
  return (
    <FormPage<Redemption> load={(id) => formQuery(redemptionApi.get, { params: { id } })}>
      {(row) => (row === undefined ? <NewRedemptionForm /> : <EditRedemptionForm redemption={row} />)}
    </FormPage>
  );
}
