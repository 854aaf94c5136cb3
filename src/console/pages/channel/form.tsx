// Makes or edits a channel, in three parts: what it is, how to reach it, what it serves.
import { useQuery } from "@tanstack/react-query";
import { Form, type FormInstance, Input, Select } from "antd";
import { useState } from "react";
import { formQuery, query, useCall } from "#console/base/call.ts";
import { useModelsByType } from "#console/base/models.ts";
import { toast } from "#console/base/toast.ts";
import { clearable } from "#console/ui/clearable.tsx";
import { required, rule } from "#console/ui/fields.ts";
import { FormPage } from "#console/ui/form-page.tsx";
import { useToList } from "#console/ui/form-way.ts";
import { MappingField } from "#console/ui/mapping-field.tsx";
import { NumberInput } from "#console/ui/number-input.tsx";
import { ResourceForm } from "#console/ui/resource-form.tsx";
import { Section } from "#console/ui/section.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import { type Channel, channelApi } from "#contract/channel.ts";
import { CostSheetText } from "#contract/cost-sheet.ts";
import { typeName } from "#contract/foreign-types.ts";
import { type Provider, providers } from "#contract/providers.ts";
import { statusApi } from "#contract/status.ts";
import { AccessFields } from "./access-fields.tsx";
import { LimitFields } from "./limit-fields.tsx";
import { ModelsField, type ModelsFieldProps } from "./models-field.tsx";
import { RewriteFields } from "./rewrite-fields.tsx";
import { OF_CHANNEL } from "./stale.ts";
import { TypeTag } from "./type-tag.tsx";
import {
  afterTypeChange,
  type ChannelValues,
  draftOf,
  GroupRule,
  MappingRule,
  ModelsRule,
  NameRule,
  otherAfterType,
  updateOf,
  valuesOf,
} from "./values.ts";
import "./form.css";

const KINDS: readonly { readonly kind: Provider["kind"]; readonly label: string }[] = [
  { kind: "vendor", label: "模型服务商" },
  { kind: "custom", label: "自定义" },
  { kind: "knowledge", label: "知识库" },
  { kind: "proxy", label: "代理" },
];

const typeOptions = KINDS.map(({ kind, label }) => ({
  label,
  options: providers
    .filter((provider) => provider.kind === kind)
    .map((provider) => ({ value: provider.type, label: provider.label })),
}));

/** What a channel is: type, name, groups. */
function IdentityFields({ onType }: { readonly onType: (type: number) => void }) {
  const groups = useQuery({ ...query(statusApi.groups, {}), staleTime: 60_000 });
  return (
    <Section title="渠道" lead="类型决定默认地址、密钥格式和相关模型。">
      <div className="tg-form-row">
        <Form.Item name="type" label="类型">
          <Select
            onChange={onType}
            showSearch={{ optionFilterProp: "label" }}
            options={typeOptions}
            listHeight={360}
            labelRender={({ value }) => typeName(Number(value))}
            optionRender={({ value }) => <TypeTag type={Number(value)} />}
          />
        </Form.Item>
        <TextField
          name="name"
          label="名称"
          rules={[required, rule(NameRule)]}
          maxLength={100}
          placeholder="请为渠道命名"
        />
      </div>
      <Form.Item
        name="group"
        label="分组"
        extra="只有这些分组的用户可以使用此渠道。新的分组请先在分组倍率中添加。"
        rules={[required, rule(GroupRule)]}
      >
        <Select
          mode="tags"
          allowClear={clearable}
          placeholder="请选择可以使用该渠道的分组"
          options={(groups.data ?? []).map((group) => ({ value: group, label: group }))}
        />
      </Form.Item>
    </Section>
  );
}

const MAPPING_EXAMPLE = '{\n  "gpt-4o": "my-deployment-of-gpt-4o"\n}';

