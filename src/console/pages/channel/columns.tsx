// The columns of the channel list.

import { useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import { useCall } from "#console/base/call.ts";
import type { TagColour } from "#console/base/colours.ts";
import { formatMs, formatTime, relativeTime } from "#console/base/format.ts";
import { wide } from "#console/base/language.ts";
import { patchRow } from "#console/base/rows.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { offReason } from "#console/ui/failure-words.ts";
import { GroupTags } from "#console/ui/group-tags.tsx";
import { NumberCell } from "#console/ui/number-input.tsx";
import type { CellProps, Column } from "#console/ui/row-view.ts";
import { ColourTag, StatusTag } from "#console/ui/status-tag.tsx";
import { Tooltip } from "#console/ui/tooltip.tsx";
import { type Channel, ChannelStatus, channelApi } from "#contract/channel.ts";
import { providerOf } from "#contract/providers.ts";
import { responseGrade } from "#contract/quota.ts";
import { BalanceCell, balanceText } from "./balance-cell.tsx";
import { LISTS } from "./stale.ts";
import { TypeTag } from "./type-tag.tsx";

function Balance({ row: channel }: CellProps<Channel>) {
  const client = useQueryClient();
  const display = useQuotaDisplay();
  const refresh = useCall(channelApi.updateBalance, {
    onSuccess: ({ balance }, { params }) => {
      const balance_updated_time = Math.floor(Date.now() / 1000);
      patchRow(client, LISTS, { id: params.id, ...{ balance, balance_updated_time } });
      toast.success(`渠道 ${channel.name} 余额更新成功！`);
    },
  });
  const unit = providerOf(channel.type)?.balance?.unit;
  if (unit === undefined) return <span className="tg-muted">不支持</span>;
  const text = balanceText(channel.balance, unit, display);
  return (
    <BalanceCell
      text={text}
      time={channel.balance_updated_time}
      label={`${text}，更新渠道 ${channel.name} 的余额`}
      isBusy={refresh.isPending}
      onAsk={() => refresh.mutate({ params: { id: channel.id } })}
    />
  );
}

/** State with the reason and time of automatic disabling on hover; in words, since colour alone is not accessible (requirements B4). */
export function ChannelState({ row: channel }: CellProps<Channel>) {
  switch (channel.status) {
    case ChannelStatus.enabled:
      return <StatusTag tone="good" label="已启用" />;
    case ChannelStatus.disabled:
      return <StatusTag tone="idle" label="已禁用" hint="本渠道被手动禁用" />;
    case ChannelStatus.autoDisabled: {
      const when = formatTime(channel.status_time);
      const why = offReason(channel.status_reason);
      const again = channel.probe_time === 0 ? "" : `将于 ${formatTime(channel.probe_time)} 自动重试`;
      const hint = ["本渠道被程序自动禁用", when, why, again].filter((part) => part !== "").join(" · ");
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
function ResponseTime({ row: channel }: CellProps<Channel>) {
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

/** What the program found out about the way to a channel, in words below its name. */
function notesOf(channel: Channel): readonly (readonly [label: string, why: string])[] {
  return [
    ...(channel.proxy_resting
      ? [["代理暂停", "代理连续失败，暂停使用；没有其他渠道时仍会尝试"] as const]
      : []),
    ...(channel.reuse_stopped
      ? [["已停用连接复用", "上游发来了多余的数据，为防止串答，每次调用都使用新的连接"] as const]
      : []),
  ];
}

/** The way to the keys of a channel that has several. */
export function KeysLink({ channel }: { readonly channel: Channel }) {
  if (!channel.has_keys) return null;
  return (
    <Link className="tg-channel-keys" to={`/channel/keys/${channel.id}`}>
      多密钥
    </Link>
  );
}

/** What its upstream's list of models has in store, as the way to it. */
export function ModelsLink({ channel }: { readonly channel: Channel }) {
  const { models_fresh: fresh, models_gone: gone, models_problem: isFaulty } = channel;
  const news = [fresh > 0 ? `+${fresh}` : "", gone > 0 ? `−${gone}` : ""].filter((part) => part !== "");
  if (news.length === 0 && !isFaulty) return null;
  return (
    <Tooltip
      title={
        isFaulty
          ? "上游的模型列表有误，没有采用"
          : `上游新增 ${fresh} 个模型，渠道的 ${gone} 个模型不在上游列表中`
      }
    >
      <Link className="tg-channel-news" to={`/channel/models/${channel.id}`}>
        上游模型 {isFaulty ? "有误" : news.join(" ")}
      </Link>
    </Tooltip>
  );
}

/** What the program found out about the way to a channel. */
export function Notes({ channel }: { readonly channel: Channel }) {
  return notesOf(channel).map(([label, why]) => (
    <Tooltip key={label} title={why}>
      <span className="tg-channel-note">{label}</span>
    </Tooltip>
  ));
}

function Name({ row }: CellProps<Channel>) {
  return (
    <>
      <span className="tg-clip tg-channel-name" title={row.name}>
        {row.name}
      </span>
      <KeysLink channel={row} />
      <ModelsLink channel={row} />
      <Notes channel={row} />
    </>
  );
}

/** The spec's columns in their order, with nothing to scroll sideways at 1440 px; `change` saves a number edited in place; without it numbers
 * are only shown. */
export function channelColumns(change: Change | undefined): readonly Column<Channel>[] {
  return [
    { key: "id", title: "ID", shows: "number", isSortable: true, isNumber: true, width: wide(50, 44) },
    {
      key: "name",
      title: "名称",
      cell: Name,
      isFixed: true,
      isSortable: true,
      isInHead: true,
      width: wide(120, 104),
    },
    {
      key: "group",
      title: "分组",
      isSortable: true,
      width: wide(112, 108),
      render: (row) => <GroupTags groups={row.group} />,
    },
    {
      key: "type",
      title: "类型",
      isSortable: true,
      width: wide(128, 108),
      render: (row) => <TypeTag type={row.type} />,
    },
    {
      key: "status",
      title: "状态",
      cell: ChannelState,
      isSortable: true,
      isInHead: true,
      width: wide(90, 122),
    },
    { key: "response_time", title: "响应时间", cell: ResponseTime, isSortable: true, width: wide(88, 94) },
    { key: "balance", title: "余额", cell: Balance, isSortable: true, isNumber: true, width: wide(94, 88) },
    {
      key: "priority",
      title: "优先级",
      isSortable: true,
      width: wide(86, 78),
      render: (row) =>
        change === undefined ? (
          row.priority
        ) : (
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
      width: wide(82, 74),
      render: (row) =>
        change === undefined ? (
          row.weight
        ) : (
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
