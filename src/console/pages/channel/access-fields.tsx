// How a channel is reached: address, key, and the extra field some types have.
import { Checkbox, Form, type FormRule, Input } from "antd";
import { required, rule } from "#console/ui/fields.ts";
import { providerOf } from "#contract/providers.ts";
import { addressHint, BaseUrlRule, keysOf } from "./values.ts";

const MISSING_KEY = "请填写渠道名称和渠道密钥";

function present(message: string): FormRule {
  return { required: true, whitespace: true, message };
}

function AddressField({ type }: { readonly type: number }) {
  const provider = providerOf(type);
  const isNeeded = provider?.baseUrl === "";
  return (
    <Form.Item
      name="base_url"
      label="Base URL"
      extra={isNeeded ? "此类型没有默认地址，必须填写。" : "留空使用默认地址。末尾的斜杠会自动去掉。"}
      rules={[...(isNeeded ? [present("请填写 Base URL")] : []), rule(BaseUrlRule)]}
    >
      <Input className="tg-code" autoComplete="off" spellCheck={false} placeholder={addressHint(provider)} />
    </Form.Item>
  );
}

function OtherField({ type }: { readonly type: number }) {
  const other = providerOf(type)?.other;
  if (other === undefined) return null;
  return (
    <Form.Item
      name="other"
      label={other.label}
      extra={other.hint}
      rules={other.required === true ? [present(`请填写${other.label}`)] : []}
    >
      <Input className="tg-code" maxLength={1000} autoComplete="off" placeholder={other.fallback} />
    </Form.Item>
  );
}

interface KeyFieldProps {
  readonly type: number;
  readonly isNew: boolean;
  readonly isBatch: boolean;
}

function keyHelp({ isNew, isBatch }: KeyFieldProps, count: number): string {
  if (isBatch) return `每行一个密钥，逐行创建渠道。将创建 ${count} 个渠道。`;
  return isNew ? "密钥加密保存，保存后不再显示。" : "已设置。留空表示不修改；填写新的密钥会替换原来的。";
}

function KeyField(props: KeyFieldProps) {
  const { type, isNew, isBatch } = props;
  const provider = providerOf(type);
  const typed = Form.useWatch("key");
  const count = keysOf(typeof typed === "string" ? typed : "").length;
  const isNeeded = isNew && provider?.keyOptional !== true;
  const hint = isNew ? (provider?.keyHint ?? "请输入渠道对应的鉴权密钥") : "已设置";
  const field = { className: "tg-code", autoComplete: "off", spellCheck: false, placeholder: hint } as const;
  return (
    <Form.Item
      name="key"
      label="密钥"
      extra={keyHelp(props, count)}
      rules={isNeeded ? [required, { ...present(MISSING_KEY) }] : []}
    >
      {isBatch ? (
        <Input.TextArea {...field} autoSize={{ minRows: 4, maxRows: 16 }} />
      ) : (
        <Input.Password {...field} autoComplete="new-password" />
      )}
    </Form.Item>
  );
}

export function AccessFields({ type, isNew }: { readonly type: number; readonly isNew: boolean }) {
  const isBatch = Form.useWatch("is_batch") === true;
  return (
    <section className="tg-card tg-section">
      <h2>接入</h2>
      <p>请求发往哪里，以及用什么凭据。</p>
      <AddressField type={type} />
      <OtherField type={type} />
      <KeyField type={type} isNew={isNew} isBatch={isBatch} />
      {isNew ? (
        <Form.Item name="is_batch" valuePropName="checked">
          <Checkbox>批量创建</Checkbox>
        </Form.Item>
      ) : null}
    </section>
  );
}
