// What the channel changes in its requests: rules as fields or as their JSON, checked while they are written, and the very request
// that would be sent (requirements C32).
import { EyeOutlined } from "@ant-design/icons";
import { Button, Form, type FormInstance, type FormRule, Input, Segmented } from "antd";
import { useState } from "react";
import { toast } from "#console/base/toast.ts";
import { MappingField } from "#console/ui/mapping-field.tsx";
import { Section } from "#console/ui/section.tsx";
import { areWhole } from "./rewrite-faults.ts";
import { RewritePreviewDialog } from "./rewrite-preview.tsx";
import { RewriteRules } from "./rewrite-rules.tsx";
import { rowsOfText, rulesFault, statusesFault, textOfRows } from "./rewrite-values.ts";
import type { ChannelValues } from "./values.ts";

/** A rule of a field with a text, by what may be wrong with it. */
function faultlessText(faultOf: (text: string) => string | undefined): FormRule {
  return {
    validator: async (_field, value: unknown) => {
      const fault = faultOf(typeof value === "string" ? value : "");
      if (fault !== undefined) throw new Error(fault);
    },
  };
}

function RulesText() {
  return (
    <Form.Item
      name="rewrite"
      label="规则"
      extra="JSON 数组，按顺序执行；路径为 JSON Pointer，作用于上游格式的请求体。可不填。"
      rules={[faultlessText(rulesFault)]}
    >
      <Input.TextArea
        className="tg-code"
        spellCheck={false}
        autoSize={{ minRows: 3, maxRows: 20 }}
        placeholder={'[{ "id": "固定温度", "do": [{ "op": "set", "path": "/temperature", "value": 0.7 }] }]'}
      />
    </Form.Item>
  );
}

/** Edits the rules elsewhere, when nothing that was written would be lost on the way. */
async function edit(form: FormInstance<ChannelValues>, where: ChannelValues["rules_in"]): Promise<void> {
  const { rules, rewrite }: ChannelValues = form.getFieldsValue(true);
  if (where === "rows") {
    const rows = rowsOfText(rewrite);
    if (typeof rows === "string") toast.error(rows);
    else form.setFieldsValue({ rules_in: where, rules: [...rows] });
  } else if (areWhole(rules)) form.setFieldsValue({ rules_in: where, rewrite: textOfRows(rules) });
  else {
    toast.error("请先填完规则，再用 JSON 编辑");
    await form.validateFields([["rules"]], { recursive: true }).catch(() => undefined);
  }
}

export interface RewriteFieldsProps {
  readonly form: FormInstance<ChannelValues>;
  /** undefined = a new channel. */
  readonly channelId: number | undefined;
}

/** Apart, so that what is typed draws this button anew and not every rule. */
function PreviewButton({ form, channelId }: RewriteFieldsProps) {
  const [isOpen, setOpen] = useState(false);
  const preserved = { form, preserve: true };
  const isRows = Form.useWatch("rules_in", preserved) === "rows";
  const rows = Form.useWatch("rules", preserved) ?? [];
  const text = Form.useWatch("rewrite", preserved) ?? "";
  const canShow = isRows
    ? rows.length > 0 && areWhole(rows)
    : text.trim() !== "" && rulesFault(text) === undefined;
  return (
    <>
      <Button icon={<EyeOutlined aria-hidden="true" />} disabled={!canShow} onClick={() => setOpen(true)}>
        预览请求
      </Button>
      {isOpen ? (
        <RewritePreviewDialog form={form} channelId={channelId} onClose={() => setOpen(false)} />
      ) : null}
    </>
  );
}

export function RewriteFields({ form, channelId }: RewriteFieldsProps) {
  const where = Form.useWatch("rules_in", { form, preserve: true }) ?? form.getFieldValue("rules_in");
  return (
    <Section
      title="请求改写"
      lead="按规则修改发往上游的请求体和请求头，渠道测试也使用。模型、流式、价格相关的参数和凭证不能修改。"
    >
      <div className="tg-rewrite-head">
        <Segmented<ChannelValues["rules_in"]>
          aria-label="规则的编辑方式"
          value={where}
          options={[
            { value: "rows", label: "表单" },
            { value: "text", label: "JSON" },
          ]}
          onChange={(next) => void edit(form, next)}
        />
        <PreviewButton form={form} channelId={channelId} />
      </div>
      {where === "rows" ? <RewriteRules form={form} /> : <RulesText />}
      <Form.Item
        name="status_map"
        label="状态码映射"
        extra="上游的错误状态码 → 告诉客户端的状态码，只改客户端看到的，不影响重试与停用。可不填。"
        rules={[faultlessText(statusesFault)]}
      >
        <MappingField from="上游的状态码" to="客户端的状态码" example={'{\n  "429": "503"\n}'} />
      </Form.Item>
    </Section>
  );
}
