// One option in its section's form: label, sentence, and the control that fits what it holds.
import { App, Form, type FormRule, Input, Select, Switch } from "antd";
import { useState } from "react";
import { NumberInput } from "#console/ui/number-input.tsx";
import { QuotaField } from "#console/ui/quota-field.tsx";
import { StatusTag } from "#console/ui/status-tag.tsx";
import type { OptionKey } from "#contract/option.ts";
import { CHANNEL_STRATEGIES, CHANNEL_STRATEGY_LABELS } from "#contract/strategy.ts";
import { type FieldValue, faultOf, kindOf, rowOf } from "./option-values.ts";
import { RatioField } from "./ratio-field.tsx";
import { type Bases, isRatioKey } from "./ratio-rows.ts";

interface DomainsFieldProps {
  /** Given by Form.Item, as all below. */
  readonly id?: string;
  readonly value?: readonly string[];
  readonly onChange?: (domains: readonly string[]) => void;
  readonly disabled: boolean;
}

const SEPARATOR = /\s*[,，]\s*|\s+/;

function DomainsField({ id, value = [], onChange, disabled }: DomainsFieldProps) {
  const [text, setText] = useState("");
  const [fault, setFault] = useState("");
  const add = (entries: readonly string[]) => {
    const domains = [...value];
    const faults = new Set<string>();
    for (const domain of entries.map((entry) => entry.trim().toLowerCase())) {
      if (domain === "") faults.add("域名不能为空");
      else if (domains.includes(domain)) faults.add(`${domain} 已在白名单中`);
      else domains.push(domain);
    }
    setText("");
    setFault([...faults].join("；"));
    if (domains.length > value.length) onChange?.(domains);
  };
  const type = (typed: string) => {
    const parts = typed.split(SEPARATOR);
    if (parts.length > 1) {
      // Behind the last separator stands nothing yet.
      add(parts.at(-1) === "" ? parts.slice(0, -1) : parts);
      return;
    }
    setText(typed);
    if (typed !== "") setFault("");
  };
  return (
    <>
      <Select<string[]>
        {...(id === undefined ? {} : { id })}
        mode="tags"
        disabled={disabled}
        open={false}
        suffixIcon={null}
        placeholder="example.com"
        value={[...value]}
        showSearch={{ searchValue: text, onSearch: type }}
        // Called for a tag that is there already, too.
        onSelect={(domain: string) => add([domain])}
        onChange={(domains) => {
          if (domains.length < value.length) onChange?.(domains);
        }}
      />
      {fault === "" ? null : (
        <p className="tg-setting-fault" role="alert">
          {fault}
        </p>
      )}
    </>
  );
}

export interface OptionFieldProps {
  readonly optionKey: OptionKey;
  readonly help: string;
  readonly isLocked: boolean;
  /** Whether the section's title says the same as its label, which is then only read aloud. */
  readonly isTitled: boolean;
  /** Only for secrets: whether one is stored. */
  readonly isConfigured: boolean;
  readonly bases: Bases;
}

const THEMES = [
  { value: "default", label: "默认（青绿）" },
  { value: "berry", label: "莓红（berry）" },
  { value: "air", label: "天蓝（air）" },
];
const WHOM = [
  { value: "none", label: "不强制" },
  { value: "staff", label: "管理员" },
  { value: "all", label: "所有用户" },
];
const CURRENCIES = [
  { value: "USD", label: "美元（$）" },
  { value: "CNY", label: "人民币（¥）" },
];
const STRATEGIES = CHANNEL_STRATEGIES.map((value) => ({ value, label: CHANNEL_STRATEGY_LABELS[value] }));
const COMMISSIONS = [
  { value: "quota", label: "按额度" },
  { value: "money", label: "按实付" },
];
const SECRET_HINT = "敏感信息不会发送到前端显示";

function optionRule(key: OptionKey): FormRule {
  return {
    validator: async (_field, value: FieldValue) => {
      const fault = faultOf(key, value);
      if (fault !== undefined) throw new Error(fault);
    },
  };
}

