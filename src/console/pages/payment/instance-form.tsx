// Makes or edits a merchant account; the fields are those of its provider. Secrets are never shown, and stay when left empty.

import { Checkbox, Form, Input, Select, Switch } from "antd";
import { useCallback, useState } from "react";
import { formQuery, useCall } from "#console/base/call.ts";
import { isRoot, useUser } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { CopyField } from "#console/ui/copy-button.tsx";
import { filled } from "#console/ui/fields.ts";
import { FormPage, oneOf } from "#console/ui/form-page.tsx";
import { useToList } from "#console/ui/form-way.ts";
import { NumberInput } from "#console/ui/number-input.tsx";
import { Page } from "#console/ui/page.tsx";
import { ResourceForm, STAYS } from "#console/ui/resource-form.tsx";
import { Section } from "#console/ui/section.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import { CURRENCIES } from "#contract/money.ts";
import { type Instance, paymentAdminApi } from "#contract/payment-admin.ts";
import {
  type PaymentProviderName,
  type ProviderField,
  paymentProvider,
  paymentProviderNames,
} from "#contract/payment-provider.ts";
import { NoAddress } from "./no-address.tsx";
import { ProbeSection, UNKNOWN, useToldAccount } from "./probe.tsx";

interface Values {
  provider: PaymentProviderName;
  name: string;
  merchant_id: string;
  currency: (typeof CURRENCIES)[number];
  is_enabled: boolean;
  methods: string[];
  /** Per cent. */
  fee: number;
  cost: number;
  rate: string;
  sort: number;
  fields: Record<string, string>;
}

const NEW: Values = {
  provider: "epay-v1",
  name: "",
  merchant_id: "",
  currency: "CNY",
  is_enabled: true,
  methods: ["alipay", "wxpay"],
  fee: 0,
  cost: 0,
  rate: "1",
  sort: 0,
  fields: {},
};

function valuesOf(row: Instance | undefined): Values {
  if (row === undefined) return NEW;
  const { provider, name, merchant_id, is_enabled, methods, rate, sort, fields } = row;
  const currency = CURRENCIES.find((one) => one === row.currency) ?? "CNY";
  return {
    provider,
    name,
    merchant_id,
    currency,
    is_enabled,
    methods,
    fee: row.fee_bp / 100,
    cost: row.cost_bp / 100,
    rate,
    sort,
    fields,
  };
}

function draftOf(
  { name, is_enabled, methods, fee, cost, rate, sort, fields }: Values,
  provider: PaymentProviderName,
) {
  const known = paymentProvider(provider);
  return {
    name,
    is_enabled,
    methods,
    fee_bp: Math.round(fee * 100),
    cost_bp: Math.round(cost * 100),
    rate,
    sort,
    fields: Object.fromEntries(known.fields.map(({ key }) => [key, fields[key] ?? ""])),
  };
}

function ProviderInput({ field, isSet }: { readonly field: ProviderField; readonly isSet: boolean }) {
  const { key, label, hint, isSecret, isLong, isOptional } = field;
  const extra = isSecret && isSet ? "已设置，留空表示不变。" : hint;
  const control = {
    autoComplete: "off",
    spellCheck: false,
    placeholder: isSecret && isSet ? "已设置" : undefined,
  };
  return (
    <Form.Item
      name={["fields", key]}
      label={label}
      extra={extra}
      rules={isOptional || (isSecret && isSet) ? [] : [filled]}
    >
      {isLong ? (
        <Input.TextArea rows={4} {...control} />
      ) : isSecret ? (
        <Input.Password {...control} autoComplete="new-password" />
      ) : (
        <Input {...control} />
      )}
    </Form.Item>
  );
}

