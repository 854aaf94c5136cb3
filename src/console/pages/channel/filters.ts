// How the list of channels is filtered, and saved as a file: without keys.
import type { CsvColumn } from "#console/base/export.ts";
import { formatTime } from "#console/base/format.ts";
import type { FilterField } from "#console/ui/list-filters.tsx";
import { statusFilter } from "#console/ui/status-filter.ts";
import { type Channel, ChannelStatus } from "#contract/channel.ts";
import { providerOf, providers } from "#contract/providers.ts";

const STATES = [
  { value: String(ChannelStatus.enabled), label: "已启用" },
  { value: String(ChannelStatus.disabled), label: "已禁用" },
  { value: String(ChannelStatus.autoDisabled), label: "自动禁用" },
];

export const CHANNEL_FILTERS: readonly FilterField[] = [
  statusFilter(STATES),
  {
    kind: "choice",
    name: "type",
    label: "选择类型",
    chip: "类型",
    options: [
      { value: "", label: "全部类型" },
      ...providers.map(({ type, label }) => ({ value: String(type), label })),
    ],
    width: 168,
    isSearchable: true,
    isNumber: true,
  },
  { kind: "text", name: "group", label: "分组名称", chip: "分组" },
  { kind: "text", name: "model", label: "模型名称", chip: "模型" },
];

const moment = (seconds: number) => (seconds === 0 ? "" : formatTime(seconds));

/** Amounts are in quota units, so that sums are exact. */
export const CHANNEL_FILE: readonly CsvColumn<Channel>[] = [
  ["ID", (channel) => channel.id],
  ["名称", (channel) => channel.name],
  ["类型", (channel) => providerOf(channel.type)?.label ?? channel.type],
  ["状态", (channel) => STATES.find(({ value }) => value === String(channel.status))?.label ?? "未知"],
  ["停用原因", (channel) => channel.status_reason],
  ["分组", (channel) => channel.group.join(",")],
  ["模型", (channel) => channel.models.join(",")],
  ["Base URL", (channel) => channel.base_url],
  ["优先级", (channel) => channel.priority],
  ["权重", (channel) => channel.weight],
  ["成本倍率", (channel) => channel.cost_ratio],
  ["已用额度（点）", (channel) => channel.used_quota],
  ["余额", (channel) => channel.balance],
  ["响应时间（毫秒）", (channel) => channel.response_time],
  ["测试时间", (channel) => moment(channel.test_time)],
  ["创建时间", (channel) => moment(channel.created_time)],
];
