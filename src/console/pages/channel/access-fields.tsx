// How a channel is reached: address, key, and the extra field some types have.
import { Checkbox, Form, type FormRule, Input } from "antd";
import { required, rule } from "#console/ui/fields.ts";
import { plainKey } from "#contract/provider-paths.ts";
import { type Provider, providerOf } from "#contract/providers.ts";
import { addressHint, BaseUrlRule, keysOf } from "./values.ts";

const MISSING_KEY = "请填写渠道名称和渠道密钥";

function present(message: string): FormRule {
  return { required: true, whitespace: true, message };
}

/** Which address belongs here; the placeholder alone is gone as soon as one is typed. */
function addressHelp(provider: Provider | undefined): string {
  const hint = provider?.baseUrlHint === undefined ? "" : `${provider.baseUrlHint}。`;
  if (provider?.baseUrl === "") return `此类型没有默认地址，必须填写。${hint}`;
  return `${hint}留空使用默认地址。末尾的斜杠会自动去掉。`;
}

function AddressField({ type }: { readonly type: number }) {
  const provider = providerOf(type);
  const isNeeded = provider?.baseUrl === "";
  return (
    <Form.Item
      name="base_url"
      label="Base URL"
      extra={addressHelp(provider)}
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

/** What a key looks like stays readable while one is typed, and when one is replaced. */
function keyHelp({ type, isNew, isBatch }: KeyFieldProps, count: number): string {
  const hint = providerOf(type)?.keyHint ?? plainKey;
  const form = hint === plainKey ? "" : `${hint}。`;
  if (isBatch) return `${form}每行一个密钥，逐行创建渠道。将创建 ${count} 个渠道。`;
  const rest = isNew
    ? "密钥加密保存，保存后不再显示。"
    : "已设置。留空表示不修改；填写新的密钥会替换原来的。";
  return `${form}${rest}`;
}

function KeyField(props: KeyFieldProps) {
  const { type, isNew, isBatch } = props;
  const provider = providerOf(type);
  const typed = Form.useWatch("key");
  const count = keysOf(typeof typed === "string" ? typed : "").length;
  const isNeeded = isNew && provider?.keyOptional !== true;
  const hint = isNew ? (provider?.keyHint ?? plainKey) : "已设置";
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
