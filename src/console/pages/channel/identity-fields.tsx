// What a channel is: type, name, groups.
import { useQuery } from "@tanstack/react-query";
import { Form, Input, Select } from "antd";
import { query } from "#console/base/call.ts";
import { clearable } from "#console/ui/clearable.tsx";
import { required, rule } from "#console/ui/fields.ts";
import { typeName } from "#contract/foreign-types.ts";
import { type Provider, providers } from "#contract/providers.ts";
import { statusApi } from "#contract/status.ts";
import { TypeTag } from "./type-tag.tsx";
import { GroupRule, NameRule } from "./values.ts";

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

export interface IdentityFieldsProps {
  readonly onType: (type: number) => void;
}

export function IdentityFields({ onType }: IdentityFieldsProps) {
  const groups = useQuery({ ...query(statusApi.groups, {}), staleTime: 60_000 });
  return (
    <section className="tg-card tg-section">
      <h2>渠道</h2>
      <p>类型决定默认地址、密钥格式和相关模型。</p>
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
        <Form.Item name="name" label="名称" rules={[required, rule(NameRule)]}>
          <Input maxLength={100} autoComplete="off" placeholder="请为渠道命名" />
        </Form.Item>
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
    </section>
  );
}
