// The columns of the channel list.

import type { TagColour } from "#console/base/colours.ts";
import { formatMs, formatTime, relativeTime } from "#console/base/format.ts";
import { GroupTags } from "#console/ui/group-tags.tsx";
import { NumberCell } from "#console/ui/number-cell.tsx";
import type { Column } from "#console/ui/row-view.ts";
import { ColourTag, StatusTag } from "#console/ui/status-tag.tsx";
import { Tooltip } from "#console/ui/tooltip.tsx";
import { type Channel, ChannelStatus } from "#contract/channel.ts";
import { responseGrade } from "#contract/quota.ts";
import { Balance } from "./balance-cell.tsx";
import { TypeTag } from "./type-tag.tsx";

/** State with the reason and time of automatic disabling on hover; in words, since colour alone is not accessible (requirements B4). */
export function ChannelState({ channel }: { readonly channel: Channel }) {
  switch (channel.status) {
    case ChannelStatus.enabled:
      return <StatusTag tone="good" label="已启用" />;
    case ChannelStatus.disabled:
      return <StatusTag tone="idle" label="已禁用" hint="本渠道被手动禁用" />;
    case ChannelStatus.autoDisabled: {
      const when = formatTime(channel.status_time);
      const why = channel.status_reason;
      const hint = ["本渠道被程序自动禁用", when, why].filter((part) => part !== "").join(" · ");
      return <StatusTag tone="bad" label="自动禁用" hint={hint} />;
    }
    default:
      return <StatusTag tone="idle" label="未知状态" />;
  }
}

const GRADES: Readonly<Record<ReturnType<typeof responseGrade>, TagColour>> = {
  untested: "black",
  good: "green",
  fair: "olive",
  slow: "yellow",
  bad: "red",
};

/** Response time in the colours of the spec's thresholds; the time of the test on hover. */
function ResponseTime({ channel }: { readonly channel: Channel }) {
  const label = channel.response_time === 0 ? "未测试" : formatMs(channel.response_time);
  const tag = <ColourTag colour={GRADES[responseGrade(channel.response_time)]}>{label}</ColourTag>;
  if (channel.test_time === 0) return tag;
  const ago = relativeTime(channel.test_time, Date.now() / 1000);
  return (
    <Tooltip title={`测试于 ${formatTime(channel.test_time)}（${ago}）`}>
      <span>{tag}</span>
    </Tooltip>
  );
}

type Change = (id: number, change: { priority?: number; weight?: number }) => void;

/**
 * The spec's columns in their order, with nothing to scroll sideways at 1440 px; `change` saves a number edited in place.
 */
export function channelColumns(change: Change): readonly Column<Channel>[] {
  return [
    { key: "id", title: "ID", isSortable: true, isNumber: true, width: 50, render: (row) => row.id },
    {
      key: "name",
      title: "名称",
      isFixed: true,
      isSortable: true,
      isInHead: true,
      width: 120,
      render: (row) => (
        <span className="tg-clip tg-channel-name" title={row.name}>
          {row.name}
        </span>
      ),
    },
    {
      key: "group",
      title: "分组",
      isSortable: true,
      width: 112,
      render: (row) => <GroupTags groups={row.group} />,
    },
    {
      key: "type",
      title: "类型",
      isSortable: true,
      width: 128,
      render: (row) => <TypeTag type={row.type} />,
    },
    {
      key: "status",
      title: "状态",
      isSortable: true,
      isInHead: true,
      width: 90,
      render: (row) => <ChannelState channel={row} />,
    },
    {
      key: "response_time",
      title: "响应时间",
      isSortable: true,
      width: 88,
      render: (row) => <ResponseTime channel={row} />,
    },
    {
      key: "balance",
      title: "余额",
      isSortable: true,
      isNumber: true,
      width: 94,
      render: (row) => <Balance channel={row} />,
    },
    {
      key: "priority",
      title: "优先级",
      isSortable: true,
      width: 86,
      render: (row) => (
        <NumberCell
          value={row.priority}
          label={`渠道 ${row.name} 的优先级`}
          hint="渠道选择优先级，越高越优先"
          onSave={(priority) => change(row.id, { priority })}
        />
      ),
    },
    {
      key: "weight",
      title: "权重",
      isSortable: true,
      width: 82,
      render: (row) => (
        <NumberCell
          value={row.weight}
          min={0}
          label={`渠道 ${row.name} 的权重`}
          hint="同一优先级内按权重分流"
          onSave={(weight) => change(row.id, { weight })}
        />
      ),
    },
  ];
}
