// The fields of a limit, whatever its subject is: kind, window, amount, what happens beyond it, and for which models.
import { useQuery } from "@tanstack/react-query";
import { AutoComplete, Form, Select } from "antd";
import { query } from "#console/base/call.ts";
import { useStatus } from "#console/base/status.ts";
import { Callout } from "#console/ui/callout.tsx";
import { required, rule } from "#console/ui/fields.ts";
import { isOfQuota, UNITS } from "#console/ui/limit-words.ts";
import { NumberInput } from "#console/ui/number-input.tsx";
import { QuotaField } from "#console/ui/quota-field.tsx";
import { Section } from "#console/ui/section.tsx";
import { LimitDraft } from "#contract/limit.ts";
import {
  isCalendar,
  isWindowKind,
  LIMIT_WINDOW_LABELS,
  LIMIT_WINDOWS,
  type LimitKind,
  type LimitWindow,
} from "#contract/limit-words.ts";
import { statusApi } from "#contract/status.ts";
import { modesOf } from "./values.ts";
import { KIND_LABELS, MODE_LABELS } from "./words.ts";

const KINDS = Object.entries(KIND_LABELS).map(([value, label]) => ({ value, label }));

const HINTS: Readonly<Record<LimitKind, string>> = {
  quota: "预扣与结算都计入，任何并发下都不会超出。",
  calls: "每次调用计一次，被拒绝的不计。",
  rpm: "匀速放行，允许突发；最不利的 60 秒内可能接近两倍。",
  tpm: "输入与输出之和；命中缓存的输入不计，未用完的退回。",
  input_tpm: "命中缓存的输入不计。",
  output_tpm: "按 max_tokens 预占，未用完的退回。",
  running: "同时进行的调用，所有节点合计。",
  cost: "按预扣时的最高费用判断，流式输出也不会超过。",
};

const fields = LimitDraft.shape;

function Amount({ kind }: { readonly kind: LimitKind }) {
  const smallest = useStatus()?.pre_consumed_quota ?? 0;
  const amount = Form.useWatch<number | null>("amount");
  const isSmall = isOfQuota(kind) && typeof amount === "number" && amount < smallest;
  return (
    <>
      <Form.Item name="amount" label="限额" extra={HINTS[kind]} rules={[required, rule(fields.amount)]}>
        {isOfQuota(kind) ? (
          <QuotaField amounts="set" />
        ) : (
          <NumberInput min={0} precision={0} suffix={UNITS[kind]} className="tg-count-field" />
        )}
      </Form.Item>
      {isSmall ? (
        <Form.Item>
          {" "}
          <Callout tone="warn">
            低于一次调用至少预扣的额度（{smallest} 点，按模型倍率折算），多数调用都会被拒绝。
          </Callout>
        </Form.Item>
      ) : null}
    </>
  );
}

function Window() {
  const zone = useStatus()?.budget_time_zone ?? "";
  const window = Form.useWatch<LimitWindow | undefined>("time_window");
  return (
    <div className="tg-form-row">
      <Form.Item
        name="time_window"
        label="统计周期"
        extra={
          window !== undefined && isCalendar(window) && zone !== ""
            ? `按 ${zone} 时区的日历。`
            : "修改周期后从零开始计数。"
        }
      >
        <Select options={LIMIT_WINDOWS.map((value) => ({ value, label: LIMIT_WINDOW_LABELS[value] }))} />
      </Form.Item>
      {window === "month" ? (
        <Form.Item name="anchor" label="每月起始日" extra="没有这一天的月份，从月末那天开始。">
          <NumberInput min={1} max={31} precision={0} className="tg-count-field" />
        </Form.Item>
      ) : null}
    </div>
  );
}

export function LimitFields({ lead }: { readonly lead?: string }) {
  const form = Form.useFormInstance();
  const kind = Form.useWatch<LimitKind>("kind") ?? "quota";
  const modes = modesOf(kind);
  const models = useQuery({
    ...query(statusApi.availableModels, {}),
    staleTime: 60_000,
    meta: { silent: true },
  });
  return (
    <Section title="限制什么" {...(lead === undefined ? {} : { lead })}>
      <Form.Item name="kind" label="限制的内容">
        <Select
          options={KINDS}
          // An amount of another unit would be one by a factor of thousands.
          onChange={() => form.setFieldsValue({ amount: null, mode: "hard" })}
        />
      </Form.Item>
      {isWindowKind(kind) ? <Window /> : null}
      <Amount key={kind} kind={kind} />
      {modes.length > 1 ? (
        <Form.Item name="mode" label="超出时">
          <Select options={modes.map((value) => ({ value, label: MODE_LABELS[value] }))} />
        </Form.Item>
      ) : null}
      <Form.Item
        name="model_pattern"
        label="模型"
        extra="留空表示所有模型；末尾的 * 表示以此开头，例如 gpt-4o*。"
        rules={[rule(fields.model_pattern)]}
      >
        <AutoComplete
          placeholder="所有模型"
          options={(models.data ?? []).map((value) => ({ value }))}
          showSearch={{ filterOption: (typed, option) => option?.value.includes(typed) === true }}
        />
      </Form.Item>
    </Section>
  );
}
