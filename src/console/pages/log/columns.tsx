// The columns of the usage log (glossary: 时间 · 渠道 · 用户 · 令牌 · 类型 · 模型 · 用时/首字 · 提示 · 补全 · 额度 · 详情).

import type { TagColour } from "#console/base/colours.ts";
import { formatCharge, formatCount, formatMs } from "#console/base/format.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import type { Column } from "#console/ui/row-view.ts";
import { ColourTag } from "#console/ui/status-tag.tsx";
import { TimeText } from "#console/ui/time-text.tsx";
import { Tooltip } from "#console/ui/tooltip.tsx";
import { type LogEntry, LogType } from "#contract/log.ts";
import { channelLabel } from "./attempts.ts";
import { briefContent } from "./failure.ts";

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

function Text({ text }: { readonly text: string }) {
  if (text === "") return NONE;
  return (
    <span className="tg-clip" title={text}>
      {text}
    </span>
  );
}

function Model({ name }: { readonly name: string }) {
  if (name === "") return NONE;
  return (
    <span className="tg-code">
      <Text text={name} />
    </span>
  );
}

function Tokens({ count }: { readonly count: number }) {
  return count === 0 ? NONE : <span className="tg-number">{formatCount(count)}</span>;
}

/** Total time, and the time to the first byte where it is known. */
function Times({ entry }: { readonly entry: LogEntry }) {
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

function Channel({ entry }: { readonly entry: LogEntry }) {
  if (entry.channel === 0) return NONE;
  // Of a failed call the last channel is one of those that failed.
  const before = entry.trail.filter(({ channel }) => channel !== entry.channel);
  const tried = before.map(({ channel }) => `#${channel}`);
  return <Text text={[...tried, channelLabel(entry)].join(" → ")} />;
}

const adminColumns: readonly Column<LogEntry>[] = [
  { key: "channel", title: "渠道", width: 116, render: (entry) => <Channel entry={entry} /> },
  { key: "username", title: "用户", width: 84, render: (entry) => <Text text={entry.username} /> },
];

/** What failed calls have none of; without these columns the reason has room. */
const CHARGES: ReadonlySet<string> = new Set(["prompt_tokens", "completion_tokens", "quota"]);

/** The columns for what is filtered. */
export function columnsFor(isAdmin: boolean, type: number): readonly Column<LogEntry>[] {
  const columns = logColumns(isAdmin);
  return type === LogType.error ? columns.filter(({ key }) => !CHARGES.has(key)) : columns;
}

/** The widths leave nothing to scroll sideways at 1440 px with the menu open. */
function logColumns(isAdmin: boolean): readonly Column<LogEntry>[] {
  return [
    {
      key: "created_at",
      title: "时间",
      isFixed: true,
      width: 150,
      render: (entry) => <TimeText seconds={entry.created_at} />,
    },
    ...(isAdmin ? adminColumns : []),
    { key: "token_name", title: "令牌", width: 100, render: (entry) => <Text text={entry.token_name} /> },
    {
      key: "type",
      title: "类型",
      isInHead: true,
      width: 62,
      render: (entry) => <LogKind type={entry.type} />,
    },
    {
      key: "model_name",
      title: "模型",
      isInHead: true,
      width: 160,
      render: (entry) => <Model name={entry.model_name} />,
    },
    { key: "elapsed_time", title: "用时 / 首字", width: 136, render: (entry) => <Times entry={entry} /> },
    {
      key: "prompt_tokens",
      title: "提示",
      isNumber: true,
      width: 74,
      render: (entry) => <Tokens count={entry.prompt_tokens} />,
    },
    {
      key: "completion_tokens",
      title: "补全",
      isNumber: true,
      width: 70,
      render: (entry) => <Tokens count={entry.completion_tokens} />,
    },
    {
      key: "quota",
      title: "额度",
      isNumber: true,
      width: 92,
      render: (entry) => (entry.quota === 0 ? NONE : <Charge quota={entry.quota} />),
    },
    // In full in the drawer of the row.
    {
      key: "content",
      title: "详情",
      width: isAdmin ? 110 : 310,
      isGrowing: true,
      render: (entry) => <Text text={briefContent(entry)} />,
    },
  ];
}