interface SwitchControl {
  readonly id?: string;
  readonly checked?: boolean;
  readonly onChange?: (isOn: boolean) => void;
  readonly disabled: boolean;
}

/** Turning off password login asks first (requirements B4). */
function PasswordLoginSwitch({ onChange, ...rest }: SwitchControl) {
  const { modal } = App.useApp();
  const change = (isOn: boolean) => {
    if (isOn) {
      onChange?.(true);
      return;
    }
    void modal.confirm({
      title: "关闭密码登录？",
      content: "关闭后，所有没有绑定其他登录方式的用户（包括管理员）都将无法登录。保存后生效。",
      okText: "确认关闭",
      okButtonProps: { danger: true },
      cancelText: "取消",
      onOk: () => onChange?.(false),
    });
  };
  return <Switch {...rest} onChange={change} />;
}

function SwitchField({ optionKey, help, isLocked }: OptionFieldProps) {
  const { label } = rowOf(optionKey);
  const Control = optionKey === "PasswordLoginEnabled" ? PasswordLoginSwitch : Switch;
  return (
    <div className="tg-option-switch">
      <Form.Item name={optionKey} valuePropName="checked" noStyle>
        <Control disabled={isLocked} />
      </Form.Item>
      <div>
        <label htmlFor={optionKey}>{label}</label>
        <p>{help}</p>
      </div>
    </div>
  );
}

/** The control without its label; Form.Item passes value and change to it. */
function controlOf({ optionKey, isLocked, bases }: OptionFieldProps) {
  const kind = kindOf(optionKey);
  if (isRatioKey(optionKey)) return <RatioField ratioKey={optionKey} bases={bases} isReadOnly={isLocked} />;
  switch (kind) {
    case "number":
      // Without a minimum: a value that is too small is refused in words, not made 0, which may mean no limit.
      return <NumberInput disabled={isLocked} className="tg-option-number" />;
    case "quota":
      return <QuotaField disabled={isLocked} />;
    case "secret":
      return <Input.Password disabled={isLocked} placeholder={SECRET_HINT} autoComplete="new-password" />;
    case "domains":
      return <DomainsField disabled={isLocked} />;
    case "html":
    case "json":
      return (
        <Input.TextArea
          disabled={isLocked}
          autoSize={{ minRows: 4, maxRows: 16 }}
          spellCheck={false}
          className="tg-code"
        />
      );
    case "whom":
      return <Select disabled={isLocked} options={WHOM} className="tg-option-number" />;
    case "currency":
      return <Select disabled={isLocked} options={CURRENCIES} className="tg-option-number" />;
    case "strategy":
      return <Select disabled={isLocked} options={STRATEGIES} className="tg-option-number" />;
    case "commissionBase":
      return <Select disabled={isLocked} options={COMMISSIONS} className="tg-option-number" />;
    case "theme":
      return <Select disabled={isLocked} options={THEMES} className="tg-option-number" />;
    default:
      return <Input disabled={isLocked} autoComplete="off" />;
  }
}

function SecretState({ isConfigured }: { readonly isConfigured: boolean }) {
  return <StatusTag tone={isConfigured ? "good" : "idle"} label={isConfigured ? "已设置" : "未设置"} />;
}

export function OptionField(props: OptionFieldProps) {
  const { optionKey, help, isLocked, isConfigured, isTitled } = props;
  const kind = kindOf(optionKey);
  if (kind === "switch") return <SwitchField {...props} />;
  const { label } = rowOf(optionKey);
  const isWide = ["html", "json", "ratio", "domains"].includes(kind);
  return (
    <Form.Item
      name={optionKey}
      className={`tg-option${isWide ? " tg-option-wide" : ""}${isTitled ? " tg-option-titled" : ""}`}
      label={
        <span className={isTitled ? "tg-hidden" : "tg-option-label"}>
          {label}
          {kind === "secret" ? <SecretState isConfigured={isConfigured} /> : null}
        </span>
      }
      extra={isLocked ? `${help}仅超级管理员可以修改。` : help}
      rules={[optionRule(optionKey)]}
    >
      {controlOf(props)}
    </Form.Item>
  );
}
