// Makes a plan, or a new version of one.
import { useQuery } from "@tanstack/react-query";
import { Form, Input, Select, Switch } from "antd";
import { formQuery, query, useCall } from "#console/base/call.ts";
import { isRoot, useUser } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { required, rule } from "#console/ui/fields.ts";
import { FormPage, oneOf } from "#console/ui/form-page.tsx";
import { useToList } from "#console/ui/form-way.ts";
import { NumberInput } from "#console/ui/number-input.tsx";
import { Page } from "#console/ui/page.tsx";
import { QuotaField } from "#console/ui/quota-field.tsx";
import { ResourceForm } from "#console/ui/resource-form.tsx";
import { Section } from "#console/ui/section.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import { type AdminPlan, PlanDraft, planApi } from "#contract/plan.ts";
import {
  PLAN_WINDOW_LABELS,
  PLAN_WINDOWS,
  type PlanUnit,
  type PlanWindowKind,
} from "#contract/plan-terms.ts";
import { statusApi } from "#contract/status.ts";

interface Values {
  name: string;
  about: string;
  price: string;
  unit: PlanUnit;
  count: number;
  quota: number | null;
  /** Empty = no bound in this window. */
  windows: Partial<Record<PlanWindowKind, number | null>>;
  models: string[];
  groups: string[];
  lent_group: string;
  overflow: boolean;
  purchase_limit: number;
  sort: number;
  is_enabled: boolean;
}

const NEW: Values = {
  name: "",
  about: "",
  price: "",
  unit: "month",
  count: 1,
  quota: null,
  windows: {},
  models: [],
  groups: [],
  lent_group: "",
  overflow: true,
  purchase_limit: 0,
  sort: 0,
  is_enabled: true,
};

function valuesOf(row: AdminPlan | undefined): Values {
  if (row === undefined) return NEW;
  const { windows, ...rest } = row;
  return { ...NEW, ...rest, windows: Object.fromEntries(windows.map(({ kind, quota }) => [kind, quota])) };
}

function draftOf({ windows, quota, ...rest }: Values) {
  const bounds = PLAN_WINDOWS.flatMap((kind) => {
    const most = windows[kind];
    return typeof most === "number" ? [{ kind, quota: most }] : [];
  });
  return { ...rest, quota: quota ?? 0, windows: bounds };
}

const fields = PlanDraft.shape;

function Sold() {
  return (
    <Section title="售卖" lead="修改会成为新版本：之后购买的按新版本，已购买的周期不变。">
      <TextField name="name" label="名称" rules={[required, rule(fields.name)]} maxLength={40} />
      <Form.Item name="about" label="说明" extra="显示给购买者的文字。" rules={[rule(fields.about)]}>
        <Input.TextArea rows={2} maxLength={500} />
      </Form.Item>
      <div className="tg-form-row">
        <TextField name="price" label="价格（元）" rules={[required, rule(fields.price)]} />
        <Form.Item name="count" label="周期" rules={[{ required: true, message: "请填写周期" }]}>
          <NumberInput min={1} max={366} precision={0} className="tg-count-field" />
        </Form.Item>
        <Form.Item name="unit" label="单位">
          <Select
            options={[
              { value: "month", label: "个月" },
              { value: "day", label: "天" },
            ]}
          />
        </Form.Item>
      </div>
      <Form.Item
        name="purchase_limit"
        label="每人购买次数"
        extra="0 表示不限。升级不计次数。"
        rules={[{ required: true, message: "请填写次数" }]}
      >
        <NumberInput min={0} max={1000} precision={0} className="tg-count-field" />
      </Form.Item>
      <Form.Item name="sort" label="排序" extra="小的在前。">
        <NumberInput min={0} max={1000} precision={0} className="tg-count-field" />
      </Form.Item>
      <Form.Item name="is_enabled" label="在售" valuePropName="checked" extra="下架后已购买的周期照常使用。">
        <Switch />
      </Form.Item>
    </Section>
  );
}

function Promised() {
  const groups = useQuery({ ...query(statusApi.groups, {}), staleTime: 60_000, meta: { silent: true } });
  const options = (groups.data ?? []).map((value) => ({ value, label: value }));
  return (
    <Section title="内容" lead="与余额用同一种额度计费，分组倍率照常。每个时段的额度不会结转。">
      <Form.Item name="quota" label="每周期额度" rules={[required, rule(fields.quota)]}>
        <QuotaField amounts="set" />
      </Form.Item>
      {PLAN_WINDOWS.map((kind) => (
        <Form.Item
          key={kind}
          name={["windows", kind]}
          label={`${PLAN_WINDOW_LABELS[kind]}最多`}
          extra={kind === "session" ? "从首次调用起计时；留空表示不限。" : "从周期开始时计；留空表示不限。"}
        >
          <QuotaField />
        </Form.Item>
      ))}
      <Form.Item
        name="models"
        label="适用模型"
        extra="按请求的模型名；末尾的 * 表示以此开头。留空表示所有模型。"
      >
        <Select mode="tags" tokenSeparators={[",", " "]} placeholder="所有模型" />
      </Form.Item>
      <Form.Item name="groups" label="适用分组" extra="留空表示所有分组。">
        <Select mode="tags" tokenSeparators={[",", " "]} options={options} placeholder="所有分组" />
      </Form.Item>
      <Form.Item name="lent_group" label="借用分组" extra="有效期内用户使用该分组，到期即恢复自己的分组。">
        <Select options={[{ value: "", label: "不借用" }, ...options]} />
      </Form.Item>
      <Form.Item
        name="overflow"
        label="用完后从余额扣费"
        valuePropName="checked"
        extra="关闭后，额度用完的请求会被拒绝，直到下一个时段。"
      >
        <Switch />
      </Form.Item>
    </Section>
  );
}

function PlanForm({ row }: { readonly row: AdminPlan | undefined }) {
  const toList = useToList("/plan");
  const options = {
    invalidates: [planApi.list, planApi.shop],
    onSuccess: () => toast.success("套餐已保存！"),
  };
  const create = useCall(planApi.create, options);
  const update = useCall(planApi.update, options);
  const submit = (values: Values) => {
    const body = draftOf(values);
    return row === undefined
      ? create.mutateAsync({ body })
      : update.mutateAsync({ params: { id: row.id }, body });
  };
  return (
    <ResourceForm<Values> initial={valuesOf(row)} onSubmit={submit} onDone={toList} onCancel={toList}>
      {() => (
        <>
          <Sold />
          <Promised />
        </>
      )}
    </ResourceForm>
  );
}

export function PlanFormPage() {
  if (!isRoot(useUser()))
    return (
      <Page title="套餐" width="form">
        <Callout tone="warn">只有超级管理员可以添加或修改套餐。</Callout>
      </Page>
    );
  return (
    <FormPage<AdminPlan> load={oneOf(formQuery(planApi.list, {}), "找不到该套餐")}>
      {(row) => <PlanForm row={row} />}
    </FormPage>
  );
}
