// The columns of a channel's keys.

import { formatMs, formatTime, relativeTime } from "#console/base/format.ts";
import { wide } from "#console/base/language.ts";
import { ClippedText } from "#console/ui/cell.tsx";
import type { CellProps, Column } from "#console/ui/row-view.ts";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { Tooltip } from "#console/ui/tooltip.tsx";
import { ChannelStatus } from "#contract/channel.ts";
import type { ChannelKey } from "#contract/channel-key.ts";

/** What a key is called: its name, or its number with the part of its hash that is told. */
export function keyName({ id, name, fingerprint }: ChannelKey): string {
  return name === "" ? `#${id} ${fingerprint}` : name;
}

function Name({ row: { id, name, fingerprint } }: CellProps<ChannelKey>) {
  return (
    <>
      {name === "" ? null : <ClippedText text={name} />}
      <span className="tg-key-print" title="编号与密钥哈希的前 8 位；密钥本身不显示">
        #{id} <code className="tg-code">{fingerprint}</code>
      </span>
    </>
  );
}

export function KeyState({ row }: CellProps<ChannelKey>) {
  const when = formatTime(row.status_time);
  if (row.status === ChannelStatus.disabled)
    return <StatusTag tone="idle" label="已禁用" hint={when === "" ? "" : `${when} 手动禁用`} />;
  if (row.status === ChannelStatus.autoDisabled) {
    const again = row.probe_time === 0 ? "" : `将于 ${formatTime(row.probe_time)} 自动重试`;
    return (
      <StatusTag
        tone="bad"
        label="自动禁用"
        hint={[when, row.status_reason, again].filter((part) => part !== "").join(" · ")}
      />
    );
  }
  if (row.rests_until * 1_000 > Date.now())
    return (
      <StatusTag tone="warn" label="暂停中" hint={`刚刚失败或限流，${formatTime(row.rests_until)} 后再用`} />
    );
  return <StatusTag tone="good" label="已启用" />;
}

function Tested({ row }: CellProps<ChannelKey>) {
  if (row.test_time === 0) return <span className="tg-muted">未测试</span>;
  return (
    <Tooltip
      title={`测试于 ${formatTime(row.test_time)}（${relativeTime(row.test_time, Date.now() / 1000)}）`}
    >
      <span className="tg-number">{formatMs(row.response_time)}</span>
    </Tooltip>
  );
}

export const keyColumns: readonly Column<ChannelKey>[] = [
  { key: "name", title: "密钥", cell: Name, isFixed: true, isInHead: true, width: 124 },
  { key: "status", title: "状态", cell: KeyState, isInHead: true, width: wide(92, 96) },
  { key: "status_reason", title: "停用原因", shows: "text", isGrowing: true, width: wide(118, 100) },
  { key: "weight", title: "权重", shows: "number", isNumber: true, width: 56 },
  {
    key: "models",
    title: "模型",
    width: wide(84, 80),
    render: (row) => <ClippedText text={row.models.join("、")} none="全部" />,
  },
  {
    key: "proxy",
    title: "代理",
    width: wide(84, 80),
    render: (row) => <ClippedText text={row.proxy === "direct" ? "直连" : row.proxy} none="同渠道" />,
  },
  { key: "in_flight", title: "进行中", shows: "number", isNumber: true, width: 66 },
  { key: "used_quota", title: "已用额度", shows: "quota", isNumber: true, width: wide(84, 78) },
  { key: "last_used", title: "最近使用", shows: "time", none: "从未", width: wide(152, 150) },
  { key: "response_time", title: "测试用时", cell: Tested, width: wide(78, 80) },
  { key: "created_time", title: "添加时间", shows: "time", isHiddenAtFirst: true, width: 156 },
];
