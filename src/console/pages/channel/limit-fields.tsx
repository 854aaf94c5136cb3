// What a channel may be used for at most, and how long its calls may take.
import { Form } from "antd";
import { NumberInput } from "#console/ui/number-input.tsx";
import { QuotaField } from "#console/ui/quota-field.tsx";
import { Section } from "#console/ui/section.tsx";
import { CHANNEL_LIMIT_LABELS } from "#contract/channel-limits.ts";

const COUNTS = [
  { name: "rpm", most: 1_000_000_000, extra: "达到后改用下一个渠道。" },
  { name: "tpm", most: 1_000_000_000, extra: "输入与输出合计，先按估算占用，结束后按实际更正。" },
  { name: "running", most: 10_000, extra: "同时进行的请求，流式请求到结束为止。" },
] as const;

/** The limits, of a channel and of a key alike. Empty = none. */
export function LimitInputs() {
  const counts = COUNTS.map(({ name, most, extra }) => (
    <Form.Item key={name} name={name} label={CHANNEL_LIMIT_LABELS[name]} extra={extra}>
      <NumberInput min={0} max={most} precision={0} placeholder="不限" style={{ width: "100%" }} />
    </Form.Item>
  ));
  return (
    <>
      <div className="tg-form-row">{counts.slice(0, 2)}</div>
      <div className="tg-form-row">
        {counts.slice(2)}
        <Form.Item
          name="day_quota"
          label={CHANNEL_LIMIT_LABELS.day_quota}
          extra="按本站计费，每日零点（预算时区）重新计算；已开始的回答会完成。"
        >
          <QuotaField placeholder="不限" />
        </Form.Item>
      </div>
    </>
  );
}

const TIMES = [
  {
    name: "connect_s",
    label: "连接超时（秒）",
    usual: "10",
    extra: "建立连接与 TLS 握手；经代理时为到上游的全程。",
  },
  { name: "first_byte_s", label: "首字超时（秒）", usual: "120", extra: "流式请求等待第一个事件。" },
  { name: "idle_s", label: "空闲超时（秒）", usual: "90", extra: "两段数据之间。" },
  {
    name: "total_s",
    label: "总时限（秒）",
    usual: "系统默认",
    extra: "一次请求从发出到结束，流式与非流式。",
  },
] as const;

/** The time limits, of a channel and of a key alike. `usual` is what an empty one stands for; of a channel's, the defaults. */
export function TimeInputs({ usual: inherited }: { readonly usual?: string }) {
  return [TIMES.slice(0, 2), TIMES.slice(2)].map((pair) => (
    <div className="tg-form-row" key={pair[0]?.name}>
      {pair.map(({ name, label, usual, extra }) => (
        <Form.Item key={name} name={name} label={label} extra={extra}>
          <NumberInput
            min={0.1}
            max={3_600}
            precision={1}
            placeholder={inherited ?? usual}
            style={{ width: "100%" }}
          />
        </Form.Item>
      ))}
    </div>
  ));
}

export function LimitFields() {
  return (
    <Section
      title="限额与超时"
      lead="达到限额的渠道暂不参与选择，不算故障；所有节点合并计数。留空表示不限或使用默认值。"
    >
      <LimitInputs />
      <TimeInputs />
    </Section>
  );
}
