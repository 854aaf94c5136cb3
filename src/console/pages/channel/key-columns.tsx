// The columns of a channel's keys.

import { useCall } from "#console/base/call.ts";
import { formatMs, formatTime, relativeTime } from "#console/base/format.ts";
import { wide } from "#console/base/language.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { ClippedText } from "#console/ui/cell.tsx";
import { offReason } from "#console/ui/failure-words.ts";
import type { CellProps, Column } from "#console/ui/row-view.ts";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { Tooltip } from "#console/ui/tooltip.tsx";
import { ChannelStatus } from "#contract/channel.ts";
import { type ChannelKey, channelKeyApi } from "#contract/channel-key.ts";
import { type BalanceUnit, providerOf } from "#contract/providers.ts";
import { BalanceCell, balanceText } from "./balance-cell.tsx";
import { OF_KEYS } from "./stale.ts";

/** What a key is called: its name, or its number with the parts of its hash and of itself that are told. */
export function keyName({ id, name, fingerprint, tail }: ChannelKey): string {
  return name === "" ? `#${id} ${fingerprint}${ending(tail)}` : name;
}

function ending(tail: string): string {
  return tail === "" ? "" : ` …${tail}`;
}

function Name({ row: { id, name, fingerprint, tail } }: CellProps<ChannelKey>) {
  return (
    <>
      {name === "" ? null : <ClippedText text={name} />}
      <span className="tg-key-print" title="编号、密钥哈希的前 8 位、密钥的最后 4 个字符；密钥本身不显示">
        #{id}{" "}
        <code className="tg-code">
          {fingerprint}
          {ending(tail)}
        </code>
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
        hint={[when, offReason(row.status_reason), again].filter((part) => part !== "").join(" · ")}
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

interface BalanceProps extends CellProps<ChannelKey> {
  readonly channelId: number;
  readonly unit: BalanceUnit | undefined;
}

/** What is left of the key's own account; a click asks its provider, by the key's own way. */
function Balance({ row, channelId, unit }: BalanceProps) {
  const display = useQuotaDisplay();
  const refresh = useCall(channelKeyApi.updateBalance, {
    invalidates: OF_KEYS,
    onSuccess: () => toast.success(`密钥 ${keyName(row)} 余额更新成功！`),
  });
  const told = CURRENCIES[row.balance_currency] ?? unit;
  const text = row.balance_updated_time === 0 ? "未查询" : balanceText(row.balance, told, display);
  return (
    <BalanceCell
      text={text}
      time={row.balance_updated_time}
      label={`${text}，更新密钥 ${keyName(row)} 的余额`}
      isBusy={refresh.isPending}
      onAsk={() => refresh.mutate({ params: { id: channelId }, body: { key_id: row.id } })}
    />
  );
}

/** Where accounts of one type differ in their currency. */
const CURRENCIES: Readonly<Record<string, BalanceUnit>> = { CNY: "cny", USD: "usd" };

/** The columns for the keys of a channel; those whose type cannot be asked for a balance have none. */
export function keyColumnsOf(channelId: number, type: number | undefined): readonly Column<ChannelKey>[] {
  const balance = type === undefined ? undefined : providerOf(type)?.balance;
  if (balance === undefined) return keyColumns;
  const column: Column<ChannelKey> = {
    key: "balance",
    title: "余额",
    render: (row) => <Balance row={row} channelId={channelId} unit={balance.unit} />,
    isSortable: true,
    isNumber: true,
    width: wide(92, 92),
  };
  const at = keyColumns.findIndex(({ key }) => key === "used_quota");
  return keyColumns.toSpliced(at, 0, column);
}

const keyColumns: readonly Column<ChannelKey>[] = [
  { key: "name", title: "密钥", cell: Name, isFixed: true, isInHead: true, width: 170 },
  { key: "status", title: "状态", cell: KeyState, isInHead: true, isSortable: true, width: wide(92, 96) },
  {
    key: "status_reason",
    title: "停用原因",
    isGrowing: true,
    width: wide(98, 96),
    render: (row) => <ClippedText text={offReason(row.status_reason)} />,
  },
  { key: "weight", title: "权重", shows: "number", isNumber: true, isSortable: true, width: 64 },
  {
    key: "models",
    title: "模型",
    // Few keys differ in them, and at the usual width there is no room for everything.
    isHiddenAtFirst: true,
    width: wide(84, 80),
    render: (row) => <ClippedText text={row.models.join("、")} none="全部" />,
  },
  {
    key: "proxy",
    title: "代理",
    width: wide(76, 78),
    render: (row) => <ClippedText text={row.proxy === "direct" ? "直连" : row.proxy} none="同渠道" />,
  },
  {
    key: "in_flight",
    title: "进行中",
    shows: "number",
    isNumber: true,
    // The route explainer shows it; here the reason of those that are off needs the room.
    isHiddenAtFirst: true,
    width: 66,
  },
  { key: "used_quota", title: "已用额度", shows: "quota", isNumber: true, width: wide(84, 78) },
  { key: "last_used", title: "最近使用", shows: "time", none: "从未", width: wide(152, 150) },
  { key: "response_time", title: "测试用时", cell: Tested, isSortable: true, width: wide(90, 92) },
  {
    key: "created_time",
    title: "添加时间",
    shows: "time",
    isSortable: true,
    isHiddenAtFirst: true,
    width: 156,
  },
];
