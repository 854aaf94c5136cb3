// What a channel serves: models, their renaming, and its share of the traffic.
import { Form } from "antd";
import { required, rule } from "#console/ui/fields.ts";
import { MappingField } from "#console/ui/mapping-field.tsx";
import { NumberInput } from "#console/ui/number-input.tsx";
import { ModelsField } from "./models-field.tsx";
import { MappingRule, ModelsRule } from "./values.ts";

const MAPPING_EXAMPLE = '{\n  "gpt-4o": "my-deployment-of-gpt-4o"\n}';

export interface ServiceFieldsProps {
  readonly type: number;
  /** undefined = a new channel. */
  readonly channelId: number | undefined;
}

export function ServiceFields({ type, channelId }: ServiceFieldsProps) {
  return (
    <section className="tg-card tg-section">
      <h2>模型与调度</h2>
      <p>同一个模型可由多个渠道提供，按优先级从高到低选择，同级按权重分流。</p>
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
    </section>
  );
}
