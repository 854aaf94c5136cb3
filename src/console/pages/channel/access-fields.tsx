// How a channel is reached: address, key, and the extra field some types have.
import { Checkbox, Form, type FormRule, Input, Select } from "antd";
import { Link } from "react-router";
import { required, rule } from "#console/ui/fields.ts";
import { Section } from "#console/ui/section.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import type { Channel } from "#contract/channel.ts";
import type { KEY_MODES as KEY_MODE_NAMES } from "#contract/channel-key.ts";
import { plainKey } from "#contract/provider-paths.ts";
import { type Provider, providerOf } from "#contract/providers.ts";
import { ProxyFields } from "./proxy-fields.tsx";
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
    <TextField
      name="base_url"
      label="Base URL"
      extra={addressHelp(provider)}
      rules={[...(isNeeded ? [present("请填写 Base URL")] : []), rule(BaseUrlRule)]}
      className="tg-code"
      spellCheck={false}
      placeholder={addressHint(provider)}
    />
  );
}

function OtherField({ type }: { readonly type: number }) {
  const other = providerOf(type)?.other;
  if (other === undefined) return null;
  return (
    <TextField
      name="other"
      label={other.label}
      extra={other.hint}
      rules={other.required === true ? [present(`请填写${other.label}`)] : []}
      className="tg-code"
      maxLength={1000}
      placeholder={other.fallback}
    />
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

const KEY_MODES: readonly { readonly value: (typeof KEY_MODE_NAMES)[number]; readonly label: string }[] = [
  { value: "random", label: "随机" },
  { value: "round_robin", label: "轮流" },
  { value: "weighted", label: "按权重" },
  { value: "least_used", label: "最空闲" },
  { value: "first", label: "按顺序，用完再换" },
];

/** In place of one key: how several are chosen, and the way to them. */
function SeveralKeys({ id }: { readonly id: number }) {
  return (
    <>
      <Form.Item
        name="key_mode"
        label="密钥的选择方式"
        extra="同一对话固定使用同一密钥，以命中上游的提示缓存；“按顺序”除外。"
      >
        <Select options={[...KEY_MODES]} />
      </Form.Item>
      <p className="tg-form-under">
        这个渠道有多个密钥，<Link to={`/channel/keys/${id}`}>管理密钥</Link>
      </p>
    </>
  );
}

interface AccessFieldsProps {
  readonly type: number;
  /** undefined = a new one. */
  readonly channel: Channel | undefined;
}

export function AccessFields({ type, channel }: AccessFieldsProps) {
  const isNew = channel === undefined;
  const isBatch = Form.useWatch("is_batch") === true;
  return (
    <Section title="接入" lead="请求发往哪里，以及用什么凭据。">
      <AddressField type={type} />
      <OtherField type={type} />
      {channel?.has_keys === true ? (
        <SeveralKeys id={channel.id} />
      ) : (
        <KeyField type={type} isNew={isNew} isBatch={isBatch} />
      )}
      {isNew ? (
        <Form.Item name="is_batch" valuePropName="checked">
          <Checkbox>批量创建</Checkbox>
        </Form.Item>
      ) : channel.has_keys ? null : (
        <p className="tg-form-under">
          <Link to={`/channel/keys/${channel.id}`}>添加更多密钥</Link>
          ，由这个渠道轮换使用。
        </p>
      )}
      <ProxyFields hasLogin={channel?.proxy_login === true} />
    </Section>
  );
}
