// Makes or edits a target of alerts, and sends it a test message. Addresses that are secrets, and keys, are never shown.
import { Button, Checkbox, Form, Select, Switch } from "antd";
import { formQuery, useCall } from "#console/base/call.ts";
import { LANGUAGE, LANGUAGE_NAMES } from "#console/base/language.ts";
import { useStatus } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { filled } from "#console/ui/fields.ts";
import { FormPage, oneOf } from "#console/ui/form-page.tsx";
import { useToList } from "#console/ui/form-way.ts";
import { ResourceForm } from "#console/ui/resource-form.tsx";
import { Section } from "#console/ui/section.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import {
  ALERT_KINDS,
  type AlertKind,
  type AlertTarget,
  type AlertTargetDraft,
  alertApi,
  alertKinds,
} from "#contract/alert.ts";
import { ALERT_EVENTS, ALERT_LEVEL_LABELS, alertEvents } from "#contract/alert-events.ts";
import { LANGUAGES } from "#contract/language.ts";
import { useSendTest } from "./send-test.ts";
import "./alert.css";

type Values = AlertTargetDraft & { kind: AlertKind };

const NEW: Values = {
  kind: "feishu",
  name: "",
  is_enabled: true,
  events: ALERT_EVENTS.filter((event) => alertEvents[event].level !== "info"),
  tells_end: true,
  language: LANGUAGE,
  quiet_from: "",
  quiet_to: "",
  address: "",
  secret: "",
  to: "",
};

function valuesOf(row: AlertTarget | undefined): Values {
  if (row === undefined) return NEW;
  const { kind, name, is_enabled, events, tells_end, language, quiet_from, quiet_to, to } = row;
  // What is a secret comes back as its host: it stays when the field stays empty.
  const address = alertKinds[kind].address === "address" ? row.address : "";
  return {
    ...{ kind, name, is_enabled, events, tells_end, language, quiet_from, quiet_to, to },
    address,
    secret: "",
  };
}

interface SecretWords {
  readonly label: string;
  readonly extra: string;
}

const SECRETS: Readonly<Partial<Record<AlertKind, SecretWords>>> = {
  feishu: { label: "签名密钥", extra: "机器人安全设置里的“签名校验”，未启用时留空。" },
  dingtalk: { label: "加签密钥", extra: "机器人安全设置里以 SEC 开头的“加签”密钥，未启用时留空。" },
  telegram: { label: "机器人令牌", extra: "由 @BotFather 给出，形如 123456:ABC-DEF…" },
  bark: { label: "设备密钥", extra: "Bark 应用里推送地址中的那一段。" },
  webhook: { label: "签名密钥", extra: "按 Standard Webhooks 签名，对方用它核对；whsec_ 加上 base64。" },
};

const RECEIVERS: Readonly<Partial<Record<AlertKind, SecretWords>>> = {
  telegram: { label: "会话", extra: "会话的数字 ID，或公开频道的 @名称。" },
  mail: { label: "收件人", extra: "多个地址用分号隔开；通过系统设置里的邮件服务器发送。" },
};

