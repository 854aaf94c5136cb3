// What the channel changes in its requests: rules as text that is checked while it is written, examples to begin with, and the very request
// that would be sent (requirements C32).
import { DownOutlined, EyeOutlined } from "@ant-design/icons";
import { Button, Form, type FormInstance, type FormRule, Input } from "antd";
import { useState } from "react";
import { ButtonMenu } from "#console/ui/button-menu.tsx";
import { MappingField } from "#console/ui/mapping-field.tsx";
import { Section } from "#console/ui/section.tsx";
import { RewritePreviewDialog } from "./rewrite-preview.tsx";
import { rulesFault, statusesFault } from "./rewrite-values.ts";
import type { ChannelValues } from "./values.ts";

const EXAMPLES = [
  {
    label: "设置一个参数",
    rule: { id: "固定温度", do: [{ op: "set", path: "/temperature", value: 0.7 }] },
  },
  {
    label: "去掉上游不支持的参数",
    rule: { id: "去掉参数", when: { models: ["o*", "gpt-5*"] }, do: [{ op: "remove", path: "/top_p" }] },
  },
  { label: "限制输出长度", rule: { id: "限制输出", do: [{ op: "cap", path: "/max_tokens", value: 8192 }] } },
  {
    label: "添加请求头",
    rule: { id: "请求头", do: [{ op: "setHeader", name: "X-Request-Id", value: "{{request_id}}" }] },
  },
  {
    label: "添加系统提示",
    rule: { id: "系统提示", do: [{ op: "system", text: "请用中文回答。", before: true }] },
  },
  {
    label: "拒绝一类请求",
    rule: {
      id: "不支持图片",
      when: { has: ["/messages/0/content/0/image_url"] },
      do: [{ op: "refuse", status: 400, code: "image_not_supported", message: "该模型不支持图片" }],
    },
  },
] as const;

const Rules: FormRule = {
  validator: async (_field, value: unknown) => {
    const fault = rulesFault(typeof value === "string" ? value : "");
    if (fault !== undefined) throw new Error(fault);
  },
};

/** The rules with one more; what cannot be read stays as it is, with the rule after it. */
function withRule(text: string, rule: unknown): string {
  try {
    const rules: unknown = text.trim() === "" ? [] : JSON.parse(text);
    if (Array.isArray(rules)) return JSON.stringify([...rules, rule], null, 2);
  } catch {
    // Said under the field.
  }
  return `${text}\n${JSON.stringify(rule, null, 2)}`;
}

export interface RewriteFieldsProps {
  readonly form: FormInstance<ChannelValues>;
  /** undefined = a new channel. */
  readonly channelId: number | undefined;
}

export function RewriteFields({ form, channelId }: RewriteFieldsProps) {
  const [isOpen, setOpen] = useState(false);
  const text: unknown = Form.useWatch("rewrite", form);
  const rules = typeof text === "string" ? text : "";
  const add = (key: string) => {
    const rule = EXAMPLES.find(({ label }) => label === key)?.rule;
    if (rule !== undefined) form.setFieldValue("rewrite", withRule(rules, rule));
  };
  const canShow = rules.trim() !== "" && rulesFault(rules) === undefined;
  return (
    <Section
      title="请求改写"
      lead="按规则修改发往上游的请求体和请求头，渠道测试也使用。模型、流式、价格相关的参数和凭证不能修改。"
    >
      <Form.Item
        name="rewrite"
        label="规则"
        extra="JSON 数组，按顺序执行；路径为 JSON Pointer，作用于上游格式的请求体。可不填。"
        rules={[Rules]}
      >
        <Input.TextArea
          className="tg-code"
          spellCheck={false}
          autoSize={{ minRows: 3, maxRows: 20 }}
          placeholder={
            '[{ "id": "固定温度", "do": [{ "op": "set", "path": "/temperature", "value": 0.7 }] }]'
          }
        />
      </Form.Item>
      <div className="tg-form-inline tg-rewrite-buttons">
        <ButtonMenu
          menu={{
            items: EXAMPLES.map(({ label }) => ({ key: label, label })),
            onClick: ({ key }) => add(key),
          }}
        >
          <Button icon={<DownOutlined aria-hidden="true" />} iconPlacement="end">
            添加规则
          </Button>
        </ButtonMenu>
        <Button icon={<EyeOutlined aria-hidden="true" />} disabled={!canShow} onClick={() => setOpen(true)}>
          预览请求
        </Button>
      </div>
      <Form.Item
        name="status_map"
        label="状态码映射"
        extra="上游的错误状态码 → 告诉客户端的状态码，只改客户端看到的，不影响重试与停用。可不填。"
        rules={[Statuses]}
      >
        <MappingField from="上游的状态码" to="客户端的状态码" example={'{\n  "429": "503"\n}'} />
      </Form.Item>
      {isOpen ? (
        <RewritePreviewDialog form={form} channelId={channelId} onClose={() => setOpen(false)} />
      ) : null}
    </Section>
  );
}

const Statuses: FormRule = {
  validator: async (_field, value: unknown) => {
    const fault = statusesFault(typeof value === "string" ? value : "");
    if (fault !== undefined) throw new Error(fault);
  },
};
