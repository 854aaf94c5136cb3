// The rules of a channel as fields, in their order.
import { DownOutlined } from "@ant-design/icons";
import { Button, Form, type FormInstance, Input } from "antd";
import { ButtonMenu } from "#console/ui/button-menu.tsx";
import type { RewriteRule } from "#contract/rewrite.ts";
import { TEMPLATES } from "#contract/rewrite-law.ts";
import { RuleActions } from "./rewrite-actions.tsx";
import { RuleConditions } from "./rewrite-conditions.tsx";
import { faultless, faultlessPart } from "./rewrite-field.tsx";
import { NEW_RULE, oneMore, type RuleRow, rowsOfRules } from "./rewrite-rows.ts";
import { RowButtons } from "./row-buttons.tsx";
import type { ChannelValues } from "./values.ts";

const EXAMPLES: readonly { readonly label: string; readonly rule: RewriteRule }[] = [
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
];

const SHOWN_TEMPLATES = [...TEMPLATES, "header:…", "key", "raw:…"].map((name) => `{{${name}}}`).join(" ");

const BLANK = "空白规则";

/** The rule of an example, or an empty one. */
function exampleOf(label: string): RuleRow {
  const rules = EXAMPLES.filter((example) => example.label === label).map(({ rule }) => rule);
  const rows = rowsOfRules(rules);
  return ("unshown" in rows ? undefined : rows[0]) ?? NEW_RULE;
}

interface RuleBoxProps {
  readonly form: FormInstance<ChannelValues>;
  readonly at: number;
  readonly count: number;
  readonly onMove: (to: number) => void;
  readonly onCopy: () => void;
  readonly onRemove: () => void;
}

function RuleBox({ form, at, ...buttons }: RuleBoxProps) {
  const id: unknown = Form.useWatch(["rules", at, "id"], form);
  const title = `第 ${at + 1} 条规则`;
  return (
    <section className="tg-rewrite-rule" aria-label={title}>
      <div className="tg-rewrite-head">
        <h3>{typeof id === "string" && id !== "" ? `${title}：${id}` : title}</h3>
        <RowButtons title={title} at={at} {...buttons} />
      </div>
      <Form.Item name={[at, "id"]} label="规则名称" rules={[faultless(form, [at, "id"])]}>
        <Input autoComplete="off" maxLength={40} placeholder="例如：固定温度" />
      </Form.Item>
      <RuleConditions form={form} at={at} title={title} />
      <RuleActions form={form} rule={at} title={title} />
    </section>
  );
}

export function RewriteRules({ form }: { readonly form: FormInstance<ChannelValues> }) {
  const rows = (): ChannelValues["rules"] => form.getFieldValue("rules") ?? [];
  return (
    <Form.List name="rules" rules={[faultlessPart(form, [])]}>
      {(fields, { add, move, remove }, { errors }) => (
        <div className="tg-rewrite-rules">
          {fields.length === 0 ? null : (
            <p className="tg-muted">
              按顺序执行；路径为 JSON Pointer，作用于上游格式的请求体。值里可用的模板：{SHOWN_TEMPLATES}
            </p>
          )}
          {fields.map(({ key, name: at }) => (
            <RuleBox
              key={key}
              form={form}
              at={at}
              count={fields.length}
              onMove={(to) => move(at, to)}
              onCopy={() => add(oneMore(rows(), rows()[at] ?? NEW_RULE), at + 1)}
              onRemove={() => remove(at)}
            />
          ))}
          <Form.ErrorList errors={errors} />
          <ButtonMenu
            menu={{
              items: [BLANK, ...EXAMPLES.map(({ label }) => label)].map((label) => ({ key: label, label })),
              onClick: ({ key }) => add(oneMore(rows(), exampleOf(key))),
            }}
          >
            <Button icon={<DownOutlined aria-hidden="true" />} iconPlacement="end">
              添加规则
            </Button>
          </ButtonMenu>
        </div>
      )}
    </Form.List>
  );
}