function Fields({ row }: { readonly row: Instance | undefined }) {
  const chosen: PaymentProviderName = Form.useWatch("provider") ?? row?.provider ?? NEW.provider;
  const provider = paymentProvider(chosen);
  const form = Form.useFormInstance<Values>();
  const isNew = row === undefined;
  return (
    <>
      <NoAddress />
      <Section title="商户" lead="平台、商户号与币种保存后不能修改，换商户请新建一个。">
        <Form.Item name="provider" label="支付平台">
          <Select
            disabled={!isNew}
            // The ways of the provider before, of which this one may have none, would count as chosen and not be seen.
            onChange={(next: PaymentProviderName) =>
              form.setFieldValue("methods", Object.keys(paymentProvider(next).methods).slice(0, 1))
            }
            options={paymentProviderNames.map((name) => ({
              value: name,
              label: paymentProvider(name).label,
            }))}
          />
        </Form.Item>
        <TextField name="name" label="名称" rules={[filled]} maxLength={40} placeholder="例如：主商户" />
        <TextField
          name="merchant_id"
          label={provider.merchant}
          rules={[filled]}
          maxLength={64}
          disabled={!isNew}
        />
        <Form.Item name="currency" label="币种">
          <Select
            disabled={!isNew || !provider.takesCurrencies}
            options={CURRENCIES.map((value) => ({ value, label: value }))}
          />
        </Form.Item>
        {provider.fields.map((field) => (
          <ProviderInput
            key={`${chosen} ${field.key}`}
            field={field}
            isSet={row?.secrets_set.includes(field.key) === true}
          />
        ))}
        {row === undefined || row.notify_url === "" ? null : (
          <>
            <CopyField label="通知地址" copyLabel="复制通知地址" text={row.notify_url} />
            <p className="tg-muted">
              <a href={row.notify_url} target="_blank" rel="noreferrer">
                打开通知地址
              </a>
              ：请用外部网络（例如手机流量）试一次，返回 400 或 401 即说明平台能访问到。
            </p>
            <p className="tg-muted">
              多数平台下单时自动带上；Stripe 需在其后台把它填为 Webhook 地址，并选择事件
              checkout.session.*、invoice.paid、invoice.payment_failed、customer.subscription.*、refund.* 和
              charge.dispute.*。
            </p>
          </>
        )}
      </Section>
      <Section title="收款" lead="用户在充值页面可选的支付方式与价格。">
        <Form.Item name="methods" label="支付方式" rules={[oneMethod]}>
          <Checkbox.Group
            options={Object.entries(provider.methods).map(([value, label]) => ({ value, label }))}
          />
        </Form.Item>
        <Form.Item name="fee" label="手续费（%）" extra="加在订单金额上，由用户支付。">
          <NumberInput min={0} max={20} precision={2} />
        </Form.Item>
        <Form.Item name="cost" label="平台扣费（%）" extra="支付平台从每笔收款中扣除的比例，只用于毛利统计。">
          <NumberInput min={0} max={20} precision={2} />
        </Form.Item>
        {provider.takesCurrencies ? (
          <TextField name="rate" label="汇率" extra="1 单位该币种折合多少元，人民币填 1。" rules={[filled]} />
        ) : null}
        <Form.Item name="sort" label="排序" extra="小的在前。">
          <NumberInput min={0} max={1000} precision={0} />
        </Form.Item>
        <Form.Item
          name="is_enabled"
          label="启用"
          valuePropName="checked"
          extra="停用后不能新下单，已有订单照常到账。"
        >
          <Switch />
        </Form.Item>
      </Section>
    </>
  );
}

function InstanceForm({ row }: { readonly row: Instance | undefined }) {
  const toList = useToList("/payment?tab=instances");
  const { toAccount, told } = useToldAccount();
  const [found, setFound] = useState(told);
  const [madeId, setMadeId] = useState(0);
  const options = {
    invalidates: [paymentAdminApi.instances],
    onSuccess: () => toast.success("支付渠道已保存！"),
  };
  const create = useCall(paymentAdminApi.createInstance, options);
  const update = useCall(paymentAdminApi.updateInstance, options);
  const probe = useCall(paymentAdminApi.probeInstance, { invalidates: [paymentAdminApi.instances] });
  const test = async (id: number) => {
    const result = await probe.mutateAsync({ params: { id }, body: {} }).catch(() => UNKNOWN);
    setFound(result);
    return result.verdict === "accepted";
  };
  const submit = async (values: Values) => {
    const { provider, merchant_id, currency } = values;
    const draft = draftOf(values, provider);
    if (row !== undefined) {
      await update.mutateAsync({ params: { id: row.id }, body: draft });
      return (await test(row.id)) ? undefined : STAYS;
    }
    const made = await create.mutateAsync({ body: { ...draft, provider, merchant_id, currency } });
    // Saved all the same: what is wrong is put right in the form of what was made.
    if (!(await test(made.id))) setMadeId(made.id);
    return undefined;
  };
  const leave = useCallback(
    () => (madeId === 0 ? toList() : toAccount(madeId, found)),
    [madeId, found, toList, toAccount],
  );
  return (
    <ResourceForm<Values> initial={valuesOf(row)} onSubmit={submit} onDone={leave} onCancel={toList}>
      {() => (
        <>
          <Fields row={row} />
          {row === undefined ? null : (
            <ProbeSection found={found} isTesting={probe.isPending} onTest={() => void test(row.id)} />
          )}
        </>
      )}
    </ResourceForm>
  );
}

/** Not `required`: a group of boxes may not say so to a screen reader. */
const oneMethod = { type: "array", min: 1, message: "请至少选择一种支付方式" } as const;

export function InstanceFormPage() {
  // Administrators see the accounts; who holds their secrets is decided by the server alone.
  if (!isRoot(useUser()))
    return (
      <Page title="支付渠道" width="form">
        <Callout tone="warn">只有超级管理员可以添加或修改支付渠道。</Callout>
      </Page>
    );
  return (
    <FormPage<Instance> load={oneOf(formQuery(paymentAdminApi.instances, {}), "找不到该支付渠道")}>
      {(row) => <InstanceForm row={row} />}
    </FormPage>
  );
}
