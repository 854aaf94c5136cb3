// The fields of a token: name, quota, expiry, and limits to models and addresses.
import { useQuery } from "@tanstack/react-query";
import { Button, Collapse, DatePicker, Form, type FormRule, Input, Select } from "antd";
import dayjs, { type Dayjs } from "dayjs";
import { useState } from "react";
import { query, useCall } from "#console/base/call.ts";
import { messages } from "#console/base/faults.ts";
import { NARROW, useMedia } from "#console/base/media.ts";
import { toast } from "#console/base/toast.ts";
import { clearable } from "#console/ui/clearable.tsx";
import { required, rule } from "#console/ui/fields.ts";
import { useFirstFocus, useToList } from "#console/ui/form-way.ts";
import { NumberInput } from "#console/ui/number-input.tsx";
import { QuotaField } from "#console/ui/quota-field.tsx";
import { ResourceForm } from "#console/ui/resource-form.tsx";
import { type Batch, SecretsDialog } from "#console/ui/secrets-dialog.tsx";
import { statusApi } from "#contract/status.ts";
import { type Token, tokenApi } from "#contract/token.ts";
import { EXPIRY_PRESETS, NEVER } from "./expiry.ts";
import {
  CountRule,
  draftOf,
  isExpiry,
  NameRule,
  QuotaRule,
  type TokenValues,
  updateOf,
  valuesOf,
  wholeDay,
} from "./values.ts";

/** What Form.Item gives to the control inside it. */
interface Control<T> {
  readonly id?: string;
  readonly value?: T;
  readonly onChange?: (value: T) => void;
}

function ExpiryInput({ id, value = null, onChange }: Control<Dayjs | null>) {
  const isNarrow = useMedia(NARROW);
  const preset = (seconds: number) =>
    seconds === NEVER ? null : dayjs().add(seconds, "second").millisecond(0);
  return (
    <>
      <DatePicker
        {...(id === undefined ? {} : { id })}
        showTime={!isNarrow}
        // Without a time of day that would be this very moment.
        showNow={!isNarrow}
        value={value}
        format="YYYY-MM-DD HH:mm:ss"
        placeholder="永不过期"
        className="tg-wide"
        onChange={(next) => onChange?.(isNarrow ? wholeDay(next) : next)}
      />
      <div className="tg-form-inline tg-form-under">
        {EXPIRY_PRESETS.map(({ label, seconds }) => (
          <Button key={label} size="small" onClick={() => onChange?.(preset(seconds))}>
            {label}
          </Button>
        ))}
      </div>
    </>
  );
}

const expiryRule: FormRule = {
  validator: (_field, value: unknown) =>
    isExpiry(value) ? Promise.resolve() : Promise.reject(new Error(messages.badExpiry)),
};

function UnlimitedButton({ value = false, onChange }: Control<boolean>) {
  return <Button onClick={() => onChange?.(!value)}>{value ? "取消无限额度" : "设为无限额度"}</Button>;
}

function Quota() {
  const isUnlimited = Form.useWatch("unlimited_quota") === true;
  return (
    <Form.Item
      label="额度"
      htmlFor="remain_quota"
      extra="令牌的额度仅用于限制令牌本身的最大用量，实际使用受账户剩余额度限制。"
    >
      <Form.Item name="remain_quota" noStyle rules={[rule(QuotaRule)]}>
        <QuotaField id="remain_quota" disabled={isUnlimited} amounts="set">
          <Form.Item name="unlimited_quota" noStyle>
            <UnlimitedButton />
          </Form.Item>
        </QuotaField>
      </Form.Item>
    </Form.Item>
  );
}

function Limits() {
  const models = useQuery({
    ...query(statusApi.availableModels, {}),
    staleTime: 60_000,
    meta: { silent: true },
  });
  return (
    <>
      <Form.Item name="models" label="模型范围" extra="留空表示可以使用分组内的所有模型。">
        <Select
          mode="tags"
          allowClear={clearable}
          tokenSeparators={[",", "，", " ", "\n"]}
          placeholder="所有模型"
          options={(models.data ?? []).map((model) => ({ value: model, label: model }))}
        />
      </Form.Item>
      <Form.Item
        name="subnet"
        label="IP 限制"
        extra="允许的来源网段，多个以逗号分隔，例如 192.168.0.0/24。留空表示不限制。"
      >
        <Input maxLength={1000} autoComplete="off" placeholder="不限制" />
      </Form.Item>
    </>
  );
}

export function TokenForm({ token: found }: { readonly token?: Token }) {
  // As the form was opened with, whatever is read later.
  const [token] = useState(found);
  const toList = useToList("/token");
  const isFocused = useFirstFocus(token === undefined);
  const invalidates = [tokenApi.list, tokenApi.search, tokenApi.get];
  const create = useCall(tokenApi.create, {
    invalidates,
    onSuccess: () => toast.success("令牌创建成功，请在列表中点击复制获取令牌！"),
  });
  const update = useCall(tokenApi.update, { invalidates, onSuccess: () => toast.success("令牌更新成功！") });
  const [batch, setBatch] = useState<Batch>();
  const createMany = useCall(tokenApi.createMany, {
    invalidates,
    onSuccess: (made, { body }) => setBatch({ name: body.name, secrets: made.map(({ key }) => `sk-${key}`) }),
  });
  const submit = (values: TokenValues) => {
    if (token !== undefined) return update.mutateAsync({ body: updateOf(token, values) });
    const body = draftOf(values);
    return values.count > 1
      ? createMany.mutateAsync({ body: { ...body, count: values.count } })
      : create.mutateAsync({ body });
  };
  const hasLimits = token !== undefined && (token.models !== "" || token.subnet !== "");
  return (
    <>
      <ResourceForm<TokenValues>
        initial={valuesOf(token)}
        kept={["name", "remain_quota", "unlimited_quota", "expires", "models", "subnet", "count"]}
        onSubmit={submit}
        // Several keys are shown first.
        {...(batch === undefined && { onDone: toList })}
        onCancel={toList}
      >
        {() => (
          <>
            <section className="tg-card tg-section">
              <Form.Item name="name" label="名称" rules={[required, rule(NameRule)]}>
                <Input
                  autoFocus={isFocused}
                  maxLength={30}
                  showCount
                  autoComplete="off"
                  placeholder="例如：生产环境、我的笔记本"
                />
              </Form.Item>
              <Quota />
              <Form.Item name="expires" label="过期时间" extra="留空表示永不过期。" rules={[expiryRule]}>
                <ExpiryInput />
              </Form.Item>
              {token === undefined ? (
                <Form.Item
                  name="count"
                  label="数量"
                  extra="大于 1 时一次创建多个设置相同的令牌，名称后加编号；一次最多 100 个。"
                  rules={[required, rule(CountRule)]}
                >
                  <NumberInput precision={0} className="tg-count-field" />
                </Form.Item>
              ) : null}
            </section>
            <Collapse
              className="tg-card tg-advanced"
              ghost
              defaultActiveKey={hasLimits ? ["limits"] : []}
              items={[
                { key: "limits", label: "高级：限定模型与来源 IP", children: <Limits />, forceRender: true },
              ]}
            />
          </>
        )}
      </ResourceForm>
      {batch === undefined ? null : (
        <SecretsDialog
          batch={batch}
          kind="令牌"
          hint="每行一个密钥。也可以之后在列表中复制。"
          onClose={toList}
        />
      )}
    </>
  );
}