/** A fresh key for a webhook: 32 bytes. */
function freshKey(): string {
  return `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;
}

function SecretField({ kind, isSet }: { readonly kind: AlertKind; readonly isSet: boolean }) {
  const form = Form.useFormInstance<Values>();
  const words = SECRETS[kind];
  if (words === undefined) return null;
  const isNeeded = alertKinds[kind].secret === "needed" && !isSet;
  return (
    <>
      <TextField
        name="secret"
        label={words.label}
        isSecret
        autoComplete="new-password"
        placeholder={isSet ? "已设置" : ""}
        rules={isNeeded ? [filled] : []}
        extra={isSet ? `${words.extra}已设置，留空表示不变。` : words.extra}
      />
      {kind === "webhook" ? (
        <div className="tg-alert-key">
          <Button onClick={() => form.setFieldValue("secret", freshKey())}>生成密钥</Button>
        </div>
      ) : null}
    </>
  );
}

/** A new row has to have an address; a stored one that is a secret stays when the field stays empty. */
function AddressField({ kind, row }: { readonly kind: AlertKind; readonly row: AlertTarget | undefined }) {
  const { address, addressHint = "" } = alertKinds[kind];
  if (address === undefined) return null;
  if (address === "address")
    return (
      <TextField
        name="address"
        label={kind === "bark" ? "服务器地址" : "地址"}
        rules={[filled]}
        placeholder={addressHint}
      />
    );
  return (
    <TextField
      name="address"
      label="地址"
      isSecret
      autoComplete="new-password"
      rules={row === undefined ? [filled] : []}
      placeholder={row === undefined ? addressHint : `${row.address}（已设置）`}
      extra={`知道地址的人都能发消息，因此不再显示。${row === undefined ? "" : "留空表示不变。"}`}
    />
  );
}

function Where({ row }: { readonly row: AlertTarget | undefined }) {
  const kind: AlertKind = Form.useWatch("kind") ?? row?.kind ?? NEW.kind;
  const to = RECEIVERS[kind];
  return (
    <Section title="发到哪里" lead="类型保存后不能修改。">
      <Form.Item name="kind" label="类型">
        <Select
          disabled={row !== undefined}
          options={ALERT_KINDS.map((value) => ({ value, label: alertKinds[value].label }))}
        />
      </Form.Item>
      <TextField name="name" label="名称" rules={[filled]} maxLength={40} placeholder="例如：值班群" />
      <AddressField kind={kind} row={row} />
      <SecretField kind={kind} isSet={row?.has_secret === true} />
      {to === undefined ? null : <TextField name="to" label={to.label} extra={to.extra} rules={[filled]} />}
      <Form.Item name="is_enabled" label="启用" valuePropName="checked">
        <Switch />
      </Form.Item>
    </Section>
  );
}

/** No `required`: a group of boxes may not say so of itself. */
const oneEvent = { type: "array", min: 1, message: "请至少选择一种事件" } as const;

function What() {
  return (
    <Section title="通知什么" lead="勾选的事件会发到这个对象。">
      <Form.Item name="events" label="事件" rules={[oneEvent]}>
        <Checkbox.Group
          className="tg-alert-events"
          options={ALERT_EVENTS.map((value) => ({
            value,
            label: `${alertEvents[value].label}（${ALERT_LEVEL_LABELS[alertEvents[value].level]}）`,
          }))}
        />
      </Form.Item>
      <Form.Item name="language" label="语言">
        <Select options={LANGUAGES.map((value) => ({ value, label: LANGUAGE_NAMES[value] }))} />
      </Form.Item>
      <Form.Item name="tells_end" label="恢复时也通知" valuePropName="checked">
        <Switch />
      </Form.Item>
    </Section>
  );
}

const hour = { pattern: /^([01]\d|2[0-3]):[0-5]\d$/, message: "时间须为 24 小时制，例如 22:30" };

function Quiet() {
  const zone = useStatus()?.budget_time_zone ?? "";
  return (
    <Section
      title="免打扰"
      lead={`这段时间里的消息留到结束后一并发送，严重的不受影响。${zone === "" ? "" : `按 ${zone} 时区。`}两项留空表示不设。`}
    >
      <div className="tg-form-row">
        <TextField name="quiet_from" label="开始" placeholder="22:30" maxLength={5} rules={[hour]} />
        <TextField name="quiet_to" label="结束" placeholder="08:00" maxLength={5} rules={[hour]} />
      </div>
    </Section>
  );
}

function Test({ row }: { readonly row: AlertTarget }) {
  const test = useSendTest();
  return (
    <Section title="测试" lead="用已保存的设置发送一条消息。">
      <div>
        <Button loading={test.isSending} onClick={() => test.send(row.id)}>
          发送测试消息
        </Button>
      </div>
    </Section>
  );
}

function TargetForm({ row }: { readonly row: AlertTarget | undefined }) {
  const toList = useToList("/alert");
  const options = {
    invalidates: [alertApi.list],
    onSuccess: () => toast.success("通知对象已保存！"),
  };
  const create = useCall(alertApi.create, options);
  const update = useCall(alertApi.update, options);
  const submit = ({ kind, ...draft }: Values) =>
    row === undefined
      ? create.mutateAsync({ body: { ...draft, kind } })
      : update.mutateAsync({ params: { id: row.id }, body: draft });
  return (
    <div className="tg-alert">
      <ResourceForm<Values> initial={valuesOf(row)} onSubmit={submit} onDone={toList} onCancel={toList}>
        {() => (
          <>
            <Where row={row} />
            <What />
            <Quiet />
          </>
        )}
      </ResourceForm>
      {row === undefined ? null : <Test row={row} />}
    </div>
  );
}

export function AlertTargetFormPage() {
  return (
    <FormPage<AlertTarget> load={oneOf(formQuery(alertApi.list, {}), "找不到该通知对象")}>
      {(row) => <TargetForm row={row} />}
    </FormPage>
  );
}