/** What a channel serves: models, their renaming, and its share of the traffic. */
function ServiceFields({ type, channelId }: Omit<ModelsFieldProps, "id" | "value" | "onChange">) {
  return (
    <Section title="模型与调度" lead="同一个模型可由多个渠道提供，按优先级从高到低选择，同级按权重分流。">
      <Form.Item name="models" label="模型" rules={[required, rule(ModelsRule)]}>
        {/* What an upstream answered belongs to the type it was asked for. */}
        <ModelsField key={type} type={type} channelId={channelId} />
      </Form.Item>
      <Form.Item
        name="model_mapping"
        label="模型重定向"
        extra="请求中的模型名 → 发给上游的模型名。可不填。"
        rules={[rule(MappingRule)]}
      >
        <MappingField from="请求的模型" to="上游的模型" example={MAPPING_EXAMPLE} />
      </Form.Item>
      <div className="tg-form-row">
        <Form.Item name="priority" label="优先级" extra="越高越优先，默认为 0。">
          <NumberInput precision={0} style={{ width: "100%" }} />
        </Form.Item>
        <Form.Item name="weight" label="权重" extra="同一优先级内按权重分流，不小于 0。">
          <NumberInput min={0} precision={0} style={{ width: "100%" }} />
        </Form.Item>
      </div>
      <div className="tg-form-row">
        <Form.Item
          name="cost_ratio"
          label="成本倍率"
          extra="进货价是模型价格的几倍，如七折为 0.7。用于毛利与“成本最低”策略，不影响计费。"
        >
          <NumberInput min={0} max={1_000} style={{ width: "100%" }} />
        </Form.Item>
      </div>
      <Form.Item
        name="cost_sheet"
        label="成本价目"
        extra="JSON，可不填。models：上游模型名 → 每百万 token 的进货价；没有列出的按成本倍率。currency 为 CNY 时须填写汇率 rate。"
        rules={[rule(CostSheetText)]}
      >
        <Input.TextArea
          className="tg-code"
          autoSize={{ minRows: 2, maxRows: 12 }}
          spellCheck={false}
          placeholder={COST_EXAMPLE}
        />
      </Form.Item>
    </Section>
  );
}

const COST_EXAMPLE =
  '{"currency": "CNY", "rate": "7.1", "rate_day": "2026-11-26", "models": {"gpt-4o": {"input": "12", "output": "48"}}}';

interface PartsProps {
  readonly form: FormInstance<ChannelValues>;
  /** undefined = a new channel. */
  readonly channel: Channel | undefined;
}

function Parts({ form, channel }: PartsProps) {
  const byType = useModelsByType();
  const type = Form.useWatch("type", form) ?? form.getFieldValue("type");
  const changeType = (next: number) => {
    const values = { ...form.getFieldsValue(true), type };
    if (channel === undefined) return form.setFieldsValue(afterTypeChange(values, next, byType));
    // The settings of an existing channel are the operator's, but for what means something else to another type.
    const other = next === channel.type ? channel.other : otherAfterType(values, next);
    form.setFieldsValue({ other });
  };
  return (
    <>
      <IdentityFields onType={changeType} />
      <AccessFields type={type} channel={channel} />
      <ServiceFields type={type} channelId={channel?.id} />
      <LimitFields />
      <RewriteFields form={form} channelId={channel?.id} />
    </>
  );
}

/** All but the key. */
const KEPT = (Object.keys(valuesOf(undefined)) as (keyof ChannelValues)[]).filter((name) => name !== "key"); // of a whole value

function ChannelForm({ channel: found }: { readonly channel: Channel | undefined }) {
  // What was edited is the difference to what the form was opened with, whatever is read later.
  const [channel] = useState(found);
  const toList = useToList("/channel");
  const invalidates = [...OF_CHANNEL, channelApi.unpriced];
  const create = useCall(channelApi.create, {
    invalidates,
    onSuccess: (count) => toast.success(count > 1 ? `已创建 ${count} 个渠道！` : "渠道创建成功！"),
  });
  const update = useCall(channelApi.update, {
    invalidates,
    onSuccess: () => toast.success("渠道更新成功！"),
  });
  const submit = (values: ChannelValues) =>
    channel === undefined
      ? create.mutateAsync({ body: draftOf(values) })
      : update.mutateAsync({ body: updateOf(channel, values) });
  return (
    <ResourceForm<ChannelValues>
      initial={valuesOf(channel)}
      kept={KEPT}
      onSubmit={submit}
      onDone={toList}
      onCancel={toList}
    >
      {(form) => <Parts form={form} channel={channel} />}
    </ResourceForm>
  );
}

export function ChannelFormPage() {
  return (
    <FormPage<Channel> load={(id) => formQuery(channelApi.get, { params: { id } })}>
      {(channel) => <ChannelForm channel={channel} />}
    </FormPage>
  );
}
