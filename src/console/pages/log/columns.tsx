// The columns of the usage log (glossary: 时间 · 渠道 · 用户 · 令牌 · 类型 · 模型 · 用时/首字 · 提示 · 补全 · 额度 · 详情).

import type { TagColour } from "#console/base/colours.ts";
import { formatCharge, formatCount, formatMs } from "#console/base/format.ts";
import { wide } from "#console/base/language.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { ClippedText } from "#console/ui/cell.tsx";
import type { CellProps, Column } from "#console/ui/row-view.ts";
import { ColourTag } from "#console/ui/status-tag.tsx";
import { Tooltip } from "#console/ui/tooltip.tsx";
import { type LogEntry, LogType } from "#contract/log.ts";
import { briefContent, channelLabel } from "./failure.ts";
import type { ListedEntry, LogSource } from "./source.ts";

const KINDS: Readonly<Record<number, { readonly label: string; readonly colour: TagColour }>> = {
  [LogType.topup]: { label: "充值", colour: "green" },
  [LogType.consume]: { label: "消费", colour: "blue" },
  [LogType.manage]: { label: "管理", colour: "orange" },
  [LogType.system]: { label: "系统", colour: "violet" },
  [LogType.test]: { label: "测试", colour: "teal" },
  [LogType.error]: { label: "错误", colour: "red" },
};

export function LogKind({ type }: { readonly type: number }) {
  const { label, colour } = KINDS[type] ?? { label: "未知", colour: "black" };
  return <ColourTag colour={colour}>{label}</ColourTag>;
}

/** A charge with enough digits to be seen, the exact quota on hover. */
export function Charge({ quota }: { readonly quota: number }) {
  const display = useQuotaDisplay();
  return (
    <Tooltip title={`${formatCount(quota)} 点额度`}>
      <span className="tg-number">{formatCharge(quota, display)}</span>
    </Tooltip>
  );
}

const NONE = <span className="tg-muted">—</span>;

function Model({ row }: CellProps<LogEntry>) {
  if (row.model_name === "") return NONE;
  return (
    <span className="tg-code">
      <ClippedText text={row.model_name} />
    </span>
  );
}

function Tokens({ count }: { readonly count: number }) {
  return count === 0 ? NONE : <span className="tg-number">{formatCount(count)}</span>;
}

/** Total time, and the time to the first byte where it is known. */
function Times({ row: entry }: CellProps<LogEntry>) {
  if (entry.elapsed_time === 0) return NONE;
  return (
    <span className="tg-number">
      {formatMs(entry.elapsed_time)}
      {entry.first_byte_time === 0 ? null : (
        <span className="tg-muted"> / {formatMs(entry.first_byte_time)}</span>
      )}
    </span>
  );
}

function Channel({ row: entry }: CellProps<LogEntry>) {
  if (entry.channel === 0) return NONE;
  // Of a failed call the last channel is one of those that failed.
  const before = entry.trail.filter(({ channel }) => channel !== entry.channel);
  const tried = before.map(({ channel }) => `#${channel}`);
  return <ClippedText text={[...tried, channelLabel(entry)].join(" → ")} />;
}

function Kind({ row }: CellProps<LogEntry>) {
  return <LogKind type={row.type} />;
}

function Quota({ row }: CellProps<LogEntry>) {
  return row.quota === 0 ? NONE : <Charge quota={row.quota} />;
}

function Content({ row }: CellProps<LogEntry>) {
  return <ClippedText text={briefContent(row)} />;
}

const adminColumns: readonly Column<LogEntry>[] = [
  { key: "channel", title: "渠道", cell: Channel, width: 116 },
  { key: "username", title: "用户", shows: "text", width: wide(84, 80) },
];

/** What failed calls have none of; without these columns the reason has room. */
const charges: readonly Column<LogEntry>[] = [
  {
    key: "prompt_tokens",
    title: "提示",
    isNumber: true,
    width: wide(74, 66),
    render: (row) => <Tokens count={row.prompt_tokens} />,
  },
  {
    key: "completion_tokens",
    title: "补全",
    isNumber: true,
    width: wide(70, 80),
    render: (row) => <Tokens count={row.completion_tokens} />,
  },
  { key: "quota", title: "额度", cell: Quota, isNumber: true, width: 92 },
];

const teamColumns: readonly Column<ListedEntry>[] = [
  {
    key: "member_name",
    title: "成员",
    width: 100,
    render: ({ member_name = "" }) => <ClippedText text={member_name} none="—" />,
  },
  { key: "project_name", title: "项目", shows: "text", none: "—", width: 100 },
];

const OF_SOURCE = { all: adminColumns, team: teamColumns, own: [] } as const;
/** What is left for the words of an entry. Unit: pixels. */
const CONTENT = { all: 110, team: 200, own: 310 } as const;

/** The columns for what is filtered. The widths leave nothing to scroll sideways at 1440 px with the menu open. */
export function columnsFor({ kind }: LogSource, type: number): readonly Column<ListedEntry>[] {
  return [
    { key: "created_at", title: "时间", shows: "time", isFixed: true, width: 150 },
    ...OF_SOURCE[kind],
    { key: "token_name", title: "令牌", shows: "text", width: 100 },
    { key: "type", title: "类型", cell: Kind, isInHead: true, width: wide(62, 78) },
    { key: "model_name", title: "模型", cell: Model, isInHead: true, width: wide(160, 156) },
    { key: "elapsed_time", title: "用时 / 首字", cell: Times, width: wide(136, 134) },
    ...(type === LogType.error ? [] : charges),
    // In full in the drawer of the row.
    { key: "content", title: "详情", cell: Content, width: CONTENT[kind], isGrowing: true },
  ];
}
